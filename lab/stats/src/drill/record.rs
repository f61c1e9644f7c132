//! What a run's record says of its line of commits.

use super::evidence::{concluded_of_record, evidence};
use super::next;
use super::recorded::{counters, moved};
use super::reverts::reverted;
use faultline_model::drill::{Drill, Next};
use faultline_model::explained::StepExplained;
use faultline_model::plan::KnownResult;
use faultline_model::record::RunRecord;

/// What is concluded of a record so far; `None` of a run that searches no line.
pub fn conclude_record(record: &RunRecord) -> Option<Drill> {
    let search = record.settings.drill()?;
    let mut found = concluded_of_record(record)?;
    let reverted = reverted(record, &found);
    for (step, reverted) in found.steps.iter_mut().zip(reverted) {
        let is_it = |explained: &&StepExplained| (explained.before, explained.after) == (step.before, step.after);
        step.explained = record.explained.iter().find(is_it).cloned();
        step.reverted = reverted;
        // Once the search is over.
        if step.explained.is_some() {
            step.moved = moved(record, search, step).map(Box::new);
            step.counters = counters(record, search, step);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example;
    use faultline_model::artefact::Artefact;
    use faultline_model::commit::{CommitInfo, CommitLine};
    use faultline_model::count::Count;
    use faultline_model::drill::{DrillSettings, LayoutResult, Noise, Unusable};
    use faultline_model::plan::{CountedSettings, KnownCommit, LineMeasure, LineSearch, MeasuredLine, RunKind};
    use faultline_model::recipe::Recipe;
    use faultline_model::relink::{LayoutKind, RelinkResult};
    use faultline_model::subject::{BuildResult, Commit, Subject, SubjectIndex};

    /// A line of five commits, of which some were tried, in that order: positions, and transfers per operation.
    fn searched(what: Count, tried: &[(u32, f64)]) -> RunRecord {
        let cells: Vec<(u32, f64)> = tried.iter().map(|&(_, transfers)| (2, transfers)).collect();
        let mut record = example::record(&cells);
        let id = |position: u32| format!("{position:040}");
        let RunKind::Lens(lens) = record.settings.kind.clone() else { panic!() };
        let commit = |position| CommitInfo { id: id(position), ..CommitInfo::default() };
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
            on: None,
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
            revert: None,
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
