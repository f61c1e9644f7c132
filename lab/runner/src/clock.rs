//! The clock of a run. Callers provide it, so that a simulated run uses simulated time.

use faultline_record::time::UnixMillis;
use std::time::{Duration, Instant, SystemTime};

/// A clock: the wall clock, whose time is saved, and a monotonic clock for budgets and estimates.
pub trait Clock {
    /// The wall clock's time. It may jump, also backwards.
    fn now(&self) -> UnixMillis;

    /// Time since a fixed moment. It never decreases.
    fn monotonic(&self) -> Duration;
}

/// The system's clocks.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    began: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { began: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        UnixMillis(since.map_or(0, |since| since.as_millis() as i64))
    }

    fn monotonic(&self) -> Duration {
        self.began.elapsed()
    }
}
