//! Result of a gate. A comparison's gate is open unless a workload is slower by more than the
//! margin, was not compared, had failures, or is inconclusive. Scaling laws never close it.

use crate::comparison::{ComparedWorkload, Comparison};
use crate::said::Said;
use crate::unmatched::{Unmatched, UnmatchedReason};
use crate::workload_comparison::{Answer, Inconclusive};
use faultline_record::plan::WhenInconclusive;

/// Result of a gate on a comparison, or on a search along a line of commits
/// ([`crate::bisect::gate`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Gate<F> {
    /// Findings that close it; empty if it is open.
    pub closed_by: Vec<F>,
    /// Findings worth knowing that do not close it.
    pub noted: Vec<F>,
}

impl<F> Gate<F> {
    /// True if the result passes.
    pub fn is_open(&self) -> bool {
        self.closed_by.is_empty()
    }
}

/// A gate's finding about a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding<'a> {
    /// The second side is worse, and not shown to be within the margin.
    Slower(&'a ComparedWorkload),
    /// The second side is worse, within the margin.
    SlowerWithinMargin(&'a ComparedWorkload),
    /// Neither a difference nor equality was shown.
    Inconclusive(&'a ComparedWorkload),
    /// The workload was not compared. If only the scaling law could not be fitted, the gate stays
    /// open, because the workloads are compared.
    Unmatched(&'a Said<Unmatched>),
}

impl<'a> Gate<Finding<'a>> {
    /// Applies the gate to a comparison.
    pub fn of_comparison(comparison: &'a Comparison, when_inconclusive: WhenInconclusive) -> Self {
        let answers = comparison.workloads.iter().filter_map(finding);
        let unmatched = comparison.unmatched.iter().map(Finding::Unmatched);
        let (closed_by, noted) = answers.chain(unmatched).partition(|found| found.closes(when_inconclusive));
        Gate { closed_by, noted }
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
            Finding::Slower(_) => true,
            Finding::Unmatched(unmatched) => !matches!(unmatched.reason, UnmatchedReason::NoLaw { .. }),
            Finding::SlowerWithinMargin(_) => false,
            Finding::Inconclusive(workload) => {
                when_inconclusive == WhenInconclusive::Fail
                    || workload.comparison.inconclusive == Some(Inconclusive::Failures)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Described;
    use crate::scaling::FitError;
    use crate::unmatched::Letter;

    fn leaving_out(reasons: Vec<UnmatchedReason>) -> Comparison {
        let side = || Described { name: String::new(), setup: Vec::new(), run: None, started: None, machine: None };
        let left_out = |reason| Unmatched { name: "x".to_owned(), tasks: None, measure: None, reason }.into();
        Comparison {
            format: Comparison::FORMAT.to_owned(),
            a: side(),
            b: side(),
            level: 0.95,
            seed: 1,
            resamples: 0,
            workloads: Vec::new(),
            improvement: None,
            scaling: Vec::new(),
            facts: Vec::new(),
            untested: Vec::new(),
            sequential: None,
            unmatched: reasons.into_iter().map(left_out).collect(),
        }
    }

    #[test]
    fn a_case_without_a_scaling_law_is_noted_and_one_that_is_not_compared_closes_the_gate() {
        let no_law = || UnmatchedReason::NoLaw { why: FitError::Unsettled };
        let one_side = UnmatchedReason::OneSideOnly { side: Letter::B };
        let compared = leaving_out(vec![no_law()]);
        let gate = Gate::of_comparison(&compared, WhenInconclusive::Fail);
        assert!(gate.is_open());
        assert_eq!(gate.noted, [Finding::Unmatched(&compared.unmatched[0])]);
        let compared = leaving_out(vec![no_law(), one_side]);
        let gate = Gate::of_comparison(&compared, WhenInconclusive::Pass);
        assert_eq!(gate.closed_by, [Finding::Unmatched(&compared.unmatched[1])]);
    }
}
