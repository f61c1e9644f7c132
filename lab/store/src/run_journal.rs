//! The journal of a run: each interval is saved at once, the rest of an attempt with its outcome.

use crate::Store;
use crate::checksum;
use crate::connection::{Purpose, Result, Value, json, params};
use crate::runs::kind_of;
use faultline_record::journal::{AttemptId, Journal, JournalError};
use faultline_record::lens::reading::Reading;
use faultline_record::outcome::Outcome;
use faultline_record::protocol::{Event, Interval, Measure, Usage, UsageScope};
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;

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
    fn save(&mut self, statement: &str, values: &[Value<'_>]) -> Result<(), JournalError> {
        let saved = self.store.connection.execute(statement, values);
        self.saved(saved.map(drop))
    }

    /// The result of a statement, as the journal's.
    fn saved<T>(&self, saved: Result<T>) -> Result<T, JournalError> {
        Ok(saved.map_err(self.store.failed("save a sample in"))?)
    }

    fn interval(&mut self, attempt: AttemptId, phase: &str, interval: &Interval) -> Result<(), JournalError> {
        self.save(
            "INSERT INTO sample (attempt_id, phase, number, from_ns, to_ns, operations)
             SELECT ?1, ?2, count(*), ?3, ?4, ?5 FROM sample WHERE attempt_id = ?1 AND phase = ?2",
            params![attempt.0, phase, interval.from_ns as i64, interval.to_ns as i64, json(&interval.operations)],
        )
    }

    fn usage(&mut self, attempt: AttemptId, usage: &Usage) -> Result<(), JournalError> {
        let scope = match usage.scope {
            UsageScope::Window => "window",
            UsageScope::Life => "life",
        };
        self.save(
            "INSERT INTO usage (attempt_id, scope, user_ns, system_ns, minor_faults, major_faults, voluntary_switches,
                                involuntary_switches)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (attempt_id) DO UPDATE SET
                 scope = excluded.scope, user_ns = excluded.user_ns, system_ns = excluded.system_ns,
                 minor_faults = excluded.minor_faults, major_faults = excluded.major_faults,
                 voluntary_switches = excluded.voluntary_switches, involuntary_switches = excluded.involuntary_switches",
            params![
                attempt.0,
                scope,
                usage.user_ns as i64,
                usage.system_ns as i64,
                usage.minor_faults as i64,
                usage.major_faults as i64,
                usage.voluntary_switches as i64,
                usage.involuntary_switches as i64,
            ],
        )
    }

    fn measure(&mut self, attempt: AttemptId, measure: &Measure) -> Result<(), JournalError> {
        self.save(
            "INSERT INTO measure (attempt_id, number, name, unit, direction, value)
             SELECT ?1, count(*), ?2, ?3, ?4, ?5 FROM measure WHERE attempt_id = ?1",
            params![attempt.0, &measure.name, &measure.unit, measure.direction.word(), measure.value],
        )
    }
}

impl Journal for RunJournal<'_> {
    fn begin_attempt(&mut self, ordinal: u32, started: UnixMillis) -> Result<AttemptId, JournalError> {
        let begun = self.store.connection.row(
            "INSERT INTO attempt (run_id, ordinal, started_ms, session)
             VALUES (?1, ?2, ?3, (SELECT coalesce(max(number), 0) FROM session WHERE run_id = ?1)) RETURNING id",
            params![self.run.0, ordinal, started.0],
            |row| Ok(AttemptId(row.get(0)?)),
        );
        self.saved(begun)
    }

    fn record(&mut self, attempt: AttemptId, event: &Event) -> Result<(), JournalError> {
        match event {
            Event::Warmup(interval) => self.interval(attempt, "warmup", interval),
            Event::Window(interval) => self.interval(attempt, "window", interval),
            Event::BytesPerOperation(bytes) => self
                .save("UPDATE attempt SET bytes_per_operation = ?2 WHERE id = ?1", params![attempt.0, *bytes as i64]),
            Event::Note(key, text) => {
                let once = self.store.connection.spelled("key", "md5(key)");
                let insert = format!(
                    "INSERT INTO note (attempt_id, key, text) VALUES (?1, ?2, ?3)
                     ON CONFLICT (attempt_id, {once}) DO UPDATE SET text = excluded.text"
                );
                self.save(&insert, params![attempt.0, key, text])
            }
            Event::Usage(usage) => self.usage(attempt, usage),
            Event::Counter(name, delta) => {
                let once = self.store.connection.spelled("name", "md5(name)");
                let insert = format!(
                    "INSERT INTO counter (attempt_id, name, delta) VALUES (?1, ?2, ?3)
                     ON CONFLICT (attempt_id, {once}) DO UPDATE SET delta = excluded.delta"
                );
                self.save(&insert, params![attempt.0, name, *delta])
            }
            Event::Measure(measure) => self.measure(attempt, measure),
            // One transaction for the dozens of counters and measures that follow; `end_attempt`
            // commits it.
            Event::End(_) => self.saved(self.store.connection.begin(Purpose::Write)),
            // The plan, the workload's description and the outcome contain these.
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
        self.save(
            "INSERT INTO reading (attempt_id, format, json) VALUES (?1, ?2, ?3)",
            params![attempt.0, &reading.format, json(reading)],
        )
    }

    fn record_console(&mut self, attempt: AttemptId, console: &str) -> Result<(), JournalError> {
        self.save("INSERT INTO console (attempt_id, text) VALUES (?1, ?2)", params![attempt.0, console])
    }

    fn end_attempt(&mut self, attempt: AttemptId, outcome: &Outcome, ended: UnixMillis) -> Result<(), JournalError> {
        if !self.store.connection.is_in_transaction() {
            self.saved(self.store.connection.begin(Purpose::Write))?;
        }
        self.save(
            "UPDATE attempt SET outcome = ?2, outcome_kind = ?3, final = ?4, ended_ms = ?5 WHERE id = ?1",
            params![attempt.0, json(outcome), kind_of(outcome), outcome.is_final(), ended.0],
        )?;
        self.saved(checksum::save(&self.store.connection, attempt))?;
        self.saved(self.store.connection.commit())?;
        Ok(self.store.check_still_there()?)
    }
}
