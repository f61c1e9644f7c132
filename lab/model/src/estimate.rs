//! An estimated value with its confidence interval: what most figures that are shown consist of.

use serde::{Deserialize, Serialize};

/// A median with an interval. The unit is that of what was estimated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Estimate {
    /// Median of the values.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability with which such an interval covers the true median, for this number of values: 0…1.
    pub coverage: f64,
    /// How many values stand behind it: repeats, not intervals.
    pub n: u32,
}
