//! The store as its users see it: what is saved is there again, once, also after the file was closed without a word.

use faultline_model::cell::{Case, Cell, TaskMode};
use faultline_model::facts::Facts;
use faultline_model::journal::Journal;
use faultline_model::outcome::Outcome;
use faultline_model::plan::{PinPolicy, PlanItem, Settings, Timing};
use faultline_model::protocol::{Event, parse};
use faultline_model::record::{RunId, RunState, Session};
use faultline_model::time::UnixMillis;
use faultline_store::{MeasuringLock, NewRun, Store};
use std::path::Path;

fn settings() -> Settings {
    Settings {
        suite: Some("quick".into()),
        cpus: vec![1, 2],
        repeats: 1,
        seed: 7,
        pin: PinPolicy::Each,
        oversubscribe: false,
        budget_ms: None,
        limit_ms: None,
        size: None,
        copies: 1,
        tree: None,
    }
}

fn item(ordinal: u32) -> PlanItem {
    let case = Case { workload: "zero_fill".into(), variant: "base".into(), mode: TaskMode::Process };
    let timing = Some(Timing { warmup_ms: 10, window_ms: 100, interval_ms: 50 });
    PlanItem { ordinal, block: 0, cell: Cell { case, tasks: ordinal + 1 }, timing }
}

fn session(at: i64) -> Session {
    let mut facts = Facts::default();
    facts.text("kernel.release", "6.1");
    Session { started: UnixMillis(at), facts }
}

fn begin(store: &mut Store) -> RunId {
    let plan = [item(0), item(1)];
    let new = NewRun { label: Some("first"), settings: &settings(), workloads: &[], plan: &plan, session: &session(1) };
    store.begin_run(&new).unwrap()
}

const PRINTED: &[&str] = &[
    "bytes_per_operation 4096",
    "note compiler gcc 12",
    "warmup 1 2 3 4",
    "interval 2 3 5 6",
    "interval 3 4 7 8",
    "end 5",
    "usage life user_ns=1 system_ns=2 minor_faults=3 major_faults=4 voluntary_switches=5 involuntary_switches=6",
    "counter vmstat.pgfault -9",
    "measure real_s s lower 1.5",
];

fn attempt(store: &mut Store, run: RunId, ordinal: u32, outcome: Option<Outcome>) {
    let mut journal = store.journal(run);
    let attempt = journal.begin_attempt(ordinal, UnixMillis(2)).unwrap();
    for line in PRINTED {
        journal.record(attempt, &parse(line.as_bytes()).unwrap()).unwrap();
    }
    if let Some(outcome) = outcome {
        journal.end_attempt(attempt, &outcome, UnixMillis(3)).unwrap();
    }
}

#[test]
fn a_run_reads_back_as_it_was_saved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/er/db.sqlite");
    let mut store = Store::open_or_create(&path).unwrap();
    let run = begin(&mut store);
    attempt(&mut store, run, 0, Some(Outcome::Done));
    drop(store);

    let store = Store::open_existing(&path).unwrap();
    let record = store.load_run(run).unwrap();
    assert_eq!(record.settings, settings());
    assert_eq!(record.plan, [item(0), item(1)]);
    assert_eq!(record.sessions, [session(1)]);
    assert_eq!(record.state, RunState::Open);
    let attempt = &record.attempts[0];
    assert_eq!(attempt.bytes_per_operation, Some(4096));
    assert_eq!(attempt.notes["compiler"], "gcc 12");
    let event = |line: &str| parse(line.as_bytes()).unwrap();
    assert_eq!(Event::Warmup(attempt.warmup[0].clone()), event(PRINTED[2]));
    assert_eq!(Event::Window(attempt.window[0].clone()), event(PRINTED[3]));
    assert_eq!(Event::Window(attempt.window[1].clone()), event(PRINTED[4]));
    assert_eq!(Event::Usage(attempt.usage.unwrap()), event(PRINTED[6]));
    assert_eq!(attempt.counters["vmstat.pgfault"], -9);
    assert_eq!(Event::Measure(attempt.measures[0].clone()), event(PRINTED[8]));
    assert_eq!(attempt.outcome, Some(Outcome::Done));

    let line = &store.list_runs().unwrap()[0];
    assert_eq!((line.planned, line.ended, line.failed, line.machine.as_str()), (2, 1, 0, "6.1"));
    assert_eq!(store.newest_open_run().unwrap(), Some(run));
}

#[test]
fn a_resume_closes_what_was_under_way_and_keeps_its_samples() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db.sqlite");
    let mut store = Store::open_or_create(&path).unwrap();
    let run = begin(&mut store);
    attempt(&mut store, run, 0, None);
    drop(store);

    let mut store = Store::open_existing(&path).unwrap();
    store.resume_run(run, &session(9)).unwrap();
    attempt(&mut store, run, 0, Some(Outcome::Done));
    store.skip_items(run, &[1]).unwrap();
    store.finish_run(run).unwrap();
    let record = store.load_run(run).unwrap();
    assert_eq!(record.attempts.len(), 2);
    assert_eq!(record.attempts[0].outcome, Some(Outcome::Interrupted));
    assert_eq!(record.attempts[0].window.len(), 2);
    assert_eq!(record.final_attempt(0).unwrap().id, record.attempts[1].id);
    assert_eq!((record.skipped.as_slice(), record.sessions.len(), record.state), (&[1][..], 2, RunState::Finished));
}

#[test]
fn an_item_ends_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(&directory.path().join("db.sqlite")).unwrap();
    let run = begin(&mut store);
    attempt(&mut store, run, 0, Some(Outcome::Done));
    let mut journal = store.journal(run);
    let second = journal.begin_attempt(0, UnixMillis(5)).unwrap();
    assert!(journal.end_attempt(second, &Outcome::Done, UnixMillis(6)).is_err());
}

fn open_error(path: &Path) -> String {
    Store::open_or_create(path).unwrap_err().to_string()
}

#[test]
fn what_is_not_our_database_is_left_alone_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    std::fs::write(&text, "this is a letter, and not a short one either: it says that it is no database".repeat(20))
        .unwrap();
    assert!(open_error(&text).ends_with("text: the file is not a database"), "{}", open_error(&text));

    let foreign = directory.path().join("foreign");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE cats (name)").unwrap();
    let before = std::fs::read(&foreign).unwrap();
    assert!(open_error(&foreign).ends_with("is a database of another program"));
    assert_eq!(std::fs::read(&foreign).unwrap(), before);

    let newer = directory.path().join("newer");
    drop(Store::open_or_create(&newer).unwrap());
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 999).unwrap();
    assert!(open_error(&newer).ends_with("was written by a newer version of Faultline"));

    let nothing = Store::open_existing(&directory.path().join("nothing")).unwrap_err();
    assert!(nothing.to_string().starts_with("there is no database at"));
}

#[test]
fn damage_in_the_middle_is_an_error_and_not_a_figure() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db.sqlite");
    let mut store = Store::open_or_create(&path).unwrap();
    let run = begin(&mut store);
    attempt(&mut store, run, 0, Some(Outcome::Done));
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let (page_bytes, length) = (4096, bytes.len());
    bytes[page_bytes..length].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    let error = Store::open_existing(&path).and_then(|store| store.load_run(run)).unwrap_err();
    assert!(error.to_string().ends_with("the database is damaged"), "{error}");
}

#[test]
fn the_lock_is_one_at_a_time_and_names_its_holder() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db.sqlite");
    let held = MeasuringLock::take(&path).unwrap();
    let refused = MeasuringLock::take(&path).unwrap_err().to_string();
    assert!(refused.contains(&format!("(process {})", std::process::id())), "{refused}");
    drop(held);
    MeasuringLock::take(&path).unwrap();
}

#[test]
fn many_may_set_up_one_database_at_once() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db.sqlite");
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..4).map(|_| scope.spawn(|| Store::open_or_create(&path))).collect();
            for opener in openers {
                begin(&mut opener.join().unwrap().unwrap());
            }
        });
        assert_eq!(Store::open_existing(&path).unwrap().list_runs().unwrap().len(), 4);
    }
}
