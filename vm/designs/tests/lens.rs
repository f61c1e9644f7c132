//! Cache-line transfers per operation, as counted by the lens: budgets for our own allocator, and a check that the lens
//! detects moving lines.

mod under_lens;

use under_lens::{busiest, count, puts};

/// No line moves, whatever the number of operations. Tested with one frame held, with as many as fit a magazine, and
/// with more than all magazines hold.
#[track_caller]
fn assert_local_moves_nothing(threads: u64, operations: u64, depth: u64) {
    let counted = count("ours", "local", threads, operations, depth);
    let hits = counted.hits.unwrap();
    assert!(hits >= counted.operations / 2, "statistics are on, and tell of {hits} hits");
    let lines = busiest(&counted.report);
    assert_eq!(counted.transfers, 0, "{threads} threads, {depth} frames held: {:.3}{lines}", counted.per_operation());
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn ours_moves_no_line_for_a_get_and_put_at_2_threads() {
    assert_local_moves_nothing(2, 8192, 1);
    assert_local_moves_nothing(2, 8192, 32);
    assert_local_moves_nothing(2, 8192, 256);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn ours_moves_no_line_for_a_get_and_put_at_8_threads() {
    assert_local_moves_nothing(8, 2048, 1);
    assert_local_moves_nothing(8, 2048, 32);
    assert_local_moves_nothing(8, 2048, 256);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn ours_moves_no_line_for_a_get_and_put_at_32_threads() {
    assert_local_moves_nothing(32, 1024, 1);
    assert_local_moves_nothing(32, 1024, 32);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn ours_moves_little_more_than_one_line_for_a_foreign_put() {
    // With two threads each puts all frames that the other got: a line moves once for its 256 frames.
    for (threads, operations, at_least) in [(2, 4096, 0.0), (8, 2048, 0.5), (32, 256, 0.5)] {
        let per_frame = puts("ours", "foreign", threads, operations);
        // A smaller value would mean that the frames did not come from other CPUs.
        assert!((at_least..=1.2).contains(&per_frame), "{threads} threads: {per_frame:.3}");
    }
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn what_moves_lines_is_seen_to() {
    // The line of the lock, at least once for each get and each put.
    let list = count("spin-list", "local", 8, 512, 1);
    assert!(list.per_operation() >= 2.0, "{:.3}", list.per_operation());
    // The line of the counters: a get writes two of them, a put one.
    let magazines = count("magazines-2x8", "local", 8, 512, 1);
    assert!((2.9..=3.1).contains(&magazines.per_operation()), "{:.3}", magazines.per_operation());
    let array = count("array-16", "local", 8, 512, 1);
    assert_eq!(array.transfers, 0, "an array is one CPU's, its counters too");
}
