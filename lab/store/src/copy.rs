//! Copies a database into an empty one, row by row with all numbers, in one transaction: afterwards the other has everything, or nothing.

use crate::Store;
use crate::connection::{Connection, Failure, Purpose, Result, Value, params};
use crate::error::StoreError;
use crate::tables::{TABLES, Table};
use std::path::Path;

/// How many rows are written by a statement: as many as there are, or else fewer. Both databases take so many parameters.
const ROWS: [usize; 4] = [500, 50, 5, 1];

/// Rows are written when they have so many bytes together. More are in memory only if one row has them.
const BATCH_BYTES: usize = 4 << 20;

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// Rows that were copied.
    pub rows: u64,
    /// Rows that there are.
    pub of: u64,
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Runs, without deleted ones.
    pub runs: u64,
    /// Rows of all tables.
    pub rows: u64,
}

/// Copies the database with the path or URL `from` into that with the path or URL `to`, which is created if it does not exist. Runs that are measured meanwhile are copied
/// as they are at the beginning. Fails if `to` holds anything; if `from` does not exist or cannot be read; or if `to` cannot be written. Then nothing is copied.
pub fn copy(from: &Path, to: &Path, progress: &mut dyn FnMut(CopyProgress)) -> Result<Copied, StoreError> {
    let source = Store::open_to_read(from)?;
    let target = Store::open_or_create(to)?;
    target.check_empty()?;
    let snapshot = source.connection.open_transaction(Purpose::Read).map_err(source.failed("read"))?;
    let rows = count(&source)?;
    let transaction = target.connection.open_transaction(Purpose::Write).map_err(target.failed("write"))?;
    lock(&target.connection).map_err(target.failed("write"))?;
    target.check_empty()?;
    let mut done = CopyProgress { rows: 0, of: rows };
    for table in TABLES {
        copy_table(table, &source, &target, &mut |rows| {
            done.rows += rows;
            progress(done);
        })?;
    }
    let runs = "SELECT count(*) FROM run WHERE kind <> 'deleted'";
    let runs: i64 = source.connection.row(runs, params![], |row| row.get(0)).map_err(source.failed("read"))?;
    transaction.commit().map_err(target.failed("write"))?;
    drop(snapshot);
    Ok(Copied { runs: runs.unsigned_abs(), rows: done.rows })
}

impl Store {
    /// Fails if the database holds anything.
    fn check_empty(&self) -> Result<(), StoreError> {
        for table in TABLES {
            let query = format!("SELECT 1 FROM {} LIMIT 1", table.name);
            let found = self.connection.optional_row(&query, params![], |_| Ok(()));
            if found.map_err(self.failed("read"))?.is_some() {
                return Err(StoreError::not_empty(&self.location));
            }
        }
        Ok(())
    }
}

/// The number of rows of all tables.
fn count(store: &Store) -> Result<u64, StoreError> {
    let mut all = 0;
    for table in TABLES {
        let query = format!("SELECT count(*) FROM {}", table.name);
        let rows: i64 = store.connection.row(&query, params![], |row| row.get(0)).map_err(store.failed("read"))?;
        all += rows.unsigned_abs();
    }
    Ok(all)
}

/// Lets nobody else begin a run or save figures until the transaction ends.
fn lock(target: &Connection) -> Result<()> {
    match target {
        // Its transaction has locked the file.
        Connection::Sqlite(_) => Ok(()),
        Connection::Postgres(_) => target.run_statements("LOCK TABLE run, dataset IN SHARE ROW EXCLUSIVE MODE"),
    }
}

/// A row's values.
type Values = Vec<Value<'static>>;

/// Where a copy failed.
enum Broken {
    /// A row cannot be read.
    Source(Failure),
    /// Rows cannot be written.
    Target(Failure),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Broken::Source(failure)
    }
}

fn copy_table(table: &Table, source: &Store, target: &Store, copied: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
    copy_rows(table, &source.connection, &target.connection, copied).map_err(|broken| match broken {
        Broken::Source(failure) => source.failed("read")(failure),
        Broken::Target(failure) => target.failed("write")(failure),
    })
}

fn copy_rows(
    table: &Table,
    source: &Connection,
    target: &Connection,
    copied: &mut dyn FnMut(u64),
) -> Result<(), Broken> {
    let (columns, key) = (table.columns.join(", "), table.columns[..table.key].join(", "));
    let query = format!("SELECT {columns} FROM {} ORDER BY {key}", table.name);
    let mut batch = Batch::default();
    let mut write = |batch: &mut Batch| {
        insert_all(table, &batch.rows, target).map_err(Broken::Target)?;
        if !batch.rows.is_empty() {
            copied(batch.rows.len() as u64);
        }
        *batch = Batch::default();
        Ok::<(), Broken>(())
    };
    source.each_row(&query, &[], |row| {
        let columns = 0..table.columns.len();
        batch.add(columns.map(|column| Ok(row.value(column)?.into_owned())).collect::<Result<Values>>()?);
        if batch.is_full() { write(&mut batch) } else { Ok(()) }
    })?;
    write(&mut batch)?;
    if table.is_numbered { number_on(table, target).map_err(Broken::Target) } else { Ok(()) }
}

/// Rows that are written together.
#[derive(Default)]
struct Batch {
    rows: Vec<Values>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, row: Values) {
        self.bytes += row.iter().map(Value::bytes).sum::<usize>();
        self.rows.push(row);
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= ROWS[0] || self.bytes >= BATCH_BYTES
    }
}

/// Writes rows by statements of a few lengths, which are prepared once each.
fn insert_all(table: &Table, mut rows: &[Values], target: &Connection) -> Result<()> {
    while let Some(most) = ROWS.into_iter().find(|most| *most <= rows.len()) {
        let (now, later) = rows.split_at(most);
        insert(table, now, target)?;
        rows = later;
    }
    Ok(())
}

fn insert(table: &Table, rows: &[Values], target: &Connection) -> Result<()> {
    let width = table.columns.len();
    let places: Vec<String> = (0..rows.len()).map(|row| format!("({})", numbers(1 + row * width, width))).collect();
    let statement = format!("INSERT INTO {} ({}) VALUES {}", table.name, table.columns.join(", "), places.join(", "));
    let values: Vec<Value<'_>> = rows.iter().flatten().map(Value::borrowed).collect();
    target.execute(&statement, &values).map(drop)
}

/// Parameters from a number on: `?3, ?4`.
fn numbers(from: usize, count: usize) -> String {
    (from..from + count).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ")
}

/// New rows get numbers after the greatest one.
fn number_on(table: &Table, target: &Connection) -> Result<()> {
    match target {
        // It numbers rows in this way.
        Connection::Sqlite(_) => Ok(()),
        Connection::Postgres(_) => {
            let query = format!(
                "SELECT setval(pg_get_serial_sequence('{0}', 'id'), max(id)) FROM {0} HAVING max(id) > 0",
                table.name
            );
            target.rows(&query, params![], |_| Ok(())).map(drop)
        }
    }
}
