//! The callers of a sample of the transfers, with names: who took the lock.

use serde::{Deserialize, Serialize};

/// A function on the way to a transfer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function; `None` if nothing is known about the address.
    pub function: Option<String>,
    /// Source file and line there, the file without its directories: `mm.c:12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// It was inlined into the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inlined: bool,
}

/// A chain of callers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Chain {
    /// The functions, by their places in [`Callers::frames`]: first the one that caused the transfer, then its callers.
    pub frames: Vec<u32>,
    /// It reaches the beginning of the thread, or the kernel's entry. Otherwise further callers are not known.
    pub is_whole: bool,
    /// The first byte of the line that moved, if it is one of the lines that are saved.
    pub line: Option<u64>,
}

/// The callers of a sample of the transfers, without those of interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callers {
    /// Transfers from which the sample was taken: all.
    pub transfers: u64,
    /// Transfers in the sample.
    pub samples: u64,
    /// One in so many transfers belongs to the sample, chosen by a hash of its number.
    pub one_in: u64,
    /// Functions, each once.
    pub frames: Vec<Frame>,
    /// Chains, each once, with the number of samples; the most first.
    pub chains: Vec<(Chain, u64)>,
}

/// A function in a figure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FrameFigures {
    /// Its name; `None` if nothing is known about the address.
    pub name: Option<String>,
    /// It was inlined into its caller.
    pub is_inlined: bool,
}

impl FrameFigures {
    /// The name, as it is shown.
    pub fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or("[unknown]")
    }
}

/// Samples with one chain of callers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ChainFigures {
    /// The functions, by their places in [`CallersFigures::frames`]: first the one that caused the transfer, then its callers.
    pub frames: Vec<u32>,
    /// The last one has no caller. Otherwise further callers are not known.
    pub is_whole: bool,
    /// Samples.
    pub samples: u64,
}

/// The callers that moved a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LineCallers {
    /// What the line holds where most transfers began.
    pub name: String,
    /// Its address, as hexadecimal text.
    pub address: String,
    /// Samples of its transfers.
    pub samples: u64,
    /// The chains with the most samples.
    pub chains: Vec<ChainFigures>,
}

/// The callers of the transfers of a point: of the repeat whose lines are shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CallersFigures {
    /// Transfers from which the sample was taken: all but those of interrupts.
    pub transfers: u64,
    /// Transfers in the sample.
    pub samples: u64,
    /// One in so many transfers belongs to the sample.
    pub one_in: u64,
    /// Share of the samples whose callers are all known: 0…1.
    pub whole_share: f64,
    /// Functions, each once.
    pub frames: Vec<FrameFigures>,
    /// All chains, each once, the most samples first.
    pub chains: Vec<ChainFigures>,
    /// The chains of the top lines of which there are samples.
    pub lines: Vec<LineCallers>,
}
