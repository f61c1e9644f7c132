// SPDX-License-Identifier: GPL-2.0-or-later
//! How many accesses an instruction counts as.

use crate::emulator::{number, run};

/// Accesses in each iteration of a loop around one instruction, on CPU 1, or on CPU 0 while it is the only one.
fn accesses_per_turn(kind: &str, threads: u64) -> f64 {
    let turns = 20_000;
    let outcome = run(threads + 1, &[], "atomics", &[kind, &threads.to_string(), &turns.to_string()]);
    let cpu = &outcome.report()["cpus"][usize::from(threads > 0)];
    let per_turn = number(&cpu["accesses"]) as f64 / f64::from(turns);
    println!("{kind}, {threads} threads: {per_turn:.3} accesses per turn");
    per_turn
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn an_atomic_is_one_access_whether_or_not_other_threads_exist() {
    for kind in ["add", "cmpxchg", "xchg"] {
        for threads in [0, 2] {
            let per_turn = accesses_per_turn(kind, threads);
            assert!((per_turn - 1.0).abs() < 0.1, "{kind}, {threads} threads: {per_turn}");
        }
    }
    assert!((accesses_per_turn("cmpxchg16b", 2) - 1.0).abs() < 0.1);
}

#[test]
#[cfg_attr(user_mode_without_plugins, ignore = "QEMU's user mode was built without plugins")]
fn a_plain_read_modify_write_is_two() {
    for threads in [0, 2] {
        let per_turn = accesses_per_turn("plain", threads);
        assert!((per_turn - 2.0).abs() < 0.1, "{threads} threads: {per_turn}");
    }
}
