//! Why what a kernel allocated has no names in a reading.

use serde::{Deserialize, Serialize};

/// Why allocated structures have no names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Untyped {
    /// The guest's memory was not read at the end of the counted part.
    NotRead,
    /// The kernel's image is not in memory where its symbols say.
    KernelNotFound,
    /// The kernel has no BTF.
    NoTypes,
    /// Its BTF cannot be read.
    BadTypes {
        /// Why, in words.
        problem: String,
    },
    /// Its records of pages are unlike those of the kernels that are known.
    OtherLayout,
}
