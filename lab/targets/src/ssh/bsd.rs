//! What a BSD is asked, and what its `sysctl` says.

use super::asking::{Asking, Found};
use super::link::Link;
use crate::TargetError;
use crate::agent::{Plan, ProgramEnd};
use crate::bsd_facts::{self, Sysctls};
use faultline_model::facts::Facts;
use std::ops::ControlFlow;

/// Users who are not root have no `/sbin` in their `PATH` on some systems.
const SYSCTL: &str = "PATH=$PATH:/sbin:/usr/sbin; exec sysctl \"$@\"";

/// Finds out what it is. Fails if it does not say how many CPUs it has, a workload does not describe itself, or there is no answer.
pub(super) fn find(asking: Asking<'_>, link: Link) -> Result<(Link, Found), TargetError> {
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

/// What it prints counts: its status says only whether it knows all the names, which none does.
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

/// The name of the setting that a Linux has in the file at `path`. Fails, in words, if a BSD has no such settings.
pub(super) fn setting_name(path: &str) -> Result<String, String> {
    let name = path.strip_prefix("/proc/sys/").ok_or_else(|| {
        format!("{path} is no setting of a BSD: those are names of sysctl(8), as in `sysctl.kern.maxproc=2000`")
    })?;
    let swapped = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    let name: String = name.chars().map(swapped).collect();
    // Otherwise it would be an option or another assignment.
    match name.starts_with('-') || name.contains('=') {
        true => Err(format!("{name} is no name of a setting")),
        false => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_their_names_and_files_are_refused() {
        assert_eq!(setting_name("/proc/sys/kern/ipc/maxsockbuf"), Ok("kern.ipc.maxsockbuf".to_owned()));
        assert!(setting_name("/sys/kernel/mm/x").unwrap_err().contains("is no setting of a BSD"));
        assert!(setting_name("/proc/sys/-a").unwrap_err().contains("is no name of a setting"));
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
}
