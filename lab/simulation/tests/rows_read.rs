//! How much an experiment reads of what it has saved. The database counts: rows that queries return, and steps of its virtual machine, which also count
//! the rows that a query passes over.

use faultline_simulation::calm;
use rusqlite::auto_extension::register_auto_extension;
use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Once;

/// What queries read.
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

/// What `experiment` reads.
fn read_by(experiment: impl FnOnce() -> Result<(), String>) -> Read {
    static ATTACHED: Once = Once::new();
    // SAFETY: `attach` opens and closes no database.
    ATTACHED.call_once(|| unsafe { register_auto_extension(attach).unwrap() });
    READ.take();
    experiment().unwrap();
    READ.take()
}

/// Checks that an experiment of twice the length reads twice as much, apart from what each reads at its start and end.
fn assert_linear([short, long, longest]: [Read; 3]) {
    for count in [|read: Read| read.rows, |read: Read| read.steps] {
        let (first, second) = (count(long) - count(short), count(longest) - count(long));
        // The second difference is of twice as much as the first.
        assert!(second < 2 * first + first / 4, "{short:?}, {long:?}, {longest:?}");
    }
}

#[test]
fn the_looks_of_a_comparison_read_each_row_once() {
    let read = [60, 120, 240].map(|blocks| read_by(|| calm::comparison(blocks)));
    println!("comparisons of 60, 120 and 240 blocks: {read:?}");
    assert_linear(read);
}
