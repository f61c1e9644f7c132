//! The server over a history of 5,000 commits with a million samples: time to the first plot, zoom,
//! memory of the server, size of script and style, and response times of 200 concurrent clients
//! while a runner writes into the same database. `make bench-serve`.
//!
//! The database is created once, from a fixed seed, and kept under `target`. Each round begins with
//! a copy of it without any computed conclusions.

mod browser;
mod client;
mod clients_at_once;
mod database;
#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../../lab/web/tests/filled/mod.rs"]
mod filled;
#[path = "../../lab/store/tests/runner/mod.rs"]
mod runner;
mod server;
mod spread;

use client::{Answer, get, json};
use server::ServerProcess;
use spread::Spread;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rounds, each with servers of its own.
const ROUNDS: usize = 5;
/// Number of ranges requested in a round, and commits in each.
const ZOOMS: usize = 40;
const ZOOMED: usize = 800;
/// Width of the plot in pixels.
const WIDTH: usize = 1200;

fn main() {
    if let Some(database) = std::env::args().skip_while(|word| word != server::ARGUMENT).nth(1) {
        return server::serve(Path::new(&database));
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/serve-bench");
    std::fs::create_dir_all(&directory).expect("`target` can be written");
    let made = database::made(&directory);
    let work = directory.join("work.sqlite");
    let load = std::fs::read_to_string("/proc/loadavg").expect("Linux says it");
    println!("load average of the machine before: {}", load.split(' ').next().unwrap_or_default());
    let mut figures = Figures::default();
    copy_anew(&made, &work);
    let history = history_id(&work);
    for _ in 0..ROUNDS {
        copy_anew(&made, &work);
        figures.round(&work, &history);
    }
    figures.print();
    clients_at_once::measure(&work, &history);
}

fn copy_anew(made: &Path, work: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(work.with_extension(format!("sqlite{suffix}")));
    }
    std::fs::copy(made, work).expect("the database can be copied");
}

/// The identifier of the only history, as reported by the server.
fn history_id(database: &Path) -> String {
    let server = ServerProcess::start(database);
    let answer = json(server.address, "/api/v1/histories");
    answer["histories"][0]["id"].as_str().expect("the database has a history").to_owned()
}

#[derive(Default)]
struct Figures {
    first_ms: Spread,
    first_cpu_ms: Spread,
    first_unconcluded_ms: Spread,
    first_unconcluded_cpu_ms: Spread,
    in_browser_ms: Spread,
    zoom_ms: Spread,
    zoom_cpu_ms: Spread,
    memory_mb: Spread,
    memory_unconcluded_mb: Spread,
    page_kb: Spread,
    bundle_kb: Spread,
}

impl Figures {
    fn round(&mut self, database: &Path, history: &str) {
        let server = ServerProcess::start(database);
        let page = format!("/histories/{history}");
        let (answer, time) = timed(|| page_once_read(&server, &page));
        self.first_unconcluded_ms.add(milliseconds(time));
        self.first_unconcluded_cpu_ms.add(server.cpu_ms());
        self.memory_unconcluded_mb.add(server.peak_memory_mb());
        self.page_kb.add(answer.body.len() as f64 / 1e3);
        drop(server);

        let server = ServerProcess::start(database);
        let (first, time) = timed(|| page_once_read(&server, &page));
        self.first_ms.add(milliseconds(time));
        self.first_cpu_ms.add(server.cpu_ms());
        let (mut from, before_ms) = (1, server.cpu_ms());
        for _ in 0..ZOOMS {
            from = (from * 48_271) % 0x7fff_ffff;
            let begin = from % (database::COMMITS - ZOOMED);
            let range = format!("from={begin}&to={}&width={WIDTH}", begin + ZOOMED - 1);
            let target = format!("/api/v1/histories/{history}/timeline?{range}");
            let (answer, time) = timed(|| get(server.address, &target));
            assert_eq!(answer.status, 200, "{target}");
            self.zoom_ms.add(milliseconds(time));
        }
        self.zoom_cpu_ms.add((server.cpu_ms() - before_ms) / ZOOMS as f64);
        let assets = first.assets();
        assert_eq!(assets.len(), 2, "script and style: {assets:?}");
        let bytes: usize = assets.iter().map(|asset| get(server.address, asset).body.len()).sum();
        self.bundle_kb.add(bytes as f64 / 1e3);
        self.memory_mb.add(server.peak_memory_mb());
        drop(server);

        let server = ServerProcess::start(database);
        if let Some(drawn) = browser::until_drawn_ms(&format!("http://{}{page}", server.address)) {
            self.in_browser_ms.add(drawn);
        }
    }

    fn print(&self) {
        let rows = [
            ("first plot, ms", Some(1000.0), &self.first_ms),
            ("  of it CPU time of the server, ms", None, &self.first_cpu_ms),
            ("first plot in Chromium until drawn, ms", Some(1000.0), &self.in_browser_ms),
            ("first plot, nothing concluded yet, ms", None, &self.first_unconcluded_ms),
            ("  of it CPU time of the server, ms", None, &self.first_unconcluded_cpu_ms),
            ("zoom, ms", Some(100.0), &self.zoom_ms),
            ("  of it CPU time of the server, ms", None, &self.zoom_cpu_ms),
            ("peak memory of the server, MB", Some(300.0), &self.memory_mb),
            ("peak memory, nothing concluded yet, MB", Some(300.0), &self.memory_unconcluded_mb),
            ("script and style, compressed, kB", Some(150.0), &self.bundle_kb),
            ("page, compressed, kB", None, &self.page_kb),
        ];
        for (name, limit, spread) in rows {
            let goal = limit.map_or_else(String::new, |limit| {
                format!("   goal {limit}: {}", if spread.most() <= limit { "met" } else { "MISSED" })
            });
            println!("{name:42} {spread}{goal}");
        }
    }
}

/// Requests a page until it is available: a server that is still reading asks clients to retry.
fn page_once_read(server: &ServerProcess, page: &str) -> Answer {
    loop {
        let answer = get(server.address, page);
        if answer.status == 200 {
            return answer;
        }
        assert_eq!(answer.status, 503, "{page}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    (work(), begun.elapsed())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
