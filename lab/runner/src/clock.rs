//! The clock that a run goes by. Whoever begins a run gives it, so that a simulated run goes by simulated time.

use faultline_model::time::UnixMillis;
use std::time::{Duration, Instant, SystemTime};

/// Tells the time: the wall clock's, which is saved, and a monotonic one, which budgets and estimates go by.
pub trait Clock {
    /// The wall clock's time. It may jump, also backwards.
    fn now(&self) -> UnixMillis;

    /// Time since a moment that is the same for the clock's life. It never goes back.
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
