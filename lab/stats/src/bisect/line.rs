//! The record of a line by position and by build. Counts of a build with several seeds as a sample:
//! whether they are equal, and the level of each build.
//!
//! With one seed a count repeats exactly. Another seed shifts the schedule, and so does any change
//! of the code. So the counts of a build with several seeds are a sample, and builds are compared
//! by samples. Contending tasks vary more than others, so each build has its own variance. With few
//! seeds it is drawn towards the variance of all.

use crate::bisect::{Build, LayoutResult, LineEvidence, TrialResult};
use faultline_record::bisect::{BisectSettings, Noise};
use std::collections::{BTreeMap, BTreeSet};

/// Executions without a value after which a build counts as unusable.
const FAILURES: usize = 3;

/// State of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not tried.
    Untried,
    /// Unusable.
    Broken,
    /// Measured as this build: its own, or that of a position with the same artefact.
    Usable(Build),
}

/// An execution: its block and, unless it failed, the logarithm of its value (-∞ for an exact value
/// of 0).
pub(super) type Execution = (u32, Option<f64>);

/// A line by position and by build.
pub(super) struct Line<'a> {
    pub(super) evidence: &'a LineEvidence,
    trials: BTreeMap<(u32, u32), TrialResult>,
    layouts: BTreeMap<Build, LayoutResult>,
    executions: BTreeMap<Build, Vec<Execution>>,
    positions_by_block: BTreeMap<u32, BTreeSet<u32>>,
    /// For counts of several seeds, the first seed that confirms steps.
    confirming_from: Option<u32>,
}

impl<'a> Line<'a> {
    /// The record, for a search with these settings.
    pub(super) fn new(evidence: &'a LineEvidence, settings: &BisectSettings) -> Self {
        let noise = settings.noise;
        let is_value = |value: &f64| value.is_finite() && (*value > 0.0 || (*value == 0.0 && noise != Noise::Any));
        let zero = match noise {
            Noise::Seeds => for_zero(evidence.measured.iter().filter_map(|measured| measured.value)),
            Noise::None | Noise::Any | Noise::FromEnds => 0.0,
        };
        let trials = evidence.trials.iter().map(|trial| ((trial.position, trial.environment), trial.result)).collect();
        let mut executions: BTreeMap<Build, Vec<Execution>> = BTreeMap::new();
        let mut positions_by_block: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for measured in &evidence.measured {
            let value = measured.value.filter(is_value).map(|value| value.max(zero).ln());
            executions.entry(measured.build).or_default().push((measured.block, value));
            positions_by_block.entry(measured.block).or_default().insert(measured.build.position);
        }
        for executions in executions.values_mut() {
            executions.sort_by(|x, y| x.0.cmp(&y.0).then(x.1.partial_cmp(&y.1).expect("logarithms of finite values")));
        }
        let layouts = evidence.layouts.iter().map(|trial| (trial.build, trial.result)).collect();
        let confirming_from = (noise == Noise::Seeds).then_some(settings.most_blocks);
        Line { evidence, trials, layouts, executions, positions_by_block, confirming_from }
    }

    /// All positions.
    pub(super) fn positions(&self) -> impl Iterator<Item = u32> + use<> {
        0..=self.evidence.last
    }

    /// The state of a commit in its own environment.
    pub(super) fn state(&self, position: u32) -> State {
        self.state_in(position, self.evidence.own_environment(position))
    }

    /// The state of a commit in the given environment.
    pub(super) fn state_in(&self, position: u32, environment: u32) -> State {
        let build = match self.trials.get(&(position, environment)) {
            None => return State::Untried,
            Some(TrialResult::Unusable { .. }) => return State::Broken,
            Some(TrialResult::Usable) => Build::plain(position, environment),
            // The other position was tried earlier, so the recursion ends.
            Some(TrialResult::SameAs { position: other }) if *other != position => {
                return self.state_in(*other, environment);
            }
            Some(TrialResult::SameAs { .. }) => return State::Broken,
        };
        let executions = self.executions(build);
        let has_failed = executions.len() >= FAILURES && executions.iter().all(|(_, value)| value.is_none());
        if has_failed { State::Broken } else { State::Usable(build) }
    }

    /// The result of a build's random layout; `None` if untried.
    pub(super) fn layout(&self, build: Build) -> Option<LayoutResult> {
        self.layouts.get(&build).copied()
    }

    /// All executions of a build, by block.
    pub(super) fn executions(&self, build: Build) -> &[Execution] {
        self.executions.get(&build).map_or(&[], Vec::as_slice)
    }

    /// True if a build was executed in the block.
    pub(super) fn is_executed(&self, build: Build, block: u32) -> bool {
        self.executions(build).iter().any(|(of, _)| *of == block)
    }

    /// The first seed without a count of the build.
    pub(super) fn next_seed(&self, build: Build) -> u32 {
        (0..).find(|seed| !self.is_executed(build, *seed)).expect("there are finitely many executions")
    }

    /// True if a build has a value.
    pub(super) fn has_value(&self, build: Build) -> bool {
        self.executions(build).iter().any(|(_, value)| value.is_some())
    }

    /// A build's first measured value, without a logarithm.
    pub(super) fn value(&self, build: Build) -> Option<f64> {
        self.evidence.measured.iter().filter(|measured| measured.build == build).find_map(|measured| measured.value)
    }

    /// The mean logarithm of a build's values in each block that has any.
    pub(super) fn by_block(&self, build: Build) -> BTreeMap<u32, f64> {
        let mut by_block: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (block, value) in self.executions(build) {
            if let Some(value) = value {
                let (sum, number) = by_block.entry(*block).or_default();
                *sum += value;
                *number += 1.0;
            }
        }
        by_block.into_iter().map(|(block, (sum, number))| (block, sum / number)).collect()
    }

    /// Blocks that confirm a step between two commits: those with builds of these commits only. For
    /// counts, seeds not used by the search.
    pub(super) fn confirming_blocks(&self, sides: [u32; 2]) -> BTreeSet<u32> {
        let sides = BTreeSet::from(sides);
        let confirms = |(block, positions): &(&u32, &BTreeSet<u32>)| match self.confirming_from {
            None => **positions == sides,
            Some(first) => **block >= first && positions.is_superset(&sides),
        };
        self.positions_by_block.iter().filter(confirms).map(|(block, _)| *block).collect()
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.positions_by_block.len()
    }

    /// Numbers of commits built in their own environments (or failed), and of unusable ones.
    pub(super) fn trials(&self) -> (u32, u32) {
        let broken = self
            .trials
            .keys()
            .filter(|(position, environment)| self.state_in(*position, *environment) == State::Broken);
        (self.trials.len() as u32, broken.count() as u32)
    }
}

/// Part of the least change within which counts of two seeds are equal.
const SAME_PART: f64 = 0.05;

/// Weight, in values, of the variance of all builds in that of each.
const POOLED: f64 = 3.0;

/// Variance of rounding.
const LEAST_VARIANCE: f64 = 1e-18;

/// Part of the smallest count that replaces a count of 0, which has no logarithm.
const ZERO_PART: f64 = 0.01;

/// True if counts of one build with several seeds are equal, for changes of `least`.
pub(crate) fn are_same(counts: &[f64], least: f64) -> bool {
    let lowest = counts.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = counts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    highest <= lowest || highest - lowest <= SAME_PART * least * lowest
}

/// The replacement of a count of 0 among others.
pub(crate) fn for_zero(counts: impl Iterator<Item = f64>) -> f64 {
    let smallest = counts.filter(|count| *count > 0.0).fold(f64::INFINITY, f64::min);
    if smallest.is_finite() { ZERO_PART * smallest } else { 1.0 }
}

/// The level of a build.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SampleLevel {
    /// Mean of the logarithms.
    pub(crate) level: f64,
    /// Variance of that mean.
    pub(crate) variance: f64,
    /// Standard deviation of one logarithm.
    pub(crate) spread: f64,
}

/// The level of each build, from the logarithms of its counts: at least one of each.
pub(crate) fn sample_levels(samples: &[Vec<f64>]) -> Vec<SampleLevel> {
    let mean = |sample: &[f64]| sample.iter().sum::<f64>() / sample.len() as f64;
    let squares = |sample: &[f64]| sample.iter().map(|value| (value - mean(sample)).powi(2)).sum::<f64>();
    let free = |sample: &[f64]| sample.len() as f64 - 1.0;
    let all_free: f64 = samples.iter().map(|sample| free(sample)).sum();
    let pooled = samples.iter().map(|sample| squares(sample)).sum::<f64>() / all_free.max(1.0);
    let level = |sample: &Vec<f64>| {
        let free = POOLED + free(sample);
        let variance = ((POOLED * pooled + squares(sample)) / free).max(LEAST_VARIANCE);
        // The variance is estimated itself.
        let unknown = free / (free - 2.0).max(1.0);
        SampleLevel { level: mean(sample), variance: unknown * variance / sample.len() as f64, spread: variance.sqrt() }
    };
    samples.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_same_as_far_as_the_least_change_is_concerned() {
        assert!(are_same(&[0.0, 0.0], 0.02) && !are_same(&[0.0, 1.0], 0.02) && are_same(&[], 0.02));
    }

    #[test]
    fn a_build_that_varies_more_is_known_less() {
        let [wide, narrow, single] =
            sample_levels(&[vec![1.0, 1.4, 0.8, 1.2, 1.1, 0.9], vec![2.0, 2.0, 2.0, 2.0, 2.0, 2.0], vec![1.5]])[..]
        else {
            panic!("three samples")
        };
        assert!((narrow.level - 2.0).abs() < 1e-12 && (single.level - 1.5).abs() < 1e-12);
        assert!(
            wide.variance > 2.0 * narrow.variance && single.variance > wide.variance,
            "{wide:?} {narrow:?} {single:?}"
        );
    }
}
