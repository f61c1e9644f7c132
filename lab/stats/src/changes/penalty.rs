//! What a step costs, so that a series without any is said to have one at a stated rate.
//!
//! The cost is in units of twice the logarithm of the likelihood. It is from simulated series: high enough for noises whose slow part imitates steps, which
//! takes more than white noise does. Short series can't afford that, so they pay less; docs/METHODOLOGY.md, §15, has the rates.

/// Rates of false alarms that may be asked for.
pub(crate) const CALIBRATED: std::ops::RangeInclusive<f64> = 0.001..=0.2;

/// What a step costs in a series of `points` points.
pub(crate) fn penalty(points: usize, false_alarms: f64) -> f64 {
    let points = points.max(1) as f64;
    let usual = (BASE + PER_LENGTH * points.ln() - SHORT / points).max(LEAST);
    usual - PER_RATE * (false_alarms / USUAL_RATE).ln()
}

const BASE: f64 = 13.0;
const PER_LENGTH: f64 = 0.3;
const SHORT: f64 = 300.0;
const LEAST: f64 = 8.0;

/// The rate for which the constants above are.
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
