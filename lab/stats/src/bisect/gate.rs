//! The gate of a search along a line: open, unless a commit made the measure worse or the search
//! cannot exclude that.

use super::{BisectResult, FoundStep, Slope};
use crate::gate::Gate;
use faultline_record::bisect::BisectSettings;
use faultline_record::plan::WhenInconclusive;

/// A finding of the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding<'a> {
    /// A step to worse values.
    SlowerStep(&'a FoundStep),
    /// A stretch with a slope to worse values.
    SlowerSlope(&'a Slope),
    /// An end of the line cannot be measured, so the line was not searched.
    UnusableEnd {
        /// Its position.
        end: u32,
    },
    /// The search is not over.
    Unfinished,
    /// A step of unknown direction.
    Undirected(&'a FoundStep),
    /// Changes of the requested size were not detectable.
    Insensitive {
        /// The smallest detectable change, as a share; `None` if unknown.
        detectable: Option<f64>,
        /// The requested smallest change.
        least: f64,
    },
    /// A further step of the requested size is possible.
    PerhapsMore {
        /// Its probability.
        probability: f64,
        /// The requested smallest change.
        least: f64,
    },
}

impl<'a> Gate<Finding<'a>> {
    /// The findings of the gate for a search with these settings.
    pub fn of_search(found: &'a BisectResult, settings: &BisectSettings, when_inconclusive: WhenInconclusive) -> Self {
        let steps = found.steps.iter().filter_map(|found| step(found, settings.level));
        let slopes = found.slopes.iter().filter(|slope| slope.ratio > 1.0).map(Finding::SlowerSlope);
        let (closed_by, noted) = steps
            .chain(slopes)
            .chain(unknown(found, settings))
            .partition(|finding| !finding.is_inconclusive() || when_inconclusive == WhenInconclusive::Fail);
        Gate { closed_by, noted }
    }
}

/// The finding for a step; `None` for a step to better values. Its direction is known if its
/// interval excludes no change. A step that is certain at the level and looks worse counts as worse
/// even with a wide interval.
fn step(step: &FoundStep, level: f64) -> Option<Finding<'_>> {
    match step.change {
        Some(change) if change.low > 1.0 || (change.ratio > 1.0 && step.probability >= level) => {
            Some(Finding::SlowerStep(step))
        }
        Some(change) if change.high < 1.0 => None,
        // A ratio to 0 is not a number.
        None if step.values.is_some_and(|[before, after]| before < after) => Some(Finding::SlowerStep(step)),
        _ => Some(Finding::Undirected(step)),
    }
}

/// The questions that the search left open.
fn unknown<'a>(found: &BisectResult, settings: &BisectSettings) -> Vec<Finding<'a>> {
    if let Some(end) = found.unusable_end {
        return vec![Finding::UnusableEnd { end }];
    }
    if !found.finished {
        return vec![Finding::Unfinished];
    }
    let least = settings.least;
    let is_sensitive = found.detectable.is_some_and(|detectable| detectable <= least);
    let insensitive = (!is_sensitive).then_some(Finding::Insensitive { detectable: found.detectable, least });
    let probability = found.undetected;
    let more = (probability > 1.0 - settings.level).then_some(Finding::PerhapsMore { probability, least });
    insensitive.into_iter().chain(more).collect()
}

impl Finding<'_> {
    /// True if a finished search cannot exclude a commit with worse values.
    fn is_inconclusive(&self) -> bool {
        match self {
            Finding::SlowerStep(_) | Finding::SlowerSlope(_) | Finding::UnusableEnd { .. } | Finding::Unfinished => {
                false
            }
            Finding::Undirected(_) | Finding::Insensitive { .. } | Finding::PerhapsMore { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::{Change, StepLabel};
    use faultline_record::bisect::Noise;

    const SETTINGS: BisectSettings =
        BisectSettings { noise: Noise::Any, level: 0.95, least: 0.02, most_blocks: 60, layouts: 0, thorough: false };

    /// A finished search of four commits without steps.
    fn nothing() -> BisectResult {
        BisectResult {
            format: BisectResult::FORMAT.to_owned(),
            finished: true,
            ends_show: None,
            unusable_end: None,
            unusable_because: None,
            budget_used: false,
            remaining: Vec::new(),
            by_cpu_time: None,
            load: None,
            steps: Vec::new(),
            slopes: Vec::new(),
            course: Vec::new(),
            probability_by_position: vec![0.01; 3],
            detectable: Some(0.02),
            undetected: 0.03,
            longest_unseen: 0,
            trials: 2,
            known: 0,
            unusable: 0,
            blocks: 6,
            executions: 12,
        }
    }

    /// A step at position 2.
    fn step_of(change: Option<(f64, f64)>) -> FoundStep {
        FoundStep {
            before: 1,
            after: 2,
            candidates: vec![2],
            probability: 0.99,
            found: true,
            confirmed: true,
            change: change.map(|(ratio, high)| Change { ratio, low: 0.5, high, units: 8 }),
            values: None,
            label: StepLabel::Inconclusive,
            under_layouts: None,
            layouts: None,
            of_environment: None,
            of_commits: None,
            reverted: None,
            explained: None,
            moved: None,
            counters: Vec::new(),
        }
    }

    /// The gate's state: by default, and if inconclusive searches pass.
    fn opens(found: &BisectResult) -> (bool, bool) {
        let is_open = |when| Gate::of_search(found, &SETTINGS, when).is_open();
        (is_open(WhenInconclusive::Fail), is_open(WhenInconclusive::Pass))
    }

    #[test]
    fn a_gate_is_open_if_the_search_excludes_what_was_searched_for() {
        assert_eq!(opens(&nothing()), (true, true));
        let faster = BisectResult { steps: vec![step_of(Some((0.8, 0.9)))], ..nothing() };
        assert_eq!(opens(&BisectResult { undetected: 0.049, ..faster }), (true, true));
        let slope = |ratio| BisectResult { slopes: vec![Slope { from: 0, to: 3, ratio }], ..nothing() };
        assert_eq!(opens(&slope(0.9)), (true, true));
    }

    #[test]
    fn what_is_slower_closes_it_always() {
        let slope = Slope { from: 0, to: 3, ratio: 1.01 };
        assert_eq!(opens(&BisectResult { slopes: vec![slope], ..nothing() }), (false, false));
        assert_eq!(opens(&BisectResult { steps: vec![step_of(Some((1.001, 1.1)))], ..nothing() }), (false, false));
    }

    #[test]
    fn a_count_that_was_0_before_closes_it() {
        let from_0 = FoundStep { values: Some([0.0, 7.0]), probability: 1.0, ..step_of(None) };
        assert_eq!(opens(&BisectResult { steps: vec![from_0], ..nothing() }), (false, false));
    }

    #[test]
    fn a_step_that_is_not_certain_and_perhaps_none_is_inconclusive() {
        let uncertain = |low| FoundStep {
            probability: 0.7,
            change: Some(Change { ratio: 1.1, low, high: 1.3, units: 8 }),
            ..step_of(None)
        };
        assert_eq!(opens(&BisectResult { steps: vec![uncertain(0.9)], ..nothing() }), (false, true));
        assert_eq!(opens(&BisectResult { steps: vec![uncertain(1.01)], ..nothing() }), (false, false));
    }

    #[test]
    fn what_was_not_searched_closes_it_always() {
        assert_eq!(opens(&BisectResult { finished: false, ..nothing() }), (false, false));
        let broken = BisectResult { unusable_end: Some(3), detectable: None, ..nothing() };
        assert_eq!(opens(&broken), (false, false));
        let gate = Gate::of_search(&broken, &SETTINGS, WhenInconclusive::Fail);
        assert_eq!(gate.closed_by, [Finding::UnusableEnd { end: 3 }]);
    }

    #[test]
    fn what_is_inconclusive_closes_it_by_default() {
        for detectable in [Some(0.0201), None] {
            assert_eq!(opens(&BisectResult { detectable, ..nothing() }), (false, true));
        }
        assert_eq!(opens(&BisectResult { undetected: 0.051, ..nothing() }), (false, true));
        for change in [None, Some((0.98, 1.02))] {
            assert_eq!(opens(&BisectResult { steps: vec![step_of(change)], ..nothing() }), (false, true));
        }
    }
}
