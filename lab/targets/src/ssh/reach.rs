//! Access to a system's shell: by OpenSSH's client, by the program that contains the system, or at
//! its serial console.

use super::client::{self, Emulated, REMOTE_COMMAND};
use super::complaint::{self, Failed, NotConnected, Why};
use super::serial::SerialLine;
use super::session::{InDirectory, Session, Start};
use crate::host::HostPaths;
use crate::keep::Deadline;
use crate::{StopFlag, TargetError, search_path};
use faultline_record::machine::{Gvisor, SshHost};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Access to a system's shell.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// OpenSSH's client logs in.
    Ssh {
        /// The address and the login.
        host: SshHost,
        /// The client's program.
        client: PathBuf,
        /// Differences for a system in an emulator.
        emulated: Option<Emulated>,
    },
    /// gVisor starts with a shell. It ends with the connection, so each execution gets its own.
    Gvisor(Runsc),
    /// Login at the serial console. The agent and the programs are on a disk of the machine.
    Serial(SerialLine),
}

impl Reach {
    /// Connects to a shell that starts the agent. Fails without a connection. `limit`: for a system
    /// that is coming up.
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

    /// The error of a failed connection.
    pub(super) fn failed(&self, text: String) -> TargetError {
        TargetError { problem: format!("cannot connect to {}: {text}", self.destination()), hint: self.hint() }
    }

    /// True if the agent and the programs are there before it connects. Then it takes no others: a
    /// serial line is slow, and loses unread bytes.
    pub(super) fn has_programs(&self) -> bool {
        matches!(self, Reach::Serial(_))
    }

    /// Scratch directory there; the default one if `None`.
    pub(super) fn scratch(&self) -> Option<&str> {
        match self {
            Reach::Ssh { host, .. } => host.scratch(),
            Reach::Serial(line) => line.scratch(),
            // `TMPDIR` there is that of `runsc` itself.
            Reach::Gvisor(_) => Some("/tmp"),
        }
    }

    /// The system's name for messages.
    pub(super) fn destination(&self) -> String {
        match self {
            Reach::Ssh { emulated: Some(system), .. } => system.known_as.clone(),
            Reach::Ssh { host, .. } => host.destination(),
            Reach::Gvisor(_) => "gVisor".to_owned(),
            Reach::Serial(line) => line.system().to_owned(),
        }
    }

    /// True if the system survives the connection.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, Reach::Ssh { .. } | Reach::Serial(_))
    }

    /// Hint: a command that tells more about a failed connection.
    fn hint(&self) -> String {
        match self {
            Reach::Serial(_) => "docs/IMAGES.md says what a login at the serial console needs".to_owned(),
            Reach::Ssh { .. } => "`ssh -v` with the same name shows details".to_owned(),
            Reach::Gvisor(runsc) => {
                format!("`{}` tries it; `gvisor:platform=ptrace` has the fewest requirements", runsc.trial())
            }
        }
    }

    /// Hint for programs that cannot be sent to the system, or do not run there.
    pub(super) fn hint_of_room(&self) -> &'static str {
        match self {
            Reach::Ssh { .. } | Reach::Serial(_) => "`scratch=DIR` names a directory of the host with room for 20 MB",
            Reach::Gvisor(_) => "gVisor keeps files in its memory: 20 MB have to be free",
        }
    }

    /// Reason for a failed connection.
    pub(super) fn explain(&self, failed: &Failed<'_>) -> NotConnected {
        match self {
            Reach::Ssh { host, emulated, .. } => {
                complaint::explain(failed, host, emulated.as_ref().map(|system| system.known_as.as_str()))
            }
            Reach::Gvisor(_) => {
                let said = complaint::last_line(failed.stderr);
                let said = said.as_deref().unwrap_or("it ended without a message");
                let problem = match failed.system {
                    None => format!("gVisor does not start here: {said}"),
                    Some(_) => format!("gVisor started, but programs do not run in it: {said}"),
                };
                NotConnected { error: TargetError { problem, hint: self.hint() }, why: Why::Refused }
            }
            // The machine's console tells more.
            Reach::Serial(_) => {
                NotConnected { error: self.failed("the serial line ended".to_owned()), why: Why::Silent }
            }
        }
    }
}

/// The program's name.
const PROGRAM: &str = "runsc";

/// An installed `runsc`, with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runsc {
    program: PathBuf,
    platform: Option<String>,
    /// The version as it prints it.
    version: String,
}

impl Runsc {
    /// The named program, otherwise the first in `PATH`. Fails if there is none, or if it does not
    /// run.
    pub(crate) fn find(asked: &Gvisor) -> Result<Self, TargetError> {
        let program = asked.runsc.clone().or_else(|| search_path::find(PROGRAM)).ok_or_else(|| TargetError {
            problem: format!("there is no {PROGRAM} here, the program of gVisor"),
            hint: format!("on Debian: apt install {PROGRAM}; `gvisor:runsc=FILE` names it"),
        })?;
        let said =
            search_path::read(program.as_os_str(), &["--version"], search_path::USUAL_LIMIT).map_err(|problem| {
                TargetError {
                    problem: format!("{} --version: {problem}", program.display()),
                    hint: format!("`gvisor:runsc=FILE` names another {PROGRAM}"),
                }
            })?;
        let version = said.lines().next().unwrap_or_default().trim().to_owned();
        Ok(Runsc { program, platform: asked.platform.clone(), version })
    }

    /// The version as the emulator prints it.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The user's platform: the mechanism that intercepts system calls.
    pub(crate) fn platform(&self) -> Option<&str> {
        self.platform.as_deref()
    }

    /// The command that runs further words in a gVisor of its own: this host's files are readable,
    /// and writes stay in its memory. `root`: an empty directory for its own files.
    pub(super) fn argv(&self, root: &Path) -> Vec<OsString> {
        let mut root_option = OsString::from("--root=");
        root_option.push(root);
        let mut argv = vec![self.program.as_os_str().to_owned(), root_option];
        argv.extend(self.options().into_iter().map(OsString::from));
        argv.extend(["do", "-quiet"].map(OsString::from));
        argv
    }

    /// Only the loopback device, so that nothing is set up on this host; no control groups, which a
    /// container may not create.
    fn options(&self) -> Vec<String> {
        let mut options = ["--network=none", "--ignore-cgroups"].map(str::to_owned).to_vec();
        options.extend(self.platform.iter().map(|name| format!("--platform={name}")));
        if !rustix::process::geteuid().is_root() {
            options.push("--rootless".to_owned());
        }
        options
    }

    /// The command with which a user can try the same.
    pub(super) fn trial(&self) -> String {
        format!("{} {} do true", self.program.display(), self.options().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_files_and_its_platform_are_named() {
        let runsc = Runsc { program: "/r".into(), platform: Some("kvm".to_owned()), version: String::new() };
        let words: Vec<String> =
            runsc.argv(Path::new("/d")).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..5], ["/r", "--root=/d", "--network=none", "--ignore-cgroups", "--platform=kvm"]);
        assert_eq!(words[words.len() - 2..], ["do", "-quiet"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let asked = Gvisor { runsc: Some("/nowhere/runsc".into()), platform: None };
        assert!(Runsc::find(&asked).unwrap_err().problem.starts_with("/nowhere/runsc --version: "));
    }
}
