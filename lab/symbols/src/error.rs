//! Why names cannot be found, as one line for people and a hint.

/// A source of names that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SymbolError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: &'static str,
}

impl SymbolError {
    pub(crate) fn new(problem: impl Into<String>, hint: &'static str) -> Self {
        SymbolError { problem: problem.into(), hint }
    }
}
