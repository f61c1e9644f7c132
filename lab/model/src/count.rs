//! What the lens counts of a program, where one count is followed.

use crate::lens::raw::Totals;
use serde::{Deserialize, Serialize};

/// A count of the lens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Count {
    /// Instructions that were executed.
    Instructions,
    /// Transfers of cache lines between CPUs.
    Transfers,
}

impl Count {
    /// Its word, in files and in output.
    pub fn word(self) -> &'static str {
        match self {
            Count::Instructions => "instructions",
            Count::Transfers => "transfers",
        }
    }

    /// This count of all CPUs.
    pub fn of(self, totals: &Totals) -> u64 {
        match self {
            Count::Instructions => totals.instructions,
            Count::Transfers => totals.transfers,
        }
    }
}
