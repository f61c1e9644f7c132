//! Two hundred clients at once on loopback, a bounded number of requests: every one is answered. Prints the times; none is tested, since other programs run on this machine too.

use crate::asked::Served;
use std::sync::Barrier;
use std::time::{Duration, Instant};

const CLIENTS: usize = 200;
const TARGETS: [&str; 5] =
    ["/", "/runs", "/api/v1/runs?limit=50", "/api/v1/histories", "/api/v1/runs/1/executions?limit=10"];

#[test]
fn two_hundred_clients_at_once_are_all_answered() {
    let served = Served::new(false);
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
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let ask = &ask;
                    move || ask(client)
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    times.sort();
    assert_eq!(times.len(), CLIENTS * TARGETS.len());
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{} requests of {CLIENTS} clients: median {:?}, p99 {:?}, longest {:?}",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    assert!(served.said.lock().unwrap().is_empty(), "{:?}", served.said);
}
