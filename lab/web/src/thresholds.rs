//! Steps of histories by a smallest change that a reader chooses. The search takes long, so what it found is kept for those who ask the same.

use crate::histories::History;
use crate::problem::Problem;
use crate::reading::Reader;
use faultline_experiment::Error;
use faultline_model::history::{HistoryStep, HistorySteps};
use faultline_model::timeline::{StepMark, StepsFound};
use faultline_report::site::step_mark;
use faultline_stats::history::{StepSettings, steps_by};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Searches that are kept.
const KEPT: usize = 64;

/// A smallest change, in hundredths of a percent: as fine as an address names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threshold(u32);

impl Threshold {
    /// From percent; the nearest hundredth.
    pub(crate) fn of_percent(percent: f64) -> Self {
        Threshold((percent * 100.0).round() as u32)
    }

    /// As a share.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}

/// The steps that were searched for, the newest last.
#[derive(Clone, Default)]
pub(crate) struct Thresholds(Arc<Mutex<VecDeque<Kept>>>);

struct Kept {
    /// The state of the history that was searched. Once it goes on, nobody asks for this one.
    history: Weak<History>,
    threshold: Threshold,
    steps: Arc<HistorySteps>,
}

impl Thresholds {
    /// The steps of a history. A search takes a turn among the reads, which bounds how many there are at once.
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
                // Whoever had its turn before may have asked for the same.
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

    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Searches for the steps of a history.
pub(crate) fn search(history: &History, threshold: Threshold) -> Result<HistorySteps, Error> {
    let settings = StepSettings { least_change: threshold.share(), ..StepSettings::default() };
    let found = steps_by(&history.series, &history.evidence, &settings);
    found.map_err(|error| Error::usage(error.to_string(), "a share from 0 to 1 is a threshold"))
}

/// What a search found, without states: those belong to the usual steps.
pub(crate) fn told(history: &History, found: &HistorySteps) -> StepsFound {
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
    fn a_threshold_is_as_fine_as_an_address_names_it() {
        assert_eq!(Threshold::of_percent(2.5).share(), 0.025);
        assert_eq!(Threshold::of_percent(1.0), Threshold::of_percent(1.004));
        assert_eq!([0.0, 100.0].map(|percent| Threshold::of_percent(percent).share()), [0.0, 1.0]);
    }
}
