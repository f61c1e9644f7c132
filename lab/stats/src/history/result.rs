//! A history: results of commits from one or several runs, the steps between them, and comparisons
//! of two commits.

use crate::changes::{ChangeCaution, Status};
use crate::comparison::{Comparison, CounterDifference};
use crate::estimate::Estimate;
use crate::history::StepState;
use crate::history::causes::{BootSpread, CauseLabel, LayoutResults, Quirk, StepCause, StepLayouts};
use crate::lens::comparison::CellComparison;
use crate::mean_load::MeanLoad;
use faultline_record::bisect::Unusable;
use faultline_record::change_event::ChangeState;
use faultline_record::commit::CommitInfo;
use faultline_record::direction::Effect;
use faultline_record::explained::{FilesChanged, LinkedChanges};
use faultline_record::outcome::Outcome;
use faultline_record::quantity::{Quantity, QuantityChoice};
use faultline_record::record::{Conclusion, RunId};
use faultline_record::subject::SubjectIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The results of a run, in the order in which its commits were built.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HistoryResults {
    /// The commits with a result.
    pub commits: Vec<CommitResult>,
    /// The least CPU time of each commit's executions; empty unless their time is the value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_times: BTreeMap<String, f64>,
    /// Use of the machine by other programs meanwhile; `None` if unknown, and for counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<MeanLoad>,
}

impl Conclusion for HistoryResults {
    const KIND: &'static str = "history";
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitResult {
    /// The commit's name.
    pub commit: String,
    /// The result.
    #[serde(flatten)]
    pub outcome: CommitOutcome,
}

/// Result of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum CommitOutcome {
    /// Measured.
    Measured {
        /// The values of the successful executions, at least one.
        values: Vec<f64>,
        /// The commit with the same build, executed for both.
        #[serde(skip_serializing_if = "Option::is_none")]
        same_as: Option<String>,
        /// The boot of each execution, numbered from 0 within the commit; empty with a single boot,
        /// or if one is unknown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        boots: Vec<u32>,
        /// Results in random layouts; `None` without any. They have no part in `values`.
        #[serde(skip_serializing_if = "Option::is_none")]
        layouts: Option<LayoutResults>,
    },
    /// Unusable.
    Unusable(NotMeasured),
}

/// The reason why a commit has no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// The reason.
    pub why: Unusable,
    /// The failure of its build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<FailedBuild>,
    /// The end of its first failed execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Outcome>,
}

/// A failed build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedBuild {
    /// The failure as text.
    pub how: String,
    /// The last lines of its output.
    pub output: String,
}

/// A subject's commits with their results, and the steps between them. `format` is
/// [`HistorySeries::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistorySeries {
    /// Name and version of this structure.
    pub format: String,
    /// The subject's name.
    pub subject: String,
    /// The directory of the repository; for releases, that of the file that declares them.
    pub repository: String,
    /// The repository's page on its forge, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<String>,
    /// Words of the command; none for kernels.
    pub command: Vec<String>,
    /// The workload of kernels, as `name:variant`, with values per operation; `None` for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// True if its points are existing kernels instead of commits. Archives of releases are commits
    /// of a repository made for them.
    pub has_releases: bool,
    /// The quantity of the values.
    pub quantity: Quantity,
    /// Unit of the values.
    pub unit: String,
    /// Parallel copies of the command, or its threads.
    pub tasks: u32,
    /// The name of the measuring host; `None` for counts, which do not depend on the host, and if
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// A digest of the common conditions of its results: recipe, command, measure, machine.
    pub conditions: String,
    /// Its runs, newest first.
    pub runs: Vec<RunId>,
    /// Runs of the subject that belong to another series, newest first.
    pub left_out: Vec<OtherRun>,
    /// The commits, oldest first.
    pub points: Vec<HistoryPoint>,
    /// Changes of the environment.
    pub quirks: Vec<Quirk>,
    /// Declared changes of commits that are not among the points.
    pub unplaced_quirks: Vec<String>,
    /// The steps between them.
    pub steps: HistorySteps,
    /// The steps by CPU time, if there is none by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_cpu_time: Option<CpuTimeSteps>,
    /// The choice of the quantity, if the declaration leaves it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<QuantityChoice>,
    /// Greatest average use of the machine by other programs during a run; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<MeanLoad>,
    /// Recorded differences at steps of counts, and of the time of workloads, if looked up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<StepMoved>,
}

/// Steps by the CPU time of the same executions, searched apart from the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTimeSteps {
    /// False-positive rate: the share of series without a step in which one is found.
    pub false_alarms: f64,
    /// The smallest detectable step, as for the time.
    pub detectable: Option<f64>,
    /// The steps, in order.
    pub steps: Vec<CpuTimeStep>,
}

/// A step of the CPU time. Positions are those of the series' points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTimeStep {
    /// The last measured commit before it.
    pub after: u32,
    /// The first measured commit with the new level.
    pub by: u32,
    /// The level before.
    pub from: f64,
    /// The level after.
    pub to: f64,
}

impl HistorySeries {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-history/1";

    /// The commit at a position.
    pub fn commit(&self, position: u32) -> Option<&CommitInfo> {
        self.points.get(position as usize).map(|point| &point.commit)
    }

    /// The step with this position as its first commit.
    pub fn step_at(&self, position: u32) -> Option<&HistoryStep> {
        self.steps.steps.iter().find(|step| step.by == position)
    }
}

/// A run that measured the same subject differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherRun {
    /// The run.
    pub run: RunId,
    /// The difference.
    pub differs_in: Differing,
}

/// A difference that makes two runs incomparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Differing {
    /// The build of commits: command, environment, kept files.
    Recipe,
    /// The measured command.
    Command,
    /// The measure or its settings.
    Measure,
    /// The machine, or the emulator.
    Machine,
    /// The random numbers of guests.
    Seed,
}

/// A commit of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryPoint {
    /// The commit.
    pub commit: CommitInfo,
    /// The run that has its result.
    pub run: Option<RunId>,
    /// The number of quirks before that run.
    pub environment: u32,
    /// Its result.
    #[serde(flatten)]
    pub result: PointResult,
}

impl HistoryPoint {
    /// The value by which steps are searched, if measured.
    pub fn value(&self) -> Option<f64> {
        match &self.result {
            PointResult::Measured { estimate, least, .. } => Some(least.unwrap_or(estimate.median)),
            PointResult::Unusable(_) | PointResult::None => None,
        }
    }
}

/// The result of a commit of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "lowercase")]
pub enum PointResult {
    /// Measured.
    Measured {
        /// The median of its executions; one suffices for an exact value.
        estimate: Estimate,
        /// The least of its executions, for CPU times only: other programs only lengthen them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        least: Option<f64>,
        /// The commit with the same build, executed for both.
        #[serde(skip_serializing_if = "Option::is_none")]
        same_as: Option<String>,
    },
    /// Unusable.
    Unusable(NotMeasured),
    /// No result yet.
    None,
}

/// The steps of a series, and their method. Positions are those of the series' points, from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistorySteps {
    /// The method.
    #[serde(flatten)]
    pub basis: StepBasis,
    /// Smallest change that is a step, as a share of the value before.
    pub least_change: f64,
    /// The steps, in order.
    pub steps: Vec<HistoryStep>,
    /// Number of measured commits at which no step is detectable yet: the newest ones, or those
    /// with too few seeds.
    pub unjudged: u32,
    /// Number of people's marks of changes that are not found any more.
    pub unplaced: u32,
}

/// Method of finding steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "basis", rename_all = "kebab-case")]
pub enum StepBasis {
    /// Exact values: neighbours differ, or do not.
    Exact,
    /// Counts that depend on their seed: the counts of a commit with several seeds are a sample,
    /// and neighbours are compared by samples.
    Seeds {
        /// Minimum number of seeds of compared commits.
        needed: u32,
        /// Smallest number of seeds of a measured commit.
        fewest: u32,
        /// Largest number of seeds of a commit.
        most: u32,
        /// Maximum probability of no step at which neighbours count as a step.
        no_step: f64,
        /// The smallest step, as a share, found at any position with the probability `POWER` of the
        /// method; `None` with fewer than two commits.
        detectable: Option<f64>,
    },
    /// By the statistics of `stats::changes`.
    Noisy {
        /// False-positive rate: the share of series without a step in which one is found.
        false_alarms: f64,
        /// False-positive rate of firm steps.
        false_confirmations: f64,
        /// Number of steps left out because they are smaller than the smallest change.
        smaller: u32,
        /// The smallest step, as a share, found with the probability `POWER` of the method wherever
        /// enough commits are on both sides; `None` if unknown.
        detectable: Option<f64>,
        /// Reasons why the rate may not hold, or why no step is reported.
        cautions: Vec<ChangeCaution>,
    },
    /// None: the series has too few measured commits.
    TooShort {
        /// Their number.
        points: u32,
        /// The required number.
        needed: u32,
    },
}

/// A step of a series: at one of the commits after a position, up to and including another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryStep {
    /// The last measured commit before it, as estimated.
    pub after: u32,
    /// The first measured commit that has the new level, as estimated.
    pub by: u32,
    /// Lower end of the 95 % range of `after`; equal to it for exact values.
    pub earliest: u32,
    /// Upper end of the 95 % range of `by`; equal to it for exact values.
    pub latest: u32,
    /// The level before it.
    pub from: f64,
    /// The level after it.
    pub to: f64,
    /// True for a change to better values.
    pub effect: Effect,
    /// Its certainty; `None` for exact values.
    pub status: Option<Status>,
    /// No run measured commits on both sides within its range, so the difference may be one of
    /// time. Never for exact values.
    pub between_runs: bool,
    /// The quirks in its range and their effect; `None` without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<StepCause>,
    /// The evidence of random layouts; `None` if no run tried them on both sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layouts: Option<StepLayouts>,
    /// Variation of commits beside it between boots; `None` if none was measured in several boots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boots: Option<BootSpread>,
    /// Its state and marks.
    pub state: StepState,
    /// The commits between `after` and `by` in the repository, if looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
}

impl HistoryStep {
    /// True if it needs no action: ignored, fixed, or made by the environment or the layout.
    pub fn is_settled(&self) -> bool {
        self.state.now.is_settled() || matches!(self.blame(), Blame::Environment | Blame::Layout)
    }

    /// Its cause.
    pub fn blame(&self) -> Blame {
        if self.state.is_confirmed_by_person() {
            return Blame::Program;
        }
        // A search that confirms the step does not distinguish code and layout.
        let of_layouts = self.layouts.map_or(Blame::Program, |layouts| layouts.blame());
        of_layouts.min(self.blame_of_environment())
    }

    /// Its cause without the evidence of layouts.
    fn blame_of_environment(&self) -> Blame {
        match &self.cause {
            // Both sides were measured together, so in one environment.
            _ if self.state.now == ChangeState::Confirmed => Blame::Program,
            None => Blame::Program,
            Some(cause) => match cause.label {
                CauseLabel::Code => Blame::Program,
                CauseLabel::Quirk => Blame::Environment,
                CauseLabel::MostlyQuirk | CauseLabel::Inconclusive => Blame::Inconclusive,
            },
        }
    }
}

/// Cause of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blame {
    /// The environment: the program's part is no step.
    Environment,
    /// The places of code and data: the part that remains in random layouts is no step.
    Layout,
    /// Undecided: the program's part may be a step.
    Inconclusive,
    /// The program.
    Program,
}

/// Commits between two commits of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Between {
    /// The commits, newest first; at most [`Between::MOST_COMMITS`].
    pub commits: Vec<CommitInfo>,
    /// Number of all commits.
    pub count: u32,
    /// The authors of the listed commits, by descending number of commits.
    pub authors: Vec<Author>,
    /// The changed files.
    pub files: FilesChanged,
    /// Differences of the linked artefacts of both.
    pub linked: LinkedChanges,
}

impl Between {
    /// Maximum number of listed commits.
    pub const MOST_COMMITS: usize = 200;
}

/// An author of several commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Author {
    /// The name.
    pub name: String,
    /// Number of commits.
    pub commits: u32,
}

/// A picked or measured commit of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCommit {
    /// The name of the history's subject.
    pub subject: String,
    /// Parallel copies of the command, or its threads.
    pub tasks: u32,
    /// The commit.
    pub commit: CommitInfo,
    /// True if it is picked now.
    pub is_picked: bool,
    /// True if the next run would measure it.
    pub is_wanted: bool,
    /// True if its newest result is a value; `None` without a result.
    pub is_measured: Option<bool>,
}

/// Differences between the two measured commits around a step, besides their values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepMoved {
    /// The position of the commit before the step.
    pub after: u32,
    /// The position of the first commit with the new level.
    pub by: u32,
    /// For counts: lines and code with different transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<CellComparison>,
    /// For the time of workloads: the kernel's counters that differ, per operation, most
    /// significant first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterDifference>,
}

/// Two measured commits of a history, compared by their recorded executions.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCommits {
    /// Description of each in the run that measured it.
    pub subjects: [SubjectIndex; 2],
    /// The comparison.
    pub values: ComparedValues,
}

/// A comparison of times, or of counts.
#[derive(Debug, Clone, PartialEq)]
pub enum ComparedValues {
    /// By the statistics of two samples, with counters and further figures.
    Timed(Box<Comparison>),
    /// Exact counts, with lines and code with different transfers.
    Counted(Box<CellComparison>),
}
