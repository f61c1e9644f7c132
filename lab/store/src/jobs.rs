//! Work on histories that somebody asked for, and what came of it. A job goes from waiting to taken to an end; a job that was taken by a worker that is gone waits again.

use crate::connection::{self, Row, Value, from_json, from_word, params};
use crate::write::json;
use crate::{Store, StoreError};
use faultline_model::job::{Job, JobId, JobState, JobWork};
use faultline_model::named_change::SeriesName;
use faultline_model::record::RunId;
use faultline_model::time::UnixMillis;

/// Most jobs that wait. Whoever asks for more would wait for days.
const MOST_WAITING_JOBS: usize = 100;

/// The columns of a job, as [`job`] reads them.
const COLUMNS: &str = "id, series, work, asked_by, asked_ms, state, worker, since_ms, run_id, problem";

/// What came of asking for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobAsked {
    /// It waits.
    New(JobId),
    /// The same work was asked for before, and has no end yet.
    Known(JobId),
    /// Too many jobs wait.
    TooMany,
}

impl Store {
    /// Adds work on a series. Fails if the database cannot be written.
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

    /// Jobs before one, the newest first, at most so many. Fails if the database cannot be read.
    pub fn jobs(&self, before: Option<JobId>, limit: usize) -> Result<Vec<Job>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM job WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
        let before = before.map_or(i64::MAX, |job| job.0);
        self.read_jobs(&query, before, limit)
    }

    /// The jobs that wait after one, the oldest first, at most so many. Fails if the database cannot be read.
    pub fn waiting_jobs(&self, after: JobId, limit: usize) -> Result<Vec<Job>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM job WHERE state = 'waiting' AND id > ?1 ORDER BY id LIMIT ?2");
        self.read_jobs(&query, after.0, limit)
    }

    fn read_jobs(&self, query: &str, end: i64, limit: usize) -> Result<Vec<Job>, StoreError> {
        self.connection.rows(query, params![end, limit as i64], job).map_err(self.failed("read the jobs from"))
    }

    /// Takes a waiting job for a worker; false if it does not wait any more. Fails if the database cannot be written.
    pub fn take_job(&mut self, id: JobId, worker: &str, at: UnixMillis) -> Result<bool, StoreError> {
        self.change_jobs(
            "state = 'taken', worker = ?1, since_ms = ?2 WHERE id = ?3 AND state = 'waiting'",
            params![worker, at.0, id.0],
        )
    }

    /// Withdraws a waiting job; false if it does not wait any more. Fails if the database cannot be written.
    pub fn withdraw_job(&mut self, id: JobId, at: UnixMillis) -> Result<bool, StoreError> {
        self.change_jobs("state = 'withdrawn', since_ms = ?1 WHERE id = ?2 AND state = 'waiting'", params![at.0, id.0])
    }

    /// Ends a job that was taken: a run did it, or there was a problem. Fails if the database cannot be written.
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

    /// Lets the jobs wait again that a worker took. Fails if the database cannot be written.
    pub fn free_jobs_of(&mut self, worker: &str, at: UnixMillis) -> Result<(), StoreError> {
        let freed = self.change_jobs(
            "state = 'waiting', worker = NULL, since_ms = ?1 WHERE worker = ?2 AND state = 'taken'",
            params![at.0, worker],
        );
        freed.map(drop)
    }

    /// Whether a change of jobs changed any.
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
