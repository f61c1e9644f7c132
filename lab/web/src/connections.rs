//! Open connections: a bounded number. If a client finds all places taken, the connection that has
//! waited longest for a request is closed, so that clients that send none keep no others out.

use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Maximum number of connections, if the process may open twice as many files.
const MOST: u64 = 1024;

/// The places of all connections.
#[derive(Clone)]
pub(crate) struct Connections {
    places: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// Connections without a request, in the order in which they began to wait.
#[derive(Default)]
struct Waiting {
    by_number: BTreeMap<u64, AbortHandle>,
    next: u64,
}

impl Connections {
    /// As many places as the system allows: half of the files that the process may open, because
    /// requests open files too.
    pub(crate) fn new() -> Self {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Self::of((files / 2).clamp(1, MOST) as usize)
    }

    fn of(places: usize) -> Self {
        Connections { places: Arc::new(Semaphore::new(places)), waiting: Arc::default() }
    }

    /// A free place; `None` if there is none.
    pub(crate) fn free_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits until a place is free.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// Closes the connection that has waited longest for a request. Its place becomes free soon.
    pub(crate) fn close_longest_waiting(&self) {
        if let Some((_, task)) = self.lock().by_number.pop_first() {
            task.abort();
        }
    }

    /// Adds a connection, which waits for its first request. `task` serves it.
    pub(crate) fn wait(&self, task: AbortHandle) -> u64 {
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.by_number.insert(number, task);
        number
    }

    /// Removes a connection that has a request or has ended. `None` if it was removed before.
    pub(crate) fn remove(&self, number: u64) -> Option<AbortHandle> {
        self.lock().by_number.remove(&number)
    }

    /// No code panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection among the others.
#[derive(Clone)]
pub(crate) struct Member {
    connections: Connections,
    /// Its number while it waits.
    number: Arc<Mutex<Option<u64>>>,
}

impl Member {
    /// A connection that is not served yet.
    pub(crate) fn new(connections: &Connections) -> Self {
        Member { connections: connections.clone(), number: Arc::default() }
    }

    /// The connection waits for a request from now on. `task` serves it.
    pub(crate) fn wait(&self, task: AbortHandle) {
        *self.lock() = Some(self.connections.wait(task));
    }

    /// The connection has a request until the result is dropped. `None` if it is being closed.
    pub(crate) fn busy(&self) -> Option<Busy> {
        let number = self.lock().take()?;
        let task = self.connections.remove(number)?;
        Some(Busy { member: self.clone(), task })
    }

    /// The connection has ended.
    pub(crate) fn end(&self) {
        if let Some(number) = self.lock().take() {
            self.connections.remove(number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<u64>> {
        self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection with a request. It waits again when this is dropped.
pub(crate) struct Busy {
    member: Member,
    task: AbortHandle,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.member.wait(self.task.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_longest_waiting_connection_is_closed_and_a_busy_one_is_not() {
        let connections = Connections::of(3);
        let begin = || {
            let member = Member::new(&connections);
            let task = tokio::spawn(std::future::pending::<()>());
            member.wait(task.abort_handle());
            (member, task)
        };
        let [(first, of_first), (_second, of_second), (_third, of_third)] = [begin(), begin(), begin()];
        let busy = first.busy().unwrap();
        assert!(first.busy().is_none(), "one request at a time");
        connections.close_longest_waiting();
        assert!(of_second.await.unwrap_err().is_cancelled());
        drop(busy);
        connections.close_longest_waiting();
        assert!(of_third.await.unwrap_err().is_cancelled(), "the first one waits anew, after the third");
        first.end();
        connections.close_longest_waiting();
        assert!(!of_first.is_finished());
    }
}
