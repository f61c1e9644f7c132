//! Warnings about the number of CPUs: a quota, a single CPU, more tasks than CPUs or cores.

use super::{Findings, Warning, WarningKind};
use crate::command_figures::given_command;
use faultline_record::cell::Cell;
use faultline_record::subject::SubjectIndex;

/// A control group allows less CPU time than the usable CPUs have, and some cells may need more.
pub(super) fn quota(findings: &Findings<'_>) -> Option<Warning> {
    let quota = findings.cpus.quota?;
    let cells = planned(findings, |tasks| findings.cpus.quota_for(tasks).is_some());
    (!cells.is_empty()).then_some(Warning { kind: WarningKind::CpuQuota { cpus: quota }, cells })
}

/// Only one CPU. A command alone is not about scaling.
pub(super) fn one_cpu(findings: &Findings<'_>) -> Option<Warning> {
    let record = findings.record;
    let is_alone = record.settings.cpus == [1] && given_command(record, SubjectIndex::A).is_some();
    (findings.cpus.at_hand() == Some(1) && !is_alone).then(|| Warning { kind: WarningKind::OneCpu, cells: Vec::new() })
}

/// More tasks than CPUs.
pub(super) fn oversubscribed(findings: &Findings<'_>) -> Option<Warning> {
    let cpus = findings.cpus.at_hand()?;
    let cells = planned(findings, |tasks| tasks > cpus);
    let most_tasks = cells.iter().map(|cell| cell.tasks).max()?;
    Some(Warning { kind: WarningKind::Oversubscribed { most_tasks, cpus }, cells })
}

/// More tasks than cores, but not more than CPUs.
pub(super) fn shared_cores(findings: &Findings<'_>) -> Option<Warning> {
    let cores = findings.cpus.cores?;
    let cpus = findings.cpus.at_hand().unwrap_or(u32::MAX);
    let cells = planned(findings, |tasks| tasks > cores && tasks <= cpus);
    let most_tasks = cells.iter().map(|cell| cell.tasks).max()?;
    Some(Warning { kind: WarningKind::SharedCores { most_tasks, cores }, cells })
}

/// The planned cells with an affected number of tasks.
fn planned(findings: &Findings<'_>, concerned: impl Fn(u32) -> bool) -> Vec<Cell> {
    let cells = findings.cases.iter().flat_map(|case| case.cells.iter().map(|cell| case.cell(cell.tasks)));
    cells.filter(|cell| concerned(cell.tasks)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use crate::warnings::WarningCode::{self, CpuQuota, OneCpu, Oversubscribed, SharedCores};
    use faultline_record::record::RunRecord;

    /// A run of 1, 2 and 4 tasks on a machine with these numbers of logical CPUs, usable CPUs and
    /// cores.
    fn run(logical: i64, usable: i64, cores: i64) -> RunRecord {
        let mut record = example::Run::new(&["load"]).tasks(&[1, 2, 4]).record();
        let facts = &mut record.head.sessions[0].facts[0];
        facts.count("cpu.logical", logical);
        facts.count("cpu.usable", usable);
        facts.count("cpu.cores", cores);
        record
    }

    fn tasks(record: &RunRecord, code: WarningCode) -> Vec<u32> {
        of(record, code).iter().flat_map(|warning| &warning.cells).map(|cell| cell.tasks).collect()
    }

    #[test]
    fn more_tasks_than_usable_cpus() {
        assert_eq!(tasks(&run(8, 2, 8), Oversubscribed), [4]);
        assert!(of(&run(8, 4, 8), Oversubscribed).is_empty());
    }

    #[test]
    fn more_tasks_than_cores() {
        assert_eq!(tasks(&run(4, 4, 2), SharedCores), [4]);
        assert!(of(&run(4, 4, 4), SharedCores).is_empty());
        assert!(of(&run(2, 2, 2), SharedCores).is_empty(), "that is oversubscription");
    }

    #[test]
    fn one_cpu_of_many_is_one() {
        assert_eq!(of(&run(4, 1, 4), OneCpu).len(), 1);
        assert!(of(&run(2, 2, 2), OneCpu).is_empty());
        let mut command = run(1, 1, 1);
        command.head.subjects[0].setup.command = vec!["./prog".to_owned()];
        assert_eq!(of(&command, OneCpu).len(), 1, "of up to 4 copies");
        command.head.settings.cpus = vec![1];
        assert!(of(&command, OneCpu).is_empty());
    }

    #[test]
    fn a_quota_below_the_cpus_concerns_the_cells_that_reach_it() {
        let mut record = run(4, 4, 4);
        record.head.sessions[0].facts[0].real("cgroup.cpu_quota_cpus", 1.5);
        assert_eq!(tasks(&record, CpuQuota), [2, 4]);
        record.head.sessions[0].facts[0].real("cgroup.cpu_quota_cpus", 4.0);
        assert!(of(&record, CpuQuota).is_empty());
    }
}
