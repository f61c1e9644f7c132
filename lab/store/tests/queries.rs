//! Queries over rows say what the whole record says, whatever a run holds.

use faultline_model::cell::{Case, Cell, TaskMode};
use faultline_model::direction::Direction;
use faultline_model::facts::Facts;
use faultline_model::journal::Journal;
use faultline_model::machine::Machine;
use faultline_model::outcome::{Outcome, OutcomeCounts};
use faultline_model::plan::{
    ComparisonPurpose, ComparisonSettings, PinPolicy, PlanItem, RunKind, Settings, TimedSettings,
};
use faultline_model::protocol::{Event, Interval, Measure};
use faultline_model::record::{Attempt, RunId, RunRecord, Session};
use faultline_model::setup::Setup;
use faultline_model::subject::{Commit, Subject, SubjectIndex};
use faultline_model::time::UnixMillis;
use faultline_store::{CellAttempts, CellValue, NewRun, Store};
use proptest::collection::vec;
use proptest::prelude::*;

fn settings() -> Settings {
    let timed = TimedSettings {
        suite: None,
        pin: PinPolicy::Each,
        oversubscribe: false,
        budget_ms: None,
        copies: 1,
        tree: None,
    };
    let kind = RunKind::Comparison(ComparisonSettings {
        timed,
        level: 0.95,
        margin: 0.02,
        once: false,
        purpose: ComparisonPurpose::Answer,
    });
    Settings { cpus: vec![1, 2], repeats: 1, seed: 7, limit_ms: None, size: None, kind }
}

fn side(name: &str, commit: Option<&str>) -> Subject {
    let commit = commit.and_then(Commit::named);
    Subject { commit, ..Subject::on(name.to_owned(), Machine::Host, Setup::default()) }
}

fn cell(tasks: u32) -> Cell {
    Cell { case: Case { workload: "load".into(), variant: "base".into(), mode: TaskMode::Process }, tasks }
}

/// Begins a run at that time, with items that are given by block, subject and tasks.
fn begin(store: &mut Store, label: Option<&str>, subjects: &[Subject], at: i64, items: &[(u32, u32, u32)]) -> RunId {
    let plan: Vec<PlanItem> = items
        .iter()
        .zip(0..)
        .map(|(&(block, subject, tasks), ordinal)| {
            let subject = SubjectIndex(subject);
            PlanItem { ordinal, block, subject, cell: cell(tasks), timing: None, seed: None }
        })
        .collect();
    let session = Session { started: UnixMillis(at), facts: vec![Facts::default(); subjects.len()] };
    let settings = settings();
    let new = NewRun { label, settings: &settings, subjects, workloads: &[], plan: &plan, session: &session };
    store.begin_run(&new).unwrap()
}

/// An attempt, as it is to be saved.
#[derive(Debug, Clone)]
struct Drawn {
    started: i64,
    window: Vec<Interval>,
    measure: Option<f64>,
    outcome: Option<Outcome>,
}

fn save(store: &mut Store, run: RunId, ordinal: u32, drawn: &Drawn) {
    let mut journal = store.journal(run);
    let id = journal.begin_attempt(ordinal, UnixMillis(drawn.started)).unwrap();
    journal.record(id, &Event::Warmup(Interval { from_ns: 1, to_ns: 2, operations: vec![1_000_000] })).unwrap();
    for interval in &drawn.window {
        journal.record(id, &Event::Window(interval.clone())).unwrap();
    }
    journal.record(id, &Event::End(1)).unwrap();
    if let Some(value) = drawn.measure {
        let measure = Measure { name: "real_s".into(), unit: "s".into(), direction: Direction::Lower, value };
        journal.record(id, &Event::Measure(measure.clone())).unwrap();
        journal.record(id, &Event::Measure(Measure { value: -1.0, ..measure })).unwrap();
    }
    journal
        .end_attempt(id, drawn.outcome.as_ref().unwrap_or(&Outcome::Interrupted), UnixMillis(drawn.started))
        .unwrap();
}

/// Counts from nothing to the greatest that a workload can print.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..1_000_000, 1 => 0..=i64::MAX as u64]
}

fn interval() -> impl Strategy<Value = Interval> {
    (0u64..1 << 40, prop_oneof![9 => 1u64..1 << 40, 1 => 1u64..1 << 62], vec(count(), 1..4))
        .prop_map(|(from_ns, length, operations)| Interval { from_ns, to_ns: from_ns + length, operations })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        5 => Just(Outcome::Done),
        1 => Just(Outcome::TimedOut { limit_ms: 5 }),
        1 => Just(Outcome::Unsupported { step: "s".into(), text: "t".into() }),
        1 => Just(Outcome::LeftChanged { text: "t".into() }),
        1 => Just(Outcome::Interrupted),
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (0i64..100, vec(interval(), 0..4), proptest::option::of(-1e9..1e9), outcome())
        .prop_map(|(started, window, measure, outcome)| Drawn { started, window, measure, outcome: Some(outcome) })
}

/// An item's block, subject and tasks, its attempts, and whether it is skipped.
type DrawnItem = ((u32, u32, u32), Vec<Drawn>, bool);

/// Items with the attempts at each; nothing is attempted after an attempt that was final.
fn items() -> impl Strategy<Value = Vec<DrawnItem>> {
    let attempts = vec(drawn(), 0..4).prop_map(|attempts| {
        let is_final = |drawn: &Drawn| drawn.outcome.as_ref().is_some_and(Outcome::is_final);
        let last = attempts.iter().position(is_final).map_or(attempts.len(), |index| index + 1);
        attempts.into_iter().take(last).collect::<Vec<_>>()
    });
    vec(((0u32..3, 0u32..2, 1u32..3), attempts, any::<bool>()), 0..12)
}

/// What the record holds for a query of cells.
fn value_of(item: &PlanItem, attempt: &Attempt) -> CellValue {
    let fits = |number: u128| u64::try_from(number).ok().filter(|&number| number < i64::MAX as u64);
    CellValue {
        attempt: attempt.id,
        block: item.block,
        started: attempt.started,
        intervals: attempt.window.len() as u32,
        window_ns: fits(attempt.window.iter().map(|interval| u128::from(interval.length_ns())).sum()),
        operations: fits(attempt.window.iter().map(Interval::total).sum()),
        measure: attempt.measures.first().map(|measure| measure.value),
    }
}

fn values_of(record: &RunRecord, chosen: &CellAttempts) -> Vec<CellValue> {
    let is_chosen = |item: &&PlanItem| {
        item.subject == chosen.subject && item.cell == chosen.cell && chosen.blocks.contains(&item.block)
    };
    let mut items: Vec<&PlanItem> = record.plan.iter().filter(is_chosen).collect();
    items.sort_by_key(|item| (item.block, item.ordinal));
    let values = items.into_iter().filter_map(|item| {
        let attempt = record.final_attempt(item.ordinal).filter(|attempt| attempt.outcome == Some(Outcome::Done))?;
        let within = chosen.begun.as_ref().is_none_or(|begun| begun.contains(&attempt.started));
        within.then(|| value_of(item, attempt))
    });
    values.collect()
}

fn counts_of(record: &RunRecord) -> Vec<OutcomeCounts> {
    let mut counts = vec![OutcomeCounts::default(); record.subjects.len()];
    for attempt in &record.attempts {
        let counts = &mut counts[record.plan[attempt.ordinal as usize].subject.at()];
        match attempt.outcome.as_ref().unwrap() {
            Outcome::Done => counts.done += 1,
            Outcome::Unsupported { .. } => counts.unsupported += 1,
            Outcome::Interrupted => counts.interrupted += 1,
            outcome => {
                assert!(outcome.is_failure());
                counts.failed += 1;
            }
        }
    }
    counts
}

/// Numbers close to the greatest of 64 bits are kept or not, by rounding: both are right.
fn is_at_the_edge(value: &CellValue) -> bool {
    let edge = 9_100_000_000_000_000_000;
    [value.window_ns, value.operations].into_iter().flatten().any(|number| number > edge)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn aggregates_are_those_of_the_whole_record(
        items in items(), subject in 0u32..2, tasks in 1u32..3, blocks in (0u32..3, 0u32..4), begun in proptest::option::of((0i64..100, 0i64..100)),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(&directory.path().join("db.sqlite")).unwrap();
        let plan: Vec<_> = items.iter().map(|(item, ..)| *item).collect();
        let run = begin(&mut store, None, &[side("old", None), side("new", None)], 1, &plan);
        for ((_, attempts, is_skipped), ordinal) in items.iter().zip(0..) {
            attempts.iter().for_each(|drawn| save(&mut store, run, ordinal, drawn));
            if *is_skipped {
                store.skip_items(run, &[ordinal]).unwrap();
            }
        }
        let record = store.load_run(run).unwrap();
        let missing: Vec<PlanItem> = record
            .plan
            .iter()
            .filter(|item| record.final_attempt(item.ordinal).is_none() && !record.skipped.contains(&item.ordinal))
            .cloned()
            .collect();
        prop_assert_eq!(store.missing_items(run).unwrap(), missing);
        prop_assert_eq!(store.load_plan(run).unwrap(), record.plan.clone());
        prop_assert_eq!(&store.load_head(run).unwrap(), &record.head);
        prop_assert_eq!(store.outcome_counts(run).unwrap(), counts_of(&record));
        let starts: Vec<UnixMillis> = record.attempts.iter().map(|attempt| attempt.started).collect();
        prop_assert_eq!(store.attempt_starts(run).unwrap(), starts);
        let begun = begun.map(|(from, to)| UnixMillis(from)..UnixMillis(to));
        let chosen = CellAttempts { subject: SubjectIndex(subject), cell: cell(tasks), blocks: blocks.0..blocks.1, begun };
        let (values, expected) = (store.cell_values(run, &chosen).unwrap(), values_of(&record, &chosen));
        prop_assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(&expected) {
            prop_assert!(value == expected || is_at_the_edge(expected), "{:?} is not {:?}", value, expected);
        }
    }
}

#[test]
fn counts_that_64_bits_do_not_hold_are_no_number_and_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("db.sqlite")).unwrap();
    let run = begin(&mut store, None, &[side("one", None)], 1, &[(0, 0, 1)]);
    let window = vec![Interval { from_ns: 0, to_ns: i64::MAX as u64, operations: vec![i64::MAX as u64; 3] }; 2];
    save(&mut store, run, 0, &Drawn { started: 1, window, measure: None, outcome: Some(Outcome::Done) });
    let chosen = CellAttempts { subject: SubjectIndex::A, cell: cell(1), blocks: 0..1, begun: None };
    let values = store.cell_values(run, &chosen).unwrap();
    assert_eq!((values[0].intervals, values[0].window_ns, values[0].operations), (2, None, None));
}

#[test]
fn an_attempt_that_was_cut_short_has_its_aggregates_once_the_run_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db.sqlite");
    let mut store = Store::open_or_create(&path).unwrap();
    let run = begin(&mut store, None, &[side("one", None)], 1, &[(0, 0, 1)]);
    let mut journal = store.journal(run);
    let id = journal.begin_attempt(0, UnixMillis(2)).unwrap();
    journal.record(id, &Event::Window(Interval { from_ns: 5, to_ns: 9, operations: vec![3, 4] })).unwrap();
    assert_eq!(store.outcome_counts(run).unwrap(), [OutcomeCounts::default()]);
    store.resume_run(run, &Session { started: UnixMillis(9), facts: vec![Facts::default()] }).unwrap();
    assert_eq!(store.outcome_counts(run).unwrap(), [OutcomeCounts { interrupted: 1, ..OutcomeCounts::default() }]);
    let query = "SELECT intervals, window_ns, window_operations FROM attempt";
    let kept = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row(query, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
    assert_eq!(kept.unwrap(), (1, 4, 7));
}

#[test]
fn runs_are_found_by_label_time_and_commit() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("db.sqlite")).unwrap();
    let mut run = |label, commits: &[Option<&str>], at| {
        let subjects: Vec<Subject> = commits.iter().map(|commit| side("s", *commit)).collect();
        begin(&mut store, Some(label), &subjects, at, &[])
    };
    let one = run("nightly", &[Some("1F3A9C2d7e")], 10);
    let two = run("1f3a9c2d7e", &[Some("1f3a9c2e00"), Some("80d2f11")], 20);
    let three = run("nightly", &[Some("80d2f11aa")], 30);
    let four = run("20261121", &[None], 40);

    assert_eq!(store.runs_labelled("nightly").unwrap(), [three, one]);
    assert_eq!(store.runs_labelled("night").unwrap(), []);
    assert_eq!(store.runs_labelled("2026112").unwrap(), []);
    assert_eq!(store.runs_begun(UnixMillis(20)..UnixMillis(40)).unwrap(), [three, two]);
    assert_eq!((store.newest_run().unwrap(), store.newest_open_run().unwrap()), (Some(four), Some(four)));

    let found = |name: &str| {
        let found = store.runs_of_commit(name).unwrap();
        found.into_iter().map(|one| (one.run, one.subject.0, one.commit)).collect::<Vec<_>>()
    };
    assert_eq!(found("1f3a9c2d"), [(one, 0, "1f3a9c2d7e".to_owned())]);
    assert_eq!(found("1F3A9C2E"), [(two, 0, "1f3a9c2e00".to_owned())]);
    assert_eq!(found("80d2f11"), [(two, 1, "80d2f11".to_owned())], "a whole name is no beginning of another");
    for nothing in ["2026112", "20261121", "1f3a9c", "1f3a9c2f", "nightly", ""] {
        assert_eq!(found(nothing), [], "{nothing}");
    }
    let problem = store.runs_of_commit("1f3a9c2").unwrap_err().problem;
    assert_eq!(problem, "several commits begin with '1f3a9c2': 1f3a9c2d7e, 1f3a9c2e00");
}
