//! How a shell of the system is reached: by OpenSSH's client, by the program that contains the system, or at its serial console.

use super::client::{self, Emulated, REMOTE_COMMAND};
use super::complaint::{self, Failed, NotConnected, Why};
use super::runsc::Runsc;
use super::serial::SerialLine;
use super::session::{InDirectory, Session, Start};
use crate::host::HostPaths;
use crate::keep::Deadline;
use crate::{StopFlag, TargetError};
use faultline_model::machine::SshHost;
use std::ffi::OsString;
use std::path::PathBuf;

/// A way to a shell of the system.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// OpenSSH's client logs in.
    Ssh {
        /// Where, and how.
        host: SshHost,
        /// The client's program.
        client: PathBuf,
        /// What is different for a system in an emulator.
        emulated: Option<Emulated>,
    },
    /// gVisor starts with a shell. It ends with the connection, so each execution gets one of its own.
    Gvisor(Runsc),
    /// Somebody logs in at the serial console. The agent and the programs are on a disk of the machine.
    Serial(SerialLine),
}

impl Reach {
    /// A connection to a shell that starts the agent. Fails if there is none. `limit`: for a system that is to come up.
    pub(super) fn connect(
        &self,
        paths: &HostPaths,
        longest_line: usize,
        limit: &mut Deadline,
        stop: &StopFlag,
    ) -> Result<Session, NotConnected> {
        let started = |argv: &InDirectory<'_>| {
            let start = Start { keeper: &paths.keeper, scratch: &paths.scratch, argv, longest_line };
            Session::start(&start).map_err(|text| self.failed(text).into())
        };
        match self {
            Reach::Ssh { host, client, emulated } => {
                let mut argv: Vec<OsString> = vec![client.as_os_str().to_owned()];
                argv.extend(client::arguments(host, emulated.as_ref())?);
                argv.push(REMOTE_COMMAND.into());
                started(&|_| argv.clone())
            }
            Reach::Gvisor(runsc) => started(&|directory| {
                let shell = ["/bin/sh", "-c", REMOTE_COMMAND].map(OsString::from);
                runsc.argv(directory).into_iter().chain(shell).collect()
            }),
            Reach::Serial(line) => line.connect(longest_line, limit, stop),
        }
    }

    /// The error of a connection that did not come about.
    pub(super) fn failed(&self, text: String) -> TargetError {
        TargetError { problem: format!("cannot connect to {}: {text}", self.destination()), hint: self.hint() }
    }

    /// Whether the agent and the programs are there before it connects. Then it takes no others: a serial line is slow, and loses what nobody reads.
    pub(super) fn has_programs(&self) -> bool {
        matches!(self, Reach::Serial(_))
    }

    /// The directory there for scratch files; the default one if `None`.
    pub(super) fn scratch(&self) -> Option<&str> {
        match self {
            Reach::Ssh { host, .. } => host.scratch(),
            Reach::Serial(line) => line.scratch(),
            // `TMPDIR` there is that of `runsc` itself.
            Reach::Gvisor(_) => Some("/tmp"),
        }
    }

    /// The system's name, for people.
    pub(super) fn destination(&self) -> String {
        match self {
            Reach::Ssh { emulated: Some(system), .. } => system.known_as.clone(),
            Reach::Ssh { host, .. } => host.destination(),
            Reach::Gvisor(_) => "gVisor".to_owned(),
            Reach::Serial(line) => line.system().to_owned(),
        }
    }

    /// Whether the system goes on when the connection ends.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, Reach::Ssh { .. } | Reach::Serial(_))
    }

    /// What tells more of a connection that does not come about.
    fn hint(&self) -> String {
        match self {
            Reach::Serial(_) => "docs/IMAGES.md says what a login at the serial console needs".to_owned(),
            Reach::Ssh { .. } => "`ssh` with the same name tells more with -v".to_owned(),
            Reach::Gvisor(runsc) => {
                format!("`{}` tries it; `gvisor:platform=ptrace` needs least of the host", runsc.trial())
            }
        }
    }

    /// What may help if programs cannot be brought to the system, or do not run there.
    pub(super) fn hint_of_room(&self) -> &'static str {
        match self {
            Reach::Ssh { .. } | Reach::Serial(_) => "`scratch=DIR` names a directory of the host with room for 20 MB",
            Reach::Gvisor(_) => "gVisor keeps files in its memory: 20 MB have to be free",
        }
    }

    /// Why there is no connection.
    pub(super) fn explain(&self, failed: &Failed<'_>) -> NotConnected {
        match self {
            Reach::Ssh { host, emulated, .. } => {
                complaint::explain(failed, host, emulated.as_ref().map(|system| system.known_as.as_str()))
            }
            Reach::Gvisor(_) => {
                let said = complaint::last_line(failed.stderr);
                let said = said.as_deref().unwrap_or("it ended without a word");
                let problem = match failed.system {
                    None => format!("gVisor does not start here: {said}"),
                    Some(_) => format!("gVisor started, but programs do not run in it: {said}"),
                };
                NotConnected { error: TargetError { problem, hint: self.hint() }, why: Why::Refused }
            }
            // The machine's console says more.
            Reach::Serial(_) => {
                NotConnected { error: self.failed("the serial line ended".to_owned()), why: Why::Silent }
            }
        }
    }
}
