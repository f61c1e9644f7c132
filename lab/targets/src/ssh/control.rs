//! Operations on a real host that bring it up with a new artefact: commands on the host run under
//! the agent, the command for its power runs here.

use super::bring_up::{self, Acts, FoundAgain, HostBoot, NoBoot, NotUp, Wanted};
use super::client;
use super::complaint::{NotConnected, Why};
use super::link::{Answer, Asked, Connecting, FrameSink, Link, NoAnswer, Offered};
use super::machine::SshPaths;
use super::reach::Reach;
use crate::agent::inquiry::{BOOT_ID, Heard, RELEASE};
use crate::agent::{GuestProgram, Plan, ProgramEnd, Programs};
use crate::host::command::{CommandRunner, Errors, HostCommand};
use crate::linux_facts::SystemFiles;
use crate::{Ending, StopFlag, TargetError};
use faultline_record::machine::{HostControl, SshHost};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time limit for a check of a host.
const LOOK_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for an installation.
const INSTALL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Time limit for a command that reboots or switches power.
const POWER_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Time between two checks of a host that is not back.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Interval between checks for a stop.
const STOP_POLL: Duration = Duration::from_millis(100);

/// Maximum size of an artefact: the agent takes no larger request.
const MOST_BYTES: u64 = 256 << 20;

/// Placeholder in a command for the artefact's path on the host.
pub const ARTEFACT: &str = "{artefact}";

/// Number of output lines of a failed installation that are shown.
const SHOWN_LINES: usize = 5;

/// The request: an artefact and a host.
#[derive(Debug, Clone, Copy)]
pub struct BringUp<'a> {
    /// The host.
    pub host: &'a SshHost,
    /// Its commands.
    pub control: &'a HostControl,
    /// The file to install.
    pub artefact: &'a Path,
    /// Release of the kernel that must boot; any if `None`.
    pub release: Option<&'a str>,
}

/// Installs, reboots, waits and checks. Fails if the client, the agent or the artefact is missing;
/// the inner error is the reason why the host is not up.
pub fn bring_up(
    asked: &BringUp<'_>,
    paths: &SshPaths,
    stop: &StopFlag,
) -> Result<Result<HostBoot, NotUp>, TargetError> {
    let mut real = Real::of((asked.host, asked.control), paths, stop)?;
    real.artefact = Some(read(asked.artefact)?);
    let wanted = Wanted { back_limit: asked.control.back_limit, release: asked.release };
    Ok(bring_up::bring_up(&mut real, &wanted))
}

/// Waits until a host answers whose connection was lost, and switches it off and on once if it does
/// not. `boot`: the identifier of the boot that answered before; if it is empty, any boot is
/// another one. Fails if the client or the agent is missing; the inner error is the reason why the
/// host does not answer.
pub fn find_again(
    (host, control): (&SshHost, &HostControl),
    boot: &str,
    paths: &SshPaths,
    stop: &StopFlag,
) -> Result<Result<FoundAgain, NotUp>, TargetError> {
    let mut real = Real::of((host, control), paths, stop)?;
    Ok(bring_up::find_again(&mut real, boot, control.back_limit))
}

/// The file with a name for the host: its own, if that is harmless.
fn read(path: &Path) -> Result<GuestProgram, TargetError> {
    let refused = |reason: String| TargetError {
        problem: format!("cannot install {}: {reason}", path.display()),
        hint: "name a file of up to 256 MiB".to_owned(),
    };
    let size = path.metadata().map_err(|error| refused(error.to_string()))?.len();
    if size > MOST_BYTES {
        return Err(refused(format!("it has {} MiB", size >> 20)));
    }
    let bytes = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    let is_harmless = |name: &&str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-+~".contains(c);
        name.len() < 200 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(fits)
    };
    let name = path.file_name().and_then(|name| name.to_str()).filter(is_harmless).unwrap_or("artefact");
    Ok(GuestProgram { name: name.to_owned(), bytes })
}

/// Result of a command on the host that did not fail.
enum Ran {
    ToItsEnd,
    /// The connection was lost meanwhile; the reason.
    CutOff(String),
}

/// Reason why a command on the host did nothing or failed.
enum NotRun {
    Unreachable(String),
    Failed(String),
}

/// A real host.
struct Real<'a> {
    reach: Reach,
    control: &'a HostControl,
    paths: &'a SshPaths,
    programs: Programs,
    /// The file to install, if there is one.
    artefact: Option<GuestProgram>,
    stop: &'a StopFlag,
    began: Instant,
}

impl<'a> Real<'a> {
    fn of(
        (host, control): (&'a SshHost, &'a HostControl),
        paths: &'a SshPaths,
        stop: &'a StopFlag,
    ) -> Result<Self, TargetError> {
        let (client, programs) = (client::find()?, Programs::agent_alone(&paths.guest)?);
        let reach = Reach::Ssh { host: host.clone(), client, emulated: None };
        Ok(Real { reach, control, paths, programs, artefact: None, stop, began: Instant::now() })
    }

    fn connect(&self, programs: &Programs) -> Result<Link, NotConnected> {
        let limit = LOOK_LIMIT + upload_limit(programs);
        let programs = Offered::These(programs);
        let connecting = Connecting { reach: &self.reach, paths: &self.paths.host, programs, limit };
        connecting.connect(self.stop).map(|(link, _)| link)
    }

    /// Runs a command on the host. `artefact`: the file to copy there first. Fails with the end of
    /// its output.
    fn run(&self, words: &[String], artefact: Option<&GuestProgram>, limit: Duration) -> Result<Ran, NotRun> {
        let mut programs = self.programs.clone();
        programs.programs.extend(artefact.cloned());
        let link = self.connect(&programs).map_err(|not| NotRun::Unreachable(not.error.problem))?;
        let there = artefact.map_or_else(String::new, |file| format!("{}/workloads/{}", link.directory(), file.name));
        let mut plan = Plan::default();
        // The shell finds the program in `PATH` and becomes it. No word is interpreted.
        let mut command = ["run", "/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"].map(str::to_owned).to_vec();
        command.extend(words.iter().map(|word| word.replace(ARTEFACT, &there)));
        plan.add(&command);
        let mut said = VecDeque::new();
        let mut program = ProgramEnd::default();
        let mut keep = |line: &[u8]| {
            said.push_back(String::from_utf8_lossy(line).chars().filter(|c| !c.is_control()).collect::<String>());
            if said.len() > SHOWN_LINES {
                said.pop_front();
            }
            ControlFlow::Continue(())
        };
        let answer = link.ask(&Asked { plan: &plan, limit }, &mut |frame| program.take(frame, &mut keep), self.stop);
        let how = match (answer, program.ending) {
            (Ok((_, Answer::Done)), Some(Ending::Exited { status: 0, .. })) => return Ok(Ran::ToItsEnd),
            (Ok((_, Answer::Done)), Some(Ending::Exited { status, .. })) => format!("it ended with status {status}"),
            (Ok((_, Answer::Done)), Some(Ending::Signalled { signal, .. })) => format!("signal {signal} ended it"),
            (Ok((_, Answer::Done)), Some(Ending::NotStarted { text })) => text,
            (Ok((_, Answer::Done)), _) => "its result is unknown".to_owned(),
            (Ok((_, Answer::TimedOut)), _) => format!("it did not end within {} s", limit.as_secs()),
            (Ok((_, Answer::Failed(text) | Answer::LeftChanged(text))), _) => text,
            (Err(NoAnswer::Lost(why)), _) => return Ok(Ran::CutOff(why)),
            (Err(NoAnswer::Refused | NoAnswer::Stopped), _) => "stopped".to_owned(),
        };
        let said = said.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ");
        let colon = if said.is_empty() { "" } else { ": " };
        Err(NotRun::Failed(format!("`{}`: {how}{colon}{said}", words.join(" "))))
    }
}

/// At 1 MB/s.
fn upload_limit(programs: &Programs) -> Duration {
    let bytes: usize = programs.programs.iter().map(|program| program.bytes.len()).sum();
    Duration::from_secs(bytes as u64 >> 20)
}

fn no_boot(not: NotConnected) -> NoBoot {
    let is_stranger = not.why == Why::Stranger;
    let TargetError { problem, hint } = not.error;
    if is_stranger { NoBoot::Stranger { problem, hint } } else { NoBoot::Silent(problem) }
}

impl Acts for Real<'_> {
    fn boot(&mut self) -> Result<HostBoot, NoBoot> {
        let link = self.connect(&self.programs).map_err(no_boot)?;
        let mut plan = Plan::default();
        plan.add(&["file", BOOT_ID]);
        plan.add(&["file", RELEASE]);
        let mut heard = Heard::default();
        let take: &mut FrameSink<'_> = &mut |frame| {
            heard.take(frame);
            ControlFlow::Continue(())
        };
        match link.ask(&Asked { plan: &plan, limit: LOOK_LIMIT }, take, self.stop) {
            Ok((_, Answer::Done)) => {}
            Ok((_, Answer::Failed(text) | Answer::LeftChanged(text))) | Err(NoAnswer::Lost(text)) => {
                return Err(NoBoot::Silent(text));
            }
            Ok((_, Answer::TimedOut)) | Err(NoAnswer::Refused | NoAnswer::Stopped) => {
                return Err(NoBoot::Silent("no answer".to_owned()));
            }
        }
        match (heard.files.text(BOOT_ID), heard.files.text(RELEASE)) {
            (Some(id), Some(release)) => Ok(HostBoot { id, release }),
            _ => Err(NoBoot::Silent(format!("it has no {BOOT_ID}"))),
        }
    }

    fn install(&mut self) -> Result<(), NotUp> {
        match self.run(&self.control.install, self.artefact.as_ref(), INSTALL_LIMIT) {
            Ok(Ran::ToItsEnd) => Ok(()),
            Ok(Ran::CutOff(why)) => Err(NotUp::CutOff(why)),
            Err(_) if self.stop.is_set() => Err(NotUp::Stopped),
            Err(NotRun::Unreachable(why)) => Err(NotUp::Unreachable(why)),
            Err(NotRun::Failed(why)) => Err(NotUp::NotInstalled(why)),
        }
    }

    fn reboot(&mut self) -> Result<(), String> {
        // A host that goes down cuts the connection.
        let ran = self.run(&self.control.reboot, None, POWER_LIMIT);
        ran.map(drop).map_err(|(NotRun::Unreachable(why) | NotRun::Failed(why))| why)
    }

    fn power_cycle(&mut self) -> Option<Result<(), String>> {
        let HostControl { power_cycle, directory, .. } = self.control;
        if power_cycle.is_empty() {
            return None;
        }
        let argv: Vec<OsString> = power_cycle.iter().map(OsString::from).collect();
        let host = &self.paths.host;
        let command = HostCommand {
            argv: &argv,
            directory,
            environment: &[],
            limit: POWER_LIMIT,
            errors: Errors::Apart,
            input: None,
            sandbox: None,
        };
        let run = |runner: CommandRunner| runner.run(&command, &mut |_| ControlFlow::Continue(()), self.stop);
        let ended = CommandRunner::new(&host.keeper, &host.scratch).map(run);
        let how = match ended {
            Ok(Ending::Exited { status: 0, .. }) => return Some(Ok(())),
            Ok(Ending::Exited { status, stderr }) => match stderr.lines().last() {
                Some(line) => format!("it ended with status {status}: {line}"),
                None => format!("it ended with status {status}"),
            },
            Ok(Ending::NotStarted { text }) => text,
            Ok(Ending::TimedOut) => format!("it did not end within {} s", POWER_LIMIT.as_secs()),
            Ok(_) => "it was stopped".to_owned(),
            Err(error) => error.to_string(),
        };
        Some(Err(format!("`{}`: {how}", power_cycle.join(" "))))
    }

    fn rest(&mut self) -> Result<(), NotUp> {
        let until = Instant::now() + LOOK_INTERVAL;
        while Instant::now() < until {
            if self.stop.is_set() {
                return Err(NotUp::Stopped);
            }
            sleep(STOP_POLL);
        }
        Ok(())
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}
