//! Why an execution gave no figure.

use super::outcome;
use faultline_model::failure::{Failure, FailureCause};

/// One line with the repeat: `repeat 2: no end within its limit of 4.0 s; killed`.
pub(crate) fn failure(failure: &Failure) -> String {
    let cause = cause(&failure.cause);
    match failure.block {
        Some(block) => format!("repeat {}: {cause}", u64::from(block) + 1),
        None => cause,
    }
}

/// One line without the repeat.
pub(crate) fn cause(cause: &FailureCause) -> String {
    match cause {
        FailureCause::Ended { outcome: ended } => outcome(ended),
        FailureCause::NoFigure => "done, but without a usable figure".to_owned(),
        FailureCause::NoOperation => "done, but without any operation".to_owned(),
        FailureCause::NoReport => "done, but the lens left no report".to_owned(),
        FailureCause::Told { words } => words.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::outcome::Outcome;

    #[test]
    fn a_failure_has_its_repeat_in_words() {
        let cause = FailureCause::Ended { outcome: Outcome::TimedOut { limit_ms: 1500 } };
        let timed_out = Failure { block: Some(0), cause };
        assert_eq!(failure(&timed_out), "repeat 1: no end within its limit of 1.5 s; killed");
        let told = Failure { block: None, cause: FailureCause::Told { words: "hung".to_owned() } };
        assert_eq!(failure(&told), "hung");
    }
}
