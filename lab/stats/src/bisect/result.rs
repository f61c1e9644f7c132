//! The evidence of a search, its next work, and its conclusions with steps and reverts.

use crate::comparison::CounterDifference;
use crate::lens::comparison::CellComparison;
use crate::mean_load::MeanLoad;
use faultline_record::bisect::{Noise, Unusable};
use faultline_record::explained::StepExplained;
use faultline_record::outcome::Outcome;
use faultline_record::record::Conclusion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A commit of the line, built in an environment and with a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// The commit's position on the line, from 0, the good end.
    pub position: u32,
    /// The environment: the number of quirks before it (toolchain, configuration, host).
    pub environment: u32,
    /// The seed of a random layout; `None` for the build's own layout.
    pub layout: Option<u32>,
}

impl Build {
    /// The build of a commit with its own layout.
    pub fn plain(position: u32, environment: u32) -> Self {
        Build { position, environment, layout: None }
    }

    /// This build with a random layout.
    pub fn with_layout(self, seed: u32) -> Self {
        Build { layout: Some(seed), ..self }
    }
}

/// Result of a trial of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialResult {
    /// Usable.
    Usable,
    /// The artefact equals that of another position, tried earlier in the same environment and
    /// measured for both.
    SameAs {
        /// The other position.
        position: u32,
    },
    /// Unusable.
    Unusable {
        /// The reason.
        why: Unusable,
    },
}

/// A trial of a commit: built, or failed to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The commit's position on the line.
    pub position: u32,
    /// The environment of the build.
    pub environment: u32,
    /// The result.
    pub result: TrialResult,
}

/// Result of linking a build with a random layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LayoutResult {
    /// Usable, with places of no other layout of the build.
    Placed,
    /// The places of another layout of the build.
    SameAs {
        /// The other layout, tried earlier.
        layout: u32,
    },
    /// The places of the build's own layout.
    Unchanged,
    /// Linking or running failed.
    Failed,
}

/// A tried random layout of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutTrial {
    /// The build, with its layout.
    pub build: Build,
    /// The result.
    pub result: LayoutResult,
}

/// One execution of a build.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The build.
    pub build: Build,
    /// The block: values of one block were measured close together in time, in random order. For
    /// counts, the number of the seed, from 0.
    pub block: u32,
    /// The value: above 0, for exact values also 0; `None` for a failed execution.
    pub value: Option<f64>,
}

/// The evidence of a line of commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineEvidence {
    /// The last position: the bad end. Position 0 is the good end.
    pub last: u32,
    /// First positions of the quirks, ascending: the environment of a commit is the number of those
    /// at or before it.
    pub quirks: Vec<u32>,
    /// Trials, in order.
    pub trials: Vec<Trial>,
    /// Trials of random layouts, in order.
    pub layouts: Vec<LayoutTrial>,
    /// Measurements, in any order.
    pub measured: Vec<Measured>,
}

impl LineEvidence {
    /// A line without evidence, with positions 0 to `last`.
    pub fn new(last: u32, quirks: Vec<u32>) -> Self {
        LineEvidence { last, quirks, trials: Vec::new(), layouts: Vec::new(), measured: Vec::new() }
    }

    /// The commit's own environment.
    pub fn own_environment(&self, position: u32) -> u32 {
        self.quirks.iter().filter(|from| **from <= position).count() as u32
    }
}

/// The next work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Next {
    /// Build a commit in an environment, and check that it runs.
    Try {
        /// The commit's position on the line.
        position: u32,
        /// The environment.
        environment: u32,
    },
    /// Link these builds with their random layouts.
    Relink {
        /// The builds.
        builds: Vec<Build>,
    },
    /// Execute these builds, each once, block after block.
    Measure {
        /// The builds of each further block.
        blocks: Vec<Vec<Build>>,
    },
    /// Count builds with seeds.
    Count {
        /// Seeds, as numbers from 0 to add to the seed of the run, with the builds of each.
        seeds: Vec<(u32, Vec<Build>)>,
    },
    /// Nothing: the conclusions are final.
    Nothing,
}

/// A ratio with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The value after, divided by the value before.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Number of blocks or layouts in the estimate.
    pub units: u32,
}

impl Change {
    /// The inverse change.
    pub fn inverse(&self) -> Self {
        Change { ratio: self.ratio.recip(), low: self.high.recip(), high: self.low.recip(), units: self.units }
    }
}

/// Cause of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepLabel {
    /// The program: the change remains under random layouts and in one environment.
    Code,
    /// The places of code and data: most of the change disappears under random layouts.
    Layout,
    /// The environment: one commit has most of the change between the environments before and
    /// after.
    Quirk,
    /// Unknown: not measurable, or too imprecise.
    Inconclusive,
}

/// Results of random layouts of the commits on both sides of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutsTried {
    /// Layouts tried for both commits.
    pub tried: u32,
    /// Layouts with places in both commits that no other layout has. Only these are measured.
    pub distinct: u32,
    /// Layouts without effect in at least one of the commits.
    pub unchanged: u32,
    /// Layouts with which at least one of the commits cannot be linked or does not run.
    pub failed: u32,
    /// Standard deviation between layouts of one commit, as a share; `None` with fewer than two
    /// layouts.
    pub between: Option<f64>,
    /// Standard deviation between executions of one layout within a block, as a share; 0 for exact
    /// values, `None` with too few executions.
    pub within: Option<f64>,
}

/// A step of the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundStep {
    /// The last position known to be before it.
    pub before: u32,
    /// The first position known to be after it.
    pub after: u32,
    /// The candidate commits: those after `before`, up to and including `after`. More than one if
    /// the others could not be measured.
    pub candidates: Vec<u32>,
    /// Probability that a step lies between `before` and `after`, given the model and all values. 1
    /// with exact values.
    pub probability: f64,
    /// True if that probability reaches the requested level. Otherwise the step is only suspected.
    pub found: bool,
    /// True if both sides also differ in blocks of their own after the search.
    pub confirmed: bool,
    /// The change, from those blocks if there are any; `None` with too few values, or if an exact
    /// value was 0 before.
    pub change: Option<Change>,
    /// The values before and after, for exact values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<[f64; 2]>,
    /// The cause.
    pub label: StepLabel,
    /// The change under random layouts, in one environment.
    pub under_layouts: Option<Change>,
    /// Results of random layouts; `None` without trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layouts: Option<LayoutsTried>,
    /// The change of one commit between the environments before and after; only where they differ.
    pub of_environment: Option<Change>,
    /// The change between the commits in one environment; only where their own differ.
    pub of_commits: Option<Change>,
    /// Result of undoing its commit on top of the newest one; `None` if that was not requested, or
    /// with several candidate commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reverted: Option<StepReverted>,
    /// Explanations of the step; only in finished searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<StepExplained>,
    /// Counts that differ after it; only for counts, if this search executed both builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<CellComparison>>,
    /// The kernel's counters that differ, per operation, most significant first; only for the time
    /// of workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDifference>,
}

/// A stretch with different ends but without a step: many small changes, or noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slope {
    /// Its first position.
    pub from: u32,
    /// Its last position.
    pub to: u32,
    /// The value at the last position divided by that at the first.
    pub ratio: f64,
}

/// A range of commits with a step that is not narrowed to its commit, or that is only possible.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuspectedRange {
    /// The last position before it.
    pub before: u32,
    /// Its last position: the step is at one of the commits after `before`, up to this one.
    pub after: u32,
    /// Probability of a step of at least the least change.
    pub probability: f64,
    /// The value at `after` divided by that at `before`.
    pub ratio: f64,
}

/// A commit that the search tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedCommit {
    /// Its position.
    pub position: u32,
    /// Its level relative to that of the first measured commit, with a 95 % interval; `None` if it
    /// cannot be measured.
    pub level: Option<Change>,
}

/// The steps by the CPU time of the same executions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ByCpuTime {
    /// Probability that all of `steps` are correct, apart from the answer by time: 0…1.
    pub level: f64,
    /// Ranges with a step, each with a probability of `level` or more.
    pub steps: Vec<SuspectedRange>,
    /// The smallest detectable step, as in [`BisectResult::detectable`].
    pub detectable: Option<f64>,
}

/// The conclusions about a line. `format` is [`BisectResult::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BisectResult {
    /// Name and version of this structure.
    pub format: String,
    /// True if the search is over; otherwise the conclusions are preliminary.
    pub finished: bool,
    /// Effect of two seeds at both ends on counts, if requested: equal counts (`none`), or not
    /// (`seeds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_show: Option<Noise>,
    /// An end of the line that cannot be measured: then there are no conclusions.
    pub unusable_end: Option<u32>,
    /// The first failure of its executions, if it was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable_because: Option<Outcome>,
    /// True if the search ended because its time budget was used up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub budget_used: bool,
    /// The steps, found or suspected, in the order of the line.
    pub steps: Vec<FoundStep>,
    /// Ranges in which an unfinished search has not excluded or narrowed a step yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remaining: Vec<SuspectedRange>,
    /// The answer by CPU time, if that by time is inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_cpu_time: Option<ByCpuTime>,
    /// Use of the machine by other programs meanwhile; `None` if unknown, and for counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<MeanLoad>,
    /// Stretches with a change but no step.
    pub slopes: Vec<Slope>,
    /// The commits with a level and those that cannot be measured, in the order of the line; empty
    /// without levels, or if the first value is 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<TriedCommit>,
    /// For each position from 1 on, the probability of a step between it and the position before.
    pub probability_by_position: Vec<f64>,
    /// The smallest step, as a share, found with the probability `POWER` of the method between the
    /// ends of the line and wherever else levels were compared; `None` without values.
    pub detectable: Option<f64>,
    /// Probability of another step of at least the least change. Above 0 after a search without
    /// steps: only measured levels exclude steps, and builds of the same code differ.
    pub undetected: f64,
    /// Longest unmeasured stretch of commits with equal ends. Steps in it that cancel each other
    /// are invisible.
    pub longest_unseen: u32,
    /// Commits built, or failed to build.
    pub trials: u32,
    /// Commits with results of earlier runs; not counted as tried.
    #[serde(default, skip_serializing_if = "is_none")]
    pub known: u32,
    /// Unusable commits, including those known from earlier runs.
    pub unusable: u32,
    /// Blocks that were measured.
    pub blocks: u32,
    /// Executions.
    pub executions: u32,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Conclusion for BisectResult {
    const KIND: &'static str = "bisect";
}

impl BisectResult {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-bisect/1";
}

/// Result of undoing the commit of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReverted {
    /// The commit on top of which it is undone.
    pub on: String,
    /// The result.
    #[serde(flatten)]
    pub outcome: RevertOutcome,
}

/// Result of a revert.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum RevertOutcome {
    /// Measured beside the commit without it.
    Measured {
        /// The value with it, divided by the value without it; `None` with too few values, or if
        /// that was 0.
        change: Option<Change>,
        /// The values without and with it, for exact values.
        values: Option<[f64; 2]>,
        /// The part of the step that it takes back; `None` with too few values.
        taken_back: Option<Share>,
    },
    /// Conflicts.
    Conflict {
        /// The files with conflicts, as git writes them: any characters.
        files: Vec<String>,
    },
    /// No file changes.
    Empty,
    /// Applied, but the build failed.
    NotBuilt {
        /// The failure as text.
        how: String,
    },
    /// Built, but unusable.
    NotRun {
        /// The reason.
        why: Unusable,
    },
    /// The commit on top of which it is undone is unusable.
    NothingToCompare,
}

/// A part of a whole (1), with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// The estimate.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commits_own_environment_changes_where_a_quirk_begins() {
        let evidence = LineEvidence::new(9, vec![3, 7]);
        assert_eq!([0, 2, 3, 6, 7, 9].map(|position| evidence.own_environment(position)), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn what_was_saved_is_read_again() {
        let mut evidence = LineEvidence::new(4, vec![2]);
        let why = TrialResult::Unusable { why: Unusable::Hang };
        evidence.trials.push(Trial { position: 1, environment: 0, result: why });
        let build = Build::plain(4, 1).with_layout(3);
        evidence.measured.push(Measured { build, block: 0, value: Some(1.5) });
        let text = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<LineEvidence>(&text).unwrap(), evidence);
    }
}
