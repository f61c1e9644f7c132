//! Why a gate has no figure to check.

use super::{cause, no_names, problem};
use faultline_model::failure::Failure;
use faultline_model::lens::comparison::WhyUnmatched;
use faultline_model::lens::gate::NoFigure;

/// A line without the cell.
pub(crate) fn no_figure(reason: &NoFigure) -> String {
    match reason {
        NoFigure::NoSuchCell => "the run has no such case at that number of CPUs".to_owned(),
        NoFigure::NoTypes { why: None } => "the run was not counted by type; an older version counted it".to_owned(),
        NoFigure::NoTypes { why: Some(why) } => no_names(why),
        NoFigure::NotOfTypes => "instructions are not counted by type".to_owned(),
        NoFigure::NotRun => "it was not run".to_owned(),
        NoFigure::AllFailed { failures } => causes(failures),
        NoFigure::SomeFailed { failures } => format!("an attempt failed: {}", causes(failures)),
        NoFigure::Unlike { why } => unmatched_by_lens(why),
        NoFigure::CountedTooLittle { problem: reason } => problem(reason),
    }
}

/// Why a cell of two lens runs is not compared.
pub(crate) fn unmatched_by_lens(why: &WhyUnmatched) -> String {
    match why {
        WhyUnmatched::NoCounts { missing_in } => format!("run {missing_in} has no counts of it"),
        WhyUnmatched::OtherOperation { a, b } => {
            format!("not compared: an operation is a {a} in the first run, a {b} in the second")
        }
        WhyUnmatched::InterruptsApart { only_in } => {
            format!("not compared: only run {only_in} counts interrupts apart; the other includes them")
        }
    }
}

fn causes(failures: &[Failure]) -> String {
    failures.iter().map(|failure| cause(&failure.cause)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::failure::FailureCause;
    use faultline_model::outcome::Outcome;

    #[test]
    fn failures_are_told_by_their_causes() {
        let timed_out = FailureCause::Ended { outcome: Outcome::TimedOut { limit_ms: 1000 } };
        let failures = vec![
            Failure { block: Some(0), cause: timed_out },
            Failure { block: Some(1), cause: FailureCause::NoReport },
        ];
        let causes = "no end within its limit of 1.0 s; killed; done, but the lens left no report";
        assert_eq!(no_figure(&NoFigure::AllFailed { failures: failures.clone() }), causes);
        assert_eq!(no_figure(&NoFigure::SomeFailed { failures }), format!("an attempt failed: {causes}"));
    }
}
