//! Copies of a whole database into an empty one, row by row in one transaction, with all numbers.

use crate::Store;
use crate::connection::{Connection, Failure, Purpose, Result, Value, params};
use crate::error::StoreError;
use crate::schema::{SchemaTable, tables};
use std::path::Path;

/// Numbers of rows per statement, within both databases' limits of parameters.
const ROWS: [usize; 4] = [500, 50, 5, 1];

/// Size of a batch in bytes; only a single larger row exceeds it.
const BATCH_BYTES: usize = 4 << 20;

/// Progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// Rows copied so far.
    pub rows: u64,
    /// All rows.
    pub of: u64,
}

/// Size of a finished copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Runs, without deleted ones.
    pub runs: u64,
    /// Rows of all tables.
    pub rows: u64,
}

/// Copies the database at the path or URL `from` to `to`, which is created if it does not exist.
/// Runs in progress are copied in their state at the start. Fails, copying nothing, if `to` is not
/// empty, if `from` does not exist or cannot be read, or if `to` cannot be written.
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
    for table in &tables() {
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
    /// Fails if the database is not empty.
    fn check_empty(&self) -> Result<(), StoreError> {
        for table in &tables() {
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
    for table in &tables() {
        let query = format!("SELECT count(*) FROM {}", table.name);
        let rows: i64 = store.connection.row(&query, params![], |row| row.get(0)).map_err(store.failed("read"))?;
        all += rows.unsigned_abs();
    }
    Ok(all)
}

/// Keeps other sessions from starting runs and saving datasets until the transaction ends.
fn lock(target: &Connection) -> Result<()> {
    match target {
        // The transaction has locked the file.
        Connection::Sqlite(_) => Ok(()),
        Connection::Postgres(_) => target.run_statements("LOCK TABLE run, dataset IN SHARE ROW EXCLUSIVE MODE"),
    }
}

/// A row's values.
type Values = Vec<Value<'static>>;

/// The end at which a copy failed.
enum Broken {
    /// Reading a row failed.
    Source(Failure),
    /// Writing rows failed.
    Target(Failure),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Broken::Source(failure)
    }
}

fn copy_table(
    table: &SchemaTable,
    source: &Store,
    target: &Store,
    copied: &mut dyn FnMut(u64),
) -> Result<(), StoreError> {
    copy_rows(table, &source.connection, &target.connection, copied).map_err(|broken| match broken {
        Broken::Source(failure) => source.failed("read")(failure),
        Broken::Target(failure) => target.failed("write")(failure),
    })
}

fn copy_rows(
    table: &SchemaTable,
    source: &Connection,
    target: &Connection,
    copied: &mut dyn FnMut(u64),
) -> Result<(), Broken> {
    let query = format!("SELECT {} FROM {}", table.columns.join(", "), table.name);
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

/// Writes rows with statements of a few lengths, each prepared once.
fn insert_all(table: &SchemaTable, mut rows: &[Values], target: &Connection) -> Result<()> {
    while let Some(most) = ROWS.into_iter().find(|most| *most <= rows.len()) {
        let (now, later) = rows.split_at(most);
        insert(table, now, target)?;
        rows = later;
    }
    Ok(())
}

fn insert(table: &SchemaTable, rows: &[Values], target: &Connection) -> Result<()> {
    let width = table.columns.len();
    let places: Vec<String> = (0..rows.len()).map(|row| format!("({})", numbers(1 + row * width, width))).collect();
    let statement = format!("INSERT INTO {} ({}) VALUES {}", table.name, table.columns.join(", "), places.join(", "));
    let values: Vec<Value<'_>> = rows.iter().flatten().map(Value::borrowed).collect();
    target.execute(&statement, &values).map(drop)
}

/// Consecutive parameters, for example `?3, ?4`.
fn numbers(from: usize, count: usize) -> String {
    (from..from + count).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ")
}

/// Continues the numbers of new rows after the greatest one.
fn number_on(table: &SchemaTable, target: &Connection) -> Result<()> {
    match target {
        // SQLite always does.
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
