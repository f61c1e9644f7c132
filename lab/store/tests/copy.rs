//! Copies of databases: equal after a round trip, complete or absent, and never over existing data.

use crate::place::TestDatabase;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::dataset::Dataset;
use faultline_record::facts::Facts;
use faultline_record::journal::Journal;
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PinPolicy, PlanItem, RunKind, Settings, TimedSettings};
use faultline_record::protocol::{Event, Interval, parse};
use faultline_record::record::{RunId, RunState, Session};
use faultline_record::setup::Setup;
use faultline_record::subject::{Commit, Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_stats::bisect::BisectResult;
use faultline_stats::summary::{Progress, RunSummary};
use faultline_store::{Copied, CopyProgress, NewRun, Store, StoreErrorKind, copy};
use std::path::Path;

/// More intervals than a batch of rows.
const INTERVALS: u64 = 1234;

fn begin(store: &mut Store, label: &str) -> RunId {
    let case = Case { workload: label.into(), variant: "base".into(), mode: TaskMode::Process };
    let item = |ordinal| PlanItem {
        ordinal,
        block: 0,
        subject: SubjectIndex::A,
        cell: Cell { case: case.clone(), tasks: 1 },
        timing: None,
        seed: Some(7),
    };
    let timed = TimedSettings::pinned(PinPolicy::Each);
    let settings =
        Settings { cpus: vec![1], repeats: 1, seed: 7, limit_ms: None, size: None, kind: RunKind::Timed(timed) };
    let commit = Commit { id: "1f3a9c2".to_owned(), repository: None };
    let subjects =
        [Subject { commit: Some(commit), ..Subject::on("o'\0\u{1A}".to_owned(), Machine::Host, Setup::default()) }];
    let plan: Vec<PlanItem> = (0..4).map(item).collect();
    let session = Session { started: UnixMillis(1), facts: vec![Facts::default()] };
    let new = NewRun {
        label: Some(label),
        settings: &settings,
        subjects: &subjects,
        workloads: &[],
        plan: &plan,
        session: &session,
    };
    store.begin_run(&new).unwrap()
}

fn attempt(store: &mut Store, run: RunId, ordinal: u32, intervals: u64, outcome: Option<Outcome>) {
    let mut journal = store.journal(run);
    let id = journal.begin_attempt(ordinal, UnixMillis(2)).unwrap();
    for number in 0..intervals {
        let interval = Interval { from_ns: number, to_ns: number + 1, operations: vec![number, u64::MAX >> 1] };
        journal.record(id, &Event::Window(interval)).unwrap();
    }
    for line in [
        "note compiler gcc 12",
        "usage life user_ns=1 system_ns=2 minor_faults=3 major_faults=4 voluntary_switches=5 involuntary_switches=6",
        "counter vmstat.pgfault -9",
        "measure real_s s lower 1.5e-300",
    ] {
        journal.record(id, &parse(line.as_bytes()).unwrap()).unwrap();
    }
    journal.record_console(id, "Linux 'x' \u{fffd}\nbooted").unwrap();
    if let Some(outcome) = outcome {
        journal.end_attempt(id, &outcome, UnixMillis(3)).unwrap();
    }
}

/// A finished run with its conclusion, a deleted one, one in progress, and imports. Returns the
/// remaining runs.
fn fill(store: &mut Store) -> [RunId; 2] {
    let one = begin(store, "one 'x' \0 \u{1A}0");
    attempt(store, one, 0, INTERVALS, Some(Outcome::Done));
    let deleted = begin(store, "deleted");
    attempt(store, deleted, 0, 3, Some(Outcome::Done));
    store.delete_runs(&[deleted]).unwrap();
    let two = begin(store, "two");
    attempt(store, two, 0, 1, Some(Outcome::Interrupted));
    attempt(store, two, 1, 2, None);
    store.skip_items(two, &[3]).unwrap();
    store.save_explained(two, &[]).unwrap();
    store.finish_run(one).unwrap();
    store.save_conclusion(one, 3, &summary(one)).unwrap();
    for source in ["asv", "go-bench"] {
        store.save_dataset("night's", source, UnixMillis(-1), &Dataset::of(Vec::new())).unwrap();
    }
    [one, two]
}

fn summary(run: RunId) -> RunSummary {
    RunSummary {
        format: RunSummary::FORMAT.to_owned(),
        run,
        label: None,
        started: UnixMillis(1),
        state: RunState::Finished,
        machine: "m".to_owned(),
        progress: Progress::default(),
        curves: Vec::new(),
        warnings: Vec::new(),
        command: None,
        lens: None,
    }
}

/// All rows of a file, as text.
fn dump(path: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let strings = |query: &str| -> Vec<String> {
        let mut statement = connection.prepare(query).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let mut all = Vec::new();
    for table in strings("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
        let columns = strings(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let quoted: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
        let rows = strings(&format!("SELECT {} AS text FROM {table} ORDER BY text", quoted.join(" || ',' || ")));
        all.extend(rows.into_iter().map(|row| format!("{table}: {row}")));
    }
    all
}

fn copied(from: &TestDatabase, to: &TestDatabase) -> Copied {
    let mut last = None;
    let mut progress = |progress: CopyProgress| {
        assert!(progress.rows <= progress.of && last.is_none_or(|last: CopyProgress| last.rows < progress.rows));
        last = Some(progress);
    };
    let copied = copy(&from.db, &to.db, &mut progress).unwrap();
    assert_eq!(last, Some(CopyProgress { rows: copied.rows, of: copied.rows }));
    copied
}

#[test]
fn a_copy_there_and_back_is_equal() {
    let (first, server, back, other_server) =
        (TestDatabase::file(), TestDatabase::schema(), TestDatabase::file(), TestDatabase::schema());
    let runs = fill(&mut first.store());
    let one = copied(&first, &server);
    assert_eq!(one.runs, 2);
    assert_eq!(copied(&server, &other_server), one);
    assert_eq!(copied(&other_server, &back), one);
    let rows = dump(&first.db);
    assert_eq!(rows.len() as u64, one.rows, "every row counts");
    assert_eq!(rows, dump(&back.db));

    let (from, to) = (Store::open_to_read(&first.db).unwrap(), Store::open_to_read(&server.db).unwrap());
    for run in runs {
        assert_eq!(from.load_run(run).unwrap(), to.load_run(run).unwrap());
    }
    assert_eq!(from.list_runs().unwrap(), to.list_runs().unwrap());
    assert_eq!(from.list_datasets().unwrap(), to.list_datasets().unwrap());
    assert_eq!(to.load_conclusion(runs[0], 3).unwrap(), Some(summary(runs[0])));
    assert_eq!(to.load_conclusion::<BisectResult>(runs[0], 3).unwrap(), None);
}

#[test]
fn a_copy_goes_on_as_the_first_would() {
    for target in [TestDatabase::schema(), TestDatabase::file()] {
        let first = TestDatabase::file();
        let mut store = first.store();
        let [_, two] = fill(&mut store);
        copied(&first, &target);
        let mut copy = target.store();
        let session = Session { started: UnixMillis(9), facts: vec![Facts::default()] };
        for store in [&mut store, &mut copy] {
            store.resume_run(two, &session).unwrap();
            attempt(store, two, 0, 1, Some(Outcome::Done));
        }
        assert_eq!(copy.load_run(two).unwrap(), store.load_run(two).unwrap());
        assert_eq!(begin(&mut copy, "next"), begin(&mut store, "next"));
    }
}

#[test]
fn nothing_is_copied_over_anything() {
    let from = TestDatabase::file();
    fill(&mut from.store());
    for to in [TestDatabase::file(), TestDatabase::schema()] {
        let mut store = to.store();
        store.save_dataset("only", "asv", UnixMillis(1), &Dataset::of(Vec::new())).unwrap();
        let refused = copy(&from.db, &to.db, &mut |_| panic!("nothing is copied")).unwrap_err();
        assert!(refused.problem.ends_with("is not empty, so nothing was copied"), "{refused}");
        assert_eq!(refused.kind, StoreErrorKind::Unusable);
        assert_eq!((store.list_runs().unwrap().len(), store.list_datasets().unwrap().len()), (0, 1));
    }
    let missing = from.directory().join("missing");
    assert!(
        copy(&missing, &TestDatabase::file().db, &mut |_| ()).unwrap_err().problem.starts_with("there is no database")
    );
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let refusals = [
        "CREATE TRIGGER refusal BEFORE INSERT ON measure BEGIN SELECT RAISE(ABORT, 'refused'); END",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
         CREATE TRIGGER refusal BEFORE INSERT ON measure FOR EACH ROW EXECUTE FUNCTION refuse()",
    ];
    let from = TestDatabase::file();
    fill(&mut from.store());
    for (to, (refusal, end)) in [TestDatabase::file(), TestDatabase::schema()]
        .iter()
        .zip(refusals.into_iter().zip(["DROP TRIGGER refusal", "DROP TRIGGER refusal ON measure"]))
    {
        let store = to.store();
        to.sql(refusal);
        let mut rows = 0;
        let failed = copy(&from.db, &to.db, &mut |progress| rows = progress.rows).unwrap_err();
        assert!(failed.problem.contains("refused"), "{failed}");
        assert!(rows > INTERVALS, "samples had been copied");
        assert_eq!((store.list_runs().unwrap().len(), store.list_datasets().unwrap().len()), (0, 0));
        to.sql(end);
        copied(&from, to);
    }
}

#[test]
fn large_rows_are_copied_a_few_at_a_time() {
    const NOTES: usize = 6;
    let (from, server, back) = (TestDatabase::file(), TestDatabase::schema(), TestDatabase::file());
    let mut store = from.store();
    let run = begin(&mut store, "large");
    let mut journal = store.journal(run);
    let attempt = journal.begin_attempt(0, UnixMillis(2)).unwrap();
    for number in 0..NOTES {
        let text = "x".repeat(3_000_000);
        journal.record(attempt, &Event::Note(format!("note{number}"), text)).unwrap();
    }
    for (from, to) in [(&from, &server), (&server, &back)] {
        let (mut rows, mut batches) = (0, Vec::new());
        let progress = &mut |progress: CopyProgress| {
            batches.push(progress.rows - rows);
            rows = progress.rows;
        };
        copy(&from.db, &to.db, progress).unwrap();
        assert!(batches.iter().all(|batch| *batch < NOTES as u64), "two have more than four megabytes: {batches:?}");
    }
    assert_eq!(dump(&from.db), dump(&back.db));
}
