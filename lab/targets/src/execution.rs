//! One execution of a program on a target: what it is given, and how it ended.

use crate::keep::{End, Ended};
use crate::system_settings;
use faultline_model::outcome::GuestFailure;
use std::ops::ControlFlow;
use std::time::Duration;

/// One execution of a workload's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The workload's name.
    pub workload: String,
    /// Its arguments but for the scratch directory, which the target adds.
    pub arguments: Vec<String>,
    /// It is killed when it has not ended after this long.
    pub limit: Duration,
    /// Variables of the environment, for the workload alone.
    pub environment: Vec<(String, String)>,
    /// The system's settings, by the paths of their files (`/proc/sys/…`, `/sys/…`): each is written before the workload begins, and
    /// put back after it has ended, however it ends.
    pub system_settings: Vec<(String, String)>,
}

impl Execution {
    /// Refuses what no environment and no file of a setting can hold. The error is in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in &self.environment {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("{name:?} is no name for a variable of the environment"));
            }
            if value.contains('\0') {
                return Err(format!("the variable {name} can't hold a NUL character"));
            }
        }
        self.system_settings.iter().try_for_each(|(path, value)| system_settings::check(path, value))
    }
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With an exit status.
    Exited {
        /// The status.
        status: i32,
        /// Last lines of its standard error.
        stderr: String,
    },
    /// By a signal that was not ours.
    Signalled {
        /// The signal's number.
        signal: i32,
        /// Last lines of its standard error.
        stderr: String,
    },
    /// Killed at its time limit.
    TimedOut,
    /// Killed because the sink had enough.
    Refused,
    /// Killed because a stop was asked for.
    Stopped,
    /// It never began; or what was set for it could not be put back, and then it counts for nothing, however it ended.
    NotStarted {
        /// Why, in words.
        text: String,
    },
    /// However it ended, a setting of the system could not be put back after it.
    LeftChanged {
        /// Which, and why, in words.
        text: String,
    },
    /// The guest in which it ran failed.
    GuestFailed {
        /// In which way.
        failure: GuestFailure,
        /// What was seen, in words.
        text: String,
        /// The end of what the guest's kernel and the emulator said.
        console: String,
    },
}

/// The signal that ends a process whose keeper is gone; its number is 9 on every system.
const SIGKILL: i32 = 9;

/// What is said in place of the last words of a program whose keeper was killed.
const KEEPER_KILLED: &str = "its keeper was killed";

impl From<Ended> for Ending {
    fn from(ended: Ended) -> Self {
        let stderr = ended.stderr;
        if !ended.left.is_empty() {
            return Ending::LeftChanged { text: left_changed(&ended.end, &ended.left) };
        }
        match ended.end {
            End::Exited(status) => Ending::Exited { status, stderr },
            End::Signalled(signal) => Ending::Signalled { signal, stderr },
            End::KeeperKilled => Ending::Signalled { signal: SIGKILL, stderr: KEEPER_KILLED.to_owned() },
            End::NotStarted(text) => Ending::NotStarted { text },
            End::TimedOut => Ending::TimedOut,
            End::Refused => Ending::Refused,
            End::Stopped => Ending::Stopped,
        }
    }
}

/// `left`: settings that could not be put back, in words.
fn left_changed(end: &End, left: &[String]) -> String {
    let left = left.join("; ");
    match end {
        End::NotStarted(text) => format!("{text}; and the system is left changed: {left}"),
        _ => format!("the system is left changed after it: {left}"),
    }
}

/// Takes the lines of a workload's output, without their ends, as they come; `Break` has the workload killed.
pub type LineSink<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(environment: &[(&str, &str)], settings: &[(&str, &str)]) -> Result<(), String> {
        let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let execution = Execution {
            workload: "x".to_owned(),
            arguments: Vec::new(),
            limit: Duration::ZERO,
            environment: owned(environment),
            system_settings: owned(settings),
        };
        execution.check()
    }

    #[test]
    fn what_can_not_be_set_is_refused() {
        assert_eq!(check(&[("A", "b=c\nd"), ("LC_ALL", "")], &[("/proc/sys/vm/x", "1 2")]), Ok(()));
        for name in ["", "A=B", "A\0"] {
            assert!(check(&[(name, "1")], &[]).unwrap_err().contains("is no name for a variable"));
        }
        assert!(check(&[("A", "\0")], &[]).unwrap_err().contains("NUL"));
        for (path, value) in [("/sys\n/x", "1"), ("/sys/x", "1\n2"), ("/sys/x", "1\0")] {
            assert!(check(&[], &[(path, value)]).unwrap_err().contains("one line"), "{path}");
        }
    }

    #[test]
    fn settings_that_are_left_changed_are_told_whatever_the_end() {
        let left = vec!["/proc/sys/x can't be set to '1': no".to_owned()];
        for end in [End::Exited(0), End::TimedOut, End::Stopped, End::NotStarted("no keeper".to_owned())] {
            let ended = Ended { end, stderr: String::new(), left: left.clone() };
            let Ending::LeftChanged { text } = ended.into() else { panic!() };
            assert!(text.contains("the system is left changed") && text.contains(&left[0]), "{text}");
        }
    }
}
