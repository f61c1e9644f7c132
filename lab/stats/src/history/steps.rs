//! Steps between the commits of a series: by exact values, or by the statistics for series with noise.

use super::quirks::cause;
use crate::changes::{Observation, SEGMENT_POINTS, SHORTEST, SeriesError, Settings, changes};
use crate::thresholds::{CHANGE_FALSE_ALARMS, CHANGE_LEAST};
use faultline_model::changes::{Changes, Effect, Step};
use faultline_model::direction::Direction;
use faultline_model::history::change::StepState;
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep, HistorySteps, StepBasis};

/// How steps are searched for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSettings {
    /// False-positive rate: the share of series without a step in which one may be found.
    pub false_alarms: f64,
    /// Smallest change that is a step, as a share of the value before.
    pub least_change: f64,
}

impl Default for StepSettings {
    fn default() -> Self {
        StepSettings { false_alarms: CHANGE_FALSE_ALARMS, least_change: CHANGE_LEAST }
    }
}

/// The steps of a series by other settings than those that it was made with. `measured_by`: by the runs of the series ([`super::measured_by`]). Of their states nothing is known.
///
/// # Errors
/// A false-positive rate or a minimum change out of range.
pub fn steps_by(
    series: &HistorySeries,
    measured_by: &[Vec<u32>],
    settings: &StepSettings,
) -> Result<HistorySteps, SeriesError> {
    let mut found = steps(&series.points, measured_by, series.counted.is_some(), settings)?;
    for step in &mut found.steps {
        step.cause = cause(step, &series.points, &series.quirks, settings.least_change);
    }
    Ok(found)
}

/// The steps between points, without their causes. `measured_by`: positions of the commits that each run measured, ascending; `is_exact`: each execution of a commit
/// has the same value.
///
/// # Errors
/// A false-positive rate or a minimum change out of range.
pub(super) fn steps(
    points: &[HistoryPoint],
    measured_by: &[Vec<u32>],
    is_exact: bool,
    settings: &StepSettings,
) -> Result<HistorySteps, SeriesError> {
    let observations: Vec<Observation> = (0..)
        .zip(points)
        .filter_map(|(position, point)| Some(Observation { position, value: point.value()? }))
        .collect();
    let of_changes = Settings {
        direction: Direction::Lower,
        false_alarms: settings.false_alarms,
        least_change: settings.least_change,
    };
    let least_change = settings.least_change;
    if is_exact {
        of_changes.checked()?;
        let steps = exact(&observations, least_change);
        return Ok(HistorySteps { basis: StepBasis::Exact, least_change, steps, unjudged: 0, unplaced: 0 });
    }
    match changes(&observations, &of_changes) {
        Ok(found) => Ok(noisy(measured_by, found, observations.len())),
        Err(SeriesError::TooShort { points }) => {
            let points = points as u32;
            let basis = StepBasis::TooShort { points, needed: SHORTEST as u32 };
            Ok(HistorySteps { basis, least_change, steps: Vec::new(), unjudged: points, unplaced: 0 })
        }
        Err(error) => Err(error),
    }
}

/// Neighbours that differ by the least change or more.
fn exact(observations: &[Observation], least_change: f64) -> Vec<HistoryStep> {
    let step = |pair: &[Observation]| {
        let [before, after] = [&pair[0], &pair[1]];
        let (from, to) = (before.value, after.value);
        let differs = from != to && (to - from).abs() >= least_change * from.abs();
        differs.then_some(HistoryStep {
            after: before.position as u32,
            by: after.position as u32,
            earliest: before.position as u32,
            latest: after.position as u32,
            from,
            to,
            effect: if to < from { Effect::Better } else { Effect::Worse },
            status: None,
            between_runs: false,
            cause: None,
            state: StepState::default(),
            between: None,
        })
    };
    observations.windows(2).filter_map(step).collect()
}

/// Steps that were found by statistics.
fn noisy(measured_by: &[Vec<u32>], found: Changes, observations: usize) -> HistorySteps {
    let step = |step: &Step| HistoryStep {
        after: step.after as u32,
        by: step.by as u32,
        earliest: step.earliest as u32,
        latest: step.latest as u32,
        from: step.from,
        to: step.to,
        effect: step.effect,
        status: Some(step.status),
        between_runs: !measured_by.iter().any(|run| has_both_sides(run, step)),
        cause: None,
        state: StepState::default(),
        between: None,
    };
    HistorySteps {
        steps: found.steps.iter().map(step).collect(),
        least_change: found.least_change,
        basis: StepBasis::Noisy {
            false_alarms: found.false_alarms,
            false_confirmations: found.false_confirmations,
            smaller: found.smaller,
            cautions: found.cautions,
        },
        unjudged: observations.min(SEGMENT_POINTS - 1) as u32,
        unplaced: 0,
    }
}

/// Whether a run measured a commit before a step, and one after it.
fn has_both_sides(run: &[u32], step: &Step) -> bool {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return false };
    *first as usize <= step.earliest as usize && step.latest as usize <= *last as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::example::commit;
    use faultline_model::estimate::Estimate;
    use faultline_model::history::PointResult;

    fn points(values: &[Option<f64>]) -> Vec<HistoryPoint> {
        let point = |(position, value): (u32, &Option<f64>)| HistoryPoint {
            commit: commit(position),
            run: None,
            surroundings: 0,
            result: value.map_or(PointResult::None, |value| PointResult::Measured {
                estimate: Estimate { median: value, low: value, high: value, coverage: 0.0, n: 1 },
                same_as: None,
            }),
        };
        (0..).zip(values).map(point).collect()
    }

    #[test]
    fn exact_values_are_compared_with_their_neighbours_across_gaps() {
        let values = [
            Some(100.0),
            None,
            Some(100.0),
            Some(101.0),
            None,
            Some(150.0),
            Some(75.0),
            Some(0.0),
            Some(0.0),
            Some(3.0),
        ];
        let settings = StepSettings { least_change: 0.02, ..StepSettings::default() };
        let found = steps(&points(&values), &[], true, &settings).unwrap();
        let places: Vec<_> = found.steps.iter().map(|step| (step.after, step.by, step.effect)).collect();
        assert_eq!(
            places,
            [(3, 5, Effect::Worse), (5, 6, Effect::Better), (6, 7, Effect::Better), (8, 9, Effect::Worse)]
        );
        assert_eq!((found.basis, found.unjudged), (StepBasis::Exact, 0));
    }

    #[test]
    fn impossible_settings_are_refused() {
        let wrong = StepSettings { least_change: -1.0, ..StepSettings::default() };
        assert_eq!(steps(&points(&[Some(1.0)]), &[], true, &wrong), Err(SeriesError::LeastChange(-1.0)));
        assert_eq!(steps(&points(&[Some(1.0)]), &[], false, &wrong), Err(SeriesError::LeastChange(-1.0)));
    }
}
