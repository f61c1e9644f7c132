//! A request to stop, from a signal handler to whoever waits for a workload.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by all its clones; once set it stays set.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks for a stop.
    pub fn set(&self) {
        // Relaxed: the flag carries no other data, and whoever polls it needs to see it soon, not in any order.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_set(&self) -> bool {
        // Relaxed: pairs with the store in `set`, see there.
        self.0.load(Ordering::Relaxed)
    }
}
