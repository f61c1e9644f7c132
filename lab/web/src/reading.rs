//! Reads of the database, off the threads that serve connections: a bounded number at once, each with a limit of time.

use crate::log::Log;
use crate::problem::Problem;
use faultline_experiment::{Error, ErrorKind, Places};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Reads at once. More would only compete for the disk and the CPUs that a run is measured on.
const AT_ONCE: usize = 4;

/// Longest time that a request waits for its turn.
const QUEUE: Duration = Duration::from_secs(10);

/// Longest time that a read may take. A read that takes longer goes on unheard, and keeps its place among those at once.
const READ: Duration = Duration::from_secs(30);

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
        let turn = timeout(QUEUE, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| Problem::busy())?.map_err(|_| Problem::internal())?;
        let places = Arc::clone(&self.places);
        let reading = spawn_blocking(move || {
            let read = work(&places);
            drop(turn);
            read
        });
        match timeout(READ, reading).await {
            Err(_) => Err(Problem::too_slow()),
            // It panicked: the runtime has said so on standard error.
            Ok(Err(_)) => Err(Problem::internal()),
            Ok(Ok(read)) => read.map_err(|error| self.problem(error)),
        }
    }

    fn problem(&self, error: Error) -> Problem {
        if error.kind != ErrorKind::Usage {
            (self.log)(&error.problem);
        }
        Problem::of(error, &self.database())
    }

    /// The database's path, as messages name it.
    pub(crate) fn database(&self) -> String {
        self.places.database.as_ref().map_or_else(String::new, |path| path.display().to_string())
    }
}
