//! Saves the output of a run's workloads, each interval at once, the rest with the attempt's outcome; and what the lens counted.

use crate::Store;
use crate::write::json;
use faultline_model::journal::{AttemptId, Journal, JournalError};
use faultline_model::lens::reading::Reading;
use faultline_model::outcome::Outcome;
use faultline_model::protocol::{Event, Interval, Measure, Usage, UsageScope};
use faultline_model::record::RunId;
use faultline_model::time::UnixMillis;
use rusqlite::{CachedStatement, Connection, params};

/// The journal of one run.
#[derive(Debug)]
pub struct RunJournal<'a> {
    store: &'a mut Store,
    run: RunId,
}

impl Store {
    /// The journal of `run`.
    pub fn journal(&mut self, run: RunId) -> RunJournal<'_> {
        RunJournal { store: self, run }
    }
}

impl RunJournal<'_> {
    fn save(
        &mut self,
        statement: &str,
        execute: impl FnOnce(&mut CachedStatement<'_>) -> rusqlite::Result<usize>,
    ) -> Result<(), JournalError> {
        let connection: &Connection = &self.store.connection;
        let saved = connection.prepare_cached(statement).and_then(|mut statement| execute(&mut statement));
        saved.map(|_| ()).map_err(|error| self.store.failed("save a sample in")(error).into())
    }

    fn interval(&mut self, attempt: AttemptId, phase: &str, interval: &Interval) -> Result<(), JournalError> {
        self.save(
            "INSERT INTO sample (attempt_id, phase, number, from_ns, to_ns, operations)
             SELECT ?1, ?2, count(*), ?3, ?4, ?5 FROM sample WHERE attempt_id = ?1 AND phase = ?2",
            |statement| {
                let operations = json(&interval.operations);
                statement.execute(params![attempt.0, phase, interval.from_ns as i64, interval.to_ns as i64, operations])
            },
        )
    }

    fn usage(&mut self, attempt: AttemptId, usage: &Usage) -> Result<(), JournalError> {
        let scope = match usage.scope {
            UsageScope::Window => "window",
            UsageScope::Life => "life",
        };
        self.save("INSERT OR REPLACE INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", |statement| {
            statement.execute(params![
                attempt.0,
                scope,
                usage.user_ns as i64,
                usage.system_ns as i64,
                usage.minor_faults as i64,
                usage.major_faults as i64,
                usage.voluntary_switches as i64,
                usage.involuntary_switches as i64,
            ])
        })
    }

    fn measure(&mut self, attempt: AttemptId, measure: &Measure) -> Result<(), JournalError> {
        self.save(
            "INSERT INTO measure (attempt_id, number, name, unit, direction, value)
             SELECT ?1, count(*), ?2, ?3, ?4, ?5 FROM measure WHERE attempt_id = ?1",
            |statement| {
                let direction = measure.direction.word();
                statement.execute(params![attempt.0, measure.name, measure.unit, direction, measure.value])
            },
        )
    }
}

impl Journal for RunJournal<'_> {
    fn begin_attempt(&mut self, ordinal: u32, started: UnixMillis) -> Result<AttemptId, JournalError> {
        let run = self.run.0;
        self.save(
            "INSERT INTO attempt (run_id, ordinal, started_ms, session)
             VALUES (?1, ?2, ?3, (SELECT coalesce(max(number), 0) FROM session WHERE run_id = ?1))",
            |statement| statement.execute(params![run, ordinal, started.0]),
        )?;
        Ok(AttemptId(self.store.connection.last_insert_rowid()))
    }

    fn record(&mut self, attempt: AttemptId, event: &Event) -> Result<(), JournalError> {
        match event {
            Event::Warmup(interval) => self.interval(attempt, "warmup", interval),
            Event::Window(interval) => self.interval(attempt, "window", interval),
            Event::BytesPerOperation(bytes) => self
                .save("UPDATE attempt SET bytes_per_operation = ?2 WHERE id = ?1", |statement| {
                    statement.execute(params![attempt.0, *bytes as i64])
                }),
            Event::Note(key, text) => self.save("INSERT OR REPLACE INTO note VALUES (?1, ?2, ?3)", |statement| {
                statement.execute(params![attempt.0, key, text])
            }),
            Event::Usage(usage) => self.usage(attempt, usage),
            Event::Counter(name, delta) => self
                .save("INSERT OR REPLACE INTO counter VALUES (?1, ?2, ?3)", |statement| {
                    statement.execute(params![attempt.0, name, delta])
                }),
            Event::Measure(measure) => self.measure(attempt, measure),
            // Dozens of counters, usage and measures follow at once. One transaction holds all of them; `end_attempt` ends it.
            Event::End(_) => self.save("BEGIN IMMEDIATE", |statement| statement.execute([])),
            // The plan, the workload's description and the attempt's outcome contain the same.
            Event::Hello(_)
            | Event::Variant(_)
            | Event::Operation(_)
            | Event::Unit(_)
            | Event::Direction(_)
            | Event::Mode(_)
            | Event::Tasks(_)
            | Event::Ready(_)
            | Event::Begin(_)
            | Event::Failure(..)
            | Event::Done => Ok(()),
        }
    }

    fn record_reading(&mut self, attempt: AttemptId, reading: &Reading) -> Result<(), JournalError> {
        self.save("INSERT INTO reading (attempt_id, format, json) VALUES (?1, ?2, ?3)", |statement| {
            statement.execute(params![attempt.0, reading.format, json(reading)])
        })
    }

    fn end_attempt(&mut self, attempt: AttemptId, outcome: &Outcome, ended: UnixMillis) -> Result<(), JournalError> {
        self.save("UPDATE attempt SET outcome = ?2, final = ?3, ended_ms = ?4 WHERE id = ?1", |statement| {
            statement.execute(params![attempt.0, json(outcome), outcome.is_final(), ended.0])
        })?;
        if !self.store.connection.is_autocommit() {
            self.save("COMMIT", |statement| statement.execute([]))?;
        }
        Ok(self.store.check_still_there()?)
    }
}
