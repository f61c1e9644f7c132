//! Beside the runs of histories: states of their changes, sent notifications, and requested work.
//!
//! States and notifications are only added. A job goes from waiting to taken to an end; if the
//! worker that took it is gone, it waits again.

use crate::connection::{self, Row, Value, from_json, from_word, json, params};
use crate::{Store, StoreError};
use faultline_record::change_event::PlacedEvent;
use faultline_record::job::{Job, JobId, JobState, JobWork};
use faultline_record::named_change::{ChangePlace, SeriesName};
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The kind of a state's row.
const SAID: &str = "said";

/// The kind of a notification's row.
const NOTIFIED: &str = "notified";

impl Store {
    /// Adds a state of a change. Fails if the database cannot be written.
    pub fn save_change_event(&mut self, series: &SeriesName, said: &PlacedEvent) -> Result<(), StoreError> {
        self.save_of_change(series, SAID, said)
    }

    /// States of a series' changes, in the order of saving. Fails if the database cannot be read.
    pub fn change_events(&self, series: &SeriesName) -> Result<Vec<PlacedEvent>, StoreError> {
        self.of_changes(series, SAID)
    }

    /// Number of the newest state or notification; 0 if there is none. Fails if the database cannot
    /// be read.
    pub fn newest_change_event(&self) -> Result<i64, StoreError> {
        let read = self.connection.rows("SELECT COALESCE(MAX(id), 0) FROM change_event", params![], |row| row.get(0));
        let newest: Vec<i64> = read.map_err(self.failed("read the states of changes in"))?;
        Ok(newest.first().copied().unwrap_or(0))
    }

    /// Records that a notification of a change was sent. Fails if the database cannot be written.
    pub fn save_notified(&mut self, series: &SeriesName, change: &ChangePlace) -> Result<(), StoreError> {
        self.save_of_change(series, NOTIFIED, change)
    }

    /// The changes of a series for which notifications were sent. Fails if the database cannot be
    /// read.
    pub fn notified(&self, series: &SeriesName) -> Result<Vec<ChangePlace>, StoreError> {
        self.of_changes(series, NOTIFIED)
    }

    fn save_of_change<T: Serialize>(&mut self, series: &SeriesName, kind: &str, value: &T) -> Result<(), StoreError> {
        self.write("save the state of a change in", |transaction| {
            let insert = "INSERT INTO change_event (subject, repository, tasks, measure, conditions, kind, json)
                          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let SeriesName { subject, repository, tasks, conditions, .. } = series;
            let of = params![subject, repository, *tasks, measure(series), conditions, kind, json(value)];
            transaction.execute(insert, of)?;
            Ok(())
        })
    }

    fn of_changes<T: DeserializeOwned>(&self, series: &SeriesName, kind: &str) -> Result<Vec<T>, StoreError> {
        let query = "SELECT json FROM change_event
                     WHERE subject = ?1 AND repository = ?2 AND tasks = ?3 AND measure = ?4 AND conditions = ?5 AND kind = ?6
                     ORDER BY id";
        let SeriesName { subject, repository, tasks, conditions, .. } = series;
        let of = params![subject, repository, *tasks, measure(series), conditions, kind];
        let read = self.connection.rows(query, of, |row| from_json(row, 0));
        read.map_err(self.failed("read the states of changes in"))
    }
}

/// The word for the measure of a series.
fn measure(series: &SeriesName) -> &'static str {
    series.quantity.word()
}

/// Maximum number of waiting jobs. More would take days.
const MOST_WAITING_JOBS: usize = 100;

/// Columns of a job, in the order in which [`job`] reads them.
const COLUMNS: &str = "id, series, work, asked_by, asked_ms, state, worker, since_ms, run_id, problem";

/// Result of a request for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobAsked {
    /// A new job, which waits.
    New(JobId),
    /// An unfinished job for the same work.
    Known(JobId),
    /// None: too many jobs wait.
    TooMany,
}

impl Store {
    /// Adds a job for a series, unless an equal one is unfinished. Fails if the database cannot be
    /// written.
    pub fn add_job(
        &mut self,
        series: &SeriesName,
        work: &JobWork,
        asked_by: &str,
        at: UnixMillis,
    ) -> Result<JobAsked, StoreError> {
        let (series, work) = (json(series), json(work));
        self.write("save a job in", |transaction| {
            let same = "SELECT id FROM job WHERE series = ?1 AND work = ?2 AND state IN ('waiting', 'taken')";
            if let Some(id) = transaction.optional_row(same, params![&series, &work], id)? {
                return Ok(JobAsked::Known(id));
            }
            let count = "SELECT count(*) FROM job WHERE state = 'waiting'";
            let waiting: i64 = transaction.row(count, params![], |row| row.get(0))?;
            if waiting >= MOST_WAITING_JOBS as i64 {
                return Ok(JobAsked::TooMany);
            }
            let insert = "INSERT INTO job (series, work, asked_by, asked_ms, state, since_ms)
                          VALUES (?1, ?2, ?3, ?4, 'waiting', ?4) RETURNING id";
            transaction.row(insert, params![&series, &work, asked_by, at.0], id).map(JobAsked::New)
        })
    }

    /// At most `limit` jobs before `before`, newest first. Fails if the database cannot be read.
    pub fn jobs(&self, before: Option<JobId>, limit: usize) -> Result<Vec<Job>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM job WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
        let before = before.map_or(i64::MAX, |job| job.0);
        self.read_jobs(&query, before, limit)
    }

    /// At most `limit` waiting jobs after `after`, oldest first. Fails if the database cannot be
    /// read.
    pub fn waiting_jobs(&self, after: JobId, limit: usize) -> Result<Vec<Job>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM job WHERE state = 'waiting' AND id > ?1 ORDER BY id LIMIT ?2");
        self.read_jobs(&query, after.0, limit)
    }

    fn read_jobs(&self, query: &str, end: i64, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.connection.rows(query, params![end, limit as i64], job).map_err(self.failed("read the jobs from"))
    }

    /// Takes a waiting job for a worker; false if it no longer waits. Fails if the database cannot
    /// be written.
    pub fn take_job(&mut self, id: JobId, worker: &str, at: UnixMillis) -> Result<bool, StoreError> {
        self.change_jobs(
            "state = 'taken', worker = ?1, since_ms = ?2 WHERE id = ?3 AND state = 'waiting'",
            params![worker, at.0, id.0],
        )
    }

    /// Withdraws a waiting job; false if it no longer waits. Fails if the database cannot be
    /// written.
    pub fn withdraw_job(&mut self, id: JobId, at: UnixMillis) -> Result<bool, StoreError> {
        self.change_jobs("state = 'withdrawn', since_ms = ?1 WHERE id = ?2 AND state = 'waiting'", params![at.0, id.0])
    }

    /// Ends a taken job, with the run that did it or with the problem. Fails if the database cannot
    /// be written.
    pub fn end_job(&mut self, id: JobId, end: &Result<RunId, String>, at: UnixMillis) -> Result<(), StoreError> {
        let (state, run, problem) = match end {
            Ok(run) => (JobState::Done, Some(run.0), None),
            Err(problem) => (JobState::Failed, None, Some(problem)),
        };
        let ended = self.change_jobs(
            "state = ?1, run_id = ?2, problem = ?3, since_ms = ?4 WHERE id = ?5 AND state = 'taken'",
            params![state.word(), run, problem, at.0, id.0],
        );
        ended.map(drop)
    }

    /// Returns the jobs that a worker took to the waiting ones. Fails if the database cannot be
    /// written.
    pub fn free_jobs_of(&mut self, worker: &str, at: UnixMillis) -> Result<(), StoreError> {
        let freed = self.change_jobs(
            "state = 'waiting', worker = NULL, since_ms = ?1 WHERE worker = ?2 AND state = 'taken'",
            params![at.0, worker],
        );
        freed.map(drop)
    }

    /// Updates jobs; false if none matched.
    fn change_jobs(&mut self, change: &str, values: &[Value<'_>]) -> Result<bool, StoreError> {
        let update = format!("UPDATE job SET {change}");
        self.write("save a job in", |transaction| Ok(transaction.execute(&update, values)? > 0))
    }
}

fn id(row: &Row<'_>) -> connection::Result<JobId> {
    Ok(JobId(row.get(0)?))
}

fn job(row: &Row<'_>) -> connection::Result<Job> {
    Ok(Job {
        id: id(row)?,
        series: from_json(row, 1)?,
        work: from_json(row, 2)?,
        asked_by: row.get(3)?,
        asked: UnixMillis(row.get(4)?),
        state: from_word(row, 5, JobState::of_word)?,
        worker: row.get(6)?,
        since: UnixMillis(row.get(7)?),
        run: row.get::<Option<i64>>(8)?.map(RunId),
        problem: row.get(9)?,
    })
}
