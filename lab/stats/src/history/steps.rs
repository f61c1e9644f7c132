//! Steps between the commits of a series: by exact values, by samples of counts with several seeds,
//! or by the statistics for series with noise.

use super::layout_part::step_layouts;
use super::quirks::cause;
use super::scatter::{FoundBy, SeriesEvidence, Sides, step_boots};
use crate::bisect::{DETECTABLE_DEVIATIONS, Point, SampleLevel, are_same, for_zero, sample_levels, step_chances};
use crate::changes::{Changes, Observation, SEARCHED_POINTS, SHORTEST, SeriesError, Settings, Status, Step, changes};
use crate::history::runs::HistoryRun;
use crate::history::{
    CpuTimeStep, CpuTimeSteps, HistoryPoint, HistorySeries, HistoryStep, HistorySteps, PointResult, StepBasis,
    StepState,
};
use crate::thresholds::{CHANGE_FALSE_ALARMS, CHANGE_LEAST};
use faultline_record::direction::{Direction, Effect};
use faultline_record::quantity::Quantity;

/// Divisor of the false-positive rate: by samples of counts, a step is found if the probability of
/// none is at most the quotient.
const INVENTED_PART: f64 = 10.0;

/// Further divisor for a firm step.
const FIRM_PART: f64 = 10.0;

/// Minimum number of seeds of compared commits.
const FEWEST_COMPARED: u32 = 3;

/// Minimum least change for samples of counts.
const LEAST_OF_SAMPLES: f64 = 0.001;

/// Settings of the search for steps.
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

/// The steps of a series, without their states. `evidence`: of the runs of the series
/// ([`super::scatter`]).
///
/// # Errors
///
/// A false-positive rate or a minimum change out of range.
pub fn steps_by(
    series: &HistorySeries,
    evidence: &SeriesEvidence,
    settings: &StepSettings,
) -> Result<HistorySteps, SeriesError> {
    let mut found = match &evidence.found_by {
        FoundBy::Times(measured_by) => steps_of_times(&series.points, measured_by, settings)?,
        FoundBy::Counts(counts) => steps_of_counts(&series.points, counts, settings)?,
    };
    let last = series.points.len().saturating_sub(1) as u32;
    for number in 0..found.steps.len() {
        let sides = Sides::of(&found, number, last);
        let step = &mut found.steps[number];
        step.cause = cause(step, &sides, &series.points, &series.quirks, settings.least_change);
        step.layouts = step_layouts(step, &sides, &evidence.scatter, settings.least_change);
        step.boots = step_boots(&sides, &evidence.scatter);
    }
    Ok(found)
}

/// The values of the points with one.
fn observations(points: &[HistoryPoint]) -> Vec<Observation> {
    let observation = |(position, point): (u64, &HistoryPoint)| Some(Observation { position, value: point.value()? });
    (0..).zip(points).filter_map(observation).collect()
}

/// The values of builds: of consecutive points with one build, the first. Equal builds share their
/// executions, so further points are no further evidence.
fn observations_of_builds(points: &[HistoryPoint]) -> Vec<Observation> {
    let mut before = None;
    let mut all = observations(points);
    all.retain(|observation| {
        let own = Some(build(&points[observation.position as usize]));
        std::mem::replace(&mut before, own) != own
    });
    all
}

/// The last of the consecutive points with the build at `position`.
fn last_of_build(points: &[HistoryPoint], position: u32) -> u32 {
    let Some(first) = points.get(position as usize) else { return position };
    let later = (position..).zip(&points[position as usize..]).filter(|(_, point)| point.value().is_some());
    later.take_while(|(_, point)| build(point) == build(first)).last().map_or(position, |(at, _)| at)
}

fn of_changes(settings: &StepSettings) -> Settings {
    Settings { direction: Direction::Lower, false_alarms: settings.false_alarms, least_change: settings.least_change }
}

/// The steps between points with counts. `counts`: those of each point, one for each seed. If all
/// commits have equal counts with all seeds, counts are exact.
///
/// # Errors
///
/// A false-positive rate or a minimum change out of range.
pub(super) fn steps_of_counts(
    points: &[HistoryPoint],
    counts: &[Vec<f64>],
    settings: &StepSettings,
) -> Result<HistorySteps, SeriesError> {
    of_changes(settings).checked()?;
    let least_change = settings.least_change;
    let depend_on_seed = counts.iter().any(|counts| !are_same(counts, CHANGE_LEAST));
    let (basis, steps, unjudged) = match depend_on_seed {
        true => by_samples(points, counts, settings),
        false => (StepBasis::Exact, exact(&observations(points), least_change), 0),
    };
    Ok(HistorySteps { basis, least_change, steps, unjudged, unplaced: 0 })
}

/// The steps between points with noise. `measured_by`: positions of each run's commits, ascending.
///
/// # Errors
///
/// A false-positive rate or a minimum change out of range.
fn steps_of_times(
    points: &[HistoryPoint],
    measured_by: &[Vec<u32>],
    settings: &StepSettings,
) -> Result<HistorySteps, SeriesError> {
    let observations = observations_of_builds(points);
    let least_change = settings.least_change;
    match changes(&observations, &of_changes(settings)) {
        Ok(found) => {
            let mut steps = noisy(measured_by, found, observations.len());
            for step in &mut steps.steps {
                step.after = last_of_build(points, step.after);
                step.earliest = last_of_build(points, step.earliest);
            }
            Ok(steps)
        }
        Err(SeriesError::TooShort { points }) => {
            let points = points as u32;
            let basis = StepBasis::TooShort { points, needed: SHORTEST as u32 };
            Ok(HistorySteps { basis, least_change, steps: Vec::new(), unjudged: points, unplaced: 0 })
        }
        Err(error) => Err(error),
    }
}

/// The steps by the CPU times of a series whose times have none; `None` for other series.
pub(super) fn steps_of_cpu_times(
    series: &HistorySeries,
    runs: &[HistoryRun<'_>],
    settings: &StepSettings,
) -> Option<CpuTimeSteps> {
    if series.quantity != Quantity::Time || !series.steps.steps.is_empty() {
        return None;
    }
    let cpu_time = |observation: Observation| {
        let point = &series.points[observation.position as usize];
        let run = runs.iter().find(|run| Some(run.head.id) == point.run)?;
        let value = *run.results.cpu_times.get(&point.commit.id)?;
        Some(Observation { value, ..observation })
    };
    let observations: Vec<Observation> =
        observations_of_builds(&series.points).into_iter().filter_map(cpu_time).collect();
    let found = changes(&observations, &of_changes(settings)).ok()?;
    let step = |step: &Step| CpuTimeStep {
        after: last_of_build(&series.points, step.after as u32),
        by: step.by as u32,
        from: step.from,
        to: step.to,
    };
    Some(CpuTimeSteps {
        false_alarms: found.false_alarms,
        detectable: found.detectable,
        steps: found.steps.iter().map(step).collect(),
    })
}

/// Neighbours with a step between their samples of counts, and the number of commits with too small
/// samples: the variance of their counts would be taken from other commits, which may vary much
/// less.
fn by_samples(
    points: &[HistoryPoint],
    counts: &[Vec<f64>],
    settings: &StepSettings,
) -> (StepBasis, Vec<HistoryStep>, u32) {
    let zero = for_zero(counts.iter().flatten().copied());
    let seeds = counts.iter().map(|counts| counts.len() as u32).filter(|seeds| *seeds > 0);
    let measured: Vec<usize> = (0..points.len()).filter(|at| counts[*at].len() >= FEWEST_COMPARED as usize).collect();
    let logarithms = |at: &usize| counts[*at].iter().map(|count| count.max(zero).ln()).collect();
    let levels = sample_levels(&measured.iter().map(logarithms).collect::<Vec<Vec<f64>>>());
    let point = |i: usize| Point {
        position: measured[i] as u32,
        level: levels[i].level,
        variance: levels[i].variance,
        is_same_build: i > 0 && build(&points[measured[i - 1]]) == build(&points[measured[i]]),
    };
    let line: Vec<Point> = (0..measured.len()).map(point).collect();
    let last = points.len().saturating_sub(1) as u32;
    let chances = step_chances(&line, last, settings.least_change.max(LEAST_OF_SAMPLES).ln_1p());
    let no_step = settings.false_alarms / INVENTED_PART;
    let mut steps = Vec::new();
    for (pair, chance) in measured.windows(2).zip(chances) {
        let (Some(from), Some(to)) = (points[pair[0]].value(), points[pair[1]].value()) else { continue };
        let is_large = from != to && (to - from).abs() >= settings.least_change * from.abs();
        if is_large && 1.0 - chance.of_any <= no_step {
            let is_firm = 1.0 - chance.of_any <= no_step / FIRM_PART;
            let status = if is_firm { Status::Firm } else { Status::Provisional };
            steps.push(HistoryStep { status: Some(status), ..between((pair[0] as u32, pair[1] as u32), (from, to)) });
        }
    }
    let deviation = |pair: &[SampleLevel]| DETECTABLE_DEVIATIONS * (pair[0].variance + pair[1].variance).sqrt();
    let detectable = levels.windows(2).map(deviation).reduce(f64::max);
    let basis = StepBasis::Seeds {
        needed: FEWEST_COMPARED,
        fewest: seeds.clone().min().unwrap_or(0),
        most: seeds.clone().max().unwrap_or(0),
        no_step,
        detectable: detectable.map(|greatest| greatest.exp_m1().max(settings.least_change)),
    };
    (basis, steps, (seeds.count() - measured.len()) as u32)
}

/// The commit whose build was executed for a point.
fn build(point: &HistoryPoint) -> &str {
    match &point.result {
        PointResult::Measured { same_as: Some(other), .. } => other,
        _ => &point.commit.id,
    }
}

/// A step between two neighbours, whose place is certain.
fn between((after, by): (u32, u32), (from, to): (f64, f64)) -> HistoryStep {
    HistoryStep {
        after,
        by,
        earliest: after,
        latest: by,
        from,
        to,
        effect: if to < from { Effect::Better } else { Effect::Worse },
        status: None,
        between_runs: false,
        cause: None,
        layouts: None,
        boots: None,
        state: StepState::default(),
        between: None,
    }
}

/// Neighbours that differ by the least change or more.
fn exact(observations: &[Observation], least_change: f64) -> Vec<HistoryStep> {
    let step = |pair: &[Observation]| {
        let [before, after] = [&pair[0], &pair[1]];
        let (from, to) = (before.value, after.value);
        let differs = from != to && (to - from).abs() >= least_change * from.abs();
        differs.then(|| between((before.position as u32, after.position as u32), (from, to)))
    };
    observations.windows(2).filter_map(step).collect()
}

/// Steps found by statistics.
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
        layouts: None,
        boots: None,
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
            detectable: found.detectable,
            cautions: found.cautions,
        },
        unjudged: observations.min(SEARCHED_POINTS - 1) as u32,
        unplaced: 0,
    }
}

/// True if a run measured a commit before a step and one after it.
fn has_both_sides(run: &[u32], step: &Step) -> bool {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return false };
    *first as usize <= step.earliest as usize && step.latest as usize <= *last as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::history::example::commit;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn points(values: &[Option<f64>]) -> Vec<HistoryPoint> {
        let point = |(position, value): (u32, &Option<f64>)| HistoryPoint {
            commit: commit(position),
            run: None,
            environment: 0,
            result: value.map_or(PointResult::None, |value| PointResult::Measured {
                estimate: Estimate { median: value, low: value, high: value, coverage: 0.0, n: 1 },
                least: None,
                same_as: None,
            }),
        };
        (0..).zip(values).map(point).collect()
    }

    /// Each value as the count with one seed.
    fn counts(values: &[Option<f64>]) -> Vec<Vec<f64>> {
        values.iter().map(|value| value.as_slice().to_vec()).collect()
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
        let found = steps_of_counts(&points(&values), &counts(&values), &settings).unwrap();
        let places: Vec<_> = found.steps.iter().map(|step| (step.after, step.by, step.effect)).collect();
        assert_eq!(
            places,
            [(3, 5, Effect::Worse), (5, 6, Effect::Better), (6, 7, Effect::Better), (8, 9, Effect::Worse)]
        );
        assert_eq!((found.basis, found.unjudged), (StepBasis::Exact, 0));
    }

    /// Counts of commits with six seeds, which differ by `spread` between seeds and between
    /// commits; from the sixth commit on `ratio` times as large.
    fn sampled(series: u64, ratio: f64, [before, after]: [f64; 2]) -> Vec<Vec<f64>> {
        let mut random = ChaCha8Rng::seed_from_u64(series);
        let mut normal = || (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
        let mut count = |at: u32| {
            let (level, spread) = if at < 6 { (1.0, before) } else { (ratio, after) };
            1000.0 * level * (spread * normal()).exp()
        };
        (0..14).map(|at| (0..6).map(|_| count(at)).collect()).collect()
    }

    fn steps_of(samples: &[Vec<f64>]) -> HistorySteps {
        let medians: Vec<Option<f64>> =
            samples.iter().map(|counts| crate::estimate::estimate(counts).map(|estimate| estimate.median)).collect();
        steps_of_counts(&points(&medians), samples, &StepSettings::default()).unwrap()
    }

    #[test]
    fn counts_that_vary_by_seed_have_a_step_where_their_samples_differ_and_nowhere_else() {
        let places = |found: &HistorySteps| found.steps.iter().map(|step| (step.after, step.by)).collect::<Vec<_>>();
        let invented =
            |spread| (0..100).filter(|series| !steps_of(&sampled(*series, 1.0, [spread; 2])).steps.is_empty()).count();
        let wrong = [0.02, 0.1, 0.25].map(invented);
        assert!(wrong.iter().all(|series| *series <= 10), "{wrong:?} of 100 series have a step");
        for spreads in [[0.15, 0.15], [0.2, 0.02], [0.0, 0.2]] {
            let found: Vec<HistorySteps> = (0..50).map(|series| steps_of(&sampled(series, 3.0, spreads))).collect();
            assert!(found.iter().all(|found| matches!(found.basis, StepBasis::Seeds { fewest: 6, most: 6, .. })));
            let right = found.iter().filter(|found| places(found) == [(5, 6)]).count();
            assert!(right >= 45, "{spreads:?}: {right} of 50 are right");
        }
    }

    #[test]
    fn commits_with_few_seeds_are_not_judged_by_the_variance_of_others() {
        // The counts of the older half hardly vary; those of the newer half vary by a third, with
        // one seed each.
        let mut samples: Vec<Vec<f64>> = (0..6).map(|_| vec![47_900.0, 47_950.0, 47_980.0]).collect();
        samples.extend([111.0, 84.0, 112.0, 53.0, 100.0].map(|count| vec![count]));
        samples.push(vec![85.0, 105.0]);
        let found = steps_of(&samples);
        assert!(matches!(found.basis, StepBasis::Seeds { needed: 3, fewest: 1, most: 3, .. }), "{:?}", found.basis);
        assert_eq!((found.steps.as_slice(), found.unjudged), (&[][..], 6));
        // With enough seeds the step is found.
        samples.truncate(6);
        samples.extend((0..4).map(|_| vec![84.0, 112.0, 99.0]));
        let found = steps_of(&samples);
        let places: Vec<_> = found.steps.iter().map(|step| (step.after, step.by)).collect();
        assert_eq!((places.as_slice(), found.unjudged), (&[(5, 6)][..], 0));
    }

    #[test]
    fn one_commit_whose_counts_vary_makes_samples_of_all() {
        let mut samples = vec![vec![100.0]; 6];
        assert_eq!(steps_of(&samples).basis, StepBasis::Exact);
        samples[3] = vec![100.0, 100.0];
        assert_eq!(steps_of(&samples).basis, StepBasis::Exact);
        samples[3] = vec![100.0, 140.0];
        assert!(matches!(steps_of(&samples).basis, StepBasis::Seeds { fewest: 1, most: 2, .. }));
    }

    /// 72 commits in 24 builds, the later half slower. Equal values of equal builds are no evidence
    /// of little noise.
    #[test]
    fn commits_with_one_build_are_one_point() {
        let of_build = |build: u32| {
            let noise = 0.01 * f64::from(build * 7 % 11);
            Some(if build < 12 { 1.0 } else { 1.5 } + noise)
        };
        let mut points = points(&(0..72).map(|at| of_build(at / 3)).collect::<Vec<_>>());
        for (at, point) in (0..).zip(&mut points) {
            if let PointResult::Measured { same_as, .. } = &mut point.result {
                *same_as = (at % 3 > 0).then(|| commit(at / 3 * 3).id);
            }
        }
        assert_eq!(observations_of_builds(&points).len(), 24);
        let found = steps_of_times(&points, &[(0..72).collect()], &StepSettings::default()).unwrap();
        let places: Vec<_> = found.steps.iter().map(|step| (step.after, step.by)).collect();
        assert_eq!(places, [(35, 36)], "the last commit of the build before, and the first of the one after");
    }

    #[test]
    fn impossible_settings_are_refused() {
        let wrong = StepSettings { least_change: -1.0, ..StepSettings::default() };
        assert_eq!(steps_of_counts(&points(&[Some(1.0)]), &[vec![1.0]], &wrong), Err(SeriesError::LeastChange(-1.0)));
        assert_eq!(steps_of_times(&points(&[Some(1.0)]), &[], &wrong), Err(SeriesError::LeastChange(-1.0)));
    }
}
