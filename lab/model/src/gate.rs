//! What a gate makes of a comparison: open, unless a workload is slower by more than the margin, was not compared, or is inconclusive.

use crate::comparison::{ComparedWorkload, Comparison};
use crate::said::Said;
use crate::unmatched::Unmatched;
use crate::workload_comparison::Answer;

/// What an inconclusive workload does to a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenInconclusive {
    /// It closes it.
    #[default]
    Fail,
    /// It passes, and is noted.
    Pass,
}

/// What a gate found of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate<'a> {
    /// What closes it; empty if it is open.
    pub closed_by: Vec<Finding<'a>>,
    /// What passes, and is worth knowing.
    pub noted: Vec<Finding<'a>>,
}

/// Something that a gate found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding<'a> {
    /// The second side is worse, and it isn't shown that it is so within the margin.
    Slower(&'a ComparedWorkload),
    /// The second side is worse, within the margin.
    SlowerWithinMargin(&'a ComparedWorkload),
    /// Neither a difference nor equality was shown.
    Inconclusive(&'a ComparedWorkload),
    /// It isn't compared.
    Unmatched(&'a Said<Unmatched>),
}

impl<'a> Gate<'a> {
    /// Holds a comparison to it.
    pub fn of(comparison: &'a Comparison, when_inconclusive: WhenInconclusive) -> Self {
        let answers = comparison.workloads.iter().filter_map(finding);
        let unmatched = comparison.unmatched.iter().map(Finding::Unmatched);
        let (closed_by, noted) = answers.chain(unmatched).partition(|found| found.closes(when_inconclusive));
        Gate { closed_by, noted }
    }

    /// Whether it lets the comparison pass.
    pub fn is_open(&self) -> bool {
        self.closed_by.is_empty()
    }
}

fn finding(workload: &ComparedWorkload) -> Option<Finding<'_>> {
    match workload.comparison.answer {
        Answer::Faster | Answer::Equal => None,
        Answer::Slower if workload.comparison.within_margin => Some(Finding::SlowerWithinMargin(workload)),
        Answer::Slower => Some(Finding::Slower(workload)),
        Answer::Inconclusive => Some(Finding::Inconclusive(workload)),
    }
}

impl Finding<'_> {
    fn closes(&self, when_inconclusive: WhenInconclusive) -> bool {
        match self {
            Finding::Slower(_) | Finding::Unmatched(_) => true,
            Finding::SlowerWithinMargin(_) => false,
            Finding::Inconclusive(_) => when_inconclusive == WhenInconclusive::Fail,
        }
    }
}
