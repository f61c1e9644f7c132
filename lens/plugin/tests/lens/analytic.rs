// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs whose transfers can be derived on paper, at 2, 8 and 32 threads. The main thread sleeps on its own CPU.
//! Start and end cost at most four transfers per thread, including the main thread's.

use crate::emulator::{Outcome, number, run};

const THREADS: [u64; 3] = [2, 8, 32];

fn counters(layout: &str, threads: u64, iterations: u64) -> Outcome {
    let outcome = run(threads + 1, &[], "counters", &[layout, &threads.to_string(), &iterations.to_string()]);
    assert!(outcome.output.status.success(), "{}", outcome.stderr());
    assert!(outcome.problems().is_empty());
    outcome
}

/// With a quantum below the cost of a transfer, a CPU that got the line is behind all others in the order of turns. So
/// it never increments twice in a row, and each increment is a transfer. (With random turns, one in `threads` would be
/// free.)
#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_shared_counter_moves_with_each_increment() {
    for threads in THREADS {
        let outcome = counters("shared", threads, 1000);
        let per_increment = outcome.transfers_per(threads * 1000);
        println!("shared counter, {threads} threads: {per_increment:.4} transfers per increment");
        assert!((per_increment - 1.0).abs() < 0.05, "{threads} threads: {per_increment}");
        let line = outcome.printed()[0];
        let (place, line) = outcome.line(line).unwrap();
        assert_eq!((place, number(&line["false_sharing"])), (0, 0));
        assert_eq!(line["by_cpu"].as_array().unwrap().len() as u64, threads);
        assert!(outcome.total("atomic") >= number(&line["transfers"]));
    }
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn counters_on_lines_of_their_own_stay() {
    for threads in THREADS {
        let outcome = counters("padded", threads, 10_000);
        let per_increment = outcome.transfers_per(threads * 10_000);
        println!("padded counters, {threads} threads: {per_increment:.6} transfers per increment");
        assert!(per_increment < 0.001, "{threads} threads: {per_increment}");
        for thread in 0..threads {
            assert!(outcome.line(outcome.printed()[0] + 64 * thread).is_none());
        }
    }
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn counters_side_by_side_are_false_sharing_of_the_right_line() {
    for threads in THREADS {
        let outcome = counters("beside", threads, 1000);
        let (place, line) = outcome.line(outcome.printed()[0]).unwrap();
        let (all, false_sharing) = (number(&line["transfers"]), number(&line["false_sharing"]));
        println!(
            "counters side by side, {threads} threads: {all} transfers of the line, {false_sharing} by false sharing"
        );
        assert_eq!(place, 0);
        // The model may misclassify the sharing of a transfer for which two host threads race.
        assert!(false_sharing as f64 / all as f64 > 0.99);
        assert!((all as f64 / (threads * 1000) as f64 - 1.0).abs() < 0.05, "{all}");
    }
}

/// Written once, then fetched once by each other thread.
#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_line_that_is_read_comes_once() {
    for threads in THREADS {
        let outcome = counters("read", threads, 10_000);
        let (_, line) = outcome.line(outcome.printed()[0]).unwrap();
        println!("read-mostly word, {threads} threads: {} transfers in all", line["transfers"]);
        // A reader that started before the write loses its copy. That costs one more transfer to the writer, and one to
        // each such reader.
        assert!((threads - 1..=2 * threads).contains(&number(&line["transfers"])), "{line}");
        assert!(outcome.transfers_per(threads * 10_000) < 0.001);
    }
}

fn lock(kind: &str, threads: u64) -> f64 {
    let outcome = run(threads + 1, &[], "locks", &[kind, &threads.to_string(), "100"]);
    assert!(outcome.output.status.success(), "{}", outcome.stderr());
    let per_acquisition = outcome.transfers_per(threads * 100);
    println!("{kind} lock, {threads} threads: {per_acquisition:.3} transfers per acquisition");
    per_acquisition
}

/// Mellor-Crummey and Scott 1991. Ticket lock: one transfer to take a ticket, one to write who is served, and one for
/// each of the n − 1 waiters to read it, n + 1 in total. MCS lock with a permanent queue: clear one's own link (the
/// last successor, who set it, still has the node's line), swap the tail, set the predecessor's link, read one's own
/// flag once it is cleared, read one's own link once it is set, and clear the successor's flag: 6, independent of n.
#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_ticket_lock_grows_with_its_waiters_and_an_mcs_lock_does_not() {
    for threads in THREADS {
        let (ticket, paper) = (lock("ticket", threads), (threads + 1) as f64);
        assert!((ticket / paper - 1.0).abs() < 0.05, "{threads} threads: {ticket}");
        let mcs = lock("mcs", threads);
        assert!((mcs - 6.0).abs() < 0.3, "{threads} threads: {mcs}");
    }
}

/// Whoever takes the lock uses the data beside it. While it does, those that wait fetch the line again and again. Each
/// for itself, the lock and the data would move as often.
#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_lock_and_what_it_protects_do_not_share_falsely() {
    for threads in [2, 8] {
        let outcome = run(threads + 1, &[], "locks", &["guarded", &threads.to_string(), "500"]);
        assert!(outcome.output.status.success(), "{}", outcome.stderr());
        let (place, line) = outcome.line(outcome.printed()[0]).unwrap();
        let (all, false_sharing) = (number(&line["transfers"]), number(&line["false_sharing"]));
        println!("lock and data on one line, {threads} threads: {all} transfers, {false_sharing} by false sharing");
        assert!(place == 0 && all > threads * 500);
        assert!(false_sharing * 10 < all, "{threads} threads: {false_sharing} of {all}");
    }
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn threads_that_run_at_once_overlap() {
    let outcome = counters("shared", 4, 1000);
    let time = |name: &str| number(&outcome.report()[name]) as f64;
    let share = time("overlapping_time") / time("busy_time");
    println!("shared counter, 4 threads: busy at once for {share:.3} of the time");
    assert!(share > 0.9, "{share}");
}

/// Eight items are one line of slots. A ring of one such line goes back and forth: for each eight items the producer
/// takes the slots' line and the tail's line from the consumer, and reads the head's; the consumer fetches the first
/// two and takes the third. That makes 6 transfers. In a larger ring the ends need not read each other's position each
/// time, but the slots still move twice.
#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_ring_moves_its_lines_as_on_paper() {
    let items = 8000;
    let outcome = run(3, &[], "ring", &["8", &items.to_string()]);
    let per_item = outcome.transfers_per(items);
    println!("ring of 8 slots: {per_item:.4} transfers per item, on paper 0.75");
    assert!((per_item - 0.75).abs() < 0.01, "{per_item}");

    let outcome = run(3, &[], "ring", &["64", &items.to_string()]);
    let (first, end) = (outcome.printed()[0], outcome.printed()[1]);
    let slots: u64 = (first..end)
        .step_by(64)
        .filter_map(|line| outcome.line(line))
        .map(|(_, line)| number(&line["transfers"]))
        .sum();
    let (slots_per_item, per_item) = (slots as f64 / items as f64, outcome.transfers_per(items));
    println!("ring of 64 slots: {per_item:.4} transfers per item, of slots {slots_per_item:.4}, on paper 0.25");
    assert!((slots_per_item - 0.25).abs() < 0.01, "{slots_per_item}");
    assert!((0.25..0.76).contains(&per_item), "{per_item}");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn sites_are_named_by_addresses_in_the_file() {
    let outcome = counters("shared", 2, 1000);
    let base = number(&outcome.report()["program"]["load_base"]);
    let site = number(&outcome.report()["sites"][0]["address"]) - base;
    let file = crate::emulator::compiled("counters", &[]);
    let symbols = std::process::Command::new("nm").arg("--print-size").arg(file).output().unwrap().stdout;
    let symbols = String::from_utf8(symbols).unwrap();
    let words: Vec<&str> =
        symbols.lines().find(|line| line.ends_with(" count_shared")).unwrap().split_whitespace().collect();
    let hexadecimal = |word| u64::from_str_radix(word, 16).unwrap();
    let (start, size) = (hexadecimal(words[0]), hexadecimal(words[1]));
    assert!((start..start + size).contains(&site), "{site:#x} is not in count_shared at {start:#x}");
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn distances_are_those_of_the_topology() {
    let of = |more: &[&str]| {
        let outcome = run(4, more, "counters", &["shared", "3", "1000"]);
        let distances = outcome.report()["totals"]["by_distance"].clone();
        ["same_cache", "same_socket", "other_socket"].map(|name| number(&distances[name]))
    };
    let [same_cache, same_socket, other_socket] = of(&[]);
    assert!(same_cache > 2800 && same_socket == 0 && other_socket == 0);
    // The threads are on CPUs 1, 2 and 3; 2 and 3 are on the other socket. If transfers between sockets were more
    // expensive, those two would have the line more often.
    let costs = ["same_socket_ns=50", "other_socket_ns=50"];
    let [same_cache, same_socket, other_socket] = of(&["sockets=2", "cpus_per_cache=1", costs[0], costs[1]]);
    assert!(same_cache == 0 && same_socket > 900 && other_socket > 1900, "{same_socket} {other_socket}");
}
