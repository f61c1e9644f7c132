//! Widely used programs under the lens: memory allocators, SQLite, and memcached with clients. The
//! most-transferred data of each are known. The ranges contain the values listed in
//! docs/LENS-EVIDENCE.md under "Programs with theory". Needs the same parts as the tests in
//! `lens_program.rs`, and the packages libjemalloc2, libmimalloc2.0, libsqlite3-dev and memcached.

use crate::lab::Lab;
use crate::lab::lens::{compiled, points, transfers};
use faultline_stats::lens::summary::LensPoint;
use std::ops::Range;

/// Counts a program at these numbers of threads.
fn counted(threads: &str, turns: u64, options: &[&str], argv: &[&str]) -> Vec<LensPoint> {
    let turns = turns.to_string();
    let lab = Lab::new();
    let options = [&["--tasks", threads, "--ops", &turns, "--limit", "10m"], options].concat();
    let found = points(&lab, &options, &[argv, &["{tasks}", &turns]].concat());
    lab.assert_nothing_left();
    found
}

#[track_caller]
fn assert_within(what: &str, point: &LensPoint, range: Range<f64>) {
    let (transfers, cpus) = (transfers(point), point.cpus);
    println!("{what}, {cpus} threads: {transfers:.3} transfers per operation");
    assert!(range.contains(&transfers), "{what}, {cpus} threads: {transfers}, not within {range:?}");
}

/// Share of transfers by code whose name, with its source file, contains one of `names`. Installed
/// debug files change the names of the C library's functions.
fn share_of(point: &LensPoint, names: &[&str]) -> f64 {
    let is_named = |code: &str| names.iter().any(|name| code.contains(name));
    point.code.iter().filter(|code| is_named(&code.name)).map(|code| code.share).sum()
}

const ALLOCATORS: [(Option<&str>, Range<f64>); 3] = [
    (None, 5.4..6.6),
    (Some("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"), 4.5..5.6),
    (Some("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2"), 8.1..10.0),
];

/// In theory, nothing moves if threads free their own allocations, and handing memory to another
/// thread takes 4 transfers. The rest is the allocator's.
#[test]
#[ignore = "boots guests: make test-guest"]
fn allocators_move_little_within_a_thread_and_a_fixed_number_of_lines_between_threads() {
    let allocate = compiled("allocate", &["allocate.c"], &[]);
    for (library, between) in ALLOCATORS {
        let name = library.and_then(|path| path.rsplit('/').next()).unwrap_or("glibc");
        let preload = library.map(|library| format!("LD_PRELOAD={library}"));
        let options: Vec<&str> = preload.iter().flat_map(|preload| ["--env", preload]).collect();
        for point in counted("2,8", 2000, &options, &[&allocate, "own"]) {
            assert_within(&format!("{name}, own memory"), &point, 0.0..0.1);
        }
        for point in counted("2,8", 2000, &options, &[&allocate, "foreign"]) {
            assert_within(&format!("{name}, the neighbour's memory"), &point, between.clone());
        }
    }
}

/// According to SQLite's documentation, memory statistics limit scalability
/// (`SQLITE_CONFIG_MEMSTATUS`).
#[test]
#[ignore = "boots guests: make test-guest"]
fn sqlite_moves_the_lines_in_which_it_notes_memory() {
    let statements = compiled("statements", &["statements.c"], &["-l:libsqlite3.a", "-lm"]);
    let [noted_2, noted_8] = &counted("2,8", 500, &[], &[&statements, "noted"])[..] else { panic!() };
    assert_within("noted", noted_2, 50.0..100.0);
    assert_within("noted", noted_8, 110.0..220.0);
    let noting = ["sqlite3Status", "pthread_mutex", "pthreadMutex", "sqlite3_mutex", "sqlite3Malloc", "sqlite3_free"];
    let share = share_of(noted_8, &noting);
    assert!(share > 0.5, "{share} by what notes memory: {:?}", noted_8.code);
    for point in counted("2,8", 500, &[], &[&statements, "unnoted"]) {
        assert_within("unnoted", &point, 3.0..15.0);
    }
}

/// One worker's lines stay on its CPU, because the kernel copies requests and answers. Four workers
/// share little unless all requests are for one value, whose lock and item then move.
#[test]
#[ignore = "boots guests: make test-guest"]
fn memcached_moves_a_value_that_all_ask_for_and_little_else() {
    let requests = compiled("requests", &["requests.c"], &[]);
    for (kind, range) in [("own", 1.0..6.0), ("one", 7.0..13.0)] {
        let [alone, four] = &counted("2,8", 200, &["--with", "/usr/bin/memcached"], &[&requests, kind])[..] else {
            panic!()
        };
        assert_within(kind, alone, 0.0..0.05);
        assert_within(kind, four, range);
        let share = share_of(four, &["[memcached]", "[libevent", "event_", "evmap_", "pthread_mutex"]);
        assert!(share > 0.6, "{share} by the server: {:?}", four.code);
    }
}
