//! Two commits of a history, compared.

use crate::comparison::Comparison;
use crate::lens::comparison::CellComparison;
use crate::subject::SubjectIndex;

/// Two measured commits of a history, compared by what their runs recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCommits {
    /// What each is in the run that measured it.
    pub subjects: [SubjectIndex; 2],
    /// The comparison.
    pub values: ComparedValues,
}

/// A comparison of times, or of counts.
#[derive(Debug, Clone, PartialEq)]
pub enum ComparedValues {
    /// By the statistics of two samples, with counters and further figures.
    Timed(Box<Comparison>),
    /// Exact counts, with the lines and the code whose transfers differ.
    Counted(Box<CellComparison>),
}
