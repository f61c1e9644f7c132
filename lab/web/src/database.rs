//! Reads of the database, off the threads that serve connections: a bounded number at once, each
//! with a time limit.

use crate::problem::Problem;
use faultline_experiment::{Error, ErrorKind, Places};
use faultline_record::time::UnixMillis;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// Maximum number of reads at once. More would compete with runs for the disk and the CPUs.
const AT_ONCE: usize = 4;

/// Maximum number of reads of whole runs at once, because each needs the memory of one or two runs.
const WHOLE_RUNS_AT_ONCE: usize = 1;

/// Longest wait of a request for its turn.
const QUEUE: Duration = Duration::from_secs(10);

/// Time limit of a read. A longer one continues without its request, and keeps its turn.
pub(crate) const READ: Duration = Duration::from_secs(30);

/// Receives a line about each internal failure.
pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Reads the database for requests.
#[derive(Clone)]
pub(crate) struct Reader {
    places: Arc<Places>,
    turns: Arc<Semaphore>,
    whole_runs: Arc<Semaphore>,
    /// Receives failures.
    pub(crate) log: Log,
}

impl Reader {
    pub(crate) fn new(places: Places, log: Log) -> Self {
        let [turns, whole_runs] = [AT_ONCE, WHOLE_RUNS_AT_ONCE].map(|most| Arc::new(Semaphore::new(most)));
        Reader { places: Arc::new(places), turns, whole_runs, log }
    }

    /// Runs `work` on the database in its turn. Fails if `work` fails, if too many requests wait,
    /// or after the time limit.
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

    /// Like [`Reader::read`], for work that may load whole runs: one at a time.
    pub(crate) async fn read_whole_runs<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let alone = self.turn(&self.whole_runs).await?;
        let work = move |places: &Places| {
            let read = work(places);
            // Also after the time limit, when nothing waits for the result.
            drop(alone);
            read
        };
        self.read(work).await
    }

    /// Waits for a turn. Fails if too many requests wait.
    async fn turn(&self, of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
        let turn = timeout(QUEUE, Arc::clone(of).acquire_owned()).await;
        turn.map_err(|_| Problem::busy())?.map_err(|_| Problem::internal())
    }

    /// Like [`Reader::read`], without a time limit.
    pub(crate) async fn read_to_the_end<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Problem> {
        let reading = self.begin(work).await?;
        self.ended(reading.await)
    }

    /// Waits for a turn, and starts `work`.
    async fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Places) -> Result<T, Error> + Send + 'static,
    ) -> Result<JoinHandle<Result<T, Error>>, Problem> {
        let turn = self.turn(&self.turns).await?;
        let places = Arc::clone(&self.places);
        Ok(spawn_blocking(move || {
            let read = work(&places);
            drop(turn);
            read
        }))
    }

    fn ended<T>(&self, read: Result<Result<T, Error>, JoinError>) -> Result<T, Problem> {
        // The runtime reports a panic on standard error.
        read.map_err(|_| Problem::internal())?.map_err(|error| {
            if error.kind != ErrorKind::Usage {
                (self.log)(&error.problem);
            }
            Problem::of(error, &self.database())
        })
    }

    /// Name of the database in messages, without a password.
    pub(crate) fn database(&self) -> String {
        self.places.database_name()
    }
}

/// The system's time; 1970 if the clock is set to an earlier date.
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn whole_runs_are_read_one_at_a_time() {
        let reader = Reader::new(Places::find().unwrap(), Arc::new(|_: &str| {}));
        let reading = Arc::new(AtomicUsize::new(0));
        let one = || {
            let reading = Arc::clone(&reading);
            reader.read_whole_runs(move |_| {
                // Sequentially consistent: a test, where the cost does not matter.
                let before = reading.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                reading.fetch_sub(1, Ordering::SeqCst);
                Ok(before)
            })
        };
        let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
        assert!([a, b, c, d].into_iter().all(|before| before.is_ok_and(|before| before == 0)));
    }
}
