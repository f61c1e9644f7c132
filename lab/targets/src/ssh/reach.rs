//! How a shell of the system is reached: by OpenSSH's client, or by the program that contains the system.

use super::client::{self, Emulated, REMOTE_COMMAND};
use super::complaint::{self, Failed, NotConnected, Why};
use super::runsc::Runsc;
use crate::TargetError;
use faultline_model::machine::SshHost;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command, as a function of an empty directory for its own files.
pub(super) type InDirectory<'a> = dyn Fn(&Path) -> Vec<OsString> + 'a;

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
}

impl Reach {
    /// The command that runs [`REMOTE_COMMAND`] there. Fails if a file that the user named is missing.
    pub(super) fn command(&self) -> Result<Box<InDirectory<'_>>, TargetError> {
        match self {
            Reach::Ssh { host, client, emulated } => {
                let mut argv: Vec<OsString> = vec![client.as_os_str().to_owned()];
                argv.extend(client::arguments(host, emulated.as_ref())?);
                argv.push(REMOTE_COMMAND.into());
                Ok(Box::new(move |_| argv.clone()))
            }
            Reach::Gvisor(runsc) => Ok(Box::new(|directory| {
                let shell = ["/bin/sh", "-c", REMOTE_COMMAND].map(OsString::from);
                runsc.argv(directory).into_iter().chain(shell).collect()
            })),
        }
    }

    /// The directory there for scratch files; the default one if `None`.
    pub(super) fn scratch(&self) -> Option<&str> {
        match self {
            Reach::Ssh { host, .. } => host.scratch(),
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
        }
    }

    /// Whether the system goes on when the connection ends.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, Reach::Ssh { .. })
    }

    /// Why there is no connection.
    pub(super) fn explain(&self, failed: &Failed<'_>) -> NotConnected {
        match self {
            Reach::Ssh { host, emulated, .. } => {
                complaint::explain(failed, host, emulated.as_ref().map(|system| system.known_as.as_str()))
            }
            Reach::Gvisor(runsc) => {
                let said = complaint::last_line(failed.stderr);
                let problem =
                    format!("gVisor does not start here: {}", said.as_deref().unwrap_or("it ended without a word"));
                let hint = format!(
                    "`{} do true` tries it; `gvisor:platform=ptrace` needs least of the host",
                    runsc.program().display()
                );
                NotConnected { error: TargetError { problem, hint }, why: Why::Refused }
            }
        }
    }
}
