//! What is known of each gap between neighbouring measured positions: whether a step lies in it.

use super::levels::{Observation, levels};
use super::line::{Line, State};
use super::posterior::{Point, StepChance, step_chances};
use super::samples::{SampleLevel, sample_levels};
use faultline_model::drill::{Build, DrillSettings, Noise};
use std::collections::BTreeMap;

/// Blocks in which a position is measured before anything is concluded of it.
pub(super) const FIRST_BLOCKS: usize = 6;

/// A gap is closed without a step if the probability of one is at most the error that may be made, divided by this.
const MISSED_PART: f64 = 50.0;

/// A gap has a step if the probability of none is at most the error that may be made, divided by this.
const INVENTED_PART: f64 = 10.0;

/// Variance of a level, as a part of the square of the least change, below which further blocks tell nothing: builds of the same code differ by more.
const PRECISE_PART: f64 = 1.0 / 196.0;

/// Whether a step lies in a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    Differs,
    /// More blocks will tell.
    Open,
}

/// A position with a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) position: u32,
    /// What is measured for it.
    pub(super) build: Build,
    /// Logarithm, comparable with those of other places; -∞ of an exact value of 0.
    pub(super) level: f64,
    pub(super) variance: f64,
    /// Standard deviation of one value.
    pub(super) noise: f64,
}

/// Two neighbouring places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) left: Place,
    pub(super) right: Place,
    /// Probability that a step lies between them.
    pub(super) probability: f64,
    /// Probability of one of the least change or more.
    pub(super) of_least: f64,
    pub(super) verdict: Verdict,
}

/// What values tell of a line.
pub(super) struct Known {
    /// Usable positions that need more blocks before anything is concluded of them, ascending.
    pub(super) pending: Vec<(u32, Build)>,
    /// Positions with levels, ascending.
    pub(super) places: Vec<Place>,
    /// The gaps between them.
    pub(super) gaps: Vec<Gap>,
}

/// The least change, as a logarithm.
pub(super) fn least_log(settings: &DrillSettings) -> f64 {
    settings.least.ln_1p()
}

impl Known {
    pub(super) fn new(line: &Line, settings: &DrillSettings) -> Self {
        let mut pending = Vec::new();
        let mut measured = Vec::new();
        for position in line.positions() {
            if let State::Usable(build) = line.state(position) {
                let is_measured = match settings.noise {
                    Noise::None => line.has_value(build),
                    Noise::Any | Noise::Seeds | Noise::FromEnds => {
                        line.executions(build).len() >= FIRST_BLOCKS && line.has_value(build)
                    }
                };
                if is_measured { measured.push((position, build)) } else { pending.push((position, build)) }
            }
        }
        match settings.noise {
            Noise::None => Self::exact(line, settings, pending, &measured),
            Noise::Any => Self::noisy(line, settings, pending, fitted(line, &measured)),
            Noise::Seeds | Noise::FromEnds => Self::noisy(line, settings, pending, sampled(line, &measured)),
        }
    }

    fn exact(line: &Line, settings: &DrillSettings, pending: Vec<(u32, Build)>, measured: &[(u32, Build)]) -> Self {
        let place = |&(position, build): &(u32, Build)| {
            let level = line.executions(build).iter().find_map(|(_, value)| *value).expect("a measured build");
            Place { position, build, level, variance: 0.0, noise: 0.0 }
        };
        let places: Vec<Place> = measured.iter().map(place).collect();
        let gap = |pair: &[Place]| {
            let (before, after) = (pair[0].level, pair[1].level);
            let differs = before != after && (after - before).abs() >= least_log(settings);
            let verdict = if differs { Verdict::Differs } else { Verdict::Same };
            let probability = f64::from(u8::from(differs));
            Gap { left: pair[0], right: pair[1], probability, of_least: probability, verdict }
        };
        let gaps = places.windows(2).map(gap).collect();
        Known { pending, places, gaps }
    }

    fn noisy(line: &Line, settings: &DrillSettings, pending: Vec<(u32, Build)>, places: Vec<Place>) -> Self {
        let point = |i: usize| {
            let Place { position, build, level, variance, .. } = places[i];
            Point { position, level, variance, is_same_build: i > 0 && places[i - 1].build == build }
        };
        let points: Vec<Point> = (0..places.len()).map(point).collect();
        let chances = step_chances(&points, line.evidence.last, least_log(settings));
        let gap = |(pair, StepChance { of_any, of_least }): (&[Place], StepChance)| {
            let verdict = judge(line, settings, pair, of_any);
            Gap { left: pair[0], right: pair[1], probability: of_any, of_least, verdict }
        };
        let gaps = places.windows(2).zip(chances).map(gap).collect();
        Known { pending, places, gaps }
    }

    /// Places whose levels say that something changed between them without a step: ends of runs of gaps without one.
    pub(super) fn slopes(&self, least: f64) -> impl Iterator<Item = (Place, Place)> {
        let runs = self.gaps.chunk_by(|x, y| x.verdict == Verdict::Same && y.verdict == Verdict::Same);
        runs.filter(|run| run[0].verdict == Verdict::Same).filter_map(move |run| {
            let (from, to) = (run[0].left, run[run.len() - 1].right);
            let change = (to.level - from.level).abs();
            let deviation = (from.variance + to.variance).sqrt();
            (change > 0.0 && change >= least && change >= SLOPE_DEVIATIONS * deviation).then_some((from, to))
        })
    }
}

/// Standard deviations by which the ends of a slope differ at least.
const SLOPE_DEVIATIONS: f64 = 4.0;

/// Levels of positions that were measured with noise, from values of the same blocks.
fn fitted(line: &Line, measured: &[(u32, Build)]) -> Vec<Place> {
    let mut builds: Vec<Build> = measured.iter().map(|(_, build)| *build).collect();
    builds.sort();
    builds.dedup();
    let mut blocks = BTreeMap::new();
    let mut observations = Vec::new();
    for (build, of_build) in builds.iter().enumerate() {
        for (block, value) in line.executions(*of_build) {
            if let Some(value) = *value {
                let next = blocks.len();
                let block = *blocks.entry(*block).or_insert(next);
                observations.push(Observation { build, block, value });
            }
        }
    }
    let levels = levels(&observations, builds.len(), blocks.len());
    let place = |&(position, build): &(u32, Build)| {
        let at = builds.binary_search(&build).expect("a measured build");
        Place { position, build, level: levels.level[at], variance: levels.variance[at], noise: levels.noise }
    };
    measured.iter().map(place).collect()
}

/// Levels of positions that were counted with several seeds, each from its own counts.
fn sampled(line: &Line, measured: &[(u32, Build)]) -> Vec<Place> {
    let samples: Vec<Vec<f64>> =
        measured.iter().map(|(_, build)| line.by_block(*build).into_values().collect()).collect();
    let place = |(&(position, build), level): (&(u32, Build), SampleLevel)| Place {
        position,
        build,
        level: level.level,
        variance: level.variance,
        noise: level.spread,
    };
    measured.iter().zip(sample_levels(&samples)).map(place).collect()
}

fn judge(line: &Line, settings: &DrillSettings, pair: &[Place], probability: f64) -> Verdict {
    let error = 1.0 - settings.level;
    if probability <= error / MISSED_PART {
        return Verdict::Same;
    }
    if 1.0 - probability <= error / INVENTED_PART {
        return Verdict::Differs;
    }
    let blocks = pair.iter().map(|place| line.executions(place.build).len()).min().unwrap_or(0);
    let enough = least_log(settings).powi(2) * PRECISE_PART;
    let is_precise = pair.iter().all(|place| place.variance <= enough);
    if blocks < settings.most_blocks as usize && !is_precise {
        return Verdict::Open;
    }
    if probability > 0.5 { Verdict::Differs } else { Verdict::Same }
}
