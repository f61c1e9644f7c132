//! Why a gate has no figure to check.

use faultline_model::failure::Failure;
use faultline_model::lens::gate::NoFigure;

/// A line without the cell.
pub(crate) fn no_figure(reason: &NoFigure) -> String {
    match reason {
        NoFigure::NoSuchCell => "the run has no such case at that number of CPUs".to_owned(),
        NoFigure::NotRun => "it was not run".to_owned(),
        NoFigure::AllFailed { failures } => causes(failures),
        NoFigure::SomeFailed { failures } => format!("an attempt failed: {}", causes(failures)),
        NoFigure::CountedTooLittle { problem } => problem.text.clone(),
    }
}

fn causes(failures: &[Failure]) -> String {
    failures.iter().map(|failure| failure.cause.to_string()).collect::<Vec<_>>().join("; ")
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
