//! A host that has been reached: the target that executes workloads on it.

use super::build::{self, NotBrought};
use super::client;
use super::complaint::NotConnected;
use super::link::{Answer, Asked, Connecting, FrameSink, Link, NoAnswer};
use super::reach::Reach;
use crate::agent::inquiry::{self, Heard};
use crate::agent::{Plan, ProgramEnd, Programs};
use crate::execution::LineSink;
use crate::host::{HostPaths, pinning_order};
use crate::network::Connection;
use crate::system_files::{SentFiles, SystemFiles};
use crate::{Ending, Execution, StopFlag, Target, TargetError, linux_facts, system_settings};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::machine::SshHost;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long connecting, and bringing the agent and the programs (about 14 MB) to the host, may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(300);

/// Time limit for facts, and every workload's description of itself.
const INQUIRY_LIMIT: Duration = Duration::from_secs(120);

/// Files that say how many CPUs and nodes there are, and which CPUs programs may use.
const ONLINE_CPUS: &str = "/sys/devices/system/cpu/online";
const ONLINE_NODES: &str = "/sys/devices/system/node/online";
const OWN_STATUS: &str = "/proc/self/status";
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Files with facts that nobody asks of a guest, which has just booted. A directory stands for its files.
const FURTHER_FILES: [&str; 6] = [
    "/proc/loadavg",
    inquiry::BOOT_ID,
    "/sys/devices/system/cpu/cpu0/cpufreq",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/kernel/debug/sched/preempt",
];

/// Paths on this host.
#[derive(Debug, Clone)]
pub struct SshPaths {
    /// Directory with `agent` and `workloads/`, linked statically.
    pub guest: PathBuf,
    /// The scratch directory, and the keeper.
    pub host: HostPaths,
}

/// A host that has been reached at least once. The connection is made again if it broke while nothing was executed.
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
    /// Connects, and finds out the host's facts and workloads. Fails if the host cannot be reached as requested, cannot run the programs, or on a stop.
    pub fn connect(host: SshHost, paths: &SshPaths, stop: &StopFlag) -> Result<Self, TargetError> {
        let reach = Reach::Ssh { host, client: client::find()?, emulated: None };
        Ok(Self::reach(reach, paths, CONNECT_LIMIT, stop)?)
    }

    /// The same for a system that is reached in any way. `limit`: for connecting.
    pub(super) fn reach(
        reach: Reach,
        paths: &SshPaths,
        limit: Duration,
        stop: &StopFlag,
    ) -> Result<Self, NotConnected> {
        let programs = Programs::read(&paths.guest)?;
        let connecting = Connecting { reach: &reach, paths: &paths.host, programs: &programs, limit };
        let link = connecting.connect(stop)?;
        let (link, sizes) = inquire(link, &reach, &sizes_plan(), stop)?;
        let online = |path: &str| numbers(&sizes.files, path);
        let (cpus, nodes) = (online(ONLINE_CPUS), online(ONLINE_NODES));
        let mut plan = Plan::default();
        inquiry::ask_facts(&mut plan, count(&cpus), count(&nodes));
        FURTHER_FILES.iter().for_each(|path| plan.add(&["file", path]));
        let directory = link.directory().to_owned();
        inquiry::ask_workloads(&mut plan, &format!("{directory}/workloads"), &programs.programs);
        let (architecture, connection) = (link.architecture().to_owned(), link.connection());
        let (link, heard) = inquire(link, &reach, &plan, stop)?;
        let workloads = heard.workloads("on the host")?;
        let cpus = pinning_order(&allowed(&sizes.files).unwrap_or(cpus), &heard.files);
        if cpus.is_empty() {
            return Err(TargetError {
                problem: format!("{} does not say which CPUs it has", reach.destination()),
                hint: "it needs /proc and /sys".to_owned(),
            }
            .into());
        }
        let mut facts = inquiry::facts(&heard.files, &architecture, Path::new(&directory));
        facts.text("faultline.version", env!("CARGO_PKG_VERSION"));
        facts.text("host.name", sizes.files.text(HOST_NAME).unwrap_or_default());
        facts.count("cpu.usable", cpus.len() as i64);
        programs.put_digests(&mut facts);
        put_virtualisation(&mut facts, &heard.files);
        let paths = paths.host.clone();
        Ok(SshMachine { reach, paths, programs, link: Mutex::new(Some(link)), connection, cpus, facts, workloads })
    }

    /// The connection, which is made again if it is gone. Fails, in words, if that is impossible.
    fn link(&self, stop: &StopFlag) -> Result<Link, String> {
        // A panic elsewhere leaves it whole: it is taken out for use.
        let kept = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(link) = kept.filter(Link::is_up) {
            return Ok(link);
        }
        let Self { reach, paths, programs, .. } = self;
        Connecting { reach, paths, programs, limit: CONNECT_LIMIT }.connect(stop).map_err(|not| not.error.problem)
    }

    /// Keeps the connection for the next execution, unless that gets a system of its own.
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

/// Asks for files and descriptions. Fails if there is no answer.
fn inquire(link: Link, reach: &Reach, plan: &Plan, stop: &StopFlag) -> Result<(Link, Heard), TargetError> {
    let mut heard = Heard::default();
    let take: &mut FrameSink<'_> = &mut |frame| {
        heard.take(frame);
        ControlFlow::Continue(())
    };
    let problem = match link.ask(&Asked { plan, limit: INQUIRY_LIMIT }, take, stop) {
        Ok((link, Answer::Done)) => return Ok((link, heard)),
        Ok((_, Answer::Failed(text) | Answer::LeftChanged(text))) | Err(NoAnswer::Lost(text)) => text,
        Ok((_, Answer::TimedOut)) => format!("its facts and workloads took more than {} s", INQUIRY_LIMIT.as_secs()),
        Err(NoAnswer::Refused | NoAnswer::Stopped) => "stopped".to_owned(),
    };
    Err(TargetError {
        problem: format!("{} cannot be measured: {problem}", reach.destination()),
        hint: reach.hint_of_room().to_owned(),
    })
}

fn sizes_plan() -> Plan {
    let mut plan = Plan::default();
    for path in [ONLINE_CPUS, ONLINE_NODES, OWN_STATUS, HOST_NAME] {
        plan.add(&["file", path]);
    }
    plan
}

fn numbers(files: &SentFiles, path: &str) -> Vec<u32> {
    files.text(path).map(|text| linux_facts::list(&text)).unwrap_or_default()
}

/// How many there are, if all up to the last one are.
fn count(numbers: &[u32]) -> u32 {
    numbers.iter().max().map_or(0, |last| last + 1)
}

/// The CPUs that the agent may use, and so its programs.
fn allowed(files: &SentFiles) -> Option<Vec<u32>> {
    let status = files.text(OWN_STATUS)?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(linux_facts::list(list.trim())).filter(|cpus| !cpus.is_empty())
}

/// x86 CPUs say that a hypervisor runs them, though not which one.
fn put_virtualisation(facts: &mut Facts, files: &SentFiles) {
    let Some(info) = files.text("/proc/cpuinfo") else { return };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let is_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
    facts.text("virtualisation.kind", if is_guest { "hypervisor" } else { "none" });
}

/// What the host's shell does with a directory and a program with its arguments. No word is interpreted.
const RUN_IN: &str = "cd \"$0\" && exec \"$@\"";

/// The agent's plan for an execution, with the programs in this directory. `build`: the directory of the host in which the program runs, if it is not its scratch
/// directory. Fails, in words, if the execution is impossible there.
fn plan(execution: &Execution, directory: &str, build: Option<&str>) -> Result<Plan, String> {
    execution.check()?;
    let mut plan = Plan::default();
    for (path, value) in &execution.system_settings {
        system_settings::root_of(path, &system_settings::ROOTS.map(Path::new))?;
        plan.add(&["set", path, value]);
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
    /// Facts of the host, as found when it was first reached.
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
            Some(directory) => match build::bring(link, directory, stop) {
                Ok((link, there)) => (link, Some(there)),
                Err(NotBrought::NoAnswer(no_answer)) => return self.unanswered(no_answer),
                Err(NotBrought::Impossible(link, text)) => {
                    self.keep(*link);
                    return Ending::NotStarted { text };
                }
            },
        };
        let plan = match plan(execution, link.directory(), build.as_deref()) {
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

    #[test]
    fn settings_that_are_put_back_and_variables_come_before_the_program() {
        let mut expected = Plan::default();
        expected.add(&["set", "/proc/sys/vm/x", "3"]);
        expected.add(&["env", "A", "1 2"]);
        expected.add(&["run", "/t/workloads/x", "--scratch", "/t/scratch", "--tasks", "1"]);
        assert_eq!(plan(&execution(), "/t", None), Ok(expected));
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
        assert_eq!(plan(&execution(), "/t", Some("/t/b")), Ok(in_build));
        let file = Execution { system_settings: vec![("/etc/x".to_owned(), "1".to_owned())], ..execution() };
        assert!(plan(&file, "/t", None).unwrap_err().contains("is no setting of the system"));
    }

    #[test]
    fn cpus_are_those_that_the_agent_may_use() {
        let status = "Name:\tagent\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n";
        let files = SentFiles([(OWN_STATUS.to_owned(), status.to_owned())].into());
        assert_eq!(allowed(&files), Some(vec![0, 2]));
        assert_eq!(allowed(&SentFiles::default()), None);
        assert_eq!((count(&[0, 1, 7]), count(&[])), (8, 0));
    }
}
