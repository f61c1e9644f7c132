//! A history: results of commits, of one run and of several together, and the steps between commits. Computed by `stats`.

pub mod certainty;
pub mod change;
pub mod compared;
pub mod gate;
pub mod layouts;
pub mod moved;
pub mod notice;
pub mod quirk;

use crate::changes::{ChangeCaution, Effect, Status};
use crate::commit::CommitInfo;
use crate::count::Count;
use crate::drill::Unusable;
use crate::estimate::Estimate;
use crate::explained::{FilesChanged, LinkedChanges};
use crate::outcome::Outcome;
use crate::record::RunId;
use crate::subject::SubjectIndex;
use change::{ChangeState, StepState};
use layouts::{BootSpread, LayoutResults, StepLayouts};
use moved::StepMoved;
use quirk::{CauseLabel, Quirk, StepCause};
use serde::{Deserialize, Serialize};

/// What a run that measures commits does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryNext {
    /// Build a commit.
    Build {
        /// Its place on the line.
        position: u32,
    },
    /// Link the build of a subject with a random layout.
    Relink {
        /// The subject, whose commit was built.
        subject: SubjectIndex,
        /// The seed of the layout.
        layout: u32,
    },
    /// Execute further blocks.
    Measure {
        /// The subjects of each block.
        blocks: Vec<Vec<SubjectIndex>>,
    },
    /// Count these subjects with these seeds.
    Count {
        /// Seeds, as numbers from 0 that are added to the seed of the run, with the subjects of each.
        seeds: Vec<(u32, Vec<SubjectIndex>)>,
    },
    /// Nothing: each commit has its result.
    Nothing,
}

/// The results of a run, in the order in which its commits were built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryResults {
    /// The commits that have a result.
    pub commits: Vec<CommitResult>,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitResult {
    /// The commit's name.
    pub commit: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: CommitOutcome,
}

/// What came of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum CommitOutcome {
    /// It was measured.
    Measured {
        /// A value for each execution that succeeded, at least one.
        values: Vec<f64>,
        /// The commit with the same build, which was executed for both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same_as: Option<String>,
        /// The boot of the machine in which each of them was executed, as a number from 0 within the commit; empty if it was one boot, or if none is known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        boots: Vec<u32>,
        /// What was measured of it in random layouts; `None` if none were tried. They have no part in `values`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        layouts: Option<LayoutResults>,
    },
    /// It cannot be measured.
    Unusable(NotMeasured),
}

/// Why a commit has no value, and how that was noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotMeasured {
    /// Why.
    pub why: Unusable,
    /// How its build failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<FailedBuild>,
    /// How its first execution that failed ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Outcome>,
}

/// A build that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedBuild {
    /// How, in words.
    pub how: String,
    /// The last lines of its output.
    pub output: String,
}

/// A subject's commits with their results, and the steps between them. `format` is [`HistorySeries::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistorySeries {
    /// Name and version of this structure.
    pub format: String,
    /// The subject's name.
    pub subject: String,
    /// The directory of the repository; of releases, that of the file that declares them.
    pub repository: String,
    /// Words of the command; none of kernels.
    pub command: Vec<String>,
    /// The workload that kernels ran, as `name:variant`; its values are per operation. `None` of programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Whether its points are kernels that were there already, and not commits of a repository. Archives of releases are commits of one that is made for them.
    #[serde(default)]
    pub has_releases: bool,
    /// What is counted; `None` if time is measured.
    pub counted: Option<Count>,
    /// Unit of the values.
    pub unit: String,
    /// Copies of the command that ran at once, or its threads.
    pub tasks: u32,
    /// The name of the host on which time was measured; `None` of counts, which are the same on each, and if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// A digest of what its results have in common: recipe, command, measure, machine.
    #[serde(default)]
    pub conditions: String,
    /// The runs that it comes from, the newest first.
    pub runs: Vec<RunId>,
    /// Runs of the subject whose results belong to another series, the newest first.
    pub left_out: Vec<OtherRun>,
    /// The commits, the oldest first.
    pub points: Vec<HistoryPoint>,
    /// Changes of the surroundings.
    #[serde(default)]
    pub quirks: Vec<Quirk>,
    /// Changes that are declared of commits without a place among the points.
    #[serde(default)]
    pub unplaced_quirks: Vec<String>,
    /// The steps between them.
    pub steps: HistorySteps,
    /// What was recorded otherwise at steps of counts, and of the time of workloads, if it was looked up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<StepMoved>,
}

impl HistorySeries {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-history/1";

    /// The commit at a position.
    pub fn commit(&self, position: u32) -> Option<&CommitInfo> {
        self.points.get(position as usize).map(|point| &point.commit)
    }

    /// The step at whose first commit a position is.
    pub fn step_at(&self, position: u32) -> Option<&HistoryStep> {
        self.steps.steps.iter().find(|step| step.by == position)
    }
}

/// A run that measured the same subject in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherRun {
    /// The run.
    pub run: RunId,
    /// What differs.
    pub differs_in: Differing,
}

/// What makes results of two runs incomparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Differing {
    /// How commits are built: command, environment, what is kept.
    Recipe,
    /// The tools that build them.
    Tools,
    /// The command that is measured.
    Command,
    /// What is measured, or how.
    Measure,
    /// The machine, or the emulator.
    Machine,
    /// The random numbers of guests.
    Seed,
}

/// A commit of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryPoint {
    /// The commit.
    pub commit: CommitInfo,
    /// The run that has its result.
    pub run: Option<RunId>,
    /// The number of quirks between runs that came before that run.
    #[serde(default)]
    pub surroundings: u32,
    /// Its result.
    #[serde(flatten)]
    pub result: PointResult,
}

impl HistoryPoint {
    /// Its value, if it was measured.
    pub fn value(&self) -> Option<f64> {
        match &self.result {
            PointResult::Measured { estimate, .. } => Some(estimate.median),
            PointResult::Unusable(_) | PointResult::None => None,
        }
    }
}

/// The result of a commit of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum PointResult {
    /// It was measured.
    Measured {
        /// The median of its executions, of which an exact value needs one.
        estimate: Estimate,
        /// The commit with the same build, which was executed for both.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same_as: Option<String>,
    },
    /// It cannot be measured.
    Unusable(NotMeasured),
    /// There is none yet.
    None,
}

/// The steps of a series, and how they were found. Positions are places among the series' points, from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistorySteps {
    /// How they were found.
    #[serde(flatten)]
    pub basis: StepBasis,
    /// Smallest change that is a step, as a share of the value before.
    pub least_change: f64,
    /// The steps, in order.
    pub steps: Vec<HistoryStep>,
    /// Number of measured commits at which no step can be found yet: the newest ones, or those with too few seeds.
    pub unjudged: u32,
    /// Number of things that people said of changes that are not found any more.
    #[serde(default)]
    pub unplaced: u32,
}

/// How the steps of a series are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "basis", rename_all = "kebab-case")]
pub enum StepBasis {
    /// Values are exact: neighbours differ, or do not.
    Exact,
    /// Counts depend on their seed: the counts of a commit with several seeds are a sample, and neighbours are compared by samples.
    Seeds {
        /// Fewest seeds with which a commit is compared with its neighbours.
        needed: u32,
        /// Fewest seeds of a commit that was measured.
        fewest: u32,
        /// Most seeds of a commit.
        most: u32,
        /// A neighbour is a step if none has at most this probability.
        no_step: f64,
        /// The smallest step, as a share, that would be found with the probability `POWER` of the method wherever it is; `None` of fewer than two commits.
        detectable: Option<f64>,
    },
    /// By the statistics of `stats::changes`.
    Noisy {
        /// False-positive rate: the share of series without a step in which one is found.
        false_alarms: f64,
        /// The same for a firm step.
        false_confirmations: f64,
        /// Number of steps that were left out because they are smaller than the smallest change.
        smaller: u32,
        /// Why the rate may not hold, or why no step is reported.
        cautions: Vec<ChangeCaution>,
    },
    /// Not at all: the series has too few measured commits.
    TooShort {
        /// How many it has.
        points: u32,
        /// How many a search needs.
        needed: u32,
    },
}

/// A step of a series: at one of the commits after one position, up to and including another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryStep {
    /// The last measured commit before it, as estimated.
    pub after: u32,
    /// The first measured commit that has the new level, as estimated.
    pub by: u32,
    /// Lower end of the 95 % range of `after`; of exact values the same.
    pub earliest: u32,
    /// Upper end of the 95 % range of `by`; of exact values the same.
    pub latest: u32,
    /// The level before it.
    pub from: f64,
    /// The level after it.
    pub to: f64,
    /// Whether it makes the program better.
    pub effect: Effect,
    /// How certain it is; `None` of exact values.
    pub status: Option<Status>,
    /// No run measured commits on both sides within its range: what differs may be the time of measuring, not the program. Never of exact values.
    pub between_runs: bool,
    /// Which quirks lie within its range, and what they say of it; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<StepCause>,
    /// What random layouts of commits on both sides tell; `None` if none were tried on both sides in one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<StepLayouts>,
    /// How much commits beside it vary from boot to boot; `None` if none of them was measured in several boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots: Option<BootSpread>,
    /// What holds of it, and what was said of it.
    #[serde(default)]
    pub state: StepState,
    /// What lies between `after` and `by` in the repository, if it was looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
}

impl HistoryStep {
    /// Whether nothing has to be done about it: it is ignored or fixed, or the surroundings or the layout made it, not the program.
    pub fn is_settled(&self) -> bool {
        self.state.now.is_settled() || matches!(self.blame(), Blame::Surroundings | Blame::Layout)
    }

    /// Whether the program made it, as far as that is known.
    pub fn blame(&self) -> Blame {
        if self.state.is_confirmed_by_person() {
            return Blame::Program;
        }
        // A search that measures both sides together and finds the step again does not tell code from layout.
        let of_layouts = self.layouts.map_or(Blame::Program, |layouts| layouts.blame());
        of_layouts.min(self.blame_of_surroundings())
    }

    /// The same as if there were no layouts.
    fn blame_of_surroundings(&self) -> Blame {
        match &self.cause {
            // Both sides were measured together, so in the same surroundings.
            _ if self.state.now == ChangeState::Confirmed => Blame::Program,
            None => Blame::Program,
            Some(cause) => match cause.label {
                CauseLabel::Code => Blame::Program,
                CauseLabel::Quirk => Blame::Surroundings,
                CauseLabel::MostlyQuirk | CauseLabel::Inconclusive => Blame::Inconclusive,
            },
        }
    }
}

/// What made a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blame {
    /// The surroundings: the program's part is no step.
    Surroundings,
    /// Only the places of code and data: what remains of the step in random layouts is no step.
    Layout,
    /// It is not shown whether the program's part is a step.
    Inconclusive,
    /// The program, as nothing shows otherwise.
    Program,
}

/// What lies between two commits of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// The commits, the newest first; at most [`Between::MOST_COMMITS`].
    pub commits: Vec<CommitInfo>,
    /// Number of all commits.
    pub count: u32,
    /// The authors of the listed commits, those with most commits first.
    pub authors: Vec<Author>,
    /// The files that differ.
    pub files: FilesChanged,
    /// How what was linked differs between the builds of both.
    pub linked: LinkedChanges,
}

impl Between {
    /// Maximum number of commits that are listed.
    pub const MOST_COMMITS: usize = 200;
}

/// An author of several commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The name.
    pub name: String,
    /// Number of commits.
    pub commits: u32,
}

/// A commit of a history that is picked, or has a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCommit {
    /// The name of the history's subject.
    pub subject: String,
    /// Copies of the command that run at once, or its threads.
    pub tasks: u32,
    /// The commit.
    pub commit: CommitInfo,
    /// Whether it is picked now.
    pub is_picked: bool,
    /// Whether the next run would measure it.
    pub is_wanted: bool,
    /// Whether its newest result is a value; `None` if it has no result.
    pub is_measured: Option<bool>,
}
