//! Programs under the lens whose transfers can be derived on paper (`lens_program/theory`). One
//! boot counts all kinds of work in sequence, each on its own data. Needs the same parts as the
//! tests in `lens_program.rs`.

use crate::lab::Lab;
use crate::lab::lens::{assert_status, compiled, points, program, transfers};
use faultline_record::lens::data::Data;
use faultline_record::lens::reading::{Line, Reading};

/// Kinds of work, and the number of turns per task.
struct Work<'a> {
    kinds: &'a [&'a str],
    turns: u64,
}

/// Counts at one number of threads.
struct Counted {
    threads: u64,
    turns: u64,
    reading: Reading,
}

impl Counted {
    /// The lines of a kind of work.
    fn lines(&self, kind: &str) -> impl Iterator<Item = &Line> {
        let is_of = move |line: &&Line| matches!(&line.data, Data::Symbol { name, .. } if name == kind);
        self.reading.lines.iter().filter(is_of)
    }

    /// Transfers of the lines of a kind of work: all, and those by false sharing.
    fn transfers(&self, kind: &str) -> (u64, u64) {
        let both = |line: &Line| (line.transfers, line.false_sharing);
        self.lines(kind).map(both).fold((0, 0), |sum, line| (sum.0 + line.0, sum.1 + line.1))
    }

    /// Transfers per turn of a task.
    fn per_turn(&self, kind: &str) -> f64 {
        let per_turn = self.transfers(kind).0 as f64 / (self.threads * self.turns) as f64;
        println!("{kind}, {} threads: {per_turn:.4} transfers per operation", self.threads);
        per_turn
    }

    #[track_caller]
    fn assert_per_turn(&self, kind: &str, paper: f64, tolerance: f64) {
        let per_turn = self.per_turn(kind);
        let threads = self.threads;
        assert!((per_turn - paper).abs() <= tolerance, "{kind}, {threads} threads: {per_turn}, on paper {paper}");
    }
}

/// Counts kinds of work at these numbers of threads.
fn counted(lab: &Lab, threads: &str, work: &Work<'_>) -> Vec<Counted> {
    let sources = ["theory/main.c", "theory/counters.c", "theory/locks.c", "theory/queues.c", "theory/sleepers.c"];
    let theory = compiled("theory", &sources, &[]);
    let turns = work.turns.to_string();
    let argv = [&[&theory[..], "{tasks}", &turns][..], work.kinds].concat();
    let output = program(lab, &["--tasks", threads], &argv).output().unwrap();
    assert_status(&output, 0);
    lab.assert_nothing_left();
    let record = lab.record(1);
    let counted = record.attempts.into_iter().map(|attempt| {
        let threads = record.plan.iter().find(|item| item.ordinal == attempt.ordinal).unwrap().cell.tasks;
        let reading = attempt.reading.unwrap();
        assert!(reading.problems.is_empty() && reading.regions == 1, "{:?}", reading.problems);
        Counted { threads: threads.into(), turns: work.turns, reading: *reading }
    });
    counted.collect()
}

const SPINNING: &[&str] = &["shared", "padded", "beside", "mostly_read", "ticket", "mcs", "guarded", "ring"];

const QUEUES_AND_SLEEPERS: &[&str] =
    &["rcu", "channel", "deque", "stolen", "futex_mutex", "condition", "semaphores", "rwlock"];

/// Checks the kinds of work that wait without sleeping, at any number of threads.
fn assert_as_on_paper(counted: &Counted) {
    let several = if counted.threads > 1 { 1.0 } else { 0.0 };
    // With a quantum below the cost of a transfer, a CPU that got the line comes last in the order
    // of turns. It therefore never increments twice in a row, and each increment is a transfer.
    // (With random turns, one in `threads` would be free.) While the timer interrupts one of two
    // CPUs, the other increments alone, about two thousand times.
    let tolerance = if counted.threads == 2 { 0.12 } else { 0.05 };
    counted.assert_per_turn("shared", several, tolerance);
    assert_eq!(counted.transfers("shared").1, 0, "all use the same bytes");
    // The CPU that first touches a page clears it. Each other thread then fetches its line of the
    // page once.
    assert!(counted.lines("padded").all(|line| line.transfers <= 1), "padded, {} threads", counted.threads);
    counted.assert_per_turn("padded", 0.0, 1.0 / counted.turns as f64);
    counted.assert_per_turn("beside", several, tolerance);
    let (all, falsely) = counted.transfers("beside");
    assert!(falsely * 100 >= all * 99, "false sharing: {falsely} of {all}");
    // Written once, then fetched once by each other thread. A reader that started before the write
    // loses its copy. That costs one more transfer to the writer, and one to each such reader.
    let (read, threads) = (counted.transfers("mostly_read").0, counted.threads);
    assert!((threads - 1..=2 * (threads - 1)).contains(&read), "{read} transfers of the word that is read");
    // One transfer to take a ticket, one to write the number being served, and one for each of the
    // n − 1 waiters to read it.
    let waiters = threads as f64 + 1.0;
    counted.assert_per_turn("ticket", several * waiters, 0.1 * waiters);
    // With a permanent queue, six transfers: clear the own link (its line is still with the last
    // successor, who set it); swap the tail; set the predecessor's link; read the own flag once it
    // is cleared; read the own link once it is set; clear the successor's flag.
    counted.assert_per_turn("mcs", several * 6.0, 0.4);
    // The lock's owner uses the data next to it. On separate lines, the lock and the data would
    // move equally often.
    let (all, falsely) = counted.transfers("guarded");
    assert!(threads == 1 || all > threads * counted.turns && falsely * 10 < all, "false sharing: {falsely} of {all}");
    // Eight items are one line of slots, which goes back and forth. For each eight items, the
    // producer takes the lines of the slots and the tail from the consumer, and reads the head's
    // line. The consumer fetches the first two and takes the third. Total: 6 transfers.
    if threads > 1 {
        counted.assert_per_turn("ring", 0.75 / threads as f64, 0.03 / threads as f64);
    }
}

/// Checks lock-free reads, queues, and waits that sleep in the kernel, at any number of threads.
fn assert_queues_and_sleepers_as_on_paper(counted: &Counted) {
    let (threads, turns) = (counted.threads, counted.turns);
    // Readers write only to their own lines. The pointer is published once, and each other reader
    // fetches it.
    let published = counted.transfers("rcu").0;
    assert!((threads - 1..=2 * (threads - 1)).contains(&published), "RCU, {threads} threads: {published} in all");
    // No task steals, so the only transfers are of the lines' first bytes, from the CPU that
    // cleared their page.
    let own = counted.transfers("deque").0;
    assert!(own <= 10 * threads, "deques of their own, {threads} threads: {own} in all");
    if threads == 1 {
        let others = ["channel", "stolen", "futex_mutex", "condition", "semaphores", "rwlock"];
        assert!(others.iter().all(|kind| counted.transfers(kind).0 == 0), "one thread moves nothing");
        return;
    }
    // For each item's cell, the sender reads its turn, written by the receiver, and takes the line
    // from it. The receiver does likewise. Among several senders, each takes the number of the next
    // item from another; so do several receivers. An item is a turn of two tasks.
    counted.assert_per_turn("channel", if threads == 2 { 2.0 } else { 3.0 }, 0.15);
    // A stealing task reads the top, and takes its line. A task that read it earlier fails, and has
    // taken the line too.
    let stolen = counted.per_turn("stolen");
    assert!((2.0..=2.0 * threads as f64).contains(&stolen), "stealing, {threads} threads: {stolen}");
    // The mutex owner reads and writes the number: two transfers per hand-over, of which at most
    // one belongs to an acquisition. Waiters sleep, so more waiters do not move the lock more.
    let mutex = counted.per_turn("futex_mutex");
    assert!((1.0..8.0).contains(&mutex), "mutex, {threads} threads: {mutex}");
    // Only two tasks take these turns. The woken task takes the lock, and the other one takes it
    // again to wait: 2 transfers. It reads and writes the number of the turn: 2. It leaves the
    // condition variable, on which it then signals and waits: 1. The lock is released before the
    // signal, so no task waits for it.
    let turns_of_two = (2 * turns) as f64;
    let condition = counted.transfers("condition").0 as f64 / turns_of_two;
    println!("condition, {threads} threads: {condition:.4} transfers per hand-over");
    assert!((condition - 5.0).abs() < 0.3, "condition variable: {condition}");
    // The posting task reads and changes the semaphore, and so does the task that waited for it.
    let semaphores = counted.transfers("semaphores").0 as f64 / turns_of_two;
    println!("semaphores, {threads} threads: {semaphores:.4} transfers per hand-over");
    assert!((semaphores - 4.0).abs() < 0.3, "semaphores: {semaphores}");
    // Readers change the lock's word twice. They use compare-and-swap too, which repeats if another
    // reader was faster.
    let rwlock = counted.per_turn("rwlock");
    assert!(rwlock >= 2.0, "lock for readers, {threads} threads: {rwlock}");
}

/// Asserts that the saved lines include all that moved more than occasionally.
fn assert_all_is_listed(counted: &Counted) {
    let listed: u64 = counted.reading.lines.iter().map(|line| line.transfers).sum();
    let others = counted.reading.totals.transfers - listed;
    assert!(others <= 10 * counted.threads, "{others} transfers of lines that are not listed");
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn queues_and_sleepers_move_as_on_paper() {
    for counted in counted(&Lab::new(), "1,2,8", &Work { kinds: QUEUES_AND_SLEEPERS, turns: 1000 }) {
        assert_queues_and_sleepers_as_on_paper(&counted);
        assert_all_is_listed(&counted);
    }
}

#[test]
fn what_spins_moves_as_on_paper() {
    for counted in &counted(&Lab::new(), "2,8", &Work { kinds: SPINNING, turns: 20_000 }) {
        assert_as_on_paper(counted);
        let overlap = counted.reading.overlap;
        let share = overlap.overlapping_time as f64 / overlap.busy_time as f64;
        assert!(share > 0.9, "busy at once for {share:.3} of the time");
        let shared = counted.lines("shared").next().unwrap();
        assert_eq!(shared.by_cpu.len() as u64, counted.threads);
        let site = &counted.reading.code[&shared.by_site[0].address];
        assert_eq!((site.function.as_str(), site.source().is_some()), ("count_shared", true), "{site:?}");
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn what_spins_moves_as_on_paper_at_1_and_32_threads() {
    // A CPU delayed by the timer finishes alone, without transfers. With this many turns, that part
    // is small.
    for counted in counted(&Lab::new(), "1,32", &Work { kinds: SPINNING, turns: 4000 }) {
        assert_as_on_paper(&counted);
        assert_all_is_listed(&counted);
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn queues_and_sleepers_move_as_on_paper_at_1_and_32_threads() {
    for counted in counted(&Lab::new(), "1,32", &Work { kinds: QUEUES_AND_SLEEPERS, turns: 400 }) {
        assert_queues_and_sleepers_as_on_paper(&counted);
        assert_all_is_listed(&counted);
    }
}

/// Accesses by the first task's CPU per turn of a loop around one instruction.
fn accesses_per_turn(kind: &str) -> f64 {
    let atomics = compiled("atomics", &["atomics.c"], &[]);
    let lab = Lab::new();
    let output = program(&lab, &["--tasks", "2"], &[&atomics, kind, "{tasks}", "20000"]).output().unwrap();
    assert_status(&output, 0);
    let reading = lab.record(1).attempts.remove(0).reading.unwrap();
    reading.totals.accesses as f64 / 40_000.0
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn an_atomic_is_one_access_and_a_plain_read_modify_write_two() {
    for (kind, paper) in [("add", 1.0), ("cmpxchg", 1.0), ("xchg", 1.0), ("plain", 2.0)] {
        let per_turn = accesses_per_turn(kind);
        println!("{kind}: {per_turn:.3} accesses per turn");
        assert!((per_turn - paper).abs() < 0.1, "{kind}: {per_turn}");
    }
}

#[test]
#[ignore = "boots guests: make test-guest"]
fn distances_are_those_of_the_topology() {
    let of = |more: &[&str]| {
        let lab = Lab::new();
        let counters = compiled("counters", &["counters.c"], &[]);
        let options = [&["--tasks", "3", "--ops", "1000"], more].concat();
        let [point] = &points(&lab, &options, &[&counters, "{tasks}", "1000"])[..] else { panic!() };
        let by = point.by_distance.unwrap();
        let all = by.same_cache + by.same_socket + by.other_socket + by.several;
        [by.same_cache, by.same_socket, by.other_socket].map(|count| count as f64 / all as f64)
    };
    let [same_cache, same_socket, other_socket] = of(&[]);
    assert!(same_cache > 0.99 && same_socket == 0.0 && other_socket == 0.0, "{same_cache}");
    let [same_cache, same_socket, other_socket] = of(&["--sockets", "2", "--cpus-per-cache", "1"]);
    assert!(
        same_cache == 0.0 && same_socket + other_socket > 0.99 && other_socket > 0.1,
        "{same_socket} {other_socket}"
    );
}

/// Threads started in the usual way: created in sequence, then blocked at a barrier. A woken thread
/// takes some microseconds to run; until then the others increment alone.
#[test]
#[ignore = "boots guests: make test-guest"]
fn threads_that_sleep_before_they_begin_contend_all_the_same() {
    let beside = compiled("beside", &["beside.c"], &[]);
    let options = ["--tasks", "2,4", "--ops", "20000"];
    for point in points(&Lab::new(), &options, &[&beside, "{tasks}", "20000"]) {
        assert!((0.8..1.05).contains(&transfers(&point)), "{}: {}", point.cpus, transfers(&point));
    }
}

/// Threads that sleep while they wait for each other: their lines move at each hand-over.
#[test]
#[ignore = "boots guests: make test-guest"]
fn threads_that_sleep_share_their_lines() {
    let lab = Lab::new();
    let sleepers = compiled("sleepers", &["sleepers.c"], &[]);
    let options = ["--tasks", "2", "--ops", "500"];
    let [turns] = &points(&lab, &options, &[&sleepers, "condition", "{tasks}", "500"])[..] else { panic!() };
    // The mutex, the condition variable and the number move at each turn.
    assert!((2.0..20.0).contains(&transfers(turns)), "{turns:?}");
    let names: Vec<&str> = turns.lines.iter().map(|line| line.name.as_str()).collect();
    assert!(
        names.iter().any(|name| name.starts_with("mutex")) && names.iter().any(|name| name.starts_with("passed")),
        "{names:?}"
    );
    let [locks] = &points(&lab, &options, &[&sleepers, "mutex", "{tasks}", "500"])[..] else { panic!() };
    assert!(transfers(locks) > 0.05, "{locks:?}");
    lab.assert_nothing_left();
}
