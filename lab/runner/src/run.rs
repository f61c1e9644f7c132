//! Runs a plan's items one after the other, until all have ended, a stop is asked for, or the time budget is used up.

use crate::lens::Lens;
use crate::observer::{Observer, RunProgress};
use crate::{attempt, plan};
use faultline_model::journal::{Journal, JournalError};
use faultline_model::outcome::Outcome;
use faultline_model::plan::{PlanItem, Settings};
use faultline_model::time::UnixMillis;
use faultline_targets::{StopFlag, Target};
use std::time::{Duration, Instant, SystemTime};

/// What is to be run, and where.
#[derive(Clone, Copy)]
pub struct PlannedRun<'a> {
    /// Where.
    pub target: &'a dyn Target,
    /// What was asked for.
    pub settings: &'a Settings,
    /// The items that are still to run, in order.
    pub items: &'a [PlanItem],
    /// Time limit of each item, instead of one that follows from its timing.
    pub limit: Option<Duration>,
    /// What counts beside; none to measure time.
    pub lens: Option<&'a dyn Lens>,
}

/// Why a run came to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// Every item has ended.
    Finished,
    /// A stop was asked for; the rest can be run later.
    Stopped,
    /// The time budget was used up before these items, by ordinal, could begin.
    BudgetUsed(Vec<u32>),
}

/// Runs the items. The error is that of a journal that can't save: nothing more is run then.
pub fn run(
    run: &PlannedRun<'_>,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    stop: &StopFlag,
) -> Result<Completion, JournalError> {
    let mut pace = Pace::new(run.items, run.target.overhead());
    for (index, item) in run.items.iter().enumerate() {
        if stop.is_set() {
            return Ok(Completion::Stopped);
        }
        if run.settings.budget_ms.is_some_and(|budget_ms| pace.elapsed() >= Duration::from_millis(budget_ms)) {
            return Ok(Completion::BudgetUsed(run.items[index..].iter().map(|item| item.ordinal).collect()));
        }
        observer.item_begins(item, &pace.progress());
        let id = journal.begin_attempt(item.ordinal, now())?;
        let attempted = attempt::execute(run, item, id, journal, observer, stop)?;
        journal.end_attempt(id, &attempted.outcome, now())?;
        if attempted.outcome == Outcome::Interrupted {
            return Ok(Completion::Stopped);
        }
        pace.ended(item);
        observer.item_ends(item, &attempted.outcome, attempted.value, &pace.progress());
    }
    Ok(Completion::Finished)
}

fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    UnixMillis(since.map_or(0, |since| since.as_millis() as i64))
}

/// Keeps count, and estimates what is left from how the time so far compares with what was expected.
struct Pace {
    began: Instant,
    total: usize,
    ended: usize,
    boot_ms: u64,
    expected_ms_ended: u64,
    expected_ms_left: u64,
}

impl Pace {
    fn new(items: &[PlanItem], overhead: Duration) -> Self {
        let boot_ms = overhead.as_millis() as u64;
        Pace {
            began: Instant::now(),
            total: items.len(),
            ended: 0,
            boot_ms,
            expected_ms_ended: 0,
            expected_ms_left: items.iter().map(|item| plan::expected_ms(item, boot_ms)).sum(),
        }
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn ended(&mut self, item: &PlanItem) {
        self.ended += 1;
        let expected_ms = plan::expected_ms(item, self.boot_ms);
        self.expected_ms_ended += expected_ms;
        self.expected_ms_left -= expected_ms;
    }

    fn progress(&self) -> RunProgress {
        let left_ms = if self.expected_ms_ended == 0 {
            self.expected_ms_left as f64
        } else {
            let slowness = self.elapsed().as_secs_f64() * 1e3 / self.expected_ms_ended as f64;
            self.expected_ms_left as f64 * slowness
        };
        RunProgress { ended: self.ended, total: self.total, left: Duration::from_secs_f64(left_ms / 1e3) }
    }
}
