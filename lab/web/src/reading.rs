//! Reads of the database, off the threads that serve connections: a bounded number at once, each with a limit of time.

use crate::log::Log;
use crate::problem::Problem;
use faultline_experiment::{Error, ErrorKind, Places};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// Reads at once. More would only compete for the disk and the CPUs that a run is measured on.
const AT_ONCE: usize = 4;

/// Longest time that a request waits for its turn.
const QUEUE: Duration = Duration::from_secs(10);

/// Longest time that a read may take. A read that takes longer goes on unheard, and keeps its place among those at once.
pub(crate) const READ: Duration = Duration::from_secs(30);

/// Reads the database for requests.
#[derive(Clone)]
pub(crate) struct Reader {
    places: Arc<Places>,
    turns: Arc<Semaphore>,
    /// Takes a line about what failed.
    pub(crate) log: Log,
}

impl Reader {
    pub(crate) fn new(places: Places, log: Log) -> Self {
        Reader { places: Arc::new(places), turns: Arc::new(Semaphore::new(AT_ONCE)), log }
    }

    /// Does something with the database, when it is its turn. Fails if that fails, if too many wait, or if it takes too long.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let reading = self.begin(work).await?;
        match timeout(READ, reading).await {
            Err(_) => Err(Problem::too_slow()),
            Ok(read) => self.ended(read),
        }
    }

    /// The same, however long it takes.
    pub(crate) async fn read_to_the_end<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let reading = self.begin(work).await?;
        self.ended(reading.await)
    }

    /// Begins it when it is its turn.
    async fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> Result<T, Error> + Send + 'static,
    ) -> Result<JoinHandle<Result<T, Error>>, Problem> {
        let turn = timeout(QUEUE, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| Problem::busy())?.map_err(|_| Problem::internal())?;
        let places = Arc::clone(&self.places);
        Ok(spawn_blocking(move || {
            let read = work(&places);
            drop(turn);
            read
        }))
    }

    fn ended<T>(&self, read: Result<Result<T, Error>, JoinError>) -> Result<T, Problem> {
        // If it panicked, the runtime has said so on standard error.
        read.map_err(|_| Problem::internal())?.map_err(|error| {
            if error.kind != ErrorKind::Usage {
                (self.log)(&error.problem);
            }
            Problem::of(error, &self.database())
        })
    }

    /// The database as messages name it: without a password.
    pub(crate) fn database(&self) -> String {
        self.places.database_name()
    }
}
