//! State shared by all requests: reader, histories, and steps by other smallest changes.

use crate::database::{Log, Reader};
use crate::histories::{DeclaredQuirks, Histories, History};
use crate::problem::Problem;
use faultline_experiment::{Error, Places};
use faultline_report::site::step_mark;
use faultline_stats::history::{HistoryStep, HistorySteps, StepSettings, steps_by};
use faultline_stats::timeline::{StepMark, StepsFound};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Maximum number of kept searches.
const KEPT: usize = 64;

/// State shared by all requests.
#[derive(Clone)]
pub(crate) struct State {
    /// Reads the database.
    pub(crate) reader: Reader,
    /// Histories in the database.
    pub(crate) histories: Arc<Histories>,
    /// Steps by other thresholds.
    pub(crate) thresholds: Thresholds,
    /// True if readers may set states of changes, because they have tokens.
    pub(crate) may_mark: bool,
}

impl State {
    pub(crate) fn new(places: Places, log: Log, declared: DeclaredQuirks, may_mark: bool) -> Self {
        let reader = Reader::new(places, log);
        State {
            histories: Arc::new(Histories::new(reader.clone(), declared)),
            thresholds: Thresholds::default(),
            reader,
            may_mark,
        }
    }
}

/// A smallest change in hundredths of a percent, the resolution of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threshold(u32);

impl Threshold {
    /// From percent, rounded to the nearest hundredth.
    pub(crate) fn of_percent(percent: f64) -> Self {
        Threshold((percent * 100.0).round() as u32)
    }

    /// The change as a share.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}

/// Steps found by slow searches with other thresholds, newest last.
#[derive(Clone, Default)]
pub(crate) struct Thresholds(Arc<Mutex<VecDeque<Kept>>>);

struct Kept {
    /// The searched state of the history. When the history grows, this state is dropped.
    history: Weak<History>,
    threshold: Threshold,
    steps: Arc<HistorySteps>,
}

impl Thresholds {
    /// The steps of a history by a threshold. A search takes a turn among the reads.
    pub(crate) async fn steps(
        &self,
        history: &Arc<History>,
        threshold: Threshold,
        reader: &Reader,
    ) -> Result<Arc<HistorySteps>, Problem> {
        if let Some(known) = self.known(history, threshold) {
            return Ok(known);
        }
        let (kept, history) = (self.clone(), Arc::clone(history));
        reader
            .read(move |_| {
                // The request before may have searched the same.
                if let Some(known) = kept.known(&history, threshold) {
                    return Ok(known);
                }
                let steps = Arc::new(search(&history, threshold)?);
                kept.keep(&history, threshold, &steps);
                Ok(steps)
            })
            .await
    }

    fn known(&self, history: &Arc<History>, threshold: Threshold) -> Option<Arc<HistorySteps>> {
        let kept = self.lock();
        let is_it = |one: &&Kept| one.threshold == threshold && one.history.as_ptr() == Arc::as_ptr(history);
        kept.iter().find(is_it).map(|one| Arc::clone(&one.steps))
    }

    fn keep(&self, history: &Arc<History>, threshold: Threshold, steps: &Arc<HistorySteps>) {
        let mut kept = self.lock();
        kept.retain(|one| one.history.strong_count() > 0);
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { history: Arc::downgrade(history), threshold, steps: Arc::clone(steps) });
    }

    /// No code panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Searches for the steps of a history by a threshold.
pub(crate) fn search(history: &History, threshold: Threshold) -> Result<HistorySteps, Error> {
    let settings = StepSettings { least_change: threshold.share(), ..StepSettings::default() };
    let found = steps_by(&history.series, &history.evidence, &settings);
    found.map_err(|error| Error::usage(error.to_string(), "a threshold is a share from 0 to 1"))
}

/// The found steps for clients, without states, which belong to the usual steps.
pub(crate) fn steps_found(history: &History, found: &HistorySteps) -> StepsFound {
    let mark =
        |step: &HistoryStep| StepMark { state: String::new(), said: Vec::new(), ..step_mark(&history.series, step) };
    StepsFound {
        format: StepsFound::FORMAT.to_owned(),
        id: history.id.clone(),
        least_change: found.least_change,
        steps: found.steps.iter().map(mark).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_has_the_resolution_of_addresses() {
        assert_eq!(Threshold::of_percent(2.5).share(), 0.025);
        assert_eq!(Threshold::of_percent(1.0), Threshold::of_percent(1.004));
        assert_eq!([0.0, 100.0].map(|percent| Threshold::of_percent(percent).share()), [0.0, 1.0]);
    }
}
