//! The search for the commits of a line at which a measure changed: what was tried and measured, what to do next, and what was found. Computed by
//! `stats`.

pub mod gate;
pub mod reverted;

use crate::comparison::CounterDifference;
use crate::explained::StepExplained;
use crate::lens::comparison::CellComparison;
use reverted::StepReverted;
use serde::{Deserialize, Serialize};

/// A commit of the line, built in certain surroundings and with a certain layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Build {
    /// The commit's place on the line, from 0: the good end.
    pub position: u32,
    /// The surroundings, counted as the quirks that came before them: toolchain, configuration, host.
    pub surroundings: u32,
    /// The seed of a random layout; `None` of the layout that the build has by itself.
    pub layout: Option<u32>,
}

impl Build {
    /// The build of a commit with the layout that it has by itself.
    pub fn plain(position: u32, surroundings: u32) -> Self {
        Build { position, surroundings, layout: None }
    }

    /// The same with a random layout.
    pub fn with_layout(self, seed: u32) -> Self {
        Build { layout: Some(seed), ..self }
    }
}

/// Why a commit has no values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unusable {
    /// It does not build.
    Build,
    /// It is built but does not boot.
    Boot,
    /// It starts but fails.
    Run,
    /// It does not end.
    Hang,
}

/// How a trial of a commit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialResult {
    /// It can be measured.
    Usable,
    /// Its artefact is the same as that of another position, which was tried before it in the same surroundings and is measured for both.
    SameAs {
        /// The other position.
        position: u32,
    },
    /// It cannot be measured.
    Unusable {
        /// Why.
        why: Unusable,
    },
}

/// A commit that was built, or failed to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The commit's place on the line.
    pub position: u32,
    /// The surroundings that it was built in.
    pub surroundings: u32,
    /// How it ended.
    pub result: TrialResult,
}

/// What came of linking a build with a random layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LayoutResult {
    /// It can be measured, and its places are those of no other layout of the build.
    Placed,
    /// Its places are those of another layout of the build.
    SameAs {
        /// The other layout, which was tried before.
        layout: u32,
    },
    /// Its places are those that the build has by itself.
    Unchanged,
    /// It cannot be linked so, or does not run.
    Failed,
}

/// A random layout of a build that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutTrial {
    /// The build, with its layout.
    pub build: Build,
    /// What came of it.
    pub result: LayoutResult,
}

/// One execution of a build.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What was executed.
    pub build: Build,
    /// The block: values of one block were measured close to each other in time, in random order. Of counts, the number of the seed, from 0.
    pub block: u32,
    /// The value, above 0, and of exact values also 0; `None` of an execution that failed.
    pub value: Option<f64>,
}

/// All that is known of a line of commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The last position: the bad end. Position 0 is the good end.
    pub last: u32,
    /// Positions from which on each of the quirks holds, ascending: a commit's own surroundings are the number of those at or before it.
    pub quirks: Vec<u32>,
    /// What was tried, in that order.
    pub trials: Vec<Trial>,
    /// Random layouts that were tried, in that order.
    #[serde(default)]
    pub layouts: Vec<LayoutTrial>,
    /// What was measured, in any order.
    pub measured: Vec<Measured>,
}

impl Evidence {
    /// A line of which nothing is known, with positions 0 to `last`.
    pub fn new(last: u32, quirks: Vec<u32>) -> Self {
        Evidence { last, quirks, trials: Vec::new(), layouts: Vec::new(), measured: Vec::new() }
    }

    /// The surroundings of the commit itself.
    pub fn own_surroundings(&self, position: u32) -> u32 {
        self.quirks.iter().filter(|from| **from <= position).count() as u32
    }
}

/// How values vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// Each execution of a build has the same value: counts of the lens with one seed.
    None,
    /// Values differ between executions: time.
    Any,
    /// Values are exact for their seed, and each execution of a build has another seed: counts of the lens. Nothing drifts, so a seed's values can be compared
    /// whenever they were counted.
    Seeds,
    /// Counts of the lens. Both ends are counted with two seeds, which shows whether counts are the same with each seed, or depend on it.
    #[serde(rename = "from-ends")]
    FromEnds,
}

impl Noise {
    /// Whether executions of a build may have different values.
    pub fn may_vary(self) -> bool {
        self != Noise::None
    }
}

/// How a line is searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DrillSettings {
    /// How values vary.
    pub noise: Noise,
    /// Probability with which all that is said to be found is right: 0…1.
    pub level: f64,
    /// Smallest change to search for, as a share: 0.02. With exact values it may be 0.
    pub least: f64,
    /// Maximum number of blocks, or of seeds, in which a position is measured during the search, and the same again to confirm a step at it.
    pub most_blocks: u32,
    /// Number of random layouts of a commit; 0 if none are made.
    pub layouts: u32,
    /// Whether stretches with equal ends are searched too, as long as the builds allowed for the steps found so far last.
    pub thorough: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Next {
    /// Build a commit in these surroundings, and find out whether it runs.
    Try {
        /// The commit's place on the line.
        position: u32,
        /// The surroundings.
        surroundings: u32,
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
    /// Count these builds with these seeds.
    Count {
        /// Seeds, as numbers from 0 that are added to the seed of the run, with the builds of each.
        seeds: Vec<(u32, Vec<Build>)>,
    },
    /// Nothing: everything that can be concluded is known.
    Nothing,
}

/// A ratio with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The value after, divided by the value before.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Blocks, or layouts, that it comes from.
    pub units: u32,
}

impl Change {
    /// The way back.
    pub fn inverse(&self) -> Self {
        Change { ratio: self.ratio.recip(), low: self.high.recip(), high: self.low.recip(), units: self.units }
    }
}

/// What changed at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepLabel {
    /// The program: the change remains under random layouts and in the same surroundings.
    Code,
    /// Only the places of code and data: most of the change is gone under random layouts.
    Layout,
    /// The surroundings: one commit differs by most of the change between the surroundings before and after.
    Quirk,
    /// Not known: it could not be measured, or not precisely enough.
    #[serde(alias = "undecided")]
    Inconclusive,
}

/// What came of random layouts of the commits on both sides of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LayoutsTried {
    /// Layouts that were tried for both commits.
    pub tried: u32,
    /// Those of them that gave both commits places that no other layout gave both. Only they are measured.
    pub distinct: u32,
    /// Those that changed nothing in at least one of the commits.
    pub unchanged: u32,
    /// Those with which at least one of the commits cannot be linked or does not run.
    pub failed: u32,
    /// Standard deviation between layouts of one commit, as a share; `None` with fewer than two layouts.
    pub between: Option<f64>,
    /// Standard deviation between executions of one layout within a block, as a share; 0 of exact values, `None` of too few executions.
    pub within: Option<f64>,
}

/// A step of the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrillStep {
    /// The last position known to be before it.
    pub before: u32,
    /// The first position known to be after it.
    pub after: u32,
    /// The commits of which one made it: those after `before`, up to and including `after`. More than one if the others could not be measured.
    pub candidates: Vec<u32>,
    /// Probability that a step lies between `before` and `after`, given the model and all values. 1 with exact values.
    pub probability: f64,
    /// Whether both sides also differ in blocks that were measured after the search, in which they were measured alone.
    pub confirmed: bool,
    /// The change, from those blocks where there are any; `None` if there are too few values, or if an exact value was 0 before.
    pub change: Option<Change>,
    /// The values before and after, if values are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<[f64; 2]>,
    /// What changed.
    pub label: StepLabel,
    /// The change under random layouts, in the same surroundings.
    pub under_layouts: Option<Change>,
    /// What came of random layouts; `None` if none were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<LayoutsTried>,
    /// The change of one commit between the surroundings before and after; only where they differ.
    pub of_surroundings: Option<Change>,
    /// The change between the commits in the same surroundings; only where their own differ.
    pub of_commits: Option<Change>,
    /// What undoing its commit on top of the newest one told; `None` if that was not asked for, or if several commits may have made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverted: Option<StepReverted>,
    /// What is known of the step besides its values; only of finished searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<StepExplained>,
    /// What the lens counted otherwise after it than before; only of counts, if this search executed both builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<CellComparison>>,
    /// The kernel's counters that differ, per operation, the most telling first; only of the time of workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDifference>,
}

/// A stretch whose ends differ although no step was found in it: many small changes, or noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// Its first position.
    pub from: u32,
    /// Its last position.
    pub to: u32,
    /// The value at the last one divided by that at the first.
    pub ratio: f64,
}

/// What is concluded of a line. `format` is [`Drill::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drill {
    /// Name and version of this structure.
    pub format: String,
    /// Whether the search is over; otherwise this is what is known so far.
    pub finished: bool,
    /// What two seeds at both ends showed of counts, if that was asked for: the same count with each seed (`none`), or not (`seeds`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_show: Option<Noise>,
    /// An end of the line that cannot be measured: then nothing can be said.
    pub unusable_end: Option<u32>,
    /// The steps found, in the order of the line.
    pub steps: Vec<DrillStep>,
    /// Stretches that changed without a step.
    pub slopes: Vec<Slope>,
    /// For each position from 1 on: the probability that a step lies between it and the position before.
    pub probability_by_position: Vec<f64>,
    /// The smallest step, as a share, that would have been found with the probability `POWER` of the method, between the ends of the line and wherever else
    /// levels were compared; `None` without values.
    pub detectable: Option<f64>,
    /// Probability of a step of the least change or more elsewhere than where steps were found. It is not 0 after a search that found none: only measured
    /// levels exclude steps, and builds of the same code differ.
    pub undetected: f64,
    /// Longest stretch of commits with equal ends within which nothing was measured. Steps in it that cancel each other cannot be seen.
    pub longest_unseen: u32,
    /// Commits that were built, or failed to build.
    pub trials: u32,
    /// Commits whose results of earlier runs were used again; they are not among those that were tried.
    #[serde(default, skip_serializing_if = "is_none")]
    pub known: u32,
    /// Commits that could not be measured, those included of which that was known.
    pub unusable: u32,
    /// Blocks that were measured.
    pub blocks: u32,
    /// Executions.
    pub executions: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Drill {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-drill/1";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commits_own_surroundings_change_where_a_quirk_begins() {
        let evidence = Evidence::new(9, vec![3, 7]);
        assert_eq!([0, 2, 3, 6, 7, 9].map(|position| evidence.own_surroundings(position)), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn what_was_saved_is_read_again() {
        let mut evidence = Evidence::new(4, vec![2]);
        let why = TrialResult::Unusable { why: Unusable::Hang };
        evidence.trials.push(Trial { position: 1, surroundings: 0, result: why });
        let build = Build::plain(4, 1).with_layout(3);
        evidence.measured.push(Measured { build, block: 0, value: Some(1.5) });
        let text = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), evidence);
    }
}
