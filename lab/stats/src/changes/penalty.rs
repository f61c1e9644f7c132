//! The cost of a step, which controls the false-positive rate.
//!
//! The unit is twice the logarithm of the likelihood. The cost comes from simulated series. It is high enough for noise with a slow part, which
//! looks like steps and needs more than white noise. Short series would lose too much power, so their cost is lower. docs/METHODOLOGY.md, §15, has the rates.

/// False-positive rates that may be requested.
pub(crate) const CALIBRATED: std::ops::RangeInclusive<f64> = 0.001..=0.2;

/// The cost of a step in a series of `points` points.
pub(crate) fn penalty(points: usize, false_alarms: f64) -> f64 {
    let points = points.max(1) as f64;
    let usual = (BASE + PER_LENGTH * points.ln() - SHORT / points).max(LEAST);
    usual - PER_RATE * (false_alarms / USUAL_RATE).ln()
}

const BASE: f64 = 13.0;
const PER_LENGTH: f64 = 0.3;
const SHORT: f64 = 300.0;
const LEAST: f64 = 8.0;

/// The rate for which the constants above were chosen.
const USUAL_RATE: f64 = 0.1;
const PER_RATE: f64 = 2.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_series_and_rarer_alarms_cost_more() {
        assert!(penalty(200, 0.1) > penalty(100, 0.1) && penalty(100, 0.01) > penalty(100, 0.1));
        assert_eq!(penalty(20, 0.1), LEAST);
    }
}
