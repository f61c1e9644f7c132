//! Jobs on histories, requested on the pages, and the worker of this machine that does them.

use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_record::job::{Job, JobId, JobWork};
use faultline_record::named_change::{NamedChange, SeriesName};
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;
pub use faultline_store::JobAsked;
use faultline_store::{MachineLock, Store};

/// Number of jobs read at once.
const AT_ONCE: usize = 100;

/// Requests work on a series, unless it is requested already. Fails if there is no database, or if
/// it cannot be written.
pub fn ask(
    series: &SeriesName,
    work: &JobWork,
    asked_by: &str,
    at: UnixMillis,
    places: &Places,
) -> Result<JobAsked, Error> {
    Ok(Store::open_existing(places.database()?)?.add_job(series, work, asked_by, at)?)
}

/// Jobs before one, the newest first. Fails if there is no database, or if it cannot be read.
pub fn list(before: Option<JobId>, limit: usize, places: &Places) -> Result<Vec<Job>, Error> {
    Ok(database::existing(places)?.jobs(before, limit)?)
}

/// Withdraws a waiting job; false if it is not waiting. Fails if there is no database, or if it
/// cannot be written.
pub fn withdraw(id: JobId, at: UnixMillis, places: &Places) -> Result<bool, Error> {
    Ok(Store::open_existing(places.database()?)?.withdraw_job(id, at)?)
}

/// The newest unfinished search for a change. Fails if the database cannot be read.
pub fn open_search(change: &NamedChange, places: &Places) -> Result<Option<RunId>, Error> {
    Ok(database::existing(places)?.open_search_of(change)?)
}

/// The only process of this machine that does the jobs of a database.
pub struct Worker {
    store: Store,
    _lock: MachineLock,
    name: String,
}

impl Worker {
    /// Starts the worker. Jobs that an earlier worker of this machine did not end wait again. Fails
    /// if another worker runs on this machine, if there is no database, or if it cannot be written.
    pub fn begin(at: UnixMillis, places: &Places) -> Result<Self, Error> {
        let mut store = Store::open_existing(places.database()?)?;
        let lock = store.lock_jobs()?;
        let name = faultline_store::host_name();
        store.free_jobs_of(&name, at)?;
        Ok(Worker { store, _lock: lock, name })
    }

    /// Takes the oldest waiting job that this machine does; `None` if there is none. Fails if the
    /// database cannot be read or written.
    pub fn take(
        &mut self,
        at: UnixMillis,
        mut is_ours: impl FnMut(&Job) -> Result<bool, Error>,
    ) -> Result<Option<Job>, Error> {
        let mut after = JobId(0);
        loop {
            let waiting = self.store.waiting_jobs(after, AT_ONCE)?;
            let Some(last) = waiting.last() else { return Ok(None) };
            after = last.id;
            for job in waiting {
                // Another machine may have taken it since.
                if is_ours(&job)? && self.store.take_job(job.id, &self.name, at)? {
                    return Ok(Some(job));
                }
            }
        }
    }

    /// Ends a job with its run or its failure. Fails if the database cannot be written.
    pub fn end(&mut self, job: &Job, end: Result<RunId, &Error>, at: UnixMillis) -> Result<(), Error> {
        Ok(self.store.end_job(job.id, &end.map_err(|error| error.problem.clone()), at)?)
    }

    /// Fails while a run is measured into the database on this machine.
    pub fn check_idle(&self, places: &Places) -> Result<(), Error> {
        // Uses its own connection: a server's lock lasts as long as the connection, and the next
        // run takes it by another one.
        Ok(Store::open_existing(places.database()?)?.lock_measuring().map(drop)?)
    }

    /// Returns the jobs of this machine to the queue. Fails if the database cannot be written.
    pub fn put_back(&mut self, at: UnixMillis) -> Result<(), Error> {
        Ok(self.store.free_jobs_of(&self.name, at)?)
    }
}
