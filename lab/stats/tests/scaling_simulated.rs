//! Simulated fits of scaling laws: they recover known parameters, and their intervals have the
//! stated coverage.

use crate::noise::Noise;
use faultline_stats::scaling::{Law, Move, Point, ScalingFit, compare, fit};

const CURVES: u32 = 2000;

/// A case: CPUs, repeats at each, noise, and the true σ and κ.
struct Case {
    cpus: &'static [u32],
    repeats: usize,
    noise: f64,
    serial: f64,
    coherence: f64,
}

const CASES: [Case; 5] = [
    Case { cpus: &[1, 2, 4, 8, 16, 32, 48, 64], repeats: 3, noise: 0.02, serial: 0.05, coherence: 0.0005 },
    Case { cpus: &[1, 2, 4, 8, 16, 32, 48, 64], repeats: 1, noise: 0.05, serial: 0.02, coherence: 0.0002 },
    Case { cpus: &[1, 2, 3, 4, 6, 8, 12, 16], repeats: 5, noise: 0.05, serial: 0.10, coherence: 0.005 },
    Case { cpus: &[1, 2, 4, 8, 16, 32], repeats: 3, noise: 0.10, serial: 0.20, coherence: 0.002 },
    Case { cpus: &[1, 2, 4, 8], repeats: 6, noise: 0.02, serial: 0.05, coherence: 0.01 },
];

fn curve(random: &mut Noise, case: &Case) -> Vec<Point> {
    let point = |&cpus: &u32| {
        let n = f64::from(cpus);
        let rate = 1e5 * n / (1.0 + case.serial * (n - 1.0) + case.coherence * n * (n - 1.0));
        Point { cpus, rates: (0..case.repeats).map(|_| rate * (case.noise * random.normal()).exp()).collect() }
    };
    case.cpus.iter().map(point).collect()
}

fn covers(fit: &ScalingFit, case: &Case) -> [bool; 4] {
    let within = |low: f64, high: f64, truth: f64| low <= truth && truth <= high;
    let (serial, coherence) = (fit.serial.bounded, fit.coherence.unwrap().bounded);
    let peak = ((1.0 - case.serial) / case.coherence).sqrt();
    [
        within(fit.one_cpu.bounded.low, fit.one_cpu.bounded.high, 1e5),
        within(serial.low, serial.high, case.serial),
        within(coherence.low, coherence.high, case.coherence),
        // Without an estimated peak there is nothing to check.
        fit.peak.is_none_or(|found| within(found.low, found.high.unwrap_or(f64::INFINITY), peak)),
    ]
}

#[test]
fn intervals_of_95_percent_cover_the_true_parameters() {
    for (i, case) in CASES.iter().enumerate() {
        let mut random = Noise::new(i as u64);
        let mut hits = [0; 4];
        for _ in 0..CURVES {
            let fit = fit(&curve(&mut random, case), Law::Universal, 0.95).unwrap();
            covers(&fit, case).iter().zip(&mut hits).for_each(|(&covered, hits)| *hits += u32::from(covered));
        }
        let coverage = hits.map(|hits| f64::from(hits) / f64::from(CURVES));
        println!(
            "case {i}: rate {:.4}, serial {:.4}, coherence {:.4}, peak {:.4}",
            coverage[0], coverage[1], coverage[2], coverage[3]
        );
        for (name, coverage) in ["rate", "serial", "coherence", "peak"].iter().zip(coverage) {
            assert!((0.93..=0.97).contains(&coverage), "case {i}, {name}: {coverage}");
        }
    }
}

#[test]
fn two_fits_of_one_law_hardly_ever_differ() {
    let mut random = Noise::new(77);
    let differing = (0..1000).filter(|_| {
        let [a, b] = [0; 2].map(|_| fit(&curve(&mut random, &CASES[0]), Law::Universal, 0.95).unwrap());
        let comparison = compare(&a, &b, 0.95).unwrap();
        let all = [Some(comparison.one_cpu), Some(comparison.serial), comparison.coherence];
        all.iter().flatten().any(|one| one.change != Move::NoDifference)
    });
    let rate = differing.count() as f64 / 1000.0;
    println!("fits of one law differ in {rate:.3}");
    assert!(rate <= 0.05, "{rate}");
}
