//! Two hundred clients at once while runners write into the same database: every request is
//! answered, and all acknowledged data are saved. Prints the times without testing them, because
//! other programs run on the machine too.

use crate::filled;
use crate::postgres::Server;
use crate::runner::{Acknowledged, assert_holds, begin, measure};
use crate::served::Served;
use faultline_record::record::RunId;
use faultline_store::Store;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 200;
const TARGETS: [&str; 5] =
    ["/", "/runs", "/api/v1/runs?limit=50", "/api/v1/histories", "/api/v1/runs/1/executions?limit=10"];
/// Items that a runner measures between checks for the end.
const ITEMS: u32 = 10;
const INTERVALS: u64 = 20;

/// Measures runs until all clients are answered. Returns the acknowledged data of each.
fn measure_until(database: &Path, is_over: &AtomicBool) -> Vec<(RunId, Acknowledged)> {
    let mut store = Store::open_existing(database).unwrap();
    let mut runs = Vec::new();
    // Relaxed: the flag alone is passed.
    while !is_over.load(Ordering::Relaxed) {
        let (run, mut acknowledged) = (begin(&mut store, ITEMS), Acknowledged::default());
        assert_eq!(measure(&mut store, run, ITEMS, INTERVALS, &mut acknowledged), None);
        store.finish_run(run).unwrap();
        runs.push((run, acknowledged));
    }
    runs
}

/// Lets each client request all targets. Returns the sorted times of all requests.
fn ask_all(served: &Served) -> Vec<Duration> {
    let start = Barrier::new(CLIENTS);
    let ask = |client: usize| {
        start.wait();
        let one = |number: usize| {
            let begun = Instant::now();
            let answer = served.get(TARGETS[(client + number) % TARGETS.len()]);
            assert_eq!(answer.status, 200, "{answer:?}");
            begun.elapsed()
        };
        (0..TARGETS.len()).map(one).collect::<Vec<Duration>>()
    };
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let ask = &ask;
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || ask(client))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    times.sort();
    times
}

fn all_are_answered_and_nothing_is_lost(database: &Path, runners: usize) {
    filled::fill(database, false);
    let served = Served::over(database.to_owned(), None, &[]);
    let is_over = AtomicBool::new(false);
    let (times, measured) = std::thread::scope(|scope| {
        let runners: Vec<_> = (0..runners).map(|_| scope.spawn(|| measure_until(database, &is_over))).collect();
        let times = ask_all(&served);
        // Relaxed: the flag alone is passed.
        is_over.store(true, Ordering::Relaxed);
        (times, runners.into_iter().flat_map(|runner| runner.join().unwrap()).collect::<Vec<_>>())
    });
    assert_eq!(times.len(), CLIENTS * TARGETS.len());
    let store = Store::open_existing(database).unwrap();
    for (run, acknowledged) in &measured {
        let record = store.load_run(*run).unwrap();
        assert_eq!((record.attempts.len(), acknowledged.attempts.len()), (ITEMS as usize, ITEMS as usize));
        assert_holds(&record, acknowledged);
        let page = served.get(&format!("/api/v1/runs/{run}/executions")).json();
        assert_eq!(page["executions"].as_array().unwrap().len(), ITEMS as usize);
    }
    assert!(measured.len() >= runners, "each runner measured");
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{} requests of {CLIENTS} clients, {runners} runners with {} samples meanwhile: median {:?}, p99 {:?}, longest {:?}",
        times.len(),
        measured.len() as u64 * u64::from(ITEMS) * INTERVALS,
        at(0.5),
        at(0.99),
        at(1.0)
    );
    assert!(served.said.lock().unwrap().is_empty(), "{:?}", served.said);
}

#[test]
fn two_hundred_clients_and_a_runner_use_a_file_at_once() {
    let directory = tempfile::tempdir().unwrap();
    all_are_answered_and_nothing_is_lost(&directory.path().join("db.sqlite"), 1);
}

#[test]
fn two_hundred_clients_and_two_runners_use_a_database_server_at_once() {
    let server = Server::start();
    all_are_answered_and_nothing_is_lost(Path::new(&server.url("postgres", "public")), 2);
}
