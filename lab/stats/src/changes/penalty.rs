//! What a step has to explain, so that a series without any is said to have one at a stated rate.
//!
//! The greatest gain over all places grows with the iterated logarithm of the number of points, and with the logarithm of the rate. The constants are
//! those of simulated normal series of 20 to 100 000 points; a test draws them again.

/// Rates of false alarms that the constants hold for.
pub(crate) const CALIBRATED: std::ops::RangeInclusive<f64> = 0.001..=0.2;

/// The gain that a share of `false_alarms` of all series of `points` points without a step exceeds.
pub(crate) fn penalty(points: usize, false_alarms: f64) -> f64 {
    BASE + PER_LENGTH * (points.max(FEWEST) as f64).ln().ln() - PER_RATE * false_alarms.ln()
}

const BASE: f64 = -3.95;
const PER_LENGTH: f64 = 3.75;
const PER_RATE: f64 = 2.5;

/// Shorter series have no place to choose.
const FEWEST: usize = 12;

#[cfg(test)]
mod tests {
    use super::super::series::{Observation, series};
    use super::super::split::split;
    use super::super::sums::Sums;
    use super::*;
    use crate::median::sorted;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    #[test]
    fn longer_series_and_rarer_alarms_cost_more() {
        assert!(penalty(200, 0.1) > penalty(100, 0.1) && penalty(100, 0.01) > penalty(100, 0.1));
    }

    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }

    /// The greatest gain in a normal series without a step.
    fn greatest_gain(random: &mut ChaCha8Rng, points: usize) -> f64 {
        let observations: Vec<Observation> =
            (0..points as u64).map(|position| Observation { position, value: normal(random) }).collect();
        let series = series(&observations).unwrap();
        let mut sums = Sums::default();
        sums.take(&series.positions, &series.scaled);
        let found = split(&sums, points, 0.0).unwrap();
        if found.shifts_medians(&sums, &series.scaled) { found.gain } else { 0.0 }
    }

    #[test]
    #[ignore = "minutes"]
    fn the_constants_are_those_of_normal_series() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for (points, trials) in
            [(20, 20_000), (30, 20_000), (60, 20_000), (200, 10_000), (1000, 4000), (10_000, 1000), (100_000, 300)]
        {
            let gains = sorted(&(0..trials).map(|_| greatest_gain(&mut random, points)).collect::<Vec<_>>());
            for rate in [0.2, 0.1, 0.05, 0.01] {
                let quantile = gains[((1.0 - rate) * trials as f64) as usize];
                let penalty = penalty(points, rate);
                let alarms = gains.iter().filter(|gain| **gain > penalty).count() as f64 / trials as f64;
                println!("{points} points, {rate}: {quantile:.2}, penalty {penalty:.2}, alarms {alarms:.4}");
                let deviation = (rate * (1.0 - rate) / trials as f64).sqrt();
                assert!(alarms <= 1.2 * rate + 3.0 * deviation, "{points} points: {alarms} alarms at {rate}");
            }
        }
    }
}
