//! Finds the steps of a series: grows a tree of candidate places, keeps those that no noise
//! explains better, then checks and places each of them.

use super::check::{keep_what_holds, restless, segments, unlike_any_noise};
use super::detectable::detectable;
use super::newest::newest_step;
use super::noise::{NoiseKind, kinds};
use super::prune::{CALIBRATED, Fitted, Selected, penalty};
use super::series::{Observation, SHORTEST, Series, SeriesError, series};
use super::split::split;
use super::sums::Sums;
use super::tree::grown;
use crate::changes::{ChangeCaution, Changes, Segment, Status, Step};
use crate::median::median;
use crate::thresholds::{
    CHANGE_CONFIRMED, CHANGE_FALSE_ALARMS, CHANGE_LEAST, CHANGE_POINTS_AFTER, CHANGE_SHORT_POINTS, COVERAGE,
};
use faultline_record::direction::{Direction, Effect};

/// Minimum gain over white noise of a candidate place, and of a step at its place. Chance alone
/// reaches it in every longer segment.
const LOOKED_AT: f64 = 4.0;

/// From this number of points on, parts of a series determine the kind of noise.
const LONG: usize = 16_384;

/// Number of these parts, and of their points.
const PARTS: usize = 8;
const PART_POINTS: usize = 2048;

/// Steps at two rates are one step if they are less than this many points apart.
const SAME_STEP: usize = 5;

/// Settings of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Better direction.
    pub direction: Direction,
    /// False-positive rate: the share of series without a step in which one may be found, 0.001 to
    /// 0.2.
    pub false_alarms: f64,
    /// Smallest change of the level that is reported, as a share of the level before. 0: any.
    pub least_change: f64,
}

impl Settings {
    /// Settings with the default false-positive rate and minimum change.
    pub fn new(direction: Direction) -> Self {
        Settings { direction, false_alarms: CHANGE_FALSE_ALARMS, least_change: CHANGE_LEAST }
    }

    /// Fails if a setting is out of range.
    pub(crate) fn checked(&self) -> Result<(), SeriesError> {
        if !CALIBRATED.contains(&self.false_alarms) {
            return Err(SeriesError::FalseAlarms(self.false_alarms));
        }
        if !(self.least_change.is_finite() && self.least_change >= 0.0) {
            return Err(SeriesError::LeastChange(self.least_change));
        }
        Ok(())
    }
}

/// The steps of a series, and the segments between them. The search uses no random numbers: the
/// same observations give the same steps.
///
/// # Errors
/// Values that are not finite, fewer than 12 points, or settings out of range.
pub fn changes(observations: &[Observation], settings: &Settings) -> Result<Changes, SeriesError> {
    settings.checked()?;
    let series = series(observations)?;
    let points = series.values.len();
    if points < SHORTEST {
        return Err(SeriesError::TooShort { points });
    }
    let rare = CHANGE_CONFIRMED.min(settings.false_alarms);
    let nodes = grown(&series, LOOKED_AT);
    let fitted = Fitted::new(&series, &nodes, kinds_of(&series, settings.false_alarms));
    let told = |rate| passing(&series, fitted.selected(penalty(points, rate)));
    let (mut selected, sure) = (told(settings.false_alarms), told(rare));
    let mut cuts = placed_with_gain(&series, &mut selected, &sure);
    let last = cuts.last().map_or(0, |cut| cut.at);
    cuts.extend(newest_step(&series, last, settings.false_alarms).map(Cut::newest));
    let smaller = leave_out_small(&series, &mut cuts, settings.least_change);
    let cautions = cautions(&series, &selected, &mut cuts);
    let segments = described(&series, &cuts);
    let detectable = detectable(&series, &segments, penalty(points, settings.false_alarms))
        .map(|least| least.max(settings.least_change));
    let steps = cuts.iter().enumerate().map(|(i, cut)| step(&series, cut, &segments, i, settings.direction));
    Ok(Changes {
        format: Changes::FORMAT.to_owned(),
        false_alarms: settings.false_alarms,
        false_confirmations: rare,
        least_change: settings.least_change,
        smaller,
        detectable,
        cautions,
        steps: steps.collect(),
        segments,
    })
}

/// The kinds of noise to choose from: all; for a long series white noise and the one that describes
/// parts of it best.
fn kinds_of(series: &Series, false_alarms: f64) -> Vec<NoiseKind> {
    let points = series.values.len();
    let kinds = kinds();
    if points < LONG {
        return kinds;
    }
    let mut costs = vec![0.0; kinds.len()];
    for part in 0..PARTS {
        let from = part * (points - PART_POINTS) / (PARTS - 1);
        let part = series.part(from, from + PART_POINTS);
        let nodes = grown(&part, LOOKED_AT);
        let of_part = Fitted::new(&part, &nodes, kinds.clone()).costs(penalty(PART_POINTS, false_alarms));
        costs.iter_mut().zip(of_part).for_each(|(cost, of_part)| *cost += of_part);
    }
    let best = (1..kinds.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).expect("there are several kinds");
    vec![kinds[0].clone(), kinds[best].clone()]
}

/// The selected steps that pass the checks.
fn passing(series: &Series, mut selected: Selected) -> Selected {
    selected.merge(series);
    keep_what_holds(series, &mut selected);
    selected
}

/// The cautions of a series. Steps for which the stricter rate does not hold lose their certainty.
fn cautions(series: &Series, selected: &Selected, cuts: &mut [Cut]) -> Vec<ChangeCaution> {
    let points = series.values.len();
    let mut cautions = Vec::new();
    for stretch in restless(&cuts.iter().map(|cut| cut.at).collect::<Vec<_>>()) {
        let steps = &mut cuts[stretch];
        steps.iter_mut().for_each(|step| step.sure = false);
        let [first, last] = [steps[0].at - 1, steps[steps.len() - 1].at].map(|at| series.positions[at]);
        cautions.push(ChangeCaution::Restless { steps: steps.len() as u32, first, last });
    }
    if let Some(likeness) = unlike_any_noise(series, selected) {
        cuts.iter_mut().for_each(|step| step.sure = false);
        cautions.push(ChangeCaution::UnlikeAnyNoise { likeness });
    }
    if !cuts.is_empty() && points < CHANGE_SHORT_POINTS {
        cautions.push(ChangeCaution::Short { points: points as u32 });
    }
    let wander = selected.kind.wander().filter(|_| has_noise(series, cuts));
    cautions.extend(wander.map(|share| ChangeCaution::Wanders { share }));
    cautions
}

/// True if the values between two steps differ anywhere. Exact counts have no noise of any kind.
fn has_noise(series: &Series, cuts: &[Cut]) -> bool {
    let cuts: Vec<usize> = cuts.iter().map(|cut| cut.at).collect();
    segments(&cuts, series.values.len())
        .any(|(from, to)| series.values[from..to].windows(2).any(|two| two[0] != two[1]))
}

/// A step, by indices of points of the series.
struct Cut {
    /// The first point after it.
    at: usize,
    /// The first and the last place in its range.
    range: (usize, usize),
    gain: f64,
    /// True for a neighbouring segment that drifts, as fitted between the adjacent steps.
    drift: [bool; 2],
    /// True if it is also found at the stricter rate, and no caution is against it.
    sure: bool,
}

impl Cut {
    /// A step among the newest points, which no search has confirmed.
    fn newest(at: usize) -> Cut {
        Cut { at, range: (at, at), gain: 0.0, drift: [false; 2], sure: false }
    }
}

/// Every step at its best place, without those that explain hardly anything there: a rise that
/// bends looks like stairs to the earlier checks.
fn placed_with_gain(series: &Series, selected: &mut Selected, sure: &Selected) -> Vec<Cut> {
    loop {
        let cuts = placed(series, selected, sure);
        let weakest = cuts.iter().enumerate().min_by(|a, b| a.1.gain.total_cmp(&b.1.gain));
        match weakest {
            Some((i, weakest)) if weakest.gain < LOOKED_AT => _ = selected.cuts.remove(i),
            _ => return cuts,
        }
    }
}

/// Every step at its best place between its neighbours, with its range.
fn placed(series: &Series, selected: &Selected, sure: &Selected) -> Vec<Cut> {
    let mut bounds: Vec<usize> = segments(&selected.cuts, series.values.len()).map(|(from, _)| from).collect();
    bounds.push(series.values.len());
    let mut sums = Sums::default();
    let mut cuts: Vec<Cut> = Vec::new();
    for i in 1..bounds.len() - 1 {
        let (from, to) = (bounds[i - 1], bounds[i + 1]);
        sums.take(&series.positions[from..to], &series.scaled[from..to]);
        let best = split(&sums, to - from).expect("a step has a segment on either side");
        let (first, last) = best.places_within(&sums, to - from, margin());
        let near = |other: &usize| other.abs_diff(bounds[i]) < SAME_STEP;
        cuts.push(Cut {
            at: from + best.at,
            range: (from + first, from + last),
            gain: best.gain,
            drift: best.sides_drift(&sums, to - from),
            sure: sure.cuts.iter().any(near),
        });
        bounds[i] = from + best.at;
    }
    cuts
}

/// Leaves out the steps that change the level by less than `least`, the smallest first, and returns
/// their number.
fn leave_out_small(series: &Series, cuts: &mut Vec<Cut>, least: f64) -> u32 {
    let mut count = 0;
    loop {
        let segments = described(series, cuts);
        let size = |pair: &[Segment]| {
            let (from, to) = ends(&pair[0], &pair[1]);
            if from == 0.0 { f64::INFINITY } else { ((to - from) / from).abs() }
        };
        let smallest = segments.windows(2).map(size).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match smallest {
            Some((i, size)) if size < least => _ = cuts.remove(i),
            _ => return count,
        }
        count += 1;
    }
}

/// A place is in the range of [`COVERAGE`] if it loses at most this much gain.
///
/// Source: D. Siegmund, Confidence Sets in Change-Point Problems, International Statistical Review
/// 56, 1988: the probability that the true place loses more than 2x is about 1 − (1 − e⁻ˣ)².
fn margin() -> f64 {
    -2.0 * (1.0 - COVERAGE.sqrt()).ln()
}

fn described(series: &Series, cuts: &[Cut]) -> Vec<Segment> {
    let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut.at).collect();
    bounds.insert(0, 0);
    bounds.push(series.values.len());
    let drifts = |i: usize| {
        let before = i.checked_sub(1).is_some_and(|before| cuts[before].drift[1]);
        before || cuts.get(i).is_some_and(|after| after.drift[0])
    };
    let stretches = bounds.windows(2).enumerate().filter(|(_, bounds)| bounds[0] < bounds[1]);
    stretches.map(|(i, bounds)| segment(series, bounds[0], bounds[1], drifts(i))).collect()
}

fn segment(series: &Series, from: usize, to: usize, drifts: bool) -> Segment {
    let (positions, values) = (&series.positions[from..to], &series.values[from..to]);
    let mut sums = Sums::default();
    sums.take(positions, values);
    let half_length = (positions[positions.len() - 1] - positions[0]) as f64 / 2.0;
    Segment {
        first: positions[0],
        last: positions[positions.len() - 1],
        points: (to - from) as u32,
        level: median(values).expect("a segment has points"),
        drift: (drifts && half_length > 0.0).then(|| sums.fit(0, to - from).slope / half_length),
    }
}

/// The value just before a step and just after it, without noise: the level, or the end of the
/// drift.
fn ends(before: &Segment, after: &Segment) -> (f64, f64) {
    let half = |segment: &Segment| segment.drift.unwrap_or(0.0) * (segment.last - segment.first) as f64 / 2.0;
    (before.level + half(before), after.level - half(after))
}

/// True if the `i`-th segment is short and ends with a step back towards the level before it: a
/// burst.
fn is_burst(segments: &[Segment], i: usize) -> bool {
    let Some(before) = i.checked_sub(1) else { return false };
    let [before, burst, after] = [&segments[before], &segments[i], &segments[i + 1]];
    (burst.points as usize) < CHANGE_POINTS_AFTER && (before.level < burst.level) != (burst.level < after.level)
}

/// The step between the `i`-th segment and the next.
fn step(series: &Series, cut: &Cut, segments: &[Segment], i: usize, direction: Direction) -> Step {
    let (before, after) = (&segments[i], &segments[i + 1]);
    let (from, to) = ends(before, after);
    // If a drift begins or ends at the step, both ends may be equal. Then the levels decide the
    // direction.
    let rises = if before.drift.is_some() || after.drift.is_some() { after.level > before.level } else { to > from };
    let sure = cut.sure && after.points as usize >= CHANGE_POINTS_AFTER && !is_burst(segments, i);
    Step {
        after: series.positions[cut.at - 1],
        by: series.positions[cut.at],
        earliest: series.positions[cut.range.0 - 1],
        latest: series.positions[cut.range.1],
        from,
        to,
        effect: if rises == (direction == Direction::Higher) { Effect::Better } else { Effect::Worse },
        status: if sure { Status::Firm } else { Status::Provisional },
        gain: cut.gain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn observed(values: impl IntoIterator<Item = f64>) -> Vec<Observation> {
        values.into_iter().enumerate().map(|(i, value)| Observation { position: i as u64, value }).collect()
    }

    fn found(observations: &[Observation]) -> Vec<Step> {
        changes(observations, &Settings::new(Direction::Higher)).unwrap().steps
    }

    /// Normal noise of standard deviation 1 for the `i`-th point.
    fn wobble(i: usize) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(i as u64);
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }

    /// The stated step, five points before the end, is found in most series, half of it in few.
    #[test]
    fn the_smallest_detectable_step_is_found_in_most_series() {
        let of = |series: usize, step: f64| {
            let noise = |i: usize| 2.0 * wobble(1000 * series + i);
            changes(
                &observed((0..60).map(|i| 100.0 + noise(i) + if i < 55 { 0.0 } else { step })),
                &Settings::new(Direction::Lower),
            )
            .unwrap()
        };
        let stated: Vec<f64> = (0..100).map(|series| of(series, 0.0).detectable.unwrap()).collect();
        let mean = stated.iter().sum::<f64>() / 100.0;
        assert!((0.03..0.08).contains(&mean), "{mean}");
        let found = |share: f64| (0..100).filter(|&series| !of(series, 100.0 * share * mean).steps.is_empty()).count();
        let [half, whole, double] = [0.5, 1.0, 2.0].map(found);
        assert!(half < 60 && whole >= 60 && double > 95, "{half} {whole} {double} of 100");
    }

    #[test]
    fn a_step_up_is_better_or_worse_by_direction() {
        let series = observed((0..60).map(|i| 100.0 + wobble(i) + if i < 25 { 0.0 } else { 6.0 }));
        let steps = found(&series);
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert_eq!(
            (steps[0].after, steps[0].by, steps[0].effect, steps[0].status),
            (24, 25, Effect::Better, Status::Firm)
        );
        assert!(steps[0].earliest <= 24 && steps[0].latest >= 25 && (steps[0].to - steps[0].from - 6.0).abs() < 1.0);
        let lower = changes(&series, &Settings::new(Direction::Lower)).unwrap();
        assert_eq!((lower.steps[0].effect, lower.segments.len()), (Effect::Worse, 2));
    }

    #[test]
    fn a_step_at_the_end_is_provisional() {
        let steps = found(&observed((0..60).map(|i| wobble(i) + if i < 54 { 0.0 } else { 8.0 })));
        assert_eq!(steps.iter().map(|step| step.status).collect::<Vec<_>>(), [Status::Provisional]);
    }

    /// A step of 10 % at noise of 0.5 % is found after two points, and stays provisional until ten
    /// follow.
    #[test]
    fn a_step_far_above_the_noise_is_found_after_two_points() {
        let of = |seed: usize, after: usize| {
            let level = |i: usize| if i < 40 { 100.0 } else { 110.0 };
            found(&observed((0..40 + after).map(|i| level(i) + 0.5 * wobble(i + 100 * seed))))
        };
        for after in [2, 3, 4, 5, 9, 10] {
            let places = (0..50).filter(|&seed| matches!(&of(seed, after)[..], [step] if step.by == 40)).count();
            assert!(places >= 48, "{after} points after the step: found in {places} of 50");
            let firm = (0..50).filter(|&seed| of(seed, after).iter().any(|step| step.status == Status::Firm)).count();
            assert!(
                if after < 10 { firm == 0 } else { firm >= 45 },
                "{after} points after the step: {firm} of 50 firm"
            );
        }
        assert_eq!(of(0, 1), []);
    }

    #[test]
    fn a_stretch_of_four_points_far_above_the_noise_is_a_segment() {
        let of = |seed: usize| {
            let level = |i: usize| if (40..44).contains(&i) { 110.0 } else { 100.0 };
            found(&observed((0..80).map(|i| level(i) + 0.5 * wobble(i + 100 * seed))))
        };
        let right = |seed: &usize| of(*seed).iter().map(|step| step.by).collect::<Vec<_>>() == [40, 44];
        let right = (0..50).filter(right).count();
        assert!(right >= 20, "{right} of 50");
        assert!((0..50).all(|seed| of(seed).iter().all(|step| step.status == Status::Provisional)), "it is a burst");
    }

    #[test]
    fn between_sparse_positions_a_step_is_a_range() {
        let series: Vec<Observation> = (0..40)
            .map(|i| Observation { position: 100 * i as u64, value: wobble(i) + if i < 20 { 0.0 } else { 9.0 } })
            .collect();
        assert_eq!((found(&series)[0].after, found(&series)[0].by), (1900, 2000));
    }

    #[test]
    fn a_spike_is_no_step_and_neither_are_three() {
        for spikes in [&[30][..], &[20, 40, 41], &[57]] {
            let spiked = |noise: f64| {
                observed((0..60).map(|i| noise * wobble(i + 300) + if spikes.contains(&i) { 40.0 } else { 0.0 }))
            };
            assert_eq!(found(&spiked(1.0)), []);
            assert_eq!(found(&spiked(0.0)), [], "without noise");
        }
    }

    #[test]
    fn a_step_and_the_way_back_in_a_long_series_are_found() {
        let steps = found(&observed((0..3000).map(|i| wobble(i) + if (1500..1530).contains(&i) { 3.0 } else { 0.0 })));
        let places: Vec<u64> = steps.iter().map(|step| step.by).collect();
        assert!(places.len() == 2 && places[0].abs_diff(1500) <= 2 && places[1].abs_diff(1530) <= 2, "{places:?}");
    }

    #[test]
    fn steps_of_several_sizes_are_found_whole() {
        let levels = [0.0, 5.0, 9.0, 4.0, 4.0, -3.0];
        let steps = found(&observed((0..240).map(|i| wobble(i) + levels[i / 40])));
        let places: Vec<u64> = steps.iter().map(|step| step.by).collect();
        assert_eq!(places, [40, 80, 120, 200]);
    }

    #[test]
    fn a_drift_is_a_segment_of_its_own_kind() {
        let changes = changes(
            &observed((0..200).map(|i| wobble(i) + if i < 100 { 0.0 } else { 0.3 * (i - 100) as f64 })),
            &Settings::new(Direction::Higher),
        );
        let changes = changes.unwrap();
        assert_eq!(changes.steps.len(), 1, "{changes:?}");
        assert!(changes.segments[0].drift.is_none() && (changes.segments[1].drift.unwrap() - 0.3).abs() < 0.05);
    }

    #[test]
    fn a_few_points_are_too_short_to_search() {
        let settings = Settings::new(Direction::Higher);
        for points in [0, 1, 11] {
            assert_eq!(changes(&observed(vec![1.0; points]), &settings), Err(SeriesError::TooShort { points }));
        }
    }

    #[test]
    fn constants_have_no_step() {
        assert_eq!(found(&observed(vec![7.0; 100])), []);
        let clean = found(&observed((0..40).map(|i| if i < 20 { 1.0 } else { 2.0 })));
        assert_eq!((clean.len(), clean[0].by), (1, 20));
    }

    /// Noise of 0.2 %, and steps of 9, 10 and 30 %: no step hides another.
    #[test]
    fn a_loud_step_hides_no_other() {
        let level = |i: usize| match i {
            0..9 => 100.0,
            9..38 => 109.0,
            38..50 => 119.9,
            _ => 156.0,
        };
        for seed in 0..20 {
            let steps = found(&observed((0..60).map(|i| level(i) + 0.2 * wobble(i + 100 * seed))));
            assert_eq!(steps.iter().map(|step| step.by).collect::<Vec<_>>(), [9, 38, 50], "seed {seed}");
        }
    }

    #[test]
    fn what_matters_not_is_left_out_and_counted() {
        let series = observed((0..120).map(|i| {
            100.0
                + 0.1 * wobble(i)
                + if i < 40 {
                    0.0
                } else if i < 80 {
                    0.5
                } else {
                    5.0
                }
        }));
        let places = |least_change| {
            let changes = changes(&series, &Settings { least_change, ..Settings::new(Direction::Higher) }).unwrap();
            (changes.steps.iter().map(|step| step.by).collect::<Vec<_>>(), changes.smaller, changes.segments.len())
        };
        assert_eq!(places(0.0), (vec![40, 80], 0, 3));
        assert_eq!(places(0.01), (vec![80], 1, 2));
        assert_eq!(
            changes(&series, &Settings { least_change: -1.0, ..Settings::new(Direction::Higher) }),
            Err(SeriesError::LeastChange(-1.0))
        );
    }

    #[test]
    fn exact_counts_have_no_slow_noise() {
        for (points, step) in [(40, 40), (40, 20), (150, 150), (150, 60)] {
            let series = observed((0..points).map(|i| if i < step { 1_000_000.0 } else { 1_100_000.0 }));
            let found = changes(&series, &Settings::new(Direction::Lower)).unwrap();
            assert_eq!(found.steps.len(), usize::from(step < points), "{points} {step}");
            let wanders = |one: &ChangeCaution| matches!(one, ChangeCaution::Wanders { .. });
            assert!(!found.cautions.iter().any(wanders), "{points} {step}: {:?}", found.cautions);
        }
    }

    #[test]
    fn a_long_series_of_slow_noise_has_no_step() {
        for kept in [0.9, 0.999] {
            let mut value = 0.0;
            let series = observed((0..LONG + 100).map(|i| {
                value = kept * value + (1.0f64 - kept * kept).sqrt() * wobble(i);
                1000.0 + value
            }));
            let found = changes(&series, &Settings { least_change: 0.0, ..Settings::new(Direction::Higher) }).unwrap();
            assert_eq!(found.steps, [], "keeps {kept}");
            assert_eq!(found.cautions.iter().any(|one| matches!(one, ChangeCaution::Wanders { .. })), kept > 0.98);
        }
    }

    #[test]
    fn what_jumps_all_the_time_is_restless_and_hides_no_clean_step() {
        let level = |i: usize| match i {
            0..90 => 30.0 * (i / 9 % 2) as f64,
            90..150 => 0.0,
            _ => 50.0,
        };
        let found =
            changes(&observed((0..200).map(|i| 100.0 + wobble(i) + level(i))), &Settings::new(Direction::Lower));
        let found = found.unwrap();
        let (last, others) = found.steps.split_last().unwrap();
        assert_eq!((last.by, last.status, last.effect), (150, Status::Firm, Effect::Worse));
        assert!(others.len() == 10 && others.iter().all(|step| step.status == Status::Provisional), "{others:?}");
        assert_eq!(found.cautions, [ChangeCaution::Restless { steps: 10, first: 8, last: 90 }]);
    }

    /// Values on a bent trend with a clean step: no kind of noise describes the trend, and the step
    /// is still reported.
    #[test]
    fn a_step_that_no_noise_describes_is_provisional_not_hidden() {
        let series = observed((0..104).map(|i| {
            let year = i as f64;
            300.0 + 0.01 * year * year + 6.0 * (year / 9.0).sin() + if i < 60 { 0.0 } else { 900.0 }
        }));
        let found = changes(&series, &Settings::new(Direction::Lower)).unwrap();
        assert!(found.cautions.iter().any(|one| matches!(one, ChangeCaution::UnlikeAnyNoise { .. })), "{found:?}");
        assert!(found.steps.iter().any(|step| step.by == 60 && step.to > 2.0 * step.from), "{found:?}");
        assert!(found.steps.iter().all(|step| step.status == Status::Provisional), "{found:?}");
    }

    #[test]
    fn steps_of_a_short_series_have_a_caution() {
        let series = observed((0..40).map(|i| wobble(i) + if i < 20 { 0.0 } else { 9.0 }));
        let found = changes(&series, &Settings::new(Direction::Higher)).unwrap();
        assert_eq!(found.cautions, [ChangeCaution::Short { points: 40 }]);
    }

    #[test]
    fn rates_beyond_the_calibrated_are_refused() {
        let settings = Settings { false_alarms: 0.5, ..Settings::new(Direction::Lower) };
        assert_eq!(changes(&[], &settings), Err(SeriesError::FalseAlarms(0.5)));
    }

    proptest! {
        #[test]
        fn scale_shift_and_order_of_arguments_change_no_place(
            jump in -6.0f64..6.0, at in 10usize..50, power in -20i32..20, seed in 0usize..1000,
        ) {
            let plain = observed((0..60).map(|i| wobble(i + seed) + if i < at { 0.0 } else { jump }));
            let mut other: Vec<Observation> =
                plain.iter().map(|one| Observation { value: one.value * 2f64.powi(power), ..*one }).collect();
            other.reverse();
            let places = |steps: &[Step]| steps.iter().map(|step| (step.after, step.by, step.effect, step.status)).collect::<Vec<_>>();
            prop_assert_eq!(places(&found(&plain)), places(&found(&other)));
        }
    }
}
