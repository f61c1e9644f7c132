//! Simulated coverage of confidence intervals: samples with a known median and a fixed seed.

use crate::estimate::estimate;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const TRIALS: u32 = 20_000;

/// Allowed difference of a simulated coverage, in standard deviations of a binomial count.
const TOLERANCE: f64 = 4.0;

/// A uniform random number in [0, 1), in steps of 2⁻⁵³.
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn exponential(random: &mut ChaCha8Rng) -> f64 {
    -(1.0 - uniform(random)).ln()
}

/// A normal random number, by the Box-Muller transform.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (2.0 * exponential(random)).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// A noise distribution: its name, a sampling function, and its median.
type Shape = (&'static str, fn(&mut ChaCha8Rng) -> f64, f64);

fn shapes() -> [Shape; 6] {
    [
        ("uniform", uniform, 0.5),
        ("normal", normal, 0.0),
        ("exponential: rare slow repeats", exponential, std::f64::consts::LN_2),
        ("log-normal: a long tail", |random| normal(random).exp(), 1.0),
        ("Cauchy: no mean", |random| normal(random) / normal(random), 0.0),
        ("two humps: two speeds", |random| if uniform(random) < 0.5 { -5.0 } else { 5.0 } + normal(random), 0.0),
    ]
}

/// Number of trials whose interval contains `true_median`, and the stated coverage.
fn hits(random: &mut ChaCha8Rng, n: usize, draw: fn(&mut ChaCha8Rng) -> f64, true_median: f64) -> (u32, f64) {
    let mut hits = 0;
    let mut stated = 0.0;
    for _ in 0..TRIALS {
        let values: Vec<f64> = (0..n).map(|_| draw(random)).collect();
        let estimate = estimate(&values).unwrap();
        hits += u32::from(estimate.low <= true_median && true_median <= estimate.high);
        stated = estimate.coverage;
    }
    (hits, stated)
}

#[test]
fn intervals_cover_as_often_as_they_say() {
    let mut random = ChaCha8Rng::seed_from_u64(20_260_101);
    for (name, draw, true_median) in shapes() {
        for n in [3, 5, 6, 10, 21] {
            let (hits, stated) = hits(&mut random, n, draw, true_median);
            let seen = f64::from(hits) / f64::from(TRIALS);
            let deviation = (stated * (1.0 - stated) / f64::from(TRIALS)).sqrt();
            assert!((seen - stated).abs() <= TOLERANCE * deviation, "{name}, n = {n}: {seen} seen, {stated} stated");
        }
    }
}

#[test]
fn values_that_come_in_steps_are_covered_at_least_as_often_as_stated() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (hits, stated) = hits(&mut random, 10, |random| (uniform(random) * 5.0).floor(), 2.0);
    assert!(f64::from(hits) / f64::from(TRIALS) >= stated, "{hits} of {TRIALS}");
}
