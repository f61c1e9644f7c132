//! The outcome of an attempt at a planned item. A failure of what is measured is a recorded result
//! and does not end the run. A failure of the lab is recorded too, but ends the run and leaves the
//! item open.

use crate::role::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// Success: all planned samples exist.
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
    /// This machine does not support the request.
    Unsupported {
        /// The step that detected the missing support.
        step: String,
        /// The reason, in words.
        text: String,
    },
    /// The attempt exceeded its time limit and was killed.
    TimedOut {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// The workload was ended by a signal.
    Crashed {
        /// The signal's number.
        signal: i32,
        /// The last lines of the workload's standard error.
        stderr: String,
    },
    /// The workload ended with a status that its output does not explain.
    Exited {
        /// The exit status.
        status: i32,
        /// The last lines of the workload's standard error.
        stderr: String,
    },
    /// The workload's output is not in the format, or is truncated.
    Rubbish {
        /// Line number from 1.
        line: u64,
        /// The problem of that line.
        problem: String,
    },
    /// The workload could not be started.
    NotStarted {
        /// The reason, in words.
        text: String,
    },
    /// The lab failed, not the measured program: for example, a disk is full, or a workload is
    /// missing. The attempt may have ended in any way.
    LabFailed {
        /// The cause, in words.
        text: String,
    },
    /// A system setting could not be restored after the attempt, which may have ended in any way.
    LeftChanged {
        /// The setting and the reason, in words.
        text: String,
    },
    /// The connection to the attempt's host was lost, or could not be restored. The attempt may
    /// have ended in any way.
    ConnectionLost {
        /// The reason, in words.
        text: String,
    },
    /// The attempt's guest failed.
    GuestFailed {
        /// Kind of failure.
        how: GuestFailure,
        /// The observation, in words.
        text: String,
        /// The last output of the guest's kernel and of the emulator.
        console: String,
    },
    /// The attempt succeeded, but nothing was counted.
    NotCounted {
        /// The reason.
        #[serde(flatten)]
        why: Uncounted,
    },
    /// The emulator does not translate an instruction of a commit's program, which ended it.
    NotTranslated {
        /// The instruction and a remedy, in words.
        text: String,
    },
    /// A partner failed before the measured execution ended. The measured execution was then
    /// stopped, or never started.
    PartnerFailed {
        /// The partner's role.
        role: Role,
        /// The partner's outcome.
        outcome: Box<Outcome>,
    },
    /// The run was stopped, or its process killed, during this attempt. The attempt's samples do
    /// not count.
    Interrupted,
}

impl Outcome {
    /// The last output of the program or the guest's console, if it was saved.
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

/// Reason why nothing was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ts_rs::TS)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Uncounted {
    /// The workload did no operation.
    NoOperation,
    /// The program executed no begin mark.
    NoMark,
    /// A system without Faultline's agent executed no begin mark.
    NoMarkInMachine,
    /// The lens's report is missing, or cannot be used.
    NoReport {
        /// The problem of the report.
        problem: String,
    },
}

/// Kind of failure of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray, JsonSchema, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum GuestFailure {
    /// The guest did not boot.
    NotBooted,
    /// The guest's kernel panicked.
    Panicked,
    /// The guest booted, and did not end within the time limit.
    Hung,
    /// The guest ended before it reported the workload's outcome.
    Lost,
}

impl GuestFailure {
    /// Every kind.
    pub const ALL: &'static [GuestFailure] = <GuestFailure as VariantArray>::VARIANTS;
}

impl Outcome {
    /// True if the item need not run again, because the attempt ended by itself. Not final:
    /// interrupted attempts, those that left the system changed, those whose connection was lost,
    /// and failures of the lab; also if a partner's outcome is one of these.
    pub fn is_final(&self) -> bool {
        match self {
            Outcome::Interrupted
            | Outcome::LabFailed { .. }
            | Outcome::LeftChanged { .. }
            | Outcome::ConnectionLost { .. } => false,
            Outcome::PartnerFailed { outcome, .. } => outcome.is_final(),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_lab_is_no_result_even_if_a_partner_had_it() {
        let text = || "x".to_owned();
        let of_partner =
            |outcome| Outcome::PartnerFailed { role: "receiver".parse().unwrap(), outcome: Box::new(outcome) };
        for outcome in [Outcome::LabFailed { text: text() }, Outcome::ConnectionLost { text: text() }] {
            assert!(!outcome.is_final() && !of_partner(outcome).is_final());
        }
        assert!(of_partner(Outcome::NotStarted { text: text() }).is_final());
    }

    #[test]
    fn the_reason_why_nothing_was_counted_is_data() {
        let read = |json: &str| serde_json::from_str::<Outcome>(json).unwrap();
        let outcome = Outcome::NotCounted { why: Uncounted::NoMark };
        let json = serde_json::to_string(&outcome).unwrap();
        assert_eq!(json, r#"{"kind":"not_counted","why":"no-mark"}"#);
        assert_eq!(read(&json), outcome);
    }
}
