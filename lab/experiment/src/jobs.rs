//! Work on histories that somebody asks for, and the worker of this machine that does it.

use crate::database;
use crate::error::Error;
use crate::places::Places;
use faultline_model::job::{Job, JobId, JobWork};
use faultline_model::named_change::{NamedChange, SeriesName};
use faultline_model::record::RunId;
use faultline_model::time::UnixMillis;
pub use faultline_store::JobAsked;
use faultline_store::{MachineLock, Store};

/// Jobs that are read at once.
const AT_ONCE: usize = 100;

/// Asks for work on a series. The same work is not asked for twice. Fails if there is no database, or if it cannot be written.
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

/// Withdraws a waiting job; false if it does not wait any more. Fails if there is no database, or if it cannot be written.
pub fn withdraw(id: JobId, at: UnixMillis, places: &Places) -> Result<bool, Error> {
    Ok(Store::open_existing(places.database()?)?.withdraw_job(id, at)?)
}

/// The newest search for a change that was begun and is not finished. Fails if the database cannot be read.
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
    /// Begins to work. Jobs that a worker of this machine took and did not end wait again, because that worker is gone. Fails if another one works on this machine, if there is no database, or
    /// if it cannot be written.
    pub fn begin(at: UnixMillis, places: &Places) -> Result<Self, Error> {
        let mut store = Store::open_existing(places.database()?)?;
        let lock = store.lock_jobs()?;
        let name = faultline_store::host_name();
        store.free_jobs_of(&name, at)?;
        Ok(Worker { store, _lock: lock, name })
    }

    /// The oldest waiting job that is ours to do, taken; `None` if there is none. Fails if the database cannot be read or written.
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

    /// Ends a job: a run did it, or it failed. Fails if the database cannot be written.
    pub fn end(&mut self, job: &Job, end: Result<RunId, &Error>, at: UnixMillis) -> Result<(), Error> {
        Ok(self.store.end_job(job.id, &end.map_err(|error| error.problem.clone()), at)?)
    }

    /// Fails if a run is measured into the database on this machine at the moment.
    pub fn check_idle(&self, places: &Places) -> Result<(), Error> {
        // By a connection of its own: the lock of a server lasts as long as the connection, and the run that comes takes it by another one.
        Ok(Store::open_existing(places.database()?)?.lock_measuring().map(drop)?)
    }

    /// Lets the jobs that this machine took wait again. Fails if the database cannot be written.
    pub fn put_back(&mut self, at: UnixMillis) -> Result<(), Error> {
        Ok(self.store.free_jobs_of(&self.name, at)?)
    }
}
