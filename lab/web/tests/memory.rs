//! Memory of the server while clients request comparisons of large runs at once.

use crate::runner::begin;
use crate::served::Served;
use faultline_record::journal::Journal;
use faultline_record::outcome::Outcome;
use faultline_record::protocol::{Event, Interval};
use faultline_record::time::UnixMillis;
use faultline_store::Store;

/// Samples of a run, each with the counts of so many tasks: 96 MB in memory.
const SAMPLES: u64 = 3_000;
const TASKS: usize = 4_000;
/// Requests at once.
const CLIENTS: usize = 6;
/// Peak of the server's memory (docs/SERVE.md), in MB of 1,000,000 bytes.
const GOAL_MB: f64 = 300.0;

/// The largest resident memory of this process so far, in MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().unwrap();
    kib * 1024.0 / 1e6
}

#[test]
fn comparisons_of_large_runs_at_once_stay_within_the_goal() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("db.sqlite");
    let mut store = Store::open_or_create(&database).unwrap();
    for _ in 0..2 {
        let run = begin(&mut store, 1);
        let mut journal = store.journal(run);
        let attempt = journal.begin_attempt(0, UnixMillis(2)).unwrap();
        for number in 0..SAMPLES {
            let interval = Interval { from_ns: number, to_ns: number + 1, operations: vec![number; TASKS] };
            journal.record(attempt, &Event::Window(interval)).unwrap();
        }
        journal.end_attempt(attempt, &Outcome::Done, UnixMillis(3)).unwrap();
        store.finish_run(run).unwrap();
    }
    drop(store);
    let served = Served::over(database, None, &[]);
    let before = peak_mb();
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let answer = served.get("/api/v1/compare?a=1&b=2");
                // The runs describe no workload, so they have nothing in common.
                assert_eq!(answer.status, 422, "{answer:?}");
            });
        }
    });
    let more = peak_mb() - before;
    println!("{CLIENTS} comparisons of two runs with {SAMPLES} samples of {TASKS} tasks: {more:.0} MB more");
    assert!(more < GOAL_MB, "{more} MB");
}
