//! How an attempt ended.

use super::problem::NO_MARK;
use faultline_model::outcome::{Outcome, Uncounted};

/// One line, without the name of the cell.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done => "done".to_owned(),
        Outcome::Failed { step, text, .. } => format!("{step}: {text}"),
        Outcome::Unsupported { step, text } => format!("unsupported here: {step}: {text}"),
        Outcome::TimedOut { limit_ms } => {
            format!("no end within its limit of {:.1} s; killed", *limit_ms as f64 / 1000.0)
        }
        Outcome::Crashed { signal, stderr } => format!("ended by signal {signal}{}", said(stderr)),
        Outcome::Exited { status, stderr } => format!("exit status {status}{}", said(stderr)),
        Outcome::Rubbish { line, problem } => format!("unreadable output, line {line}: {problem}"),
        Outcome::NotStarted { text } => format!("could not be started: {text}"),
        Outcome::LeftChanged { text } | Outcome::ConnectionLost { text } | Outcome::GuestFailed { text, .. } => {
            text.clone()
        }
        Outcome::NotCounted { why } => format!("not counted: {}", uncounted(why)),
        Outcome::PartnerFailed { role, outcome: partner } => {
            format!("partner {role} failed: {}", self::outcome(partner))
        }
        Outcome::Interrupted => "interrupted".to_owned(),
    }
}

fn uncounted(why: &Uncounted) -> &str {
    match why {
        Uncounted::NoOperation => "it did no operation",
        Uncounted::NoMark => NO_MARK,
        Uncounted::NoReport { problem } => problem,
        Uncounted::Older { text } => text,
    }
}

/// The first non-empty line of a standard error, appended to a message: the error comes before hints.
fn said(stderr: &str) -> String {
    match stderr.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_partner_said_first_is_cited() {
        let exited = Outcome::Exited { status: 3, stderr: "\n no room \nhint: buy more\n".to_owned() };
        assert_eq!(outcome(&exited), "exit status 3: no room");
        let role = "receiver".parse().unwrap();
        let failed = Outcome::PartnerFailed { role, outcome: Box::new(exited) };
        assert_eq!(outcome(&failed), "partner receiver failed: exit status 3: no room");
    }

    #[test]
    fn what_an_older_version_recorded_in_words_is_said_in_them() {
        let not_counted = |why| outcome(&Outcome::NotCounted { why });
        assert_eq!(not_counted(Uncounted::NoOperation), "not counted: it did no operation");
        assert!(not_counted(Uncounted::NoMark).contains("`lens program --whole`"));
        assert_eq!(not_counted(Uncounted::Older { text: "it is gone".to_owned() }), "not counted: it is gone");
    }
}
