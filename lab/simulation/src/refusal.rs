//! A database that refuses to save, like one on a full disk: a trigger in it does this.

use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rusqlite::Connection;
use std::path::Path;

/// The error of the database.
pub(crate) const REFUSED: &str = "refused by the simulation";

/// The writes that may be refused: every way in which a run is written.
const WRITES: [&str; 10] = [
    "INSERT ON sample",
    "INSERT ON note",
    "INSERT ON counter",
    "INSERT ON attempt",
    "UPDATE ON attempt",
    "INSERT ON session",
    "INSERT ON subject",
    "INSERT ON item",
    "UPDATE ON item",
    "UPDATE ON run",
];

/// Number of samples and measures.
const FIGURES: &str = "(SELECT count(*) FROM sample) + (SELECT count(*) FROM measure)";

/// Makes the database refuse one kind of write, once it holds `figures` more samples and measures than now. Fails if the trigger cannot be created.
pub(crate) fn begin(database: &Path, figures: u32, random: &mut ChaCha8Rng) -> rusqlite::Result<()> {
    let Some(write) = WRITES.choose(random) else { return Ok(()) };
    let connection = Connection::open(database)?;
    let there: i64 = connection.query_row(&format!("SELECT {FIGURES}"), [], |row| row.get(0))?;
    connection.execute_batch(&format!(
        "CREATE TRIGGER refusal BEFORE {write} WHEN {FIGURES} >= {}
         BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END",
        there + i64::from(figures)
    ))
}

/// Makes it save again. Fails if the trigger cannot be removed.
pub(crate) fn end(database: &Path) -> rusqlite::Result<()> {
    Connection::open(database)?.execute_batch("DROP TRIGGER IF EXISTS refusal")
}
