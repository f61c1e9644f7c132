//! Why a run ended.

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// Every item has ended.
    Finished,
    /// A stop was requested; the rest can be run later.
    Stopped,
    /// A system setting could not be restored, and the text says which. Later executions would be measured with it.
    LeftChanged(String),
    /// The connection to a host was lost, and the text says how; the rest can be run later.
    ConnectionLost(String),
    /// The time budget was used up before these items could start; they are given by ordinal.
    BudgetUsed(Vec<u32>),
}

impl Completion {
    /// Changes it to `other`. A setting that could not be restored stays the reason, whatever comes after it.
    pub(crate) fn change_to(&mut self, other: Completion) {
        if !matches!(self, Completion::LeftChanged(_)) {
            *self = other;
        }
    }
}
