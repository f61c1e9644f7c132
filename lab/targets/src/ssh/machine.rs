//! A reachable host: the target that executes workloads on it.

use super::asking::{Asking, Found};
use super::build::{self, NotBrought};
use super::complaint::NotConnected;
use super::link::{Answer, Asked, Connecting, Link, NoAnswer, Offered};
use super::reach::Reach;
use super::{asking, client};
use crate::agent::{Plan, ProgramEnd, Programs, System};
use crate::execution::LineSink;
use crate::host::HostPaths;
use crate::network::Connection;
use crate::{Ending, Execution, StopFlag, Target, TargetError, system_settings};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::SshHost;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time limit for connecting, with the transfer of the agent and the programs (about 14 MB).
const CONNECT_LIMIT: Duration = Duration::from_secs(300);

/// Reason why a program of this host does not run on a machine whose programs are on its disk.
const NO_BUILDS: &str = "a program of this host cannot be sent over a serial line; log in over SSH (login=ssh)";

/// Paths on this host.
#[derive(Debug, Clone)]
pub struct SshPaths {
    /// Directory with `agent` and `workloads/`, linked statically, and a directory with both for
    /// each other system.
    pub guest: PathBuf,
    /// The scratch directory, and the keeper.
    pub host: HostPaths,
}

/// A host that has been reached at least once. A connection that breaks between executions is made
/// again.
#[derive(Debug)]
pub struct SshMachine {
    reach: Reach,
    paths: HostPaths,
    programs: Programs,
    /// `None` while it is used, and after it broke.
    link: Mutex<Option<Link>>,
    connection: Option<Connection>,
    cpus: Vec<u32>,
    facts: Facts,
    workloads: Vec<WorkloadInfo>,
}

impl SshMachine {
    /// Connects, which yields the host's facts and workloads. Fails if the host cannot be reached
    /// as requested, cannot run the programs, or on a stop.
    pub fn connect(host: SshHost, paths: &SshPaths, stop: &StopFlag) -> Result<Self, TargetError> {
        let reach = Reach::Ssh { host, client: client::find()?, emulated: None };
        Ok(Self::reach(reach, paths, CONNECT_LIMIT, stop)?)
    }

    /// [`Self::connect`] for a system that is reached in any way. `limit`: for connecting.
    pub(super) fn reach(
        reach: Reach,
        paths: &SshPaths,
        limit: Duration,
        stop: &StopFlag,
    ) -> Result<Self, NotConnected> {
        let programs = Offered::OfItsSystem(&paths.guest);
        let (link, programs) = Connecting { reach: &reach, paths: &paths.host, programs, limit }.connect(stop)?;
        let programs = programs.into_owned();
        let asking = Asking { reach: &reach, programs: &programs, stop };
        let find = if programs.system.is_linux() { asking::find_linux } else { asking::find_bsd };
        let (link, Found { cpus, mut facts, workloads }) = find(asking, link)?;
        facts.text("faultline.version", env!("CARGO_PKG_VERSION"));
        facts.count("cpu.usable", cpus.len() as i64);
        programs.put_digests(&mut facts);
        let (paths, connection) = (paths.host.clone(), link.connection());
        Ok(SshMachine { reach, paths, programs, link: Mutex::new(Some(link)), connection, cpus, facts, workloads })
    }

    /// The connection, made again if it is gone. Fails, with a text, if that is impossible.
    fn link(&self, stop: &StopFlag) -> Result<Link, String> {
        // A panic in another thread leaves it valid: it is taken out for use.
        let kept = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(link) = kept.filter(Link::is_up) {
            return Ok(link);
        }
        let Self { reach, paths, programs, .. } = self;
        let connecting = Connecting { reach, paths, programs: Offered::These(programs), limit: CONNECT_LIMIT };
        connecting.connect(stop).map(|(link, _)| link).map_err(|not| not.error.problem)
    }

    /// Keeps the connection for the next execution, unless each execution gets its own system.
    fn keep(&self, link: Link) {
        if !self.reach.goes_on() {
            return;
        }
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Some(link);
    }

    fn unanswered(&self, no_answer: NoAnswer) -> Ending {
        match no_answer {
            NoAnswer::Refused => Ending::Refused,
            NoAnswer::Stopped => Ending::Stopped,
            NoAnswer::Lost(why) => self.lost(&why),
        }
    }

    fn lost(&self, why: &str) -> Ending {
        Ending::ConnectionLost { text: format!("the connection to {} was lost: {why}", self.reach.destination()) }
    }
}

/// The remote shell's script with a directory and a program with its arguments. No word is
/// interpreted.
const RUN_IN: &str = "cd \"$0\" && exec \"$@\"";

/// Name of the setting for the system's agent. Fails, with a text, if the system has no such
/// settings.
fn setting_name(system: &System, path: &str) -> Result<String, String> {
    if !system.is_linux() {
        return asking::setting_name(path);
    }
    system_settings::root_of(path, &system_settings::ROOTS.map(Path::new))?;
    Ok(path.to_owned())
}

/// The agent's plan for an execution, with the programs in this directory. `build`: working
/// directory on the host, if it is not the scratch directory. Fails, with a text, if the execution
/// is impossible there.
fn plan(execution: &Execution, system: &System, directory: &str, build: Option<&str>) -> Result<Plan, String> {
    execution.check()?;
    let mut plan = Plan::default();
    for (path, value) in &execution.system_settings {
        plan.add(&["set", &setting_name(system, path)?, value]);
    }
    for (name, value) in &execution.environment {
        plan.add(&["env", name, value]);
    }
    let mut words = vec!["run".to_owned()];
    words.extend(build.into_iter().flat_map(|build| ["/bin/sh", "-c", RUN_IN, build].map(str::to_owned)));
    words.push(format!("{directory}/workloads/{}", execution.workload));
    words.extend(["--scratch".to_owned(), format!("{directory}/scratch")]);
    words.extend(execution.arguments.iter().cloned());
    plan.add(&words);
    Ok(plan)
}

impl Target for SshMachine {
    /// Facts of the host when it was first reached.
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(self.workloads.clone())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn connection(&self) -> Option<Connection> {
        self.connection
    }

    fn execute(&self, execution: &Execution, sink: &mut LineSink<'_>, stop: &StopFlag) -> Ending {
        let link = match self.link(stop) {
            Ok(link) => link,
            Err(_) if stop.is_set() => return Ending::Stopped,
            Err(text) => return self.lost(&text),
        };
        let (link, build) = match &execution.directory {
            None => (link, None),
            Some(_) if self.reach.has_programs() => {
                self.keep(link);
                return Ending::NotStarted { text: NO_BUILDS.to_owned() };
            }
            Some(directory) => match build::bring(link, directory, stop) {
                Ok((link, there)) => (link, Some(there)),
                Err(NotBrought::NoAnswer(no_answer)) => return self.unanswered(no_answer),
                Err(NotBrought::Impossible(link, text)) => {
                    self.keep(*link);
                    return Ending::LabFailed { text };
                }
            },
        };
        let plan = match plan(execution, &self.programs.system, link.directory(), build.as_deref()) {
            Ok(plan) => plan,
            Err(text) => {
                self.keep(link);
                return Ending::NotStarted { text };
            }
        };
        let mut program = ProgramEnd::default();
        let asked = Asked { plan: &plan, limit: execution.limit };
        match link.ask(&asked, &mut |frame| program.take(frame, sink), stop) {
            Ok((link, answer)) => {
                self.keep(link);
                match (answer, program.ending) {
                    (Answer::Done, Some(ending)) => ending,
                    (Answer::Done, None) => {
                        Ending::NotStarted { text: "the host's agent did not say how the workload ended".to_owned() }
                    }
                    (Answer::Failed(text), _) => Ending::NotStarted { text },
                    (Answer::TimedOut, _) => Ending::TimedOut,
                    (Answer::LeftChanged(text), _) => Ending::LeftChanged { text },
                }
            }
            Err(no_answer) => self.unanswered(no_answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution() -> Execution {
        Execution {
            workload: "x".to_owned(),
            arguments: vec!["--tasks".to_owned(), "1".to_owned()],
            limit: Duration::from_secs(1),
            directory: None,
            environment: vec![("A".to_owned(), "1 2".to_owned())],
            system_settings: vec![("/proc/sys/vm/x".to_owned(), "3".to_owned())],
            attachment: crate::network::Attachment::Already,
        }
    }

    fn linux() -> System {
        System::of_guests()
    }

    #[test]
    fn settings_of_a_bsd_have_other_names() {
        let bsd = System::parse("OpenBSD amd64").unwrap();
        let mut expected = Plan::default();
        expected.add(&["set", "vm.x", "3"]);
        expected.add(&["env", "A", "1 2"]);
        expected.add(&["run", "/t/workloads/x", "--scratch", "/t/scratch", "--tasks", "1"]);
        assert_eq!(plan(&execution(), &bsd, "/t", None), Ok(expected));
        let file = Execution { system_settings: vec![("/sys/x".to_owned(), "1".to_owned())], ..execution() };
        assert!(plan(&file, &bsd, "/t", None).unwrap_err().contains("is not a BSD setting"));
    }

    #[test]
    fn settings_that_are_put_back_and_variables_come_before_the_program() {
        let mut expected = Plan::default();
        expected.add(&["set", "/proc/sys/vm/x", "3"]);
        expected.add(&["env", "A", "1 2"]);
        expected.add(&["run", "/t/workloads/x", "--scratch", "/t/scratch", "--tasks", "1"]);
        assert_eq!(plan(&execution(), &linux(), "/t", None), Ok(expected));
        let mut in_build = Plan::default();
        in_build.add(&["set", "/proc/sys/vm/x", "3"]);
        in_build.add(&["env", "A", "1 2"]);
        in_build.add(&[
            "run",
            "/bin/sh",
            "-c",
            RUN_IN,
            "/t/b",
            "/t/workloads/x",
            "--scratch",
            "/t/scratch",
            "--tasks",
            "1",
        ]);
        assert_eq!(plan(&execution(), &linux(), "/t", Some("/t/b")), Ok(in_build));
        let file = Execution { system_settings: vec![("/etc/x".to_owned(), "1".to_owned())], ..execution() };
        assert!(plan(&file, &linux(), "/t", None).unwrap_err().contains("is not a system setting"));
    }
}
