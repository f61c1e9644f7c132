//! What a run's record says of its line of commits.

use super::{concluded, next};
use crate::progress::{Standing, standings};
use crate::tried;
use faultline_model::drill::{Build, Drill, Evidence, LayoutResult, LayoutTrial, Measured, Next, Trial, TrialResult};
use faultline_model::explained::StepExplained;
use faultline_model::plan::{KnownCommit, KnownResult, LineSearch, PlanItem};
use faultline_model::record::RunRecord;
use faultline_model::relink::RelinkResult;
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::BTreeMap;

/// What is concluded of a record so far; `None` of a run that searches no line.
pub fn conclude_record(record: &RunRecord) -> Option<Drill> {
    let search = record.settings.drill()?;
    let mut found = concluded(&evidence(record, search), &search.search);
    for step in &mut found.steps {
        let is_it = |explained: &&StepExplained| (explained.before, explained.after) == (step.before, step.after);
        step.explained = record.explained.iter().find(is_it).cloned();
    }
    let values = search.known.iter().filter(|known| matches!(known.result, KnownResult::Value { .. })).count() as u32;
    let known = search.known.len() as u32;
    // What the search itself did.
    Some(Drill { trials: found.trials - known, executions: found.executions - values, known, ..found })
}

/// What to do next in a run, once all that was planned has ended; `None` of a run that searches no line.
pub fn next_of_record(record: &RunRecord) -> Option<Next> {
    let search = record.settings.drill()?;
    Some(next(&evidence(record, search), &search.search))
}

/// What was tried and measured. A commit is usable if it was built and an execution of it succeeded.
fn evidence(record: &RunRecord, search: &LineSearch) -> Evidence {
    let mut evidence = Evidence::new(search.line.last(), Vec::new());
    search.known.iter().for_each(|known| add_known(known, &mut evidence));
    let standings = standings(record);
    let mut first_by_directory: BTreeMap<&str, u32> = BTreeMap::new();
    let mut places = Places::new();
    for (number, subject) in record.subjects.iter().enumerate() {
        let index = SubjectIndex(number as u32);
        let Some(position) = position(search, subject) else { continue };
        let own = standings.iter().filter(|(item, _)| item.subject == index);
        if let Some(BuildResult::Relinked { layout, result }) = &subject.build {
            let build = Build::plain(position, 0).with_layout(*layout);
            let result = relinked(&mut places, position, *layout, result, own.clone().map(|(_, standing)| standing));
            evidence.layouts.push(LayoutTrial { build, result });
            evidence
                .measured
                .extend(own.filter_map(|(item, standing)| measured(record, search, build, item, standing)));
            continue;
        }
        let same = subject.setup.directory.as_deref().and_then(|directory| {
            let first = *first_by_directory.entry(directory).or_insert(position);
            (first != position).then_some(first)
        });
        let result = match (same, tried::result(subject, own.clone().map(|(_, standing)| standing))) {
            (Some(position), TrialResult::Usable) => TrialResult::SameAs { position },
            (_, result) => result,
        };
        evidence.trials.push(Trial { position, surroundings: 0, result });
        let build = Build::plain(position, 0);
        evidence.measured.extend(own.filter_map(|(item, standing)| measured(record, search, build, item, standing)));
    }
    evidence
}

/// The first layout of each commit with the places of that digest.
type Places<'a> = BTreeMap<(u32, &'a str), u32>;

/// What came of a random layout, given the states of its executions.
fn relinked<'a, 'b>(
    places: &mut Places<'a>,
    position: u32,
    layout: u32,
    result: &'a RelinkResult,
    mut own: impl Iterator<Item = &'b Standing<'b>> + Clone,
) -> LayoutResult {
    let has_failed = own.clone().any(|standing| matches!(standing, Standing::Failed(_)));
    let has_succeeded = own.any(|standing| matches!(standing, Standing::Done(_)));
    match result {
        RelinkResult::Failed { .. } => LayoutResult::Failed,
        RelinkResult::Placed { .. } if has_failed && !has_succeeded => LayoutResult::Failed,
        RelinkResult::Unchanged => LayoutResult::Unchanged,
        RelinkResult::Placed { places: digest } => match *places.entry((position, digest)).or_insert(layout) {
            first if first == layout => LayoutResult::Placed,
            layout => LayoutResult::SameAs { layout },
        },
    }
}

/// What earlier runs say of a commit. It needs no block of its own: only exact values are known.
fn add_known(known: &KnownCommit, evidence: &mut Evidence) {
    let (position, surroundings) = (known.position, 0);
    let result = match known.result {
        KnownResult::Value { .. } => TrialResult::Usable,
        KnownResult::Unusable { why } => TrialResult::Unusable { why },
    };
    evidence.trials.push(Trial { position, surroundings, result });
    if let KnownResult::Value { value, .. } = known.result {
        let build = Build::plain(position, surroundings);
        evidence.measured.push(Measured { build, block: 0, value: Some(value) });
    }
}

fn position(search: &LineSearch, subject: &Subject) -> Option<u32> {
    search.line.position(&subject.commit.as_ref()?.id)
}

/// An execution that has ended.
fn measured(
    record: &RunRecord,
    search: &LineSearch,
    build: Build,
    item: &PlanItem,
    standing: &Standing<'_>,
) -> Option<Measured> {
    let value = match standing {
        Standing::Done(attempt) => tried::value(record, &search.measure, item, attempt),
        Standing::Failed(_) => None,
        Standing::Skipped | Standing::Left => return None,
    };
    Some(Measured { build, block: item.block, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example;
    use faultline_model::artefact::Artefact;
    use faultline_model::commit::{CommitInfo, CommitLine};
    use faultline_model::count::Count;
    use faultline_model::drill::{DrillSettings, Noise, Unusable};
    use faultline_model::plan::{CountedSettings, LineMeasure, MeasuredLine, RunKind};
    use faultline_model::recipe::Recipe;
    use faultline_model::relink::LayoutKind;
    use faultline_model::subject::Commit;

    /// A line of five commits, of which some were tried, in that order: positions, and transfers per operation.
    fn searched(what: Count, tried: &[(u32, f64)]) -> RunRecord {
        let cells: Vec<(u32, f64)> = tried.iter().map(|&(_, transfers)| (2, transfers)).collect();
        let mut record = example::record(&cells);
        let id = |position: u32| format!("{position:040}");
        let RunKind::Lens(lens) = record.settings.kind.clone() else { panic!() };
        let commit = |position| CommitInfo {
            id: id(position),
            tree: String::new(),
            parents: Vec::new(),
            committed_s: 0,
            author: String::new(),
            subject: String::new(),
        };
        let measured = MeasuredLine {
            measure: LineMeasure::Counted(Box::new(CountedSettings { what, lens })),
            repository: "/repository".to_owned(),
            work: None,
            line: CommitLine { commits: (0..5).map(commit).collect() },
            recipe: Recipe {
                command: Vec::new(),
                environment: Vec::new(),
                limit_s: 1,
                kept: Vec::new(),
                is_clean: false,
            },
            tools: None,
            releases: Vec::new(),
            artefact: Artefact::Command(vec!["./load".to_owned()]),
        };
        let search = DrillSettings {
            noise: Noise::None,
            level: 0.95,
            least: 0.02,
            most_blocks: 60,
            layouts: 0,
            thorough: false,
        };
        record.head.settings.kind = RunKind::Drill(Box::new(LineSearch {
            measured,
            search,
            layouts: LayoutKind::default(),
            gate: None,
            known: Vec::new(),
            of: None,
        }));
        let subject = record.head.subjects[0].clone();
        let of = |&(position, _): &(u32, f64)| Subject {
            commit: Some(Commit { id: id(position), repository: None }),
            build: Some(BuildResult::Built),
            ..subject.clone()
        };
        record.head.subjects = tried.iter().map(of).collect();
        for (number, item) in (0..).zip(&mut record.plan) {
            item.subject = SubjectIndex(number);
        }
        record
    }

    #[test]
    fn one_count_of_each_commit_leads_to_the_step() {
        let mut tried = vec![(0, 1.0), (4, 9.0)];
        assert_eq!(
            next_of_record(&searched(Count::Transfers, &tried)),
            Some(Next::Try { position: 2, surroundings: 0 })
        );
        tried.extend([(2, 1.0), (3, 9.0)]);
        let record = searched(Count::Transfers, &tried);
        assert_eq!(next_of_record(&record), Some(Next::Nothing));
        let found = conclude_record(&record).unwrap();
        assert_eq!((found.steps.len(), found.executions), (1, 4), "{found:?}");
        assert_eq!((found.steps[0].candidates.as_slice(), found.steps[0].values), (&[3][..], Some([1.0, 9.0])));
    }

    #[test]
    fn builds_that_were_linked_again_are_layouts_of_their_commit() {
        let mut record = searched(Count::Transfers, &[(0, 1.0), (4, 9.0), (4, 8.0), (4, 7.0), (4, 6.0), (4, 5.0)]);
        let placed = |places: &str| RelinkResult::Placed { places: places.to_owned() };
        let failed = RelinkResult::Failed { how: String::new(), output: String::new() };
        let results = [placed("a"), placed("a"), RelinkResult::Unchanged, failed];
        for (layout, (subject, result)) in (0..).zip(record.head.subjects[2..].iter_mut().zip(results)) {
            subject.build = Some(BuildResult::Relinked { layout, result });
        }
        let evidence = evidence(&record, record.settings.drill().unwrap());
        assert_eq!(evidence.trials.len(), 2, "a layout is no trial of its commit");
        let results: Vec<_> = evidence.layouts.iter().map(|trial| (trial.build.position, trial.result)).collect();
        let expected =
            [LayoutResult::Placed, LayoutResult::SameAs { layout: 0 }, LayoutResult::Unchanged, LayoutResult::Failed];
        assert_eq!(results, expected.map(|result| (4, result)));
        let of_layouts = evidence.measured.iter().filter(|measured| measured.build.layout == Some(1));
        assert_eq!(of_layouts.map(|measured| measured.value).collect::<Vec<_>>(), [Some(7.0)]);
    }

    #[test]
    fn what_earlier_runs_say_is_not_tried_again() {
        let mut record = searched(Count::Transfers, &[(3, 9.0)]);
        let RunKind::Drill(search) = &mut record.head.settings.kind else { panic!() };
        let known = |position, result| KnownCommit { position, result };
        search.known = vec![
            known(0, KnownResult::Value { value: 1.0, build: None }),
            known(4, KnownResult::Value { value: 9.0, build: None }),
            known(2, KnownResult::Unusable { why: Unusable::Build }),
        ];
        let found = conclude_record(&record).unwrap();
        assert_eq!((found.trials, found.executions, found.known), (1, 1, 3));
        assert_eq!(next_of_record(&record), Some(Next::Try { position: 1, surroundings: 0 }));
    }

    #[test]
    fn the_count_that_was_asked_for_is_compared() {
        let record = searched(Count::Instructions, &[(0, 1.0), (4, 9.0)]);
        assert_eq!(next_of_record(&record), Some(Next::Nothing));
        assert!(conclude_record(&record).unwrap().steps.is_empty());
    }
}
