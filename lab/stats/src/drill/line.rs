//! What is recorded of a line, by position and by build.

use super::samples::for_zero;
use faultline_model::drill::{Build, DrillSettings, Evidence, LayoutResult, Noise, TrialResult};
use std::collections::{BTreeMap, BTreeSet};

/// Executions of a build without any value after which it counts as unusable.
const FAILURES: usize = 3;

/// What is known of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It was not tried.
    Untried,
    /// It cannot be measured.
    Broken,
    /// It is measured as this build: its own, or that of a position with the same artefact.
    Usable(Build),
}

/// An execution: its block and, unless it failed, the logarithm of its value: -∞ of an exact value of 0.
pub(super) type Execution = (u32, Option<f64>);

/// A line by position and by build.
pub(super) struct Line<'a> {
    pub(super) evidence: &'a Evidence,
    trials: BTreeMap<(u32, u32), TrialResult>,
    layouts: BTreeMap<Build, LayoutResult>,
    executions: BTreeMap<Build, Vec<Execution>>,
    positions_by_block: BTreeMap<u32, BTreeSet<u32>>,
    /// Of counts of several seeds, the first seed that confirms steps.
    confirming_from: Option<u32>,
}

impl<'a> Line<'a> {
    /// What is recorded, for a search with these settings.
    pub(super) fn new(evidence: &'a Evidence, settings: &DrillSettings) -> Self {
        let noise = settings.noise;
        let is_value = |value: &f64| value.is_finite() && (*value > 0.0 || (*value == 0.0 && noise != Noise::Any));
        let zero = match noise {
            Noise::Seeds => for_zero(evidence.measured.iter().filter_map(|measured| measured.value)),
            Noise::None | Noise::Any | Noise::FromEnds => 0.0,
        };
        let trials = evidence.trials.iter().map(|trial| ((trial.position, trial.surroundings), trial.result)).collect();
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

    /// The state of a commit in its own surroundings.
    pub(super) fn state(&self, position: u32) -> State {
        self.state_in(position, self.evidence.own_surroundings(position))
    }

    /// The state of a commit in the given surroundings.
    pub(super) fn state_in(&self, position: u32, surroundings: u32) -> State {
        let build = match self.trials.get(&(position, surroundings)) {
            None => return State::Untried,
            Some(TrialResult::Unusable { .. }) => return State::Broken,
            Some(TrialResult::Usable) => Build::plain(position, surroundings),
            // The other position was tried before this one, so this ends.
            Some(TrialResult::SameAs { position: other }) if *other != position => {
                return self.state_in(*other, surroundings);
            }
            Some(TrialResult::SameAs { .. }) => return State::Broken,
        };
        let executions = self.executions(build);
        let has_failed = executions.len() >= FAILURES && executions.iter().all(|(_, value)| value.is_none());
        if has_failed { State::Broken } else { State::Usable(build) }
    }

    /// What came of a build's random layout; `None` if it was not tried.
    pub(super) fn layout(&self, build: Build) -> Option<LayoutResult> {
        self.layouts.get(&build).copied()
    }

    /// All executions of a build, by block.
    pub(super) fn executions(&self, build: Build) -> &[Execution] {
        self.executions.get(&build).map_or(&[], Vec::as_slice)
    }

    /// Whether a build was executed in a block.
    pub(super) fn is_executed(&self, build: Build, block: u32) -> bool {
        self.executions(build).iter().any(|(of, _)| *of == block)
    }

    /// The first seed with which a build was not counted.
    pub(super) fn next_seed(&self, build: Build) -> u32 {
        (0..).find(|seed| !self.is_executed(build, *seed)).expect("there are finitely many executions")
    }

    /// Whether a build has a value.
    pub(super) fn has_value(&self, build: Build) -> bool {
        self.executions(build).iter().any(|(_, value)| value.is_some())
    }

    /// A build's first value as it was measured, without a logarithm.
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

    /// Blocks that confirm a step between these two commits: those in which builds of them were measured and no others. Of counts, seeds with which nothing is
    /// searched.
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

    /// Number of commits that were built in their own surroundings, or failed to build, and of those that cannot be measured.
    pub(super) fn trials(&self) -> (u32, u32) {
        let broken = self
            .trials
            .keys()
            .filter(|(position, surroundings)| self.state_in(*position, *surroundings) == State::Broken);
        (self.trials.len() as u32, broken.count() as u32)
    }
}
