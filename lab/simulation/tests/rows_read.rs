//! The amount of saved data that an experiment reads, counted by the database: rows that queries
//! return, and steps of its virtual machine, which include the rows that a query skips.

use faultline_experiment::{Concluded, Conclusion};
use faultline_simulation::{calm_comparison, calm_search};
use rusqlite::auto_extension::register_auto_extension;
use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Once;

/// Rows and steps of queries.
#[derive(Debug, Clone, Copy, Default)]
struct Read {
    rows: u64,
    steps: u64,
}

thread_local! {
    static READ: Cell<Read> = const { Cell::new(Read { rows: 0, steps: 0 }) };
}

/// Counts what this thread's queries return, row by row, and their steps at their end.
unsafe extern "C" fn count(event: c_uint, _: *mut c_void, statement: *mut c_void, _: *mut c_void) -> c_int {
    let statement: *mut ffi::sqlite3_stmt = statement.cast();
    let mut read = READ.get();
    // SAFETY: SQLite passes the running statement with both events.
    unsafe {
        if event == ffi::SQLITE_TRACE_ROW {
            read.rows += 1;
        } else if ffi::sqlite3_stmt_readonly(statement) != 0 {
            read.steps += ffi::sqlite3_stmt_status(statement, ffi::SQLITE_STMTSTATUS_VM_STEP, 1) as u64;
        }
    }
    READ.set(read);
    0
}

unsafe extern "C" fn attach(
    database: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    let events = ffi::SQLITE_TRACE_ROW | ffi::SQLITE_TRACE_PROFILE;
    // SAFETY: SQLite passes the database that is being opened.
    unsafe { ffi::sqlite3_trace_v2(database, events, Some(count), std::ptr::null_mut()) }
}

/// The reads of `experiment`, and its conclusion.
fn read_by(experiment: impl FnOnce() -> Result<Box<Conclusion>, String>) -> (Read, Concluded) {
    static ATTACHED: Once = Once::new();
    // SAFETY: `attach` opens and closes no database.
    ATTACHED.call_once(|| unsafe { register_auto_extension(attach).unwrap() });
    READ.take();
    let conclusion = experiment().unwrap();
    (READ.take(), conclusion.what)
}

/// Checks that what is read in addition grows as the executions do.
fn assert_linear(read: [(u32, Read); 3]) {
    let [short, long, longest] = read;
    for count in [|read: Read| read.rows, |read: Read| read.steps] {
        let by_execution = |(few, less): (u32, Read), (many, more): (u32, Read)| {
            (count(more) - count(less)) as f64 / f64::from(many - few)
        };
        let (first, second) = (by_execution(short, long), by_execution(long, longest));
        assert!(second < 1.1 * first, "{first} for each execution, and then {second}: {read:?}");
    }
}

#[test]
fn the_looks_of_a_comparison_read_each_row_once() {
    let read = [60, 120, 240].map(|blocks| (2 * blocks, read_by(|| calm_comparison(blocks)).0));
    println!("comparisons, by executions: {read:?}");
    assert_linear(read);
}

#[test]
fn the_steps_of_a_search_read_each_row_once() {
    let read = [40, 80, 160].map(|commits| {
        let (read, Concluded::Bisect(found)) = read_by(|| calm_search(commits)) else { panic!() };
        assert!(found.steps.len() as u32 >= commits / 10 - 1, "{found:?}");
        (found.executions, read)
    });
    println!("searches, by executions: {read:?}");
    assert_linear(read);
}
