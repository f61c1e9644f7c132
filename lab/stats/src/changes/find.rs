//! Finds the steps of a series: splits it at the best place, and what is left of it again, as long as a split explains enough.
//!
//! Source: A. J. Scott and M. Knott, A Cluster Analysis Method for Grouping Means in the Analysis of Variance, Biometrics 30, 1974 (binary
//! segmentation); the noise, the drift and the penalty are this program's own choice.

use super::penalty::{CALIBRATED, penalty};
use super::series::{Observation, Series, SeriesError, series};
use super::split::{SEGMENT_POINTS, Split, split};
use super::sums::Sums;
use super::window::standing_out;
use crate::median::median;
use crate::thresholds::{CHANGE_CONFIRMED, CHANGE_FALSE_ALARMS, CHANGE_POINTS_AFTER, COVERAGE};
use faultline_model::changes::{Changes, Effect, Segment, Status, Step};
use faultline_model::direction::Direction;

/// Share of a stretch's noise variance that its parts have at least: what looks like less is the luck of the division.
const KEPT_NOISE: f64 = 0.25;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which way is better.
    pub direction: Direction,
    /// Share of series without a step in which one may be found: 0.001 to 0.2.
    pub false_alarms: f64,
}

impl Settings {
    /// The usual rate of false alarms.
    pub fn new(direction: Direction) -> Self {
        Settings { direction, false_alarms: CHANGE_FALSE_ALARMS }
    }
}

/// The steps of a series, and the segments between them. Exact and without chance: the same observations give the same steps.
pub fn changes(observations: &[Observation], settings: &Settings) -> Result<Changes, SeriesError> {
    if !CALIBRATED.contains(&settings.false_alarms) {
        return Err(SeriesError::FalseAlarms(settings.false_alarms));
    }
    let series = series(observations)?;
    let rare = CHANGE_CONFIRMED.min(settings.false_alarms);
    let mut search = Search {
        series: &series,
        sums: Sums::default(),
        penalty: penalty(series.values.len(), settings.false_alarms),
        found: Vec::new(),
    };
    search.run();
    let mut cuts = search.found;
    cuts.sort_by_key(|cut| cut.at);
    let segments = segments(&series, &cuts);
    let confirming = penalty(series.values.len(), rare);
    let steps = cuts
        .iter()
        .zip(segments.windows(2))
        .map(|(cut, beside)| step(&series, cut, beside, confirming, settings.direction));
    Ok(Changes {
        format: Changes::FORMAT.to_owned(),
        false_alarms: settings.false_alarms,
        false_confirmations: rare,
        steps: steps.collect(),
        segments,
    })
}

/// A step, by indices of points of the series.
struct Cut {
    /// The first point after it.
    at: usize,
    /// The first and the last that this may be.
    range: (usize, usize),
    gain: f64,
    /// Whether the segments beside it drift, as seen when it was found.
    drift: [bool; 2],
}

struct Search<'a> {
    series: &'a Series,
    sums: Sums,
    penalty: f64,
    found: Vec<Cut>,
}

impl Search<'_> {
    fn run(&mut self) {
        let mut open = vec![(0, self.series.values.len(), 0.0)];
        while let Some((from, to, floor)) = open.pop() {
            let Some((at, noise)) = self.cut(from, to, floor) else { continue };
            let floor = KEPT_NOISE * noise;
            open.push((from, at, floor));
            open.push((at, to, floor));
        }
    }

    /// Looks for a step among the points `from..to`. Its place, and the noise there.
    fn cut(&mut self, from: usize, to: usize, floor: f64) -> Option<(usize, f64)> {
        let whole = self.split(from, to, floor)?;
        if self.enough(&whole, from, to) {
            return Some(self.accept(&whole, from, to));
        }
        let (first, last) = standing_out(&self.sums, to - from, whole.drifts, whole.noise)?;
        let (length, middle) = (last - first, from + first.midpoint(last));
        let sides = [
            ((from + first).saturating_sub(2 * length).max(from), middle),
            (middle, (from + last + 2 * length).min(to)),
        ];
        sides.into_iter().find_map(|(from, to)| {
            let side = self.split(from, to, floor)?;
            self.enough(&side, from, to).then(|| self.accept(&side, from, to))
        })
    }

    fn split(&mut self, from: usize, to: usize, floor: f64) -> Option<Split> {
        self.sums.take(&self.series.positions[from..to], &self.series.scaled[from..to]);
        split(&self.sums, to - from, floor)
    }

    fn enough(&self, split: &Split, from: usize, to: usize) -> bool {
        split.gain > self.penalty && split.shifts_medians(&self.sums, &self.series.scaled[from..to])
    }

    fn accept(&mut self, split: &Split, from: usize, to: usize) -> (usize, f64) {
        let points = to - from;
        let (first, last) = split.places_within(&self.sums, points, margin());
        self.found.push(Cut {
            at: from + split.at,
            range: (from + first, from + last),
            gain: split.gain,
            drift: split.sides_drift(&self.sums, points),
        });
        (from + split.at, split.noise)
    }
}

/// Loss of gain up to which a place is in the range of [`COVERAGE`].
///
/// Source: D. Siegmund, Confidence Sets in Change-Point Problems, International Statistical Review 56, 1988: the chance that the true place loses more
/// than 2x is about 1 − (1 − e⁻ˣ)².
fn margin() -> f64 {
    -2.0 * (1.0 - COVERAGE.sqrt()).ln()
}

fn segments(series: &Series, cuts: &[Cut]) -> Vec<Segment> {
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

fn step(series: &Series, cut: &Cut, beside: &[Segment], confirming: f64, direction: Direction) -> Step {
    let (before, after) = (&beside[0], &beside[1]);
    let half = |segment: &Segment| segment.drift.unwrap_or(0.0) * (segment.last - segment.first) as f64 / 2.0;
    let (from, to) = (before.level + half(before), after.level - half(after));
    // Where a drift begins or ends, the ends may meet: then the levels tell which way it goes.
    let rises = if before.drift.is_some() || after.drift.is_some() { after.level > before.level } else { to > from };
    let sure = cut.gain > confirming && after.points as usize >= CHANGE_POINTS_AFTER.max(SEGMENT_POINTS);
    Step {
        after: series.positions[cut.at - 1],
        by: series.positions[cut.at],
        earliest: series.positions[cut.range.0 - 1],
        latest: series.positions[cut.range.1],
        from,
        to,
        effect: if rises == (direction == Direction::Higher) { Effect::Better } else { Effect::Worse },
        status: if sure { Status::Confirmed } else { Status::Provisional },
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

    #[test]
    fn a_step_up_is_better_or_worse_by_direction() {
        let series = observed((0..60).map(|i| 100.0 + wobble(i) + if i < 25 { 0.0 } else { 6.0 }));
        let steps = found(&series);
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert_eq!(
            (steps[0].after, steps[0].by, steps[0].effect, steps[0].status),
            (24, 25, Effect::Better, Status::Confirmed)
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
    fn nothing_one_point_and_constants_have_no_step() {
        assert_eq!(found(&[]), []);
        assert_eq!(found(&observed([1.0])), []);
        assert_eq!(found(&observed(vec![7.0; 100])), []);
        let clean = found(&observed((0..40).map(|i| if i < 20 { 1.0 } else { 2.0 })));
        assert_eq!((clean.len(), clean[0].by), (1, 20));
    }

    #[test]
    fn rates_beyond_the_calibrated_are_refused() {
        let settings = Settings { direction: Direction::Lower, false_alarms: 0.5 };
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
