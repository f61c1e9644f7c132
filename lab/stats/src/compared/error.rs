//! Why two sides can't be compared.

use crate::compare::CompareError;

/// Why two sides can't be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ComparedError {
    /// No series of one side goes with one of the other.
    #[error("the sides have nothing in common that can be compared{}", first(.unmatched))]
    NothingInCommon {
        /// What there is, and why it isn't compared.
        unmatched: Vec<String>,
    },
    /// The run has no sides.
    #[error("run {0} is no comparison: it has no sides")]
    NoSides(i64),
    /// The comparison itself refuses.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// The first thing that isn't compared, and why, put behind a message.
fn first(unmatched: &[String]) -> String {
    unmatched.first().map_or_else(String::new, |first| format!(": {first}"))
}
