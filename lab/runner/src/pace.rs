//! Progress of a run and estimate of the remaining time: the average of a case's ended items
//! predicts its other items; until one has ended, the expected time does.

use crate::clock::Clock;
use crate::plan;
use crate::planned::RunProgress;
use crate::planned::Targets;
use faultline_record::cell::Case;
use faultline_record::plan::PlanItem;
use faultline_record::subject::SubjectIndex;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Data about the items of a subject's case, in milliseconds.
#[derive(Default)]
struct Known {
    /// Actual times of the ended items.
    took_ms: f64,
    /// Expected times of the ended items.
    expected_ms_ended: u64,
    /// Expected times of the remaining items.
    expected_ms_left: u64,
}

impl Known {
    fn left_ms(&self) -> f64 {
        let slowness = if self.expected_ms_ended == 0 { 1.0 } else { self.took_ms / self.expected_ms_ended as f64 };
        self.expected_ms_left as f64 * slowness
    }
}

/// Counter and timer.
pub(crate) struct Pace<'a> {
    clock: &'a dyn Clock,
    targets: Targets<'a>,
    budget: Option<Duration>,
    began: Duration,
    /// Items that run at the same time.
    jobs: NonZeroUsize,
    total: usize,
    ended: usize,
    cases: BTreeMap<(SubjectIndex, &'a Case), Known>,
}

impl<'a> Pace<'a> {
    /// The state at the beginning. `jobs` items run at the same time, and none begins after
    /// `budget`.
    pub(crate) fn new(
        items: &'a [PlanItem],
        targets: Targets<'a>,
        jobs: NonZeroUsize,
        budget: Option<Duration>,
        clock: &'a dyn Clock,
    ) -> Self {
        let mut cases: BTreeMap<_, Known> = BTreeMap::new();
        for item in items {
            let known = cases.entry((item.subject, &item.cell.case)).or_default();
            known.expected_ms_left += plan::expected_ms(item, targets.boot_ms(item));
        }
        let began = clock.monotonic();
        Pace { clock, targets, budget, began, jobs, total: items.len(), ended: 0, cases }
    }

    /// The time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.monotonic() - self.began
    }

    /// Records the beginning of an item. Returns the time for [`Pace::ended`].
    pub(crate) fn begins(&self) -> Duration {
        self.clock.monotonic()
    }

    /// Records the end of an item.
    pub(crate) fn ended(&mut self, item: &'a PlanItem, began: Duration) {
        self.ended += 1;
        let expected_ms = plan::expected_ms(item, self.targets.boot_ms(item));
        let known = self.cases.entry((item.subject, &item.cell.case)).or_default();
        known.took_ms += (self.clock.monotonic() - began).as_secs_f64() * 1e3;
        known.expected_ms_ended += expected_ms;
        known.expected_ms_left = known.expected_ms_left.saturating_sub(expected_ms);
    }

    /// Progress so far.
    pub(crate) fn progress(&self) -> RunProgress {
        let left_ms: f64 = self.cases.values().map(Known::left_ms).sum();
        let left = Duration::from_secs_f64(left_ms / 1e3 / self.jobs.get() as f64);
        let within = self.budget.map_or(left, |budget| left.min(budget.saturating_sub(self.elapsed())));
        RunProgress { ended: self.ended, total: self.total, left: within }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::tests::workloads;
    use crate::planned::SubjectTargets;
    use crate::scripted_target::Scripted;
    use crate::{Request, Suite};
    use faultline_record::time::UnixMillis;
    use faultline_targets::Ending;
    use std::cell::Cell;

    /// A clock that is set by hand.
    #[derive(Default)]
    struct Hand(Cell<Duration>);

    impl Clock for Hand {
        fn now(&self) -> UnixMillis {
            UnixMillis(0)
        }

        fn monotonic(&self) -> Duration {
            self.0.get()
        }
    }

    /// Two blocks of two loops, 2.57 s each, and of a build, of which 3 s are expected.
    fn items() -> Vec<PlanItem> {
        let request = Request { suite: Some(Suite::Full), repeats: Some(2), ..Request::default() };
        plan(&request, &workloads(), 1, 1).unwrap().items
    }

    /// Remaining milliseconds after that many items, when loops take the expected time and builds 9
    /// s.
    fn left_after(count: usize, budget: Option<Duration>) -> u128 {
        left_with(NonZeroUsize::MIN, count, budget)
    }

    fn left_with(jobs: NonZeroUsize, count: usize, budget: Option<Duration>) -> u128 {
        let (items, clock) = (items(), Hand::default());
        let machine = Scripted(|| Ending::Exited { status: 0, stderr: String::new() }.into());
        let targets = SubjectTargets::alone(&machine);
        let mut pace = Pace::new(&items, Targets::shared(&targets), jobs, budget, &clock);
        for item in &items[..count] {
            let began = pace.begins();
            let took_ms = item.timing.map_or(9000, |_| plan::expected_ms(item, 0));
            clock.0.set(clock.monotonic() + Duration::from_millis(took_ms));
            pace.ended(item, began);
        }
        assert_eq!((pace.progress().ended, pace.progress().total), (count, 6));
        pace.progress().left.as_millis()
    }

    #[test]
    fn a_slow_build_says_nothing_of_the_loops() {
        assert_eq!(left_after(0, None), 2 * 8140);
        let builds = items().iter().position(|item| item.timing.is_none()).unwrap() + 1;
        assert_eq!(left_after(builds, None), 9000 + (4 - (builds as u128 - 1)) * 2570);
        assert_eq!(left_after(3, None), 9000 + 2 * 2570);
        assert_eq!(left_after(6, None), 0);
    }

    #[test]
    fn items_that_run_at_the_same_time_share_what_is_left() {
        assert_eq!(left_with(NonZeroUsize::new(2).unwrap(), 0, None), 8140);
    }

    #[test]
    fn no_more_is_left_than_the_budget() {
        assert_eq!(left_after(0, Some(Duration::from_secs(5))), 5000);
        assert_eq!(left_after(3, Some(Duration::from_secs(15))), 15_000 - 9000 - 2 * 2570);
        assert_eq!(left_after(3, Some(Duration::from_secs(1))), 0);
    }
}
