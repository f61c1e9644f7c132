//! Executions without their run: pages of lines, and ranges of samples.

use crate::place::each;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::execution::{Phase, SampleRange};
use faultline_record::facts::Facts;
use faultline_record::journal::{AttemptId, Journal};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PinPolicy, PlanItem, RunKind, Settings, TimedSettings, Timing};
use faultline_record::protocol::parse;
use faultline_record::record::{RunId, Session};
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_store::{DamagedExecution, NewRun, Store, StoreErrorKind};

fn item(ordinal: u32) -> PlanItem {
    let case = Case { workload: "zero_fill".into(), variant: "base".into(), mode: TaskMode::Process };
    let timing = Some(Timing { warmup_ms: 10, window_ms: 100, interval_ms: 50 });
    PlanItem { ordinal, block: ordinal, subject: SubjectIndex::A, cell: Cell { case, tasks: 2 }, timing, seed: None }
}

/// A run of three items: two executed, one running.
fn run(store: &mut Store) -> (RunId, Vec<AttemptId>) {
    let timed = TimedSettings::pinned(PinPolicy::Each);
    let settings =
        Settings { cpus: vec![2], repeats: 3, seed: 7, limit_ms: None, size: None, kind: RunKind::Timed(timed) };
    let new = NewRun {
        label: None,
        settings: &settings,
        subjects: &[Subject::as_is(Machine::Host)],
        workloads: &[],
        plan: &[item(0), item(1), item(2)],
        session: &Session { started: UnixMillis(1), facts: vec![Facts::default()] },
    };
    let run = store.begin_run(&new).unwrap();
    let lines = [
        "warmup 1 2 3 4",
        "interval 2 3 5 6",
        "interval 3 4 7 8",
        "interval 4 5 9 10",
        "end 5",
        "measure real_s s lower 1.5",
    ];
    let mut attempts = Vec::new();
    for (ordinal, outcome) in [(0, Some(Outcome::Done)), (1, Some(Outcome::TimedOut { limit_ms: 9 })), (2, None)] {
        let mut journal = store.journal(run);
        let attempt = journal.begin_attempt(ordinal, UnixMillis(2)).unwrap();
        if let Some(outcome) = outcome {
            lines.iter().for_each(|line| journal.record(attempt, &parse(line.as_bytes()).unwrap()).unwrap());
            journal.end_attempt(attempt, &outcome, UnixMillis(3)).unwrap();
        }
        attempts.push(attempt);
    }
    (run, attempts)
}

#[test]
fn lines_come_in_pages_in_the_order_of_their_beginning() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("db.sqlite")).unwrap();
    run(&mut store);
    let (run, attempts) = run(&mut store);
    let all = store.list_executions(run, None, None, 10).unwrap();
    assert_eq!(all.iter().map(|line| line.id).collect::<Vec<_>>(), attempts);
    assert_eq!(all.iter().map(|line| line.block).collect::<Vec<_>>(), [0, 1, 2]);
    let outcomes: Vec<_> = all.iter().map(|line| line.outcome.clone()).collect();
    assert_eq!(outcomes, [Some(Outcome::Done), Some(Outcome::TimedOut { limit_ms: 9 }), None]);
    assert_eq!(store.list_executions(run, None, None, 2).unwrap(), all[..2]);
    assert_eq!(store.list_executions(run, Some(attempts[1]), None, 10).unwrap(), all[2..]);
    let of = |subject| store.list_executions(run, None, Some(SubjectIndex(subject)), 10).unwrap();
    assert!(of(0).iter().all(|one| one.subject == SubjectIndex(0)));
    assert_eq!([of(0).len() + of(1).len(), of(7).len()], [all.len(), 0]);
    assert_eq!(store.list_executions(RunId(99), None, None, 10).unwrap(), []);
}

#[test]
fn a_range_of_samples_is_what_the_whole_run_has_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("db.sqlite")).unwrap();
    let (run, attempts) = run(&mut store);
    let whole = store.load_run(run).unwrap().attempts[1].clone();
    let samples =
        |phase, from, most| store.load_samples(run, attempts[1], &SampleRange { phase, from, most }).unwrap().unwrap();
    let all = samples(Phase::Window, 0, 100);
    assert_eq!((all.total, &all.intervals, &all.measures), (3, &whole.window, &whole.measures));
    assert_eq!(samples(Phase::Window, 1, 1).intervals, whole.window[1..2]);
    assert_eq!(samples(Phase::Window, 3, 100).intervals, []);
    assert_eq!(samples(Phase::Warmup, 0, 100).intervals, whole.warmup);
    let range = SampleRange { phase: Phase::Window, from: 0, most: 1 };
    assert_eq!(store.load_samples(RunId(run.0 + 1), attempts[1], &range).unwrap(), None);
    assert_eq!(store.load_samples(run, AttemptId(99), &range).unwrap(), None);
}

#[test]
fn what_two_subjects_did_is_a_part_of_the_whole_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("db.sqlite")).unwrap();
    let (run, _) = run(&mut store);
    let whole = store.load_run_without_samples(run).unwrap();
    let head = store.load_head(run).unwrap();
    let of = |subjects: [u32; 2]| store.load_subjects_of(&head, subjects.map(SubjectIndex)).unwrap();
    assert_eq!(of([0, 0]), whole);
    assert_eq!(of([0, 7]), whole);
    let none = of([7, 8]);
    assert_eq!((none.head, none.plan.len(), none.attempts.len()), (whole.head, 0, 0));
}

#[test]
fn a_damaged_value_is_reported_with_its_execution_and_never_shown() {
    let damages = [
        "UPDATE sample SET operations = replace(operations, '7', '6') WHERE attempt_id = 2",
        "UPDATE sample SET operations = 'no JSON' WHERE attempt_id = 2 AND number = 0",
        "UPDATE sample SET to_ns = to_ns + 1 WHERE attempt_id = 2 AND number = 1 AND phase = 'window'",
        "DELETE FROM sample WHERE attempt_id = 2 AND number = 2",
        "UPDATE measure SET value = 1.25 WHERE attempt_id = 2",
        "UPDATE attempt SET outcome = '{\"kind\":\"done\"}' WHERE id = 2",
        "UPDATE attempt SET checksum = NULL WHERE id = 2",
        "UPDATE item SET tasks = 4 WHERE ordinal = 1",
    ];
    for damage in damages {
        each(|place| {
            let mut store = place.store();
            let (run, attempts) = run(&mut store);
            let whole = store.check_executions().unwrap();
            assert_eq!((whole.runs, whole.executions, whole.damaged.len()), (1, 2, 0));
            place.sql(damage);
            let refused = store.load_run(run).unwrap_err();
            assert_eq!(refused.kind, StoreErrorKind::Unreadable, "{damage}: {refused}");
            let named = format!("execution 2 of run {run} does not match its checksum");
            assert!(refused.problem.ends_with(&named), "{damage}: {refused}");
            assert!(store.load_run_without_samples(run).is_err(), "{damage}");
            let range = SampleRange { phase: Phase::Window, from: 0, most: 1 };
            assert!(store.load_samples(run, attempts[1], &range).is_err(), "{damage}");
            assert!(store.load_samples(run, attempts[0], &range).is_ok(), "{damage}");
            let damaged = DamagedExecution { run, execution: attempts[1] };
            assert_eq!(store.check_executions().unwrap().damaged, [damaged], "{damage}");
        });
    }
}

#[test]
fn the_time_of_executions_is_that_of_all_sessions() {
    each(|place| {
        let mut store = place.store();
        let (run, _) = run(&mut store);
        place.sql("UPDATE attempt SET started_ms = 100, ended_ms = 150 WHERE id = 1");
        place.sql("UPDATE attempt SET started_ms = 200, ended_ms = 230 WHERE id = 2");
        assert_eq!(store.executed_ms(run).unwrap(), 80, "the third is under way");
        // It was killed at an unknown time.
        store.resume_run(run, &Session { started: UnixMillis(9_000), facts: vec![Facts::default()] }).unwrap();
        assert_eq!(store.executed_ms(run).unwrap(), 80);
    });
}

#[test]
fn numbers_that_would_size_memory_are_refused_when_read() {
    each(|place| {
        let mut store = place.store();
        let (run, _) = run(&mut store);
        place.sql("UPDATE item SET tasks = 2147483648 WHERE ordinal = 2");
        let refused = store.load_run(run).unwrap_err();
        assert!(refused.problem.contains("2147483648 tasks; at most 4096"), "{refused}");
        assert!(store.missing_items(run).is_err());
        place.sql("UPDATE item SET tasks = 2 WHERE ordinal = 2");
        assert!(store.load_run(run).is_ok());
        place.sql("UPDATE run SET settings = replace(settings, '\"repeats\":3', '\"repeats\":4294967295')");
        let refused = store.load_head(run).unwrap_err();
        assert!(refused.problem.contains("4294967295 repeats"), "{refused}");
    });
}
