//! Callers of a sample of the transfers, with names: for example, the function that took a lock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A function in the call stack of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The function; `None` for an unknown address.
    pub function: Option<String>,
    /// Source file and line there, the file without its directories: `mm.c:12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// True for a function that was inlined into the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inlined: bool,
}

/// A chain of callers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// Indices of the functions in [`Callers::frames`]: first the one that caused the transfer,
    /// then its callers.
    pub frames: Vec<u32>,
    /// True for a chain up to the beginning of the thread, or to the kernel's entry. Otherwise
    /// further callers are not known.
    pub is_whole: bool,
    /// Address of the moved line's first byte; `None` if the line is not saved.
    pub line: Option<u64>,
}

/// Callers of a sample of the transfers, without those of interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Callers {
    /// Number of transfers from which the sample was taken: all.
    pub transfers: u64,
    /// Number of transfers in the sample.
    pub samples: u64,
    /// Sampling interval: one in this many transfers belongs to the sample, chosen by a hash of its
    /// number.
    pub one_in: u64,
    /// Functions, without repetition.
    pub frames: Vec<Frame>,
    /// Chains without repetition, with their numbers of samples, most first.
    pub chains: Vec<(Chain, u64)>,
}

/// A function in a figure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct FrameFigures {
    /// The function's name; `None` for an unknown address.
    pub name: Option<String>,
    /// True for a function that was inlined into its caller.
    pub is_inlined: bool,
}

impl FrameFigures {
    /// The name in outputs.
    pub fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or("[unknown]")
    }
}

/// Samples with one chain of callers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct ChainFigures {
    /// Indices of the functions in [`CallersFigures::frames`]: first the one that caused the
    /// transfer, then its callers.
    pub frames: Vec<u32>,
    /// True if the last function has no caller. Otherwise further callers are not known.
    pub is_whole: bool,
    /// Number of samples.
    pub samples: u64,
}

/// Callers that moved a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct LineCallers {
    /// Name of the data at which most transfers of the line began.
    pub name: String,
    /// The line's address, as hexadecimal text.
    pub address: String,
    /// Number of samples of the line's transfers.
    pub samples: u64,
    /// Chains with the most samples.
    pub chains: Vec<ChainFigures>,
}

/// Callers of a point's transfers, in the repeat whose lines are shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
pub struct CallersFigures {
    /// Number of transfers from which the sample was taken: all but those of interrupts.
    pub transfers: u64,
    /// Number of transfers in the sample.
    pub samples: u64,
    /// Sampling interval: one in this many transfers belongs to the sample.
    pub one_in: u64,
    /// Share of the samples whose callers are all known: 0…1.
    pub whole_share: f64,
    /// Functions, without repetition.
    pub frames: Vec<FrameFigures>,
    /// All chains, without repetition, most samples first.
    pub chains: Vec<ChainFigures>,
    /// Chains of the top lines that have samples.
    pub lines: Vec<LineCallers>,
}
