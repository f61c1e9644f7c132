//! How an attempt to run a planned item ended. Every kind of failure is a recorded result, not the end of a run.

use crate::role::Role;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded: all planned samples are there.
    Done,
    /// A system call of the workload failed.
    Failed {
        /// The call or step.
        step: String,
        /// The operating system's error number.
        errno: i64,
        /// The error in words.
        text: String,
    },
    /// This machine does not support what was asked for.
    Unsupported {
        /// The step that found this out.
        step: String,
        /// Why, in words.
        text: String,
    },
    /// It did not end within its time limit and was killed.
    TimedOut {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// A signal ended it.
    Crashed {
        /// The signal's number.
        signal: i32,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// It ended with a status that its output does not explain.
    Exited {
        /// The exit status.
        status: i32,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// Its output is not in the format, or stops in the middle.
    Rubbish {
        /// Line number from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// It could not be started.
    NotStarted {
        /// Why, in words.
        text: String,
    },
    /// A system setting could not be restored after it. It may have ended in any way.
    LeftChanged {
        /// Which setting, and why, in words.
        text: String,
    },
    /// The connection to the host on which it ran was lost, or could not be made again. It may have ended in any way.
    ConnectionLost {
        /// Why, in words.
        text: String,
    },
    /// The guest in which it ran failed.
    GuestFailed {
        /// How the guest failed.
        how: GuestFailure,
        /// What was observed, in words.
        text: String,
        /// The last output of the guest's kernel and of the emulator.
        console: String,
    },
    /// It succeeded, but nothing was counted.
    NotCounted {
        /// Why.
        #[serde(flatten)]
        why: Uncounted,
    },
    /// A partner failed before the measured execution ended. The measured execution was then stopped, or never started.
    PartnerFailed {
        /// The partner's role.
        role: Role,
        /// How the partner ended.
        outcome: Box<Outcome>,
    },
    /// The run was stopped, or its process killed, during this attempt. Its samples do not count.
    Interrupted,
}

impl Outcome {
    /// What the program, or the guest's console, printed last, if it was kept.
    pub fn last_output(&self) -> Option<&str> {
        match self {
            Outcome::Crashed { stderr, .. } | Outcome::Exited { stderr, .. } => Some(stderr.as_str()),
            Outcome::GuestFailed { console, .. } => Some(console.as_str()),
            Outcome::PartnerFailed { outcome, .. } => outcome.last_output(),
            _ => None,
        }
        .filter(|text: &&str| !text.trim().is_empty())
    }
}

/// Why nothing was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Uncounted {
    /// It did no operation.
    NoOperation,
    /// It executed no begin mark.
    NoMark,
    /// The lens's report is missing, or cannot be used.
    NoReport {
        /// What is wrong with it.
        problem: String,
    },
    /// Recorded by an older version, as a sentence.
    #[serde(untagged)]
    #[cfg_attr(feature = "typescript", ts(untagged, type = "{ text: string }"))]
    Older {
        /// The sentence.
        text: String,
    },
}

/// How a guest can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GuestFailure {
    /// It did not boot.
    NotBooted,
    /// Its kernel panicked.
    Panicked,
    /// It booted, and did not end within the time limit.
    Hung,
    /// It ended before it reported how the workload ended.
    Lost,
}

impl GuestFailure {
    /// Every kind.
    pub const ALL: &'static [GuestFailure] = <GuestFailure as VariantArray>::VARIANTS;
}

impl Outcome {
    /// Whether the item need not be run again: the attempt ended by itself. Interrupted attempts, those that left the system changed, and those whose
    /// connection was lost are not final.
    pub fn is_final(&self) -> bool {
        !matches!(self, Outcome::Interrupted | Outcome::LeftChanged { .. } | Outcome::ConnectionLost { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_nothing_was_counted_is_data_and_the_sentence_of_an_older_version_is_read() {
        let read = |json: &str| serde_json::from_str::<Outcome>(json).unwrap();
        let outcome = Outcome::NotCounted { why: Uncounted::NoMark };
        let json = serde_json::to_string(&outcome).unwrap();
        assert_eq!(json, r#"{"kind":"not_counted","why":"no-mark"}"#);
        assert_eq!(read(&json), outcome);
        let why = Uncounted::Older { text: "it did no operation".to_owned() };
        assert_eq!(read(r#"{"kind":"not_counted","text":"it did no operation"}"#), Outcome::NotCounted { why });
    }
}
