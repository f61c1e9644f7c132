//! One execution of a program on a target: inputs and ending.

use crate::keep::{End, Ended};
use crate::lack::Lack;
use crate::network::Attachment;
use crate::system_settings;
use faultline_record::outcome::GuestFailure;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// One execution of a workload's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The workload's name.
    pub workload: String,
    /// Arguments, except for the scratch directory, which the target adds.
    pub arguments: Vec<String>,
    /// Time limit. The program is killed when it is reached.
    pub limit: Duration,
    /// Working directory; ours if `None`. Only this host has a choice.
    pub directory: Option<PathBuf>,
    /// Environment variables for the workload only.
    pub environment: Vec<(String, String)>,
    /// System settings, by the paths of their files (`/proc/sys/…`, `/sys/…`). Each is written
    /// before the workload starts and restored after it ends, for any reason.
    pub system_settings: Vec<(String, String)>,
    /// Attachment to the network. Each kind of target has its own.
    pub attachment: Attachment,
}

impl Execution {
    /// Fails, with a text, for values that an environment variable or a settings file cannot hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in &self.environment {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("{name:?} is not a valid name of an environment variable"));
            }
            if value.contains('\0') {
                return Err(format!("the variable {name} can't hold a NUL character"));
            }
        }
        self.system_settings.iter().try_for_each(|(path, value)| system_settings::check(path, value))
    }
}

/// The result of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// Ending of the execution.
    pub ending: Ending,
    /// The last output of the machine's console, at most 16 KiB; `None` if no machine was booted
    /// for the execution.
    pub console: Option<String>,
}

impl From<Ending> for Executed {
    /// An execution without a console.
    fn from(ending: Ending) -> Self {
        Executed { ending, console: None }
    }
}

/// Ending of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Ended with an exit status.
    Exited {
        /// The exit status.
        status: i32,
        /// Last lines of standard error.
        stderr: String,
    },
    /// Ended by a signal that we did not send.
    Signalled {
        /// The signal's number.
        signal: i32,
        /// Last lines of standard error.
        stderr: String,
    },
    /// Killed at its time limit.
    TimedOut,
    /// Killed because the sink returned `Break`.
    Refused,
    /// Killed because a stop was requested.
    Stopped,
    /// The program never started.
    NotStarted {
        /// The reason.
        text: String,
    },
    /// This host failed, not the program: for example, a disk is full. The program may have ended
    /// in any way.
    LabFailed {
        /// The cause.
        text: String,
    },
    /// The program failed, and this host lacked something that it has again: the host may be the
    /// cause, or the program. A second such ending of the same execution is the program's own.
    AfterLack {
        /// The lack.
        text: String,
        /// The ending without regard to the lack.
        own: Box<Ending>,
    },
    /// A system setting could not be restored. The program may have ended in any way.
    LeftChanged {
        /// The setting and the reason.
        text: String,
    },
    /// The connection to the host was lost, or could not be made again.
    ConnectionLost {
        /// The reason.
        text: String,
    },
    /// The guest failed.
    GuestFailed {
        /// Kind of failure.
        failure: GuestFailure,
        /// Description of the failure.
        text: String,
        /// Last output of the guest's kernel and of the emulator.
        console: String,
    },
}

/// Signal that ends a process whose keeper has died. Its number is 9 on every system.
const SIGKILL: i32 = 9;

/// Shown instead of the last output of a program whose keeper was killed.
const KEEPER_KILLED: &str = "its keeper was killed";

impl From<Ended> for Ending {
    fn from(ended: Ended) -> Self {
        let stderr = ended.stderr;
        if !ended.left.is_empty() {
            return Ending::LeftChanged { text: left_changed(&ended.end, &ended.left) };
        }
        if let Some(Lack { text, is_over: false }) = ended.lack {
            return Ending::LabFailed { text };
        }
        let own = match ended.end {
            End::Exited(status) => Ending::Exited { status, stderr },
            End::Signalled(signal) => Ending::Signalled { signal, stderr },
            End::KeeperKilled => Ending::Signalled { signal: SIGKILL, stderr: KEEPER_KILLED.to_owned() },
            End::NotStarted(text) => Ending::NotStarted { text },
            End::TimedOut => Ending::TimedOut,
            End::Refused => Ending::Refused,
            End::Stopped => Ending::Stopped,
        };
        match ended.lack {
            Some(Lack { text, .. }) => Ending::AfterLack { text, own: Box::new(own) },
            None => own,
        }
    }
}

/// `left`: settings that could not be restored, as texts.
fn left_changed(end: &End, left: &[String]) -> String {
    let left = left.join("; ");
    match end {
        End::NotStarted(text) => format!("{text}; and system settings were not restored: {left}"),
        _ => format!("system settings were not restored after it: {left}"),
    }
}

/// Receives the lines of a workload's output, without line ends, as they arrive. `Break` kills the
/// workload.
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
            directory: None,
            environment: owned(environment),
            system_settings: owned(settings),
            attachment: Attachment::Already,
        };
        execution.check()
    }

    #[test]
    fn what_can_not_be_set_is_refused() {
        assert_eq!(check(&[("A", "b=c\nd"), ("LC_ALL", "")], &[("/proc/sys/vm/x", "1 2")]), Ok(()));
        for name in ["", "A=B", "A\0"] {
            assert!(check(&[(name, "1")], &[]).unwrap_err().contains("is not a valid name of an environment variable"));
        }
        assert!(check(&[("A", "\0")], &[]).unwrap_err().contains("NUL"));
        for (path, value) in [("/sys\n/x", "1"), ("/sys/x", "1\n2"), ("/sys/x", "1\0")] {
            assert!(check(&[], &[(path, value)]).unwrap_err().contains("one line"), "{path}");
        }
    }

    #[test]
    fn a_lack_that_is_over_keeps_the_programs_own_ending() {
        let ended = |lack| Ended {
            end: End::Exited(3),
            stderr: "x".to_owned(),
            left: Vec::new(),
            lack: Some(lack),
            has_room: true,
        };
        let text = "the disk is full".to_owned();
        assert_eq!(Ending::from(ended(Lack::present(text.clone()))), Ending::LabFailed { text: text.clone() });
        let own = Box::new(Ending::Exited { status: 3, stderr: "x".to_owned() });
        assert_eq!(Ending::from(ended(Lack::over(text.clone()))), Ending::AfterLack { text, own });
    }

    #[test]
    fn settings_left_changed_are_reported_for_every_end() {
        let left = vec!["/proc/sys/x can't be set to '1': no".to_owned()];
        for end in [End::Exited(0), End::TimedOut, End::Stopped, End::NotStarted("no keeper".to_owned())] {
            let ended = Ended {
                end,
                stderr: String::new(),
                left: left.clone(),
                lack: Some(Lack::present("space".to_owned())),
                has_room: true,
            };
            let Ending::LeftChanged { text } = ended.into() else { panic!() };
            assert!(text.contains("system settings were not restored") && text.contains(&left[0]), "{text}");
        }
    }
}
