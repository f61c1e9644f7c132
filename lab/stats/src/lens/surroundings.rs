//! What two lens runs differ in besides what they count, and whether they count the same thing.

use faultline_model::lens::comparison::Surrounding;
use faultline_model::lens::settings::{LensAgain, LensSettings};
use faultline_model::record::RunRecord;
use faultline_model::subject::{SubjectIndex, SubjectKind};
use std::collections::BTreeSet;

/// What differs. What a run of an older version did not save counts as the same.
pub(crate) fn differing(a: &RunRecord, b: &RunRecord) -> Vec<Surrounding> {
    let Some((lens_a, lens_b)) = a.settings.lens().zip(b.settings.lens()) else { return Vec::new() };
    let again = lens_a.again.as_deref().zip(lens_b.again.as_deref());
    let differs = |differ: fn(&LensAgain, &LensAgain) -> bool| again.is_some_and(|(a, b)| differ(a, b));
    let mut differing = Vec::new();
    for (surrounding, is_different) in [
        (Surrounding::Emulator, fact_differs(a, b, "emulator.version")),
        (Surrounding::Plugin, differs(|a, b| a.plugin.sha256 != b.plugin.sha256)),
        (
            Surrounding::Model,
            shape(lens_a) != shape(lens_b) || differs(|a, b| (a.times, a.cache) != (b.times, b.cache)),
        ),
        (Surrounding::Memory, differs(|a, b| a.memory_mib != b.memory_mib)),
        (Surrounding::Workloads, workloads_differ(a, b)),
        (Surrounding::Operations, operations(a, lens_a) != operations(b, lens_b)),
    ] {
        if is_different {
            differing.push(surrounding);
        }
    }
    differing
}

/// Whether both runs count the same program or kernel, with the same arguments.
pub(crate) fn is_same_subject(a: &RunRecord, b: &RunRecord) -> bool {
    let hash = |record: &RunRecord| Some(record.settings.lens()?.again.as_ref()?.subject.as_ref()?.sha256.clone());
    let words = |record: &RunRecord| match &record.subject(SubjectIndex::A)?.what {
        SubjectKind::Kernel { command_line, .. } => Some(vec![command_line.clone()]),
        SubjectKind::Program { argv } => Some(argv.clone()),
        SubjectKind::Machine { command_line, modules, .. } => {
            Some(std::iter::once(command_line).chain(modules).cloned().collect())
        }
        SubjectKind::System => None,
    };
    let (of_a, of_b) = (hash(a).zip(words(a)), hash(b).zip(words(b)));
    of_a.is_some() && of_a == of_b
}

/// The part of the model that every version saved.
fn shape(lens: &LensSettings) -> (u32, Option<u32>, &str, Option<u64>, Option<u64>) {
    (lens.sockets, lens.cpus_per_cache, &lens.costs, lens.quantum, lens.private_quantum)
}

fn operations(record: &RunRecord, lens: &LensSettings) -> (Option<u64>, Option<u64>) {
    (lens.operations_per_task, record.settings.size)
}

/// Whether the programs of the workloads that both runs have differ.
fn workloads_differ(a: &RunRecord, b: &RunRecord) -> bool {
    let names =
        |record: &RunRecord| record.plan.iter().map(|item| item.cell.case.workload.clone()).collect::<BTreeSet<_>>();
    names(a).intersection(&names(b)).any(|name| fact_differs(a, b, &format!("workload.{name}.sha256")))
}

/// Whether a fact differs between the runs, or between the sessions of one of them.
fn fact_differs(a: &RunRecord, b: &RunRecord, key: &str) -> bool {
    let known = |record: &RunRecord| {
        record.all_facts().filter_map(|facts| facts.get_text(key).map(str::to_owned)).collect::<BTreeSet<_>>()
    };
    let (of_a, of_b) = (known(a), known(b));
    !of_a.is_empty() && !of_b.is_empty() && of_a.union(&of_b).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::compare_runs;
    use crate::lens::example::seeded;
    use faultline_model::lens::settings::{CostTimes, SavedFile};
    use faultline_model::plan::RunKind;

    fn file(sha256: &str) -> SavedFile {
        SavedFile { path: "/somewhere".into(), sha256: sha256.into() }
    }

    fn lens(record: &mut RunRecord) -> &mut LensSettings {
        match &mut record.head.settings.kind {
            RunKind::Lens(lens) => lens,
            other => panic!("{other:?}"),
        }
    }

    /// A run that saved everything.
    fn run() -> RunRecord {
        let mut record = seeded(&[(2, 1, 1.0)]);
        lens(&mut record).again = Some(Box::new(LensAgain {
            subject: Some(file("kernel")),
            plugin: file("plugin"),
            vmlinux: None,
            directory: None,
            whole: false,
            guest: None,
            machine: None,
            memory_mib: None,
            times: CostTimes {
                instruction_ps: 500,
                same_cache_ns: 20,
                same_socket_ns: 50,
                other_socket_ns: 150,
                memory_ns: 80,
                delays: None,
            },
            cache: None,
            baseline: None,
        }));
        let facts = &mut record.head.sessions[0].facts[0];
        facts.text("emulator.version", "10.0.2");
        facts.text("workload.load.sha256", "load");
        facts.text("workload.other.sha256", "other");
        record
    }

    fn differing_after(change: impl Fn(&mut RunRecord)) -> Vec<Surrounding> {
        let mut changed = run();
        change(&mut changed);
        let comparison = compare_runs(&run(), &changed);
        assert_eq!(compare_runs(&changed, &run()).differing, comparison.differing);
        comparison.differing
    }

    #[test]
    fn each_surrounding_is_compared() {
        let again = |record: &mut RunRecord, change: fn(&mut LensAgain)| {
            change(lens(record).again.as_mut().unwrap());
        };
        assert_eq!(differing_after(|_| {}), []);
        let fact = |record: &mut RunRecord, key: &str| record.head.sessions[0].facts[0].text(key, "another");
        assert_eq!(differing_after(|record| fact(record, "emulator.version")), [Surrounding::Emulator]);
        assert_eq!(differing_after(|record| fact(record, "workload.load.sha256")), [Surrounding::Workloads]);
        assert_eq!(differing_after(|record| fact(record, "workload.other.sha256")), [], "it was not counted");
        let plugin = |record: &mut RunRecord| again(record, |again| again.plugin = file("another"));
        assert_eq!(differing_after(plugin), [Surrounding::Plugin]);
        let memory = |record: &mut RunRecord| again(record, |again| again.memory_mib = Some(4096));
        assert_eq!(differing_after(memory), [Surrounding::Memory]);
        let costs = |record: &mut RunRecord| again(record, |again| again.times.same_cache_ns = 21);
        assert_eq!(differing_after(costs), [Surrounding::Model]);
        assert_eq!(differing_after(|record| lens(record).sockets = 2), [Surrounding::Model]);
        assert_eq!(differing_after(|record| record.head.settings.size = Some(1)), [Surrounding::Operations]);
        let older = |record: &mut RunRecord| lens(record).again = None;
        assert_eq!(differing_after(older), [], "it did not save them");
    }

    #[test]
    fn an_emulator_that_changed_within_a_run_is_a_difference() {
        let resumed = |record: &mut RunRecord| {
            let mut session = record.head.sessions[0].clone();
            session.facts[0].text("emulator.version", "11.0.0");
            record.head.sessions.push(session);
        };
        assert_eq!(differing_after(resumed), [Surrounding::Emulator]);
    }

    #[test]
    fn the_subject_is_the_same_by_its_contents_and_not_by_its_path() {
        let same_after = |change: fn(&mut RunRecord)| {
            let mut changed = run();
            change(&mut changed);
            compare_runs(&run(), &changed).same_subject
        };
        assert!(same_after(|record| {
            let what = SubjectKind::Kernel { image: "/elsewhere".into(), command_line: "quiet".into() };
            record.head.subjects[0].what = what;
        }));
        assert!(!same_after(|record| lens(record).again.as_mut().unwrap().subject = Some(file("another"))));
        assert!(!same_after(|record| {
            let what = SubjectKind::Kernel { image: "/boot/vmlinuz".into(), command_line: "quiet more".into() };
            record.head.subjects[0].what = what;
        }));
        assert!(!same_after(|record| lens(record).again = None), "not known");
    }
}
