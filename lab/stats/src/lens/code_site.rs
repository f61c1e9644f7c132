//! Code that moves lines, for display. Computed by `stats`, shown by `report`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Code that moves lines: all instructions of one code location.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CodeSite {
    /// Function and source line if known, otherwise function, otherwise address. Inlined code of a
    /// standard library has the name of the program's own line around it.
    pub name: String,
    /// Function and source line of that library code; `None` for other code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The function with a symbol that this one was inlined into.
    pub inlined_into: Option<String>,
    /// The functions in between, the innermost first.
    pub between: Vec<String>,
    /// Transfers per operation.
    pub transfers: f64,
    /// Share of all transfers in this table: 0…1.
    pub share: f64,
    /// Share of its own transfers due to false sharing: 0…1; `None` for the code of one line, where
    /// it is unknown.
    pub false_share: Option<f64>,
}
