//! Two hundred concurrent clients, while a runner writes into the same database.

use crate::client::get;
use crate::runner::{Acknowledged, assert_holds, begin, measure as run_measure};
use crate::server::ServerProcess;
use crate::spread::Spread;
use faultline_store::Store;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const CLIENTS: usize = 200;
/// Requests of each client.
const REQUESTS: usize = 10;
const ITEMS: u32 = 10;
const SAMPLES: u64 = 20;

pub fn measure(database: &Path, history: &str) {
    let server = ServerProcess::start(database);
    let timeline = format!("/api/v1/histories/{history}/timeline?from=1000&to=1799&width=1200");
    let targets = ["/", "/runs", "/api/v1/runs?limit=50", "/api/v1/histories", &timeline];
    assert_eq!(get(server.address, "/").status, 200);
    let (start, is_over) = (Barrier::new(CLIENTS), AtomicBool::new(false));
    let ask = |client: usize| {
        start.wait();
        let one = |number: usize| {
            let begun = Instant::now();
            let answer = get(server.address, targets[(client + number) % targets.len()]);
            assert_eq!(answer.status, 200);
            begun.elapsed().as_secs_f64() * 1e3
        };
        (0..REQUESTS).map(one).collect::<Vec<f64>>()
    };
    let (mut times, begun) = (Spread::default(), Instant::now());
    let samples = std::thread::scope(|scope| {
        let runner = scope.spawn(|| write_until(database, &is_over));
        let ask = &ask;
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || ask(client))).collect();
        for client in clients {
            client.join().expect("no request fails").into_iter().for_each(|time| times.add(time));
        }
        // Relaxed: only the flag itself is communicated.
        is_over.store(true, Ordering::Relaxed);
        runner.join().expect("the runner loses nothing")
    });
    println!(
        "{} requests of {CLIENTS} clients at once in {:.1} s, {samples} samples written meanwhile and none lost; ms: median {:.1}, p99 {:.1}, longest {:.1}; peak memory of the server {:.0} MB",
        CLIENTS * REQUESTS,
        begun.elapsed().as_secs_f64(),
        times.at(0.5),
        times.at(0.99),
        times.most(),
        server.peak_memory_mb()
    );
}

/// Measures runs until the clients are answered, and checks that all acknowledged data are stored.
/// Returns the number of samples.
fn write_until(database: &Path, is_over: &AtomicBool) -> u64 {
    let mut store = Store::open_existing(database).expect("the database can be written");
    let mut samples = 0;
    // Relaxed: only the flag itself is communicated.
    while !is_over.load(Ordering::Relaxed) {
        let (run, mut acknowledged) = (begin(&mut store, ITEMS), Acknowledged::default());
        assert_eq!(run_measure(&mut store, run, ITEMS, SAMPLES, &mut acknowledged), None);
        store.finish_run(run).expect("the run can be saved");
        let record = store.load_run(run).expect("the run can be read");
        assert_eq!(record.attempts.len(), acknowledged.attempts.len());
        assert_holds(&record, &acknowledged);
        samples += u64::from(ITEMS) * SAMPLES;
    }
    samples
}
