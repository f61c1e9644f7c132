//! How an attempt to run a planned item ended. Every way of failing is a recorded result, not the end of a run.

use crate::role::Role;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::VariantArray;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// All planned samples are there.
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
    /// This machine can't do what was asked.
    Unsupported {
        /// The step that found out.
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
    /// It printed what is not in the format, or stopped in the middle.
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
    /// However it ended, a setting of the system could not be put back after it.
    LeftChanged {
        /// Which, and why, in words.
        text: String,
    },
    /// The guest in which it ran failed, whatever the workload did.
    GuestFailed {
        /// In which way.
        how: GuestFailure,
        /// What was seen, in words.
        text: String,
        /// The end of what the guest's kernel and the emulator said.
        console: String,
    },
    /// It ended well, but what was to be counted wasn't.
    NotCounted {
        /// Why, in words.
        text: String,
    },
    /// A partner failed before the measured execution ended, which was stopped then, or never started.
    PartnerFailed {
        /// The partner's role.
        role: Role,
        /// How the partner ended.
        outcome: Box<Outcome>,
    },
    /// The run was stopped, or its process killed, while this attempt was under way; its samples don't count.
    Interrupted,
}

/// How a guest can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GuestFailure {
    /// It did not come up.
    NotBooted,
    /// Its kernel panicked.
    Panicked,
    /// It came up, and did not end within the time limit.
    Hung,
    /// It ended before it told how the workload ended.
    Lost,
}

impl GuestFailure {
    /// Every way.
    pub const ALL: &'static [GuestFailure] = <GuestFailure as VariantArray>::VARIANTS;
}

impl Outcome {
    /// Whether the item need not be run again: it ended by itself, well or not. Open is what was interrupted, or left the system changed.
    pub fn is_final(&self) -> bool {
        !matches!(self, Outcome::Interrupted | Outcome::LeftChanged { .. })
    }

    /// Whether it ended, and neither well nor because this machine can't do what was asked.
    pub fn is_failure(&self) -> bool {
        !matches!(self, Outcome::Done | Outcome::Unsupported { .. } | Outcome::Interrupted)
    }
}

/// How many attempts ended in which way. What is under way is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// All planned samples are there.
    pub done: u32,
    /// The machine can't do what was asked.
    pub unsupported: u32,
    /// [`Outcome::is_failure`].
    pub failed: u32,
    /// The run was stopped, or its process killed.
    pub interrupted: u32,
}

/// One line for people, without the name of the cell.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done => f.write_str("done"),
            Outcome::Failed { step, text, .. } => write!(f, "{step}: {text}"),
            Outcome::Unsupported { step, text } => write!(f, "unsupported here: {step}: {text}"),
            Outcome::TimedOut { limit_ms } => {
                write!(f, "no end within its limit of {:.1} s; killed", *limit_ms as f64 / 1000.0)
            }
            Outcome::Crashed { signal, stderr } => write!(f, "ended by signal {signal}{}", said(stderr)),
            Outcome::Exited { status, stderr } => write!(f, "exit status {status}{}", said(stderr)),
            Outcome::Rubbish { line, problem } => write!(f, "unreadable output, line {line}: {problem}"),
            Outcome::NotStarted { text } => write!(f, "could not be started: {text}"),
            Outcome::LeftChanged { text } | Outcome::GuestFailed { text, .. } => f.write_str(text),
            Outcome::NotCounted { text } => write!(f, "not counted: {text}"),
            Outcome::PartnerFailed { role, outcome } => write!(f, "partner {role} failed: {outcome}"),
            Outcome::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// The first line of a standard error that has something on it, put behind a message: what went wrong comes before hints.
fn said(stderr: &str) -> String {
    match stderr.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}
