//! Gaps between neighbouring measured positions, each with its probability of a step.

use super::levels::{Observation, levels};
use super::line::{Line, SampleLevel, State, sample_levels};
use super::posterior::{Point, StepChance, step_chances};
use crate::bisect::Build;
use faultline_record::bisect::{BisectSettings, Noise};
use std::collections::BTreeMap;

/// Blocks of a position before conclusions are drawn from it.
pub(super) const FIRST_BLOCKS: usize = 6;

/// A gap is closed without a step if the probability of one is at most the allowed error divided by
/// this.
const MISSED_PART: f64 = 50.0;

/// A gap has a step if the probability of none is at most the allowed error divided by this.
const INVENTED_PART: f64 = 10.0;

/// Variance of a level, as a part of the square of the least change, below which further blocks do
/// not help: builds of the same code differ by more.
const PRECISE_PART: f64 = 1.0 / 196.0;

/// State of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    Differs,
    /// Undecided until there are more blocks.
    Open,
}

/// A position with a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levelled {
    pub(super) position: u32,
    /// The measured build.
    pub(super) build: Build,
    /// Logarithm, comparable between positions; -∞ for an exact value of 0.
    pub(super) level: f64,
    pub(super) variance: f64,
    /// Standard deviation of one value.
    pub(super) noise: f64,
}

/// Two neighbouring places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) left: Levelled,
    pub(super) right: Levelled,
    /// Probability of a step between them.
    pub(super) probability: f64,
    /// Probability of a step of at least the least change.
    pub(super) of_least: f64,
    pub(super) verdict: Verdict,
}

/// Levels and gaps of a line.
pub(super) struct Known {
    /// Usable positions that need more blocks before conclusions, ascending.
    pub(super) pending: Vec<(u32, Build)>,
    /// Positions with levels, ascending.
    pub(super) places: Vec<Levelled>,
    /// The gaps between them.
    pub(super) gaps: Vec<Gap>,
}

/// The least change, as a logarithm.
pub(super) fn least_log(settings: &BisectSettings) -> f64 {
    settings.least.ln_1p()
}

impl Known {
    pub(super) fn new(line: &Line, settings: &BisectSettings) -> Self {
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

    fn exact(line: &Line, settings: &BisectSettings, pending: Vec<(u32, Build)>, measured: &[(u32, Build)]) -> Self {
        let place = |&(position, build): &(u32, Build)| {
            let level = line.executions(build).iter().find_map(|(_, value)| *value).expect("a measured build");
            Levelled { position, build, level, variance: 0.0, noise: 0.0 }
        };
        let places: Vec<Levelled> = measured.iter().map(place).collect();
        let gap = |pair: &[Levelled]| {
            let (before, after) = (pair[0].level, pair[1].level);
            let differs = before != after && (after - before).abs() >= least_log(settings);
            let verdict = if differs { Verdict::Differs } else { Verdict::Same };
            let probability = f64::from(u8::from(differs));
            Gap { left: pair[0], right: pair[1], probability, of_least: probability, verdict }
        };
        let gaps = places.windows(2).map(gap).collect();
        Known { pending, places, gaps }
    }

    fn noisy(line: &Line, settings: &BisectSettings, pending: Vec<(u32, Build)>, places: Vec<Levelled>) -> Self {
        let point = |i: usize| {
            let Levelled { position, build, level, variance, .. } = places[i];
            Point { position, level, variance, is_same_build: i > 0 && places[i - 1].build == build }
        };
        let points: Vec<Point> = (0..places.len()).map(point).collect();
        let chances = step_chances(&points, line.evidence.last, least_log(settings));
        let gap = |(pair, StepChance { of_any, of_least }): (&[Levelled], StepChance)| {
            let verdict = judge(line, settings, pair, of_any);
            Gap { left: pair[0], right: pair[1], probability: of_any, of_least, verdict }
        };
        let gaps = places.windows(2).zip(chances).map(gap).collect();
        Known { pending, places, gaps }
    }

    /// Slopes: pairs of places whose levels differ although no gap between them has a step.
    pub(super) fn slopes(&self, least: f64) -> impl Iterator<Item = (Levelled, Levelled)> {
        let runs = self.gaps.chunk_by(|x, y| x.verdict == Verdict::Same && y.verdict == Verdict::Same);
        runs.filter(|run| run[0].verdict == Verdict::Same).filter_map(move |run| {
            let (from, to) = (run[0].left, run[run.len() - 1].right);
            let change = (to.level - from.level).abs();
            let deviation = (from.variance + to.variance).sqrt();
            (change > 0.0 && change >= least && change >= SLOPE_DEVIATIONS * deviation).then_some((from, to))
        })
    }
}

/// Minimum difference of the ends of a slope in standard deviations.
const SLOPE_DEVIATIONS: f64 = 4.0;

/// Levels of noisy positions, from values of the same blocks.
fn fitted(line: &Line, measured: &[(u32, Build)]) -> Vec<Levelled> {
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
        Levelled { position, build, level: levels.level[at], variance: levels.variance[at], noise: levels.noise }
    };
    measured.iter().map(place).collect()
}

/// Levels of positions counted with several seeds, each from its own counts.
fn sampled(line: &Line, measured: &[(u32, Build)]) -> Vec<Levelled> {
    let samples: Vec<Vec<f64>> =
        measured.iter().map(|(_, build)| line.by_block(*build).into_values().collect()).collect();
    let place = |(&(position, build), level): (&(u32, Build), SampleLevel)| Levelled {
        position,
        build,
        level: level.level,
        variance: level.variance,
        noise: level.spread,
    };
    measured.iter().zip(sample_levels(&samples)).map(place).collect()
}

fn judge(line: &Line, settings: &BisectSettings, pair: &[Levelled], probability: f64) -> Verdict {
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
