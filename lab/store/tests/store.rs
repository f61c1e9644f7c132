//! Saved data reads back, once, also after the database was not closed properly.

use crate::place::{TestDatabase, each};
use faultline_lens_format::{CostTimes, DelayTimes, LensMode, ModelledMachine, Scope, Space, Spent, Totals};
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series};
use faultline_record::facts::Facts;
use faultline_record::journal::Journal;
use faultline_record::lens::by_type::ByType;
use faultline_record::lens::data::{Code, Data};
use faultline_record::lens::reading::CpuTransfers;
use faultline_record::lens::reading::{InterruptReading, Line, Overlap, Reading};
use faultline_record::machine::Machine;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{
    ComparisonPurpose, ComparisonSettings, PinPolicy, PlanItem, RunKind, Settings, TimedSettings, Timing,
};
use faultline_record::protocol::{Event, parse};
use faultline_record::quantity::Quantity;
use faultline_record::record::{RunId, RunState, Session};
use faultline_record::setup::Setup;
use faultline_record::subject::{Commit, Subject, SubjectIndex};
use faultline_record::time::UnixMillis;
use faultline_store::{NewRun, Store, StoreErrorKind};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn settings() -> Settings {
    let timed = TimedSettings { suite: Some("quick".into()), ..TimedSettings::pinned(PinPolicy::Each) };
    let kind = RunKind::Timed(timed);
    Settings { cpus: vec![1, 2], repeats: 1, seed: 7, limit_ms: None, size: None, kind }
}

fn host() -> [Subject; 1] {
    [Subject::as_is(Machine::Host)]
}

fn item(ordinal: u32) -> PlanItem {
    let case = Case { workload: "zero_fill".into(), variant: "base".into(), mode: TaskMode::Process };
    let timing = Some(Timing { warmup_ms: 10, window_ms: 100, interval_ms: 50 });
    PlanItem {
        ordinal,
        block: 0,
        subject: SubjectIndex::A,
        cell: Cell { case, tasks: ordinal + 1 },
        timing,
        seed: None,
    }
}

fn session(at: i64) -> Session {
    let mut facts = Facts::default();
    facts.text("kernel.release", "6.1");
    Session { started: UnixMillis(at), facts: vec![facts] }
}

fn begin(store: &mut Store) -> RunId {
    let plan = [item(0), item(1)];
    let new = NewRun {
        label: Some("first"),
        settings: &settings(),
        subjects: &host(),
        workloads: &[],
        plan: &plan,
        session: &session(1),
    };
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
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store);
        attempt(&mut store, run, 0, Some(Outcome::Done));
        drop(store);

        let store = Store::open_existing(&place.db).unwrap();
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
    });
}

#[test]
fn the_seeds_of_items_read_back_with_the_plan_and_with_what_is_missing() {
    each(|place| {
        let mut store = place.store();
        let seeds = [None, Some(0), Some(7), Some(i64::MAX as u64)];
        let plan: Vec<PlanItem> = (0..).zip(seeds).map(|(ordinal, seed)| PlanItem { seed, ..item(ordinal) }).collect();
        let new = NewRun {
            label: None,
            settings: &settings(),
            subjects: &host(),
            workloads: &[],
            plan: &plan,
            session: &session(1),
        };
        let run = store.begin_run(&new).unwrap();
        assert_eq!(store.load_run(run).unwrap().plan, plan);
        assert_eq!(store.missing_items(run).unwrap(), plan);
    });
}

#[test]
fn the_sides_of_a_comparison_and_their_machines_read_back() {
    each(|place| {
        let mut store = place.store();
        let side = |ordinal, subject| PlanItem { subject, ..item(ordinal) };
        let plan = [side(0, SubjectIndex::B), side(1, SubjectIndex::A)];
        let setup = Setup { compiler: Some("clang".to_owned()), ..Setup::default() };
        let guest = "qemu:cpus=2,kernel=/k".parse().unwrap();
        let commit = Commit { id: "1f3a9c2".to_owned(), repository: Some("/src".to_owned()) };
        let subjects = [
            Subject { commit: Some(commit), ..Subject::on("old".to_owned(), Machine::Host, Setup::default()) },
            Subject::on("new".to_owned(), guest, setup),
        ];
        let RunKind::Timed(timed) = settings().kind else { panic!() };
        let kind = RunKind::Comparison(ComparisonSettings {
            timed,
            quantity: Quantity::Time,
            level: 0.95,
            margin: 0.02,
            once: false,
            purpose: ComparisonPurpose::Answer,
        });
        let settings = Settings { kind, ..settings() };
        let mut facts_b = Facts::default();
        facts_b.text("kernel.release", "6.12");
        let mut session = session(1);
        session.facts.push(facts_b);
        let new = NewRun {
            label: None,
            settings: &settings,
            subjects: &subjects,
            workloads: &[],
            plan: &plan,
            session: &session,
        };
        let run = store.begin_run(&new).unwrap();
        let record = store.load_run(run).unwrap();
        assert_eq!((record.plan.as_slice(), &record.settings, &record.sessions[0]), (&plan[..], &settings, &session));
        assert_eq!(record.subjects, subjects);
    });
}

#[test]
fn of_figures_under_one_name_the_newest_is_meant() {
    each(|place| {
        let mut store = place.store();
        let dataset = |value| {
            Dataset::of(vec![Series {
                name: "sort".to_owned(),
                tasks: None,
                measure: None,
                unit: "s".to_owned(),
                direction: None,
                points: vec![DataPoint::of(Measured::Values(vec![value]))],
            }])
        };
        store.save_dataset("nightly", "hyperfine", UnixMillis(1), &dataset(1.0)).unwrap();
        store.save_dataset("other", "go-bench", UnixMillis(2), &dataset(2.0)).unwrap();
        store.save_dataset("nightly", "asv", UnixMillis(3), &dataset(3.0)).unwrap();
        assert_eq!(store.load_dataset("nightly").unwrap(), Some(dataset(3.0)));
        assert_eq!(store.load_dataset("weekly").unwrap(), None);
        let lines = store.list_datasets().unwrap();
        let names: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.source.as_str(), line.points)).collect();
        assert_eq!(names, [("nightly", "asv", 1), ("other", "go-bench", 1)]);
        place.sql("UPDATE dataset SET json = 'no JSON'");
        assert_eq!(store.list_datasets().unwrap(), lines, "the list reads no figures");
    });
}

#[test]
fn the_list_of_runs_reads_no_outcome() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store);
        attempt(&mut store, run, 0, Some(Outcome::TimedOut { limit_ms: 1 }));
        let lines = store.list_runs().unwrap();
        assert_eq!((lines[0].ended, lines[0].failed), (1, 1));
        place.sql("UPDATE attempt SET outcome = 'no JSON'");
        assert_eq!(store.list_runs().unwrap(), lines);
    });
}

#[test]
fn a_resume_closes_what_was_under_way_and_keeps_its_samples() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store);
        attempt(&mut store, run, 0, None);
        drop(store);

        let mut store = Store::open_existing(&place.db).unwrap();
        store.resume_run(run, &session(9)).unwrap();
        attempt(&mut store, run, 0, Some(Outcome::Done));
        store.skip_items(run, &[1]).unwrap();
        store.finish_run(run).unwrap();
        let record = store.load_run(run).unwrap();
        assert_eq!(record.attempts.len(), 2);
        assert_eq!(record.attempts[0].outcome, Some(Outcome::Interrupted));
        assert_eq!(record.attempts[0].window.len(), 2);
        assert_eq!(record.final_attempt(0).unwrap().id, record.attempts[1].id);
        assert_eq!([0, 1].map(|index| record.attempts[index].session), [0, 1]);
        assert_eq!((record.skipped.as_slice(), record.sessions.len(), record.state), (&[1][..], 2, RunState::Finished));
    });
}

#[test]
fn an_item_ends_only_once() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store);
        attempt(&mut store, run, 0, Some(Outcome::Done));
        let mut journal = store.journal(run);
        let second = journal.begin_attempt(0, UnixMillis(5)).unwrap();
        assert!(journal.end_attempt(second, &Outcome::Done, UnixMillis(6)).is_err());
    });
}

fn reading() -> Reading {
    let totals = Totals { transfers: 3, true_sharing: 3, ..Totals::default() };
    let line = Line {
        address: u64::MAX - 63,
        space: Space::Virtual,
        data: Data::Symbol { name: "lock".into(), offset: 4, field: Some("owner".into()) },
        transfers: 3,
        true_sharing: 3,
        false_sharing: 0,
        reads: Some(2),
        by_cpu: vec![CpuTransfers { cpu: 1, transfers: 3 }],
        by_site: Vec::new(),
        parts: Vec::new(),
    };
    let code = Code {
        function: "f".into(),
        offset: 1,
        inlined_into: None,
        between: Vec::new(),
        file: Some("f.c".into()),
        line: Some(2),
        own: None,
    };
    Reading {
        format: Reading::FORMAT.into(),
        operations: NonZeroU64::new(7).unwrap(),
        is_partial: false,
        seed: Some(1),
        target: "x86_64".into(),
        mode: LensMode::Program,
        scope: Scope::Marks,
        machine: ModelledMachine {
            cpus: 2,
            sockets: 1,
            cpus_per_cache: 2,
            quantum: 5,
            private_quantum: 200,
            times: CostTimes {
                instruction_ps: 500,
                same_cache_ns: 20,
                same_socket_ns: 50,
                other_socket_ns: 150,
                memory_ns: 80,
            },
            delays: Some(DelayTimes::USUAL),
            caches: None,
        },
        regions: 1,
        forks: 0,
        problems: Vec::new(),
        untyped: None,
        by_type: ByType::default(),
        by_object: Vec::new(),
        processes: Vec::new(),
        callers: None,
        spent: Spent::default(),
        predicted_ns: 12.5,
        totals,
        cpus: Vec::new(),
        lines_moved: 1,
        lines: vec![line],
        sites_moving: 0,
        sites: Vec::new(),
        interrupt: Some(InterruptReading {
            totals: Totals { transfers: 1, false_sharing: 1, ..Totals::default() },
            lines_moved: 9,
            lines: Vec::new(),
            sites_moving: 0,
            sites: Vec::new(),
        }),
        overlap: Overlap { busy_time: 10, overlapping_time: 3 },
        code: BTreeMap::from([(u64::MAX, code)]),
    }
}

#[test]
fn what_the_lens_counted_reads_back_and_belongs_to_its_attempt() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store);
        attempt(&mut store, run, 0, Some(Outcome::Done));
        let mut journal = store.journal(run);
        let second = journal.begin_attempt(1, UnixMillis(4)).unwrap();
        journal.record(second, &parse(b"end 5").unwrap()).unwrap();
        journal.record_reading(second, &reading()).unwrap();
        journal.end_attempt(second, &Outcome::Done, UnixMillis(5)).unwrap();
        assert!(journal.record_reading(second, &reading()).is_err(), "an attempt has one reading");
        drop(store);

        let record = Store::open_existing(&place.db).unwrap().load_run(run).unwrap();
        assert_eq!(record.attempts[0].reading, None);
        assert_eq!(record.attempts[1].reading.as_deref(), Some(&reading()));
    });
}

#[test]
fn a_console_belongs_to_its_attempt_and_goes_with_its_run() {
    each(|place| {
        let mut store = place.store();
        let [run, other] = [begin(&mut store), begin(&mut store)];
        let mut journal = store.journal(run);
        let [first, second] = [0, 1].map(|ordinal| journal.begin_attempt(ordinal, UnixMillis(4)).unwrap());
        // After the end of its output, in one transaction with its outcome, as that of a guest that
        // succeeded.
        journal.record(first, &parse(b"end 5").unwrap()).unwrap();
        journal.record_console(first, "Linux version 6.1\nreboot: Power down").unwrap();
        journal.end_attempt(first, &Outcome::Done, UnixMillis(5)).unwrap();
        assert!(journal.record_console(first, "again").is_err(), "an attempt has one console");
        let console = |store: &Store, run, attempt| store.load_console(run, attempt).unwrap();
        assert_eq!(console(&store, run, first).as_deref(), Some("Linux version 6.1\nreboot: Power down"));
        assert_eq!([console(&store, run, second), console(&store, other, first)], [None, None]);
        store.delete_runs(&[run]).unwrap();
        assert_eq!(console(&store, run, first), None);
        drop(store);
    });
}

#[test]
fn a_reading_is_saved_when_the_call_returns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db.sqlite");
    let mut store = Store::open_or_create(&path).unwrap();
    let run = begin(&mut store);
    let mut journal = store.journal(run);
    let first = journal.begin_attempt(0, UnixMillis(4)).unwrap();
    journal.record_reading(first, &reading()).unwrap();
    // As after SIGKILL: what is on the disk now is all there is.
    let copy = directory.path().join("copy.sqlite");
    for ending in ["", "-wal"] {
        let [from, to] = [&path, &copy].map(|file| format!("{}{ending}", file.display()));
        std::fs::copy(from, to).unwrap();
    }
    let record = Store::open_existing(&copy).unwrap().load_run(run).unwrap();
    assert_eq!(record.attempts[0].reading.as_deref(), Some(&reading()));
    assert_eq!(record.attempts[0].outcome, None);
}

#[test]
fn a_reading_of_another_version_is_an_error_for_its_run_and_not_for_the_list() {
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store);
        let mut journal = store.journal(run);
        let first = journal.begin_attempt(0, UnixMillis(4)).unwrap();
        journal.record_reading(first, &Reading { format: "faultline-lens-reading/9".into(), ..reading() }).unwrap();
        assert!(store.load_run(run).is_err());
        assert_eq!(store.list_runs().unwrap().len(), 1, "the list reads no reading");
    });
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

    for schema in [0, 16] {
        let other = directory.path().join(format!("schema-{schema}"));
        drop(Store::open_or_create(&other).unwrap());
        rusqlite::Connection::open(&other).unwrap().pragma_update(None, "user_version", schema).unwrap();
        let problem = format!("has schema {schema}; this version of Faultline uses schema 2");
        assert!(open_error(&other).ends_with(&problem), "{}", open_error(&other));
        let refused = Store::open_to_read(&other).unwrap_err();
        assert!(refused.problem.ends_with(&problem) && refused.kind == StoreErrorKind::Unusable, "{refused}");
        assert!(refused.hint.is_some());
    }

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
    each(|place| {
        let (one, other) = (place.store(), place.store());
        let held = one.lock_measuring().unwrap();
        let refused = other.lock_measuring().unwrap_err().to_string();
        assert!(refused.contains(&format!("(process {}", std::process::id())), "{refused}");
        drop((held, one));
        other.lock_measuring().unwrap();
    });
}

#[test]
fn many_may_set_up_one_database_at_once() {
    for place in (0..20).map(|_| TestDatabase::file()).chain((0..5).map(|_| TestDatabase::schema())) {
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..4).map(|_| scope.spawn(|| place.store())).collect();
            for opener in openers {
                begin(&mut opener.join().unwrap());
            }
        });
        assert_eq!(Store::open_existing(&place.db).unwrap().list_runs().unwrap().len(), 4);
    }
}

#[test]
fn a_new_file_gets_the_directories_above_it_and_is_its_owners() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/er/db.sqlite");
    let mut store = Store::open_or_create(&path).unwrap();
    begin(&mut store);
    // The write-ahead log too.
    for file in path.parent().unwrap().read_dir().unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

/// Texts that cause harm if not passed as data, or that a kind of database cannot hold unescaped.
const HOSTILE: [&str; 7] = [
    "'; DROP TABLE run; --",
    "\"x\" ?1 $1 \\ %s {}",
    "zero\0in\u{1A}0 the\u{1A}middle",
    "\u{FEFF}\u{202E}ot the left \u{1F980}",
    "line\nline\r\ttab \u{7F}",
    "",
    " blanks ",
];

#[test]
fn every_text_reads_back_as_it_was_saved() {
    each(|place| {
        let mut store = place.store();
        for (text, number) in HOSTILE.iter().zip(1..) {
            let workload = Case { workload: (*text).into(), variant: (*text).into(), mode: TaskMode::Thread };
            let plan = [PlanItem { cell: Cell { case: workload, tasks: 1 }, ..item(0) }];
            let subjects = [Subject::on((*text).to_owned(), Machine::Host, Setup::default())];
            let new = NewRun {
                label: Some(text),
                settings: &settings(),
                subjects: &subjects,
                workloads: &[],
                plan: &plan,
                session: &session(1),
            };
            let run = store.begin_run(&new).unwrap();
            let mut journal = store.journal(run);
            let id = journal.begin_attempt(0, UnixMillis(1)).unwrap();
            journal.record(id, &Event::Note((*text).to_owned(), (*text).to_owned())).unwrap();
            journal.record(id, &Event::Counter((*text).to_owned(), -1)).unwrap();
            let failed = Outcome::Failed { step: (*text).to_owned(), errno: 1, text: (*text).to_owned() };
            journal.end_attempt(id, &failed, UnixMillis(2)).unwrap();
            let record = store.load_run(run).unwrap();
            assert_eq!(run, RunId(number));
            assert_eq!(
                (record.label.as_deref(), &record.plan[..], &record.subjects[..]),
                (Some(*text), &plan[..], &subjects[..])
            );
            let attempt = &record.attempts[0];
            assert_eq!((attempt.notes.get(*text), attempt.counters.get(*text)), (Some(&(*text).to_owned()), Some(&-1)));
            assert_eq!(attempt.outcome, Some(failed));
            assert_eq!(store.runs_labelled(text).unwrap(), [run]);
            assert_eq!(store.runs_of_commit(text).unwrap(), []);
            assert_eq!(store.list_runs().unwrap()[0].workloads, [*text]);
        }
        assert_eq!(store.list_runs().unwrap().len(), HOSTILE.len());
    });
}

#[test]
fn long_texts_and_the_greatest_numbers_read_back() {
    const TEXT_BYTES: usize = 12 << 20;
    each(|place| {
        let mut store = place.store();
        let run = begin(&mut store);
        let long = |length| "lorem ipsum '\"\\ ".repeat(length / 15);
        let mut journal = store.journal(run);
        let id = journal.begin_attempt(0, UnixMillis(i64::MIN)).unwrap();
        // Longer than what an index on texts can hold.
        let key = long(50_000);
        for value in ["first", "second"] {
            journal.record(id, &Event::Note(key.clone(), value.to_owned())).unwrap();
            journal.record(id, &Event::Counter(key.clone(), i64::MIN)).unwrap();
        }
        let mut big = reading();
        big.target = long(TEXT_BYTES);
        journal.record_reading(id, &big).unwrap();
        journal.end_attempt(id, &Outcome::Done, UnixMillis(i64::MAX)).unwrap();
        let record = store.load_run(run).unwrap();
        let attempt = &record.attempts[0];
        assert_eq!(attempt.started, UnixMillis(i64::MIN));
        assert_eq!(attempt.notes, BTreeMap::from([(key.clone(), "second".to_owned())]));
        assert_eq!(attempt.counters, BTreeMap::from([(key, i64::MIN)]));
        assert_eq!(attempt.reading.as_deref(), Some(&big));
    });
}

#[test]
fn a_new_database_behind_a_link_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let (link, file) = (directory.path().join("link"), directory.path().join("db.sqlite"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    drop(Store::open_or_create(&link).unwrap());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// A small file system, unmounted with its value; `None`, with a line, if it cannot be mounted.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(directory.path());
        if !mount.output().is_ok_and(|output| output.status.success()) {
            println!("skipped: only root may mount");
            return None;
        }
        Some(SmallDisk(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_copy_onto_a_full_disk_does_not_suggest_a_resume() {
    let Some(disk) = SmallDisk::mount("256k") else { return };
    let place = TestDatabase::file();
    let mut store = place.store();
    let run = begin(&mut store);
    let mut journal = store.journal(run);
    let attempt = journal.begin_attempt(0, UnixMillis(2)).unwrap();
    journal.record(attempt, &Event::Note("big".to_owned(), "x".repeat(1 << 20))).unwrap();
    let refused = faultline_store::copy(&place.db, &disk.0.path().join("copy"), &mut |_| {}).unwrap_err();
    assert!(refused.problem.ends_with("the disk is full"), "{refused}");
    let hint = refused.hint.unwrap();
    assert!(hint.contains("repeat the command") && !hint.contains("resume"), "{hint}");
}

#[test]
fn a_read_only_file_system_is_named() {
    let Some(disk) = SmallDisk::mount("4m") else { return };
    let remount = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0.path()).status();
    assert!(remount.unwrap().success());
    for refused in [
        Store::open_or_create(&disk.0.path().join("db.sqlite")).unwrap_err(),
        Store::check_writable(&disk.0.path().join("db.sqlite")).unwrap_err(),
    ] {
        assert!(refused.problem.contains("Read-only file system"), "{refused}");
        assert!(!refused.problem.contains("does not exist"), "{refused}");
    }
}
