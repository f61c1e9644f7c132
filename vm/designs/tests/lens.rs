//! Cache-line transfers per operation, counted by the lens: budgets for our own allocator, and a
//! check that the lens detects moving lines. Each number of threads is a boot, so most run only on
//! request: `make -C vm test-lens-all`.

#[expect(dead_code, reason = "the tests of memory read more of it")]
mod under_lens;

use std::ops::RangeInclusive;
use std::process::Command;
use under_lens::{Counted, Work};

const PROGRAM: &str = env!("CARGO_BIN_EXE_frames_loop");

/// Checks that no line moves, whatever the number of operations.
#[track_caller]
fn assert_local_moves_nothing(threads: &[u64], operations: u64, depth: u64) {
    assert_moves_nothing("ours", "local", threads, operations, depth);
}

#[track_caller]
fn assert_moves_nothing(design: &str, pattern: &str, threads: &[u64], operations: u64, depth: u64) {
    let work = Work { program: PROGRAM, design, pattern, operations, depth, seed: 1 };
    for counted in work.count(threads) {
        let (threads, lines) = (counted.threads, &counted.busiest);
        assert_eq!(counted.per_operation, 0.0, "{threads} threads, {depth} frames held{lines}");
    }
}

/// Our own allocator.
fn ours(pattern: &'static str, operations: u64, depth: u64) -> Work<'static> {
    Work { program: PROGRAM, design: "ours", pattern, operations, depth, seed: 1 }
}

/// As many frames held as fit a magazine.
#[test]
fn ours_moves_no_line_for_a_get_and_put() {
    assert_local_moves_nothing(&[2, 8], 2048, 32);
}

/// Close to the watermarks, with more frames held than all magazines hold, so that the CPU refills
/// and overflows.
#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_no_line_near_the_marks() {
    assert_moves_nothing("ours-near-marks", "local", &[8], 1024, 256);
}

/// Huge frames come and go.
#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_no_line_for_a_huge_frame() {
    assert_moves_nothing("ours", "huge", &[8], 256, 1);
}

/// Runs of 8 frames: one, and half of a block.
#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_no_line_for_a_run() {
    assert_moves_nothing("ours", "runs", &[2, 8, 32], 256, 1);
    assert_moves_nothing("ours", "runs", &[8], 512, 32);
}

#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_no_line_near_the_marks_and_for_huge_frames_whatever_the_number_of_cpus() {
    assert_moves_nothing("ours-near-marks", "local", &[2, 32], 1024, 256);
    assert_moves_nothing("ours-near-marks", "local", &[2, 32], 1024, 1);
    assert_moves_nothing("ours", "huge", &[2, 32], 256, 1);
    assert_moves_nothing("ours-near-marks", "huge", &[2, 32], 256, 1);
}

/// One frame held, and more than all magazines hold.
#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_no_line_however_many_frames_are_held() {
    assert_local_moves_nothing(&[2, 8, 32], 1024, 1);
    assert_local_moves_nothing(&[2, 8], 2048, 256);
}

/// Counts include the statistics.
#[test]
fn ours_tells_of_its_hits() {
    let mut frames_loop = Command::new(env!("CARGO_BIN_EXE_frames_loop"));
    let output = frames_loop.args(["--design", "ours", "--threads", "2", "--ops", "2048"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let counters = text.strip_prefix("counters ").unwrap_or_else(|| panic!("{text}"));
    let hits: u64 = counters.split(' ').next().unwrap().parse().unwrap();
    assert!(hits >= 2048, "{hits} hits of 4096 operations");
}

#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_little_more_than_one_line_for_a_foreign_put() {
    let work = ours("foreign", 1024, 1);
    for counted in work.count_beyond("dealt", &[2, 8, 32]) {
        // With two threads each puts all frames that the other got: a line moves once for its 256
        // frames. With more, a smaller value would mean that the frames did not come from other
        // CPUs.
        let at_least = if counted.threads == 2 { 0.0 } else { 0.5 };
        let per_frame = counted.per_operation;
        assert!((at_least..=1.2).contains(&per_frame), "{} threads: {per_frame:.3}", counted.threads);
    }
}

/// The transfers of a pattern beyond those of its baseline: few, but enough to show that frames
/// came from another CPU.
#[track_caller]
fn assert_moves(work: Work<'_>, baseline: &str, threads: &[u64], between: RangeInclusive<f64>) {
    for counted in work.count_beyond(baseline, threads) {
        let (threads, moves) = (counted.threads, counted.per_operation);
        assert!(between.contains(&moves), "{work:?} at {threads} threads: {moves:.3}{}", counted.busiest);
    }
}

/// One CPU gets frames and another puts them: the line with a frame's state goes there and back. A
/// little more comes from the blocks' words and the index, once for 512 frames.
#[test]
fn ours_moves_a_line_twice_for_a_frame_of_a_pipeline() {
    assert_moves(ours("pipeline", 1024, 1), "passed", &[2], 1.9..=2.01);
}

/// The states of a batch of 32 frames are in one word.
#[test]
fn ours_moves_a_line_twice_for_a_batch_of_a_pipeline() {
    assert_moves(ours("pipeline", 1024, 32), "passed", &[2], 0.05..=0.1);
}

#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_no_more_lines_in_pipelines_of_more_cpus() {
    assert_moves(ours("pipeline", 1024, 1), "passed", &[8, 32], 1.9..=2.01);
    assert_moves(ours("pipeline", 1024, 32), "passed", &[8, 32], 0.05..=0.1);
}

/// Number of seeds for patterns that depend on how the threads' turns meet: the threads do not wait
/// for each other, so with one seed, or another layout of the program, the count varies by up to a
/// factor of two.
const SEEDS: u64 = 3;

/// Like [`assert_moves`], for the mean of several seeds.
#[track_caller]
fn assert_moves_in_the_mean(work: Work<'_>, baseline: &str, threads: &[u64], between: RangeInclusive<f64>) {
    let seeds: Vec<Vec<Counted>> = std::thread::scope(|scope| {
        let of_seed = |seed| scope.spawn(move || Work { seed, ..work }.count_beyond(baseline, threads));
        let counting: Vec<_> = (1..=SEEDS).map(of_seed).collect();
        counting.into_iter().map(|seed| seed.join().expect("a count of one seed")).collect()
    });
    for (place, threads) in threads.iter().enumerate() {
        let moves: Vec<f64> = seeds.iter().map(|counted| counted[place].per_operation).collect();
        let mean = moves.iter().sum::<f64>() / moves.len() as f64;
        let busiest = &seeds[0][place].busiest;
        assert!(between.contains(&mean), "{work:?} at {threads} threads: {mean:.3} of {moves:.3?}{busiest}");
    }
}

/// A random CPU frees: the line with a frame's state comes from the CPU that wrote it last, and the
/// owner fetches it back. With two CPUs half of the frames are freed by the one that got them, and
/// a word with the states of several frames moves once for all that are freed in one turn: their
/// number depends on the build. docs/FRAMES-DESIGNS.md explains why it takes nearly two transfers
/// from 8 CPUs on.
#[test]
fn ours_moves_at_most_little_more_than_a_line_for_a_frame_that_one_of_two_cpus_frees() {
    assert_moves_in_the_mean(ours("random", 1024, 1), "exchanged", &[2], 0.05..=1.2);
}

#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn ours_moves_two_lines_for_a_frame_that_a_random_cpu_frees() {
    assert_moves_in_the_mean(ours("random", 1024, 1), "exchanged", &[8, 32], 1.5..=2.1);
}

fn moved(design: &str) -> f64 {
    let work = Work { program: PROGRAM, design, pattern: "local", operations: 512, depth: 1, seed: 1 };
    work.count(&[8]).remove(0).per_operation
}

#[test]
fn what_moves_lines_is_seen_to() {
    // The line of the lock, at least once for each get and each put.
    let list = moved("spin-list");
    assert!(list >= 2.0, "{list:.3}");
}

#[test]
#[ignore = "boots guests: make -C vm test-lens-all"]
fn counters_of_all_cpus_move_and_those_of_one_do_not() {
    // The line of the counters: a get writes two of them, a put one.
    let magazines = moved("magazines-2x8");
    assert!((2.9..=3.1).contains(&magazines), "{magazines:.3}");
    let array = moved("array-16");
    assert_eq!(array, 0.0, "an array is one CPU's, its counters too");
}
