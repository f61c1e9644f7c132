//! An estimated value with its confidence interval. Most figures that are shown are estimates.

use serde::{Deserialize, Serialize};

/// A median with its confidence interval, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Estimate {
    /// Median of the values.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that such an interval contains the true median, for this number of values: 0…1.
    pub coverage: f64,
    /// Sample size: repeats, not intervals.
    pub n: u32,
}
