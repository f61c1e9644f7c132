//! Why the lens counted less than was asked for.

use faultline_model::lens::problem::Problem;

/// What is amiss, and what can be done about it.
pub(crate) fn problem(problem: &Problem) -> String {
    match problem {
        Problem::NoMark => NO_MARK.to_owned(),
        Problem::LeftProcesses => "processes that the program started went on after it; they were killed".to_owned(),
        Problem::NoMappings { reason } => format!("names may be missing: {reason}"),
        Problem::Older { words, .. } => words.clone(),
    }
}

/// That nothing was counted, for lack of a mark.
pub(super) const NO_MARK: &str =
    "the program executed no begin mark, so nothing was counted; `lens program --whole` counts all of a run";
