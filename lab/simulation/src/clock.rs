//! A clock whose time advances only when something simulated takes time.

use faultline_model::time::UnixMillis;
use faultline_runner::Clock;
use std::cell::Cell;
use std::time::Duration;

/// 2026-01-01T00:00:00Z.
const BEGIN: i64 = 1_767_225_600_000;

/// Simulated time.
#[derive(Debug)]
pub struct SimulatedClock {
    elapsed: Cell<Duration>,
    /// The wall clock's time at the start.
    wall_began_ms: Cell<i64>,
    has_jumped: Cell<bool>,
}

impl Default for SimulatedClock {
    fn default() -> Self {
        SimulatedClock { elapsed: Cell::default(), wall_began_ms: Cell::new(BEGIN), has_jumped: Cell::new(false) }
    }
}

impl SimulatedClock {
    /// Lets time pass.
    pub fn pass(&self, length: Duration) {
        self.elapsed.set(self.elapsed.get() + length);
    }

    /// Sets the wall clock forward, or back.
    pub fn jump(&self, by_ms: i64) {
        self.wall_began_ms.set(self.wall_began_ms.get() + by_ms);
        self.has_jumped.set(true);
    }

    /// Whether the wall clock was ever set.
    pub fn has_jumped(&self) -> bool {
        self.has_jumped.get()
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.wall_began_ms.get() + self.elapsed.get().as_millis() as i64)
    }

    fn monotonic(&self) -> Duration {
        self.elapsed.get()
    }
}
