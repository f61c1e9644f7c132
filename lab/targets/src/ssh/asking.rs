//! First questions to a system: its CPUs, its facts, and the descriptions of its workloads.

use super::link::{Answer, Asked, FrameSink, Link, NoAnswer};
use super::reach::Reach;
use crate::agent::inquiry::Heard;
use crate::agent::{Plan, ProgramEnd, Programs, inquiry};
use crate::bsd_facts::{self, Sysctls};
use crate::host::pinning_order;
use crate::linux_facts::{SentFiles, SystemFiles};
use crate::{StopFlag, TargetError, linux_facts};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Time limit for facts, and for the descriptions of all workloads.
const INQUIRY_LIMIT: Duration = Duration::from_secs(120);

/// The answers.
pub(super) struct Found {
    /// CPUs that programs may use, in pinning order; never empty.
    pub(super) cpus: Vec<u32>,
    /// Facts that the system reports.
    pub(super) facts: Facts,
    pub(super) workloads: Vec<WorkloadInfo>,
}

/// The system to ask, and the deadline.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) reach: &'a Reach,
    pub(super) programs: &'a Programs,
    pub(super) stop: &'a StopFlag,
}

impl Asking<'_> {
    /// Executes a plan and passes on the answers. Fails without an answer.
    pub(super) fn ask(&self, link: Link, plan: &Plan, take: &mut FrameSink<'_>) -> Result<Link, TargetError> {
        let problem = match link.ask(&Asked { plan, limit: INQUIRY_LIMIT }, take, self.stop) {
            Ok((link, Answer::Done)) => return Ok(link),
            Ok((_, Answer::Failed(text) | Answer::LeftChanged(text))) | Err(NoAnswer::Lost(text)) => text,
            Ok((_, Answer::TimedOut)) => {
                format!("its facts and workloads took more than {} s", INQUIRY_LIMIT.as_secs())
            }
            Err(NoAnswer::Refused | NoAnswer::Stopped) => "stopped".to_owned(),
        };
        Err(TargetError {
            problem: format!("{} cannot be measured: {problem}", self.reach.destination()),
            hint: self.reach.hint_of_room().to_owned(),
        })
    }

    /// Asks for files and descriptions. Fails without an answer.
    pub(super) fn inquire(&self, link: Link, plan: &Plan) -> Result<(Link, Heard), TargetError> {
        let mut heard = Heard::default();
        let link = self.ask(link, plan, &mut |frame| {
            heard.take(frame);
            ControlFlow::Continue(())
        })?;
        Ok((link, heard))
    }

    /// Adds the commands that let each workload describe itself.
    pub(super) fn ask_workloads(&self, plan: &mut Plan, link: &Link) {
        inquiry::ask_workloads(plan, &format!("{}/workloads", link.directory()), &self.programs.programs);
    }

    /// The workloads, from their descriptions. Fails if a workload did not describe itself.
    pub(super) fn workloads(&self, heard: &Heard) -> Result<Vec<WorkloadInfo>, TargetError> {
        heard.workloads("on the host").map_err(|error| TargetError { hint: self.programs.system.hint(), ..error })
    }

    /// The system does not report its number of CPUs.
    pub(super) fn no_cpus(&self, hint: &str) -> TargetError {
        TargetError {
            problem: format!("{} does not say which CPUs it has", self.reach.destination()),
            hint: hint.to_owned(),
        }
    }
}

/// On some systems, users other than root lack `/sbin` in `PATH`.
const SYSCTL: &str = "PATH=$PATH:/sbin:/usr/sbin; exec sysctl \"$@\"";

/// Asks the system. Fails if it does not report its number of CPUs, if a workload does not describe
/// itself, or without an answer.
pub(super) fn find_bsd(asking: Asking<'_>, link: Link) -> Result<(Link, Found), TargetError> {
    let (link, sysctls) = ask_sysctls(asking, link)?;
    let cpus = sysctls.cpus();
    if cpus.is_empty() {
        return Err(asking.no_cpus("it needs `sysctl` with the name hw.ncpu"));
    }
    let mut plan = Plan::default();
    asking.ask_workloads(&mut plan, &link);
    let (link, heard) = asking.inquire(link, &plan)?;
    let workloads = asking.workloads(&heard)?;
    let mut facts = Facts::default();
    facts.text("cpu.architecture", asking.programs.system.architecture());
    bsd_facts::read(&sysctls, &mut facts);
    Ok((link, Found { cpus, facts, workloads }))
}

/// Its status is ignored: it fails unless it knows all the names, which no system does.
fn ask_sysctls(asking: Asking<'_>, link: Link) -> Result<(Link, Sysctls), TargetError> {
    let mut printed = String::new();
    let mut end = ProgramEnd::default();
    let link = asking.ask(link, &plan(), &mut |frame| {
        end.take(frame, &mut |line| {
            printed.push_str(&String::from_utf8_lossy(line));
            printed.push('\n');
            ControlFlow::Continue(())
        })
    })?;
    Ok((link, Sysctls::parse(&printed)))
}

fn plan() -> Plan {
    let mut plan = Plan::default();
    let words = ["run", "/bin/sh", "-c", SYSCTL, "sysctl"].into_iter().chain(bsd_facts::names());
    plan.add(&words.collect::<Vec<_>>());
    plan
}

/// Name of the setting that Linux has in the file at `path`. Fails, with a text, if a BSD has no
/// such settings.
pub(super) fn setting_name(path: &str) -> Result<String, String> {
    let name = path.strip_prefix("/proc/sys/").ok_or_else(|| {
        format!("{path} is not a BSD setting: these are sysctl(8) names, as in `sysctl.kern.maxproc=2000`")
    })?;
    let swapped = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    let name: String = name.chars().map(swapped).collect();
    // Otherwise it would be an option or another assignment.
    match name.starts_with('-') || name.contains('=') {
        true => Err(format!("{name} is not the name of a setting")),
        false => Ok(name),
    }
}

/// Files with the numbers of CPUs and nodes, and the CPUs that programs may use.
const ONLINE_CPUS: &str = "/sys/devices/system/cpu/online";
const ONLINE_NODES: &str = "/sys/devices/system/node/online";
const OWN_STATUS: &str = "/proc/self/status";
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Files with facts that do not matter in a guest that has just booted. A directory stands for its
/// files.
const FURTHER_FILES: [&str; 6] = [
    "/proc/loadavg",
    inquiry::BOOT_ID,
    "/sys/devices/system/cpu/cpu0/cpufreq",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/kernel/debug/sched/preempt",
];

/// Asks the system. Fails if it does not report its CPUs, if a workload does not describe itself,
/// or without an answer.
pub(super) fn find_linux(asking: Asking<'_>, link: Link) -> Result<(Link, Found), TargetError> {
    let (link, sizes) = asking.inquire(link, &sizes_plan())?;
    let online = |path: &str| numbers(&sizes.files, path);
    let (cpus, nodes) = (online(ONLINE_CPUS), online(ONLINE_NODES));
    let mut plan = Plan::default();
    inquiry::ask_facts(&mut plan, count(&cpus), count(&nodes));
    FURTHER_FILES.iter().for_each(|path| plan.add(&["file", path]));
    asking.ask_workloads(&mut plan, &link);
    let (link, heard) = asking.inquire(link, &plan)?;
    let workloads = asking.workloads(&heard)?;
    let cpus = pinning_order(&allowed(&sizes.files).unwrap_or(cpus), &heard.files);
    if cpus.is_empty() {
        return Err(asking.no_cpus("it needs /proc and /sys"));
    }
    let architecture = asking.programs.system.architecture();
    let mut facts = inquiry::facts(&heard.files, architecture, Path::new(link.directory()));
    facts.text("host.name", sizes.files.text(HOST_NAME).unwrap_or_default());
    put_virtualisation(&mut facts, &heard.files);
    Ok((link, Found { cpus, facts, workloads }))
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

/// Number of CPUs or nodes, if all up to the last one are online.
fn count(numbers: &[u32]) -> u32 {
    numbers.iter().max().map_or(0, |last| last + 1)
}

/// The CPUs that the agent, and so its programs, may use.
fn allowed(files: &SentFiles) -> Option<Vec<u32>> {
    let status = files.text(OWN_STATUS)?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(linux_facts::list(list.trim())).filter(|cpus| !cpus.is_empty())
}

/// x86 CPUs report that a hypervisor runs them, but not which one.
fn put_virtualisation(facts: &mut Facts, files: &SentFiles) {
    let Some(info) = files.text("/proc/cpuinfo") else { return };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags")).unwrap_or_default();
    let is_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
    facts.text("virtualisation.kind", if is_guest { "hypervisor" } else { "none" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_their_names_and_files_are_refused() {
        assert_eq!(setting_name("/proc/sys/kern/ipc/maxsockbuf"), Ok("kern.ipc.maxsockbuf".to_owned()));
        assert!(setting_name("/sys/kernel/mm/x").unwrap_err().contains("is not a BSD setting"));
        assert!(setting_name("/proc/sys/-a").unwrap_err().contains("is not the name of a setting"));
        assert!(setting_name("/proc/sys/a=b").is_err());
    }

    #[test]
    fn all_names_are_asked_at_once() {
        let mut expected = Plan::default();
        let mut words = vec!["run", "/bin/sh", "-c", SYSCTL, "sysctl"];
        words.extend(bsd_facts::names());
        expected.add(&words);
        assert_eq!(plan(), expected);
        assert!(words.contains(&"hw.ncpu"));
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
