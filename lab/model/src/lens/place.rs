//! Code that moves lines, as it is shown. Computed by `stats`, shown by `report`.

use serde::{Deserialize, Serialize};

/// Code that moves lines: all instructions of one place together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Place {
    /// Function and source line if known, else function, else address.
    pub name: String,
    /// The function that this one was inlined into, and so on up to the one that has a symbol.
    pub inlined_into: Option<String>,
    /// The functions in between, the innermost first.
    #[serde(default)]
    pub between: Vec<String>,
    /// Transfers per operation.
    pub transfers: f64,
    /// Share of all transfers there: 0…1.
    pub share: f64,
    /// Share of its own transfers that is false sharing: 0…1; `None` for the code of one line, where it is not known.
    pub false_share: Option<f64>,
}
