//! A time limit that does not run while we are stopped: Ctrl-Z, or a suspended machine, is not the workload's fault.

use std::time::{Duration, Instant};

/// We check many times a second. A longer gap between two checks means that we were stopped.
const AWAY: Duration = Duration::from_secs(1);

/// A time limit.
#[derive(Debug)]
pub(crate) struct Deadline {
    until: Instant,
    looked: Instant,
    /// The limit, if it starts anew with each sign of progress.
    renewable: Option<Duration>,
}

/// A limit that exceeds the clock's range never ends.
const FOREVER: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

impl Deadline {
    /// Starts the limit.
    pub(crate) fn after(limit: Duration) -> Self {
        let now = Instant::now();
        Deadline { until: now + limit.min(FOREVER), looked: now, renewable: None }
    }

    /// Starts a limit for the time without progress.
    pub(crate) fn without_progress(limit: Duration) -> Self {
        Deadline { renewable: Some(limit), ..Deadline::after(limit) }
    }

    /// There was progress: a limit for the time without it starts anew.
    pub(crate) fn renew(&mut self) {
        if let Some(limit) = self.renewable {
            *self = Deadline::without_progress(limit);
        }
    }

    /// Extends it by time in which the workload could not run.
    pub(crate) fn extend(&mut self, time: Duration) {
        self.until += time;
    }

    /// The remaining time; zero when it is over. To be called several times a second.
    pub(crate) fn left(&mut self) -> Duration {
        let now = Instant::now();
        let gap = now.saturating_duration_since(self.looked);
        if gap > AWAY {
            self.until += gap;
        }
        self.looked = now;
        self.until.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_gap_does_not_count() {
        let mut deadline = Deadline::after(Duration::from_millis(1200));
        std::thread::sleep(Duration::from_millis(1300));
        assert!(deadline.left() > Duration::from_millis(500), "the gap counted");
    }

    #[test]
    fn short_gaps_do() {
        let mut deadline = Deadline::after(Duration::from_millis(30));
        let mut looks = 0;
        while !deadline.left().is_zero() {
            std::thread::sleep(Duration::from_millis(5));
            looks += 1;
            assert!(looks < 100, "it never ends");
        }
    }

    #[test]
    fn progress_renews_only_a_limit_for_the_time_without_it() {
        let limit = Duration::from_millis(200);
        let (mut one, mut other) = (Deadline::after(limit), Deadline::without_progress(limit));
        std::thread::sleep(Duration::from_millis(150));
        [&mut one, &mut other].into_iter().for_each(Deadline::renew);
        assert!(one.left() <= Duration::from_millis(50) && other.left() > Duration::from_millis(100));
        std::thread::sleep(Duration::from_millis(210));
        assert!(other.left().is_zero());
    }

    #[test]
    fn any_limit_can_be_set() {
        assert!(!Deadline::after(Duration::MAX).left().is_zero());
    }
}
