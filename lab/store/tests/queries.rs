//! Queries over rows: equal to the results from whole records, for arbitrary runs.

use crate::place::{TestDatabase, each};
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::direction::Direction;
use faultline_record::explained::{LinkedChanges, StepExplained};
use faultline_record::facts::Facts;
use faultline_record::journal::{AttemptId, Journal};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{
    ComparisonPurpose, ComparisonSettings, KindOfRun, PinPolicy, PlanItem, RunKind, Settings, TimedSettings,
};
use faultline_record::protocol::{Event, Interval, Measure};
use faultline_record::quantity::Quantity;
use faultline_record::record::{Attempt, RunId, RunProgress, RunRecord, Session};
use faultline_record::relink::RelinkResult;
use faultline_record::setup::Setup;
use faultline_record::subject::{BuildResult, Commit, Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_store::{NewRun, Store};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::collections::BTreeSet;

fn settings() -> Settings {
    let kind = RunKind::Comparison(ComparisonSettings {
        timed: TimedSettings::pinned(PinPolicy::Each),
        quantity: Quantity::Time,
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

/// Begins a run at a time, with items given by block, subject and tasks.
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

/// An attempt to save.
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

/// Counts from 0 to the greatest that a workload can print.
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
        1 => Just(Outcome::ConnectionLost { text: "t".into() }),
        1 => Just(Outcome::LabFailed { text: "t".into() }),
        1 => Just(Outcome::Interrupted),
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (0i64..100, vec(interval(), 0..4), proptest::option::of(-1e9..1e9), outcome())
        .prop_map(|(started, window, measure, outcome)| Drawn { started, window, measure, outcome: Some(outcome) })
}

/// An item's block, subject and tasks, its attempts, and true if it is skipped.
type DrawnItem = ((u32, u32, u32), Vec<Drawn>, bool);

/// Items with their attempts. None follows a final one.
fn items() -> impl Strategy<Value = Vec<DrawnItem>> {
    let attempts = vec(drawn(), 0..4).prop_map(|attempts| {
        let is_final = |drawn: &Drawn| drawn.outcome.as_ref().is_some_and(Outcome::is_final);
        let last = attempts.iter().position(is_final).map_or(attempts.len(), |index| index + 1);
        attempts.into_iter().take(last).collect::<Vec<_>>()
    });
    vec(((0u32..3, 0u32..2, 1u32..3), attempts, any::<bool>()), 0..12)
}

fn failed_of(record: &RunRecord) -> usize {
    let has_failed = |attempt: &&Attempt| {
        let counts_not = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::Done
                    | Outcome::Unsupported { .. }
                    | Outcome::Interrupted
                    | Outcome::LabFailed { .. }
                    | Outcome::ConnectionLost { .. }
            )
        };
        !attempt.outcome.as_ref().is_none_or(counts_not)
    };
    record.attempts.iter().filter(has_failed).count()
}

/// Checks the aggregates of a run with these items.
fn aggregates_of(items: &[DrawnItem], place: &TestDatabase) -> Result<(), TestCaseError> {
    let mut store = place.store();
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
    prop_assert_eq!(&store.load_head(run).unwrap(), &record.head);
    prop_assert_eq!(store.failed_attempts(run).unwrap() as usize, failed_of(&record));
    Ok(())
}

/// Number of a test's cases on files. Each has its own file.
const IN_FILES: u32 = 64;

/// Number of a test's cases on the server, where creating a database takes longer.
const ON_SERVER: u32 = 16;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(IN_FILES))]

    #[test]
    fn aggregates_are_those_of_the_whole_record(items in items()) {
        aggregates_of(&items, &TestDatabase::file())?;
    }

    #[test]
    fn a_record_that_is_read_further_is_the_whole_one(happenings in vec(happening(), 0..40)) {
        read_further(&happenings, &TestDatabase::file())?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ON_SERVER))]

    #[test]
    fn aggregates_are_those_of_the_whole_record_on_a_server(items in items()) {
        aggregates_of(&items, &TestDatabase::schema())?;
    }

    #[test]
    fn a_record_that_is_read_further_is_the_whole_one_on_a_server(happenings in vec(happening(), 0..40)) {
        read_further(&happenings, &TestDatabase::schema())?;
    }
}

/// A step in the life of a run.
#[derive(Debug, Clone)]
enum Happening {
    /// An attempt at an item that has not ended.
    Attempt(usize, Drawn),
    /// An attempt without an end.
    Begin(usize, Drawn),
    /// The end of the oldest open attempt.
    Close(Outcome),
    /// A skipped item.
    Skip(usize),
    /// Additional subject and items.
    Extend(Vec<u32>),
    /// A new session, which closes open attempts.
    Resume,
    /// The end of the run.
    Finish,
    /// An update of the loaded record.
    Read,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (any::<usize>(), drawn()).prop_map(|(item, drawn)| Happening::Attempt(item, drawn)),
        1 => (any::<usize>(), drawn()).prop_map(|(item, drawn)| Happening::Begin(item, drawn)),
        1 => outcome().prop_map(Happening::Close),
        1 => any::<usize>().prop_map(Happening::Skip),
        1 => vec(0u32..4, 0..4).prop_map(Happening::Extend),
        1 => Just(Happening::Resume),
        1 => Just(Happening::Finish),
        4 => Just(Happening::Read),
    ]
}

/// A run and its loaded record.
struct Living {
    store: Store,
    run: RunId,
    items: u32,
    subjects: u32,
    ended: BTreeSet<u32>,
    open: Vec<(AttemptId, u32)>,
}

impl Living {
    /// An item that has not ended and has no open attempt.
    fn open_item(&self, choice: usize) -> Option<u32> {
        let is_open = |item: &u32| !self.ended.contains(item) && self.open.iter().all(|(_, open)| open != item);
        let open: Vec<u32> = (0..self.items).filter(is_open).collect();
        (!open.is_empty()).then(|| open[choice % open.len()])
    }

    fn close(&mut self, (id, item): (AttemptId, u32), outcome: &Outcome) {
        self.store.journal(self.run).end_attempt(id, outcome, UnixMillis(9)).unwrap();
        if outcome.is_final() {
            self.ended.insert(item);
        }
    }

    fn live(&mut self, happening: &Happening) {
        let run = self.run;
        match happening {
            Happening::Attempt(choice, drawn) => {
                let Some(item) = self.open_item(*choice) else { return };
                save(&mut self.store, run, item, drawn);
                if drawn.outcome.as_ref().is_some_and(Outcome::is_final) {
                    self.ended.insert(item);
                }
            }
            Happening::Begin(choice, drawn) => {
                let Some(item) = self.open_item(*choice) else { return };
                let mut journal = self.store.journal(run);
                let id = journal.begin_attempt(item, UnixMillis(drawn.started)).unwrap();
                for interval in &drawn.window {
                    journal.record(id, &Event::Window(interval.clone())).unwrap();
                }
                self.open.push((id, item));
            }
            Happening::Close(outcome) => {
                if !self.open.is_empty() {
                    let oldest = self.open.remove(0);
                    self.close(oldest, outcome);
                }
            }
            Happening::Skip(choice) => {
                if self.items > 0 {
                    self.store.skip_items(run, &[(*choice % self.items as usize) as u32]).unwrap();
                }
            }
            Happening::Extend(blocks) => {
                let of_block = |(ordinal, block): (u32, &u32)| PlanItem {
                    ordinal,
                    block: *block,
                    subject: SubjectIndex(self.subjects),
                    cell: cell(1),
                    timing: None,
                    seed: None,
                };
                let items: Vec<PlanItem> = (self.items..).zip(blocks).map(of_block).collect();
                self.store.extend_run(run, &[side("further", Some("1f3a9c2d7e"))], &items).unwrap();
                (self.items, self.subjects) = (self.items + blocks.len() as u32, self.subjects + 1);
            }
            Happening::Resume => {
                let session = Session { started: UnixMillis(50), facts: vec![Facts::default(); 2] };
                self.store.resume_run(run, &session).unwrap();
                self.open.clear();
            }
            Happening::Finish => self.store.finish_run(run).unwrap(),
            Happening::Read => {}
        }
    }
}

/// Runs the steps, and checks that the updated record always equals a newly loaded one.
fn read_further(happenings: &[Happening], place: &TestDatabase) -> Result<(), TestCaseError> {
    let mut store = place.store();
    let another = begin(&mut store, None, &[side("another", None)], 1, &[(0, 0, 1)]);
    let run = begin(&mut store, None, &[side("old", None), side("new", None)], 1, &[(0, 0, 1), (0, 1, 1)]);
    let (mut record, mut early) = (store.load_run(run).unwrap(), store.load_run(run).unwrap());
    let mut living = Living { store, run, items: 2, subjects: 2, ended: BTreeSet::new(), open: Vec::new() };
    for happening in happenings {
        living.live(happening);
        let drawn = Drawn { started: 1, window: Vec::new(), measure: None, outcome: Some(Outcome::Interrupted) };
        save(&mut living.store, another, 0, &drawn);
        if matches!(happening, Happening::Read) {
            living.store.load_further(&mut record).unwrap();
            prop_assert_eq!(&record, &living.store.load_run(run).unwrap());
        }
    }
    living.store.load_further(&mut early).unwrap();
    prop_assert_eq!(&early, &living.store.load_run(run).unwrap());
    Ok(())
}

#[test]
fn a_run_that_was_deleted_meanwhile_is_not_read_further() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store, None, &[side("one", None)], 1, &[(0, 0, 1)]);
        let mut record = store.load_run(run).unwrap();
        store.delete_runs(&[run]).unwrap();
        assert_eq!(store.load_further(&mut record).unwrap_err().problem, store.load_run(run).unwrap_err().problem);
    });
}

#[test]
fn sums_of_counts_that_64_bits_do_not_hold_are_no_error() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store, None, &[side("one", None)], 1, &[(0, 0, 1)]);
        let window = vec![Interval { from_ns: 0, to_ns: i64::MAX as u64, operations: vec![i64::MAX as u64; 3] }; 2];
        save(
            &mut store,
            run,
            0,
            &Drawn { started: 1, window: window.clone(), measure: None, outcome: Some(Outcome::Done) },
        );
        assert_eq!(store.load_run(run).unwrap().attempts[0].window, window);
    });
}

#[test]
fn runs_are_found_by_label_and_commit() {
    each(|place| {
        let mut store = place.store();
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
    });
}

#[test]
fn explanations_of_steps_are_replaced_read_further_and_deleted() {
    each(|place| {
        let mut store = place.store();
        let [run, other] = ["one", "other"].map(|name| begin(&mut store, None, &[side(name, None)], 1, &[(0, 0, 1)]));
        let mut record = store.load_run(run).unwrap();
        let explained = |after| StepExplained { before: 1, after, commits: Vec::new(), linked: LinkedChanges::None };
        store.save_explained(run, &[explained(2), explained(7)]).unwrap();
        store.save_explained(run, &[explained(3)]).unwrap();
        store.load_further(&mut record).unwrap();
        assert_eq!(record.explained, [explained(3)]);
        assert_eq!(store.load_run(run).unwrap(), record);
        assert_eq!(store.load_run(other).unwrap().explained, []);
        store.delete_runs(&[run]).unwrap();
        assert!(store.load_run(run).is_err());
    });
}

#[test]
fn a_layout_of_a_commit_is_no_run_of_it() {
    each(|place| {
        let mut store = place.store();
        let of = |build| Subject { build: Some(build), ..side("s", Some("1f3a9c2d7e")) };
        let relinked = BuildResult::Relinked { layout: 0, result: RelinkResult::Unchanged };
        let run = begin(&mut store, None, &[of(relinked.clone()), of(BuildResult::Built), of(relinked)], 1, &[]);
        let found = store.runs_of_commit("1f3a9c2").unwrap();
        assert_eq!(found.iter().map(|one| (one.run, one.subject.0)).collect::<Vec<_>>(), [(run, 1)]);
    });
}

#[test]
fn runs_of_a_history_are_those_of_its_subject_and_repository() {
    each(|place| {
        let store = place.store();
        for (subject, repository) in [("sort", "/src/a"), ("sort", "/src/b"), ("parse", "/src/a"), ("sort", "/src/a")] {
            place.sql(&format!(
                r#"INSERT INTO run (settings, workloads, kind, cpus, machine)
                   VALUES ('{{"kind":{{"subject":"{subject}","repository":"{repository}"}}}}', '[]', 'history', '[]', '')"#
            ));
        }
        place.sql(
            r#"INSERT INTO run (settings, workloads, kind, cpus, machine)
               VALUES ('{"kind":{"subject":"sort","repository":"/src/a"}}', '[]', 'timed', '[]', '')"#,
        );
        assert_eq!(store.runs_of_history("sort", "/src/a").unwrap(), [RunId(4), RunId(1)]);
        assert_eq!(store.runs_of_history("sort", "/src/c").unwrap(), []);
    });
}

#[test]
fn marks_of_changes_are_kept_by_series_in_order() {
    use faultline_record::change_event::{ChangeEvent, ChangeState, PlacedEvent, Source};
    use faultline_record::direction::Effect;
    use faultline_record::named_change::{ChangePlace, SeriesName};
    use faultline_record::quantity::Quantity;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db.sqlite");
    let series = |tasks, quantity| SeriesName {
        subject: "it's \"app\"".to_owned(),
        repository: "/r".to_owned(),
        tasks,
        quantity,
        conditions: "1f".to_owned(),
    };
    let said = |at: i64, state| PlacedEvent {
        place: ChangePlace {
            earliest: "a".into(),
            by: "b".into(),
            latest: "c".into(),
            effect: Effect::Worse,
            levels: [0.1, 0.3],
        },
        event: ChangeEvent {
            at: UnixMillis(at),
            source: Source::Person { name: "\u{1b}[31m".to_owned() },
            state,
            is_inconclusive: false,
            reason: Some("'; DROP TABLE run".to_owned()),
            commits: Vec::new(),
        },
    };
    let (first, second) = (said(9, ChangeState::Ignored), said(3, ChangeState::Found));
    let mut store = Store::open_or_create(&path).unwrap();
    store.save_change_event(&series(1, Quantity::Time), &first).unwrap();
    store.save_change_event(&series(1, Quantity::Time), &second).unwrap();
    store.save_change_event(&series(1, Quantity::Transfers), &first).unwrap();
    drop(store);
    let store = Store::open_to_read(&path).unwrap();
    assert_eq!(store.change_events(&series(1, Quantity::Time)).unwrap(), [first.clone(), second]);
    assert_eq!(store.change_events(&series(1, Quantity::Transfers)).unwrap(), [first]);
    assert_eq!(store.change_events(&series(2, Quantity::Time)).unwrap(), []);
    assert_eq!(store.change_events(&series(1, Quantity::Instructions)).unwrap(), []);
    let others = SeriesName { conditions: "2e".to_owned(), ..series(1, Quantity::Time) };
    assert_eq!(store.change_events(&others).unwrap(), [], "another command");
}

#[test]
fn whatever_is_added_to_a_run_is_progress() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store, None, &[side("a", None)], 1, &[(0, 0, 1), (0, 0, 1)]);
        let mut seen: Vec<RunProgress> = Vec::new();
        let mut is_new = |store: &Store| {
            let [now] = store.progress_of(KindOfRun::Comparison).unwrap()[..] else { panic!("there is one run") };
            let is_new = !seen.contains(&now);
            seen.push(now);
            is_new
        };
        assert!(is_new(&store) && !is_new(&store));
        // A commit that does not build: nothing but the subject is saved.
        store.extend_run(run, &[side("b", None)], &[]).unwrap();
        assert!(is_new(&store));
        let attempt = store.journal(run).begin_attempt(0, UnixMillis(2)).unwrap();
        assert!(is_new(&store));
        store.journal(run).end_attempt(attempt, &Outcome::Done, UnixMillis(3)).unwrap();
        assert!(is_new(&store));
        store.skip_items(run, &[1]).unwrap();
        assert!(is_new(&store));
        let further =
            PlanItem { ordinal: 2, block: 1, subject: SubjectIndex::A, cell: cell(1), timing: None, seed: None };
        store.extend_run(run, &[], &[further]).unwrap();
        assert!(is_new(&store));
        let [now] = store.progress_of(KindOfRun::Comparison).unwrap()[..] else { panic!("there is one run") };
        assert_eq!((now.planned, now.first_block), (3, 2));
        store.resume_run(run, &Session { started: UnixMillis(9), facts: vec![Facts::default(); 2] }).unwrap();
        assert!(is_new(&store));
        store.finish_run(run).unwrap();
        assert!(is_new(&store));
        assert_eq!(store.progress_of(KindOfRun::History).unwrap(), []);
        store.delete_runs(&[run]).unwrap();
        assert_eq!(store.progress_of(KindOfRun::Comparison).unwrap(), []);
    });
}

#[test]
fn without_its_samples_a_run_has_the_same_totals() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store, None, &[side("a", None)], 1, &[(0, 0, 2), (0, 0, 2)]);
        for ordinal in 0..2 {
            let mut journal = store.journal(run);
            let attempt = journal.begin_attempt(ordinal, UnixMillis(2)).unwrap();
            let interval = |from_ns, to_ns, operations| Interval { from_ns, to_ns, operations };
            journal.record(attempt, &Event::Warmup(interval(0, 5, vec![1, 1]))).unwrap();
            for number in 1..=ordinal.into() {
                journal.record(attempt, &Event::Window(interval(number * 10, number * 17, vec![number, 7]))).unwrap();
                journal.record(attempt, &Event::Window(interval(number * 20, number * 21, vec![2, 3]))).unwrap();
            }
            journal.end_attempt(attempt, &Outcome::Done, UnixMillis(3)).unwrap();
        }
        let (whole, totals) = (store.load_run(run).unwrap(), store.load_run_without_samples(run).unwrap());
        assert_eq!(totals.attempts[1].window, [Interval { from_ns: 0, to_ns: 7 + 1, operations: vec![3, 10] }]);
        assert_eq!(totals.attempts[0].window, []);
        for (whole, totals) in whole.attempts.iter().zip(&totals.attempts) {
            let sums = |attempt: &Attempt| {
                let intervals = attempt.warmup.iter().chain(&attempt.window);
                intervals.fold((0, 0), |(ns, all), one| (ns + one.length_ns(), all + one.total()))
            };
            assert_eq!(sums(whole), sums(totals));
            let rest = Attempt { warmup: Vec::new(), window: Vec::new(), ..whole.clone() };
            assert_eq!(Attempt { warmup: Vec::new(), window: Vec::new(), ..totals.clone() }, rest);
        }
    });
}
