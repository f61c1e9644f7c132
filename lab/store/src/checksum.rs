//! Checksums of executions: saved when an execution ends, and compared when its figures are read.
//! A damaged value is an error, and never shown.
//!
//! A checksum covers the attempt, its item, and its rows in the tables below. Rows are hashed one
//! by one and the hashes added, because databases order texts differently.

use crate::connection::{Connection, Failure, Purpose, Result, Row, Value, params};
use crate::{Store, StoreError};
use faultline_record::journal::AttemptId;
use faultline_record::record::RunId;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Columns of the attempt `a` and its item `i`, after the attempt's id.
const OF_ATTEMPT: &str = "a.run_id, a.ordinal, a.session, a.started_ms, a.ended_ms, a.outcome, a.final,
    a.bytes_per_operation, a.outcome_kind, i.block, i.subject, i.workload, i.variant, i.mode, i.tasks, i.warmup_ms,
    i.window_ms, i.interval_ms, i.seed";

/// Tables with an attempt's figures, and their columns. The console's text is not covered.
const OF_ROWS: [(&str, &str); 6] = [
    ("sample", "t.phase, t.number, t.from_ns, t.to_ns, t.operations"),
    ("note", "t.key, t.text"),
    ("counter", "t.name, t.delta"),
    ("measure", "t.number, t.name, t.unit, t.direction, t.value"),
    (
        "usage",
        "t.scope, t.user_ns, t.system_ns, t.minor_faults, t.major_faults, t.voluntary_switches, t.involuntary_switches",
    ),
    ("reading", "t.format, t.json"),
];

/// Sum of the hashes of an execution's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Checksum(u128);

impl Checksum {
    /// Adds a row of a table: its values from column 1 on.
    fn add(&mut self, table: &str, row: &Row<'_>, columns: usize) -> Result<()> {
        let mut hash = Sha256::new();
        hash.update(table);
        for column in 1..=columns {
            // The kind of each value, and the length of each text, make the bytes unambiguous.
            match row.value(column)? {
                Value::Null => hash.update(b"0"),
                Value::Integer(number) => {
                    hash.update(b"i");
                    hash.update(number.to_le_bytes());
                }
                Value::Real(number) => {
                    hash.update(b"r");
                    hash.update(number.to_bits().to_le_bytes());
                }
                Value::Text(text) => {
                    hash.update(b"t");
                    hash.update((text.len() as u64).to_le_bytes());
                    hash.update(text.as_bytes());
                }
            }
        }
        let hash: [u8; 32] = hash.finalize().into();
        let first: [u8; 16] = std::array::from_fn(|byte| hash[byte]);
        self.0 = self.0.wrapping_add(u128::from_le_bytes(first));
        Ok(())
    }

    /// The saved form: 32 hexadecimal digits.
    fn word(self) -> String {
        format!("{:032x}", self.0)
    }
}

/// A condition on the attempts `a`, with its parameters.
type Those<'a> = (&'a str, &'a [Value<'a>]);

/// The ended attempts, each with its checksum of now and the saved one.
fn sums(
    connection: &Connection,
    (condition, parameters): Those<'_>,
) -> Result<BTreeMap<i64, (Checksum, Option<String>)>> {
    let count = |columns: &str| columns.split(',').count();
    let mut sums = BTreeMap::new();
    let columns = count(OF_ATTEMPT);
    let query = format!(
        "SELECT a.id, {OF_ATTEMPT}, a.checksum FROM attempt a
         JOIN item i ON i.run_id = a.run_id AND i.ordinal = a.ordinal WHERE {condition} AND a.outcome IS NOT NULL"
    );
    connection.each_row(&query, parameters, |row| {
        let mut sum = Checksum::default();
        sum.add("attempt", row, columns)?;
        sums.insert(row.get::<i64>(0)?, (sum, row.get::<Option<String>>(columns + 1)?));
        Ok::<(), Failure>(())
    })?;
    // With CROSS JOIN, SQLite scans the attempts and looks up the rows of each.
    let join = connection.spelled("CROSS JOIN", "JOIN");
    for (table, of_row) in OF_ROWS {
        let columns = count(of_row);
        let query = format!(
            "SELECT t.attempt_id, {of_row} FROM attempt a {join} {table} t ON t.attempt_id = a.id WHERE {condition}"
        );
        connection.each_row(&query, parameters, |row| match sums.get_mut(&row.get::<i64>(0)?) {
            Some((sum, _)) => sum.add(table, row, columns),
            None => Ok(()),
        })?;
    }
    Ok(sums)
}

/// Fails if a selected execution of a run does not match its checksum.
pub(crate) fn check(connection: &Connection, run: RunId, those: Those<'_>) -> Result<()> {
    let sums = sums(connection, those)?;
    match sums.into_iter().find(|(_, (sum, saved))| saved.as_ref() != Some(&sum.word())) {
        Some((execution, _)) => Err(Failure::Damaged { run, execution: AttemptId(execution) }),
        None => Ok(()),
    }
}

/// Saves the checksum of an execution that has ended. Belongs into the transaction of its end.
pub(crate) fn save(connection: &Connection, execution: AttemptId) -> Result<()> {
    let sums = sums(connection, ("a.id = ?1", params![execution.0]))?;
    for (id, (sum, _)) in sums {
        connection.execute("UPDATE attempt SET checksum = ?2 WHERE id = ?1", params![id, sum.word()])?;
    }
    Ok(())
}

/// An execution that does not match its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedExecution {
    /// Its run.
    pub run: RunId,
    /// The execution.
    pub execution: AttemptId,
}

/// Result of a check of a whole database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of runs.
    pub runs: u64,
    /// Number of ended executions.
    pub executions: u64,
    /// Executions that do not match their checksums, by run.
    pub damaged: Vec<DamagedExecution>,
}

impl Store {
    /// Compares all ended executions with their checksums. Fails if the database cannot be read.
    pub fn check_executions(&self) -> Result<Checked, StoreError> {
        let checked = self.connection.transaction(Purpose::Read, |snapshot| {
            let runs = "SELECT id FROM run WHERE kind <> 'deleted' ORDER BY id";
            let runs = snapshot.rows(runs, params![], |row| Ok(RunId(row.get(0)?)))?;
            let mut checked = Checked { runs: runs.len() as u64, ..Checked::default() };
            for run in runs {
                let sums = sums(snapshot, ("a.run_id = ?1", params![run.0]))?;
                checked.executions += sums.len() as u64;
                let damaged = sums.into_iter().filter(|(_, (sum, saved))| saved.as_ref() != Some(&sum.word()));
                checked.damaged.extend(damaged.map(|(id, _)| DamagedExecution { run, execution: AttemptId(id) }));
            }
            Ok(checked)
        });
        checked.map_err(self.failed("read"))
    }
}
