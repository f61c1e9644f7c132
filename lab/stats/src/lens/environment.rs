//! Differences in the set-up of two lens runs, and whether they count the same subject.

use crate::lens::comparison::EnvironmentPart;
use faultline_record::lens::settings::{Bounds, LensAgain, LensSettings};
use faultline_record::record::RunRecord;
use faultline_record::subject::{SubjectIndex, SubjectKind};
use std::collections::BTreeSet;

/// The differences. A fact that one of the runs lacks counts as equal.
pub(crate) fn differing(a: &RunRecord, b: &RunRecord) -> Vec<EnvironmentPart> {
    let Some((lens_a, lens_b)) = a.settings.lens().zip(b.settings.lens()) else { return Vec::new() };
    let differs = |differ: fn(&LensAgain, &LensAgain) -> bool| differ(&lens_a.again, &lens_b.again);
    let mut differing = Vec::new();
    for (part, is_different) in [
        (EnvironmentPart::Emulator, fact_differs(a, b, "emulator.version")),
        (EnvironmentPart::Plugin, differs(|a, b| a.plugin.sha256 != b.plugin.sha256)),
        (
            EnvironmentPart::Model,
            shape(lens_a) != shape(lens_b)
                || differs(|a, b| (a.times, a.delays, a.cache) != (b.times, b.delays, b.cache)),
        ),
        (EnvironmentPart::Memory, differs(|a, b| a.memory_mib != b.memory_mib)),
        (EnvironmentPart::Workloads, workloads_differ(a, b)),
        (EnvironmentPart::Part, differs(|a, b| part(a) != part(b))),
        (EnvironmentPart::Operations, operations(a, lens_a) != operations(b, lens_b)),
    ] {
        if is_different {
            differing.push(part);
        }
    }
    differing
}

/// True if both runs count the same program or kernel, with the same arguments.
pub(crate) fn is_same_subject(a: &RunRecord, b: &RunRecord) -> bool {
    let hash = |record: &RunRecord| Some(record.settings.lens()?.again.subject.as_ref()?.sha256.clone());
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

/// The counted part of a program's run.
fn part(again: &LensAgain) -> (bool, Option<(&Option<String>, &Bounds)>) {
    (again.whole, again.guest.as_ref().map(|guest| (&guest.process, &guest.bounds)))
}

/// Sockets, caches, table of costs and quanta of the model.
fn shape(lens: &LensSettings) -> (u32, Option<u32>, &str, Option<u64>, Option<u64>) {
    (lens.sockets, lens.cpus_per_cache, &lens.costs, lens.quantum, lens.private_quantum)
}

fn operations(record: &RunRecord, lens: &LensSettings) -> (Option<u64>, Option<u64>) {
    (lens.operations_per_task, record.settings.size)
}

/// True if a workload of both runs has different programs.
fn workloads_differ(a: &RunRecord, b: &RunRecord) -> bool {
    let names =
        |record: &RunRecord| record.plan.iter().map(|item| item.cell.case.workload.clone()).collect::<BTreeSet<_>>();
    names(a).intersection(&names(b)).any(|name| fact_differs(a, b, &format!("workload.{name}.sha256")))
}

/// True if a fact differs between the runs, or between the sessions of one of them.
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
    use faultline_lens_format::CostTimes;
    use faultline_record::lens::settings::{ProgramGuest, SavedFile};
    use faultline_record::plan::RunKind;

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
        let times = CostTimes {
            instruction_ps: 500,
            same_cache_ns: 20,
            same_socket_ns: 50,
            other_socket_ns: 150,
            memory_ns: 80,
        };
        let again = LensAgain { subject: Some(file("kernel")), ..LensAgain::new(file("plugin"), times) };
        *lens(&mut record).again = again;
        let facts = &mut record.head.sessions[0].facts[0];
        facts.text("emulator.version", "10.0.2");
        facts.text("workload.load.sha256", "load");
        facts.text("workload.other.sha256", "other");
        record
    }

    fn differing_after(change: impl Fn(&mut RunRecord)) -> Vec<EnvironmentPart> {
        let mut changed = run();
        change(&mut changed);
        let comparison = compare_runs(&run(), &changed);
        assert_eq!(compare_runs(&changed, &run()).differing, comparison.differing);
        comparison.differing
    }

    #[test]
    fn each_part_of_the_environment_is_compared() {
        let again = |record: &mut RunRecord, change: fn(&mut LensAgain)| {
            change(&mut lens(record).again);
        };
        assert_eq!(differing_after(|_| {}), []);
        let fact = |record: &mut RunRecord, key: &str| record.head.sessions[0].facts[0].text(key, "another");
        assert_eq!(differing_after(|record| fact(record, "emulator.version")), [EnvironmentPart::Emulator]);
        assert_eq!(differing_after(|record| fact(record, "workload.load.sha256")), [EnvironmentPart::Workloads]);
        assert_eq!(differing_after(|record| fact(record, "workload.other.sha256")), [], "it was not counted");
        let plugin = |record: &mut RunRecord| again(record, |again| again.plugin = file("another"));
        assert_eq!(differing_after(plugin), [EnvironmentPart::Plugin]);
        let memory = |record: &mut RunRecord| again(record, |again| again.memory_mib = Some(4096));
        assert_eq!(differing_after(memory), [EnvironmentPart::Memory]);
        let costs = |record: &mut RunRecord| again(record, |again| again.times.same_cache_ns = 21);
        assert_eq!(differing_after(costs), [EnvironmentPart::Model]);
        assert_eq!(differing_after(|record| lens(record).sockets = 2), [EnvironmentPart::Model]);
        let process = |record: &mut RunRecord| {
            again(record, |again| {
                again.guest = Some(ProgramGuest {
                    kernel: file("kernel"),
                    with: Vec::new(),
                    environment: Vec::new(),
                    kernel_too: false,
                    process: Some("server".to_owned()),
                    bounds: Bounds::default(),
                    debug_directories: Vec::new(),
                    files_sha256: None,
                });
            });
        };
        assert_eq!(differing_after(process), [EnvironmentPart::Part]);
        assert_eq!(differing_after(|record| record.head.settings.size = Some(1)), [EnvironmentPart::Operations]);
    }

    #[test]
    fn an_emulator_that_changed_within_a_run_is_a_difference() {
        let resumed = |record: &mut RunRecord| {
            let mut session = record.head.sessions[0].clone();
            session.facts[0].text("emulator.version", "11.0.0");
            record.head.sessions.push(session);
        };
        assert_eq!(differing_after(resumed), [EnvironmentPart::Emulator]);
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
        assert!(!same_after(|record| lens(record).again.subject = Some(file("another"))));
        assert!(!same_after(|record| {
            let what = SubjectKind::Kernel { image: "/boot/vmlinuz".into(), command_line: "quiet more".into() };
            record.head.subjects[0].what = what;
        }));
        assert!(!same_after(|record| lens(record).again.subject = None), "not known");
    }
}
