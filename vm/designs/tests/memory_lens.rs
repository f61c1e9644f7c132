//! Cache-line transfers per operation of the memory system, counted by the lens: budgets, and
//! exceptions from them. Each number of threads is a boot, so 32 threads run only on request: `make
//! -C vm test-lens-all`.
//!
//! Contents are excluded: the hosted machine's frames are 128 bytes.

mod under_lens;

use faultline_frame_designs::memory_loop;
use std::process::Command;
use under_lens::Work;

const PROGRAM: &str = env!("CARGO_BIN_EXE_memory_loop");

fn work(pattern: &str, operations: u64) -> Work<'_> {
    Work { program: PROGRAM, design: "ours", pattern, operations, depth: 1, seed: 1 }
}

#[track_caller]
fn assert_at_most(most: f64, pattern: &str, operations: u64, threads: &[u64]) {
    for counted in work(pattern, operations).count(threads) {
        let (threads, moved) = (counted.threads, counted.per_operation);
        assert!(moved <= most, "{pattern}, {threads} threads: {moved:.4}, more than {most}{}", counted.busiest);
    }
}

/// With refills of frames and statistics. The goal is 0.05. Within a block of 512 frames nothing
/// moves; a CPU that needs another one looks at open blocks of others before it opens a whole one
/// of its own, which keeps memory in large pieces (docs/MEMORY.md).
#[test]
fn a_private_page_of_zeroes_moves_hardly_a_line() {
    assert_at_most(0.0, "zero-fill", 256, &[2, 8]);
    assert_at_most(0.1, "zero-fill", 1024, &[2, 8]);
}

/// An operation is the first write to a page. With large pages one in 512 faults.
#[test]
fn large_pages_take_fewer_instructions_and_move_hardly_a_line() {
    let [small, large] = ["touch", "touch-large"].map(|pattern| work(pattern, 1024).count(&[2, 8]));
    for (small, large) in small.iter().zip(&large) {
        let [by_one, at_once] = [small, large].map(|counted| counted.instructions);
        assert!(at_once <= 0.6 * by_one, "{} threads: {at_once:.0} of {by_one:.0} instructions", large.threads);
        let moved = large.per_operation;
        assert!(moved <= 0.1, "{} threads: {moved:.4}{}", large.threads, large.busiest);
    }
}

#[test]
fn a_resident_page_of_an_object_moves_no_line() {
    for pattern in ["one-page", "neighbours"] {
        assert_at_most(0.0, pattern, 512, &[2, 8]);
    }
}

#[test]
fn a_map_and_unmap_of_a_range_of_ones_own_moves_no_line() {
    assert_at_most(0.0, "map", 256, &[2, 8]);
}

/// With page tables per CPU no other CPU has the page. The goal is 1.0.
#[test]
fn a_page_that_is_used_and_unmapped_or_protected_by_one_cpu_moves_no_line() {
    for pattern in ["map-touch", "protect"] {
        assert_at_most(0.0, pattern, 128, &[2, 8]);
    }
}

#[test]
fn a_fork_with_twenty_shared_objects_moves_no_line() {
    assert_at_most(0.0, "fork", 32, &[2, 8]);
}

#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn nothing_grows_up_to_32_cpus() {
    let none =
        [("one-page", 512), ("neighbours", 512), ("map", 256), ("map-touch", 128), ("protect", 128), ("fork", 32)];
    for (pattern, operations) in none {
        assert_at_most(0.0, pattern, operations, &[32]);
    }
    assert_at_most(0.05, "copy", 512, &[2, 8, 32]);
    assert_at_most(0.1, "zero-fill", 1024, &[32]);
    assert_at_most(0.15, "zero-fill-spaces", 1024, &[2, 8, 32]);
}

/// With shared page tables, a used translation is flushed from the TLBs of all CPUs on which the
/// space is active: page tables per CPU avoid that. Neighbouring pages of one space share lines of
/// slots in either case, and of page-table entries if the tables are shared. No budget covers
/// these.
#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn translations_of_all_cpus_are_shot_down_and_that_is_seen() {
    for pattern in ["map-touch", "protect"] {
        let moved = Work { design: "ours-shared", ..work(pattern, 128) }.count_beyond("map", &[2, 8]);
        assert!(moved[0].per_operation >= 1.0, "{pattern}: {:.3}", moved[0].per_operation);
        assert!(moved[1].per_operation > 2.0 * moved[0].per_operation, "{pattern}: {:.3}", moved[1].per_operation);
    }
    for (design, least) in [("ours-shared", 1.0), ("ours", 0.4)] {
        let moved = Work { design, ..work("neighbours-threads", 512) }.count(&[2]).remove(0).per_operation;
        assert!(moved >= least, "{design}: {moved:.3}");
    }
}

/// The harness tells designs apart: with one token for everything a fault moves more lines with
/// more CPUs.
#[test]
fn one_token_for_everything_grows_with_the_cpus_and_ours_does_not() {
    let with_token = Work { design: "one-token", ..work("one-page", 256) }.count(&[2, 8]);
    let ours = work("one-page", 256).count(&[2, 8]);
    let [of_2, of_8] = [0, 1].map(|place: usize| with_token[place].per_operation);
    assert!(of_2 >= 1.0 && of_8 > 3.0 * of_2, "2 threads: {of_2:.3}, 8: {of_8:.3}{}", with_token[1].busiest);
    for (ours, token) in ours.iter().zip(&with_token) {
        assert!(ours.per_operation == 0.0, "{:.4}{}", ours.per_operation, ours.busiest);
        assert!(ours.instructions < token.instructions, "{:.0} instructions", ours.instructions);
    }
}

/// Checks that each operation matches its pattern.
#[test]
fn the_memory_systems_count_what_the_threads_did() {
    for design in memory_loop::DESIGNS {
        counts_what_the_threads_did(design.name);
    }
    assert_output(
        "ours",
        "touch-large",
        "1024",
        &["4 page faults taken", "4 large pages created", "2048 zero fill pages created"],
    );
}

fn assert_output(design: &str, pattern: &str, ops: &str, words: &[&str]) {
    let arguments = ["--design", design, "--pattern", pattern, "--threads", "2", "--ops", ops];
    let output = Command::new(PROGRAM).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for words in words {
        assert!(text.lines().any(|line| line == *words), "{design}, {pattern}: {words} is not among\n{text}");
    }
}

fn counts_what_the_threads_did(design: &str) {
    let said = |pattern: &str, ops: &str, words: &[&str]| assert_output(design, pattern, ops, words);
    for pattern in ["zero-fill", "zero-fill-spaces", "touch"] {
        said(pattern, "600", &["1200 page faults taken", "1200 zero fill pages created"]);
    }
    for pattern in ["one-page", "neighbours", "neighbours-threads"] {
        said(pattern, "600", &["1200 page faults taken", "1200 faults on resident pages of objects"]);
    }
    said("map", "64", &["128 ranges mapped", "128 ranges unmapped"]);
    // Page tables per CPU: no other CPU has the page.
    let asked = if ["radix", "ours"].contains(&design) {
        "128 TLB flushes without a shoot-down"
    } else {
        "128 TLB shoot-downs sent"
    };
    said("map-touch", "64", &["128 zero fill pages created", asked]);
    said("protect", "64", &["128 page faults taken", "256 ranges whose rights were changed"]);
    said("copy", "600", &["1200 copy-on-write pages copied"]);
    said("fork", "16", &["32 address spaces forked", "32 address spaces ended"]);
}
