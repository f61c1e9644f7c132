//! The plan of a run: its settings, and its items in the order in which they run.
//!
//! `runner` makes plans: it chooses workloads and their order.

use crate::artefact::{Artefact, Release};
use crate::bisect::{BisectSettings, Unusable};
use crate::cell::Cell;
use crate::commit::{CommitInfo, CommitLine};
use crate::lens::settings::LensSettings;
use crate::machine::ControlledHost;
use crate::named_change::NamedChange;
use crate::quantity::{Quantity, QuantityChoice};
use crate::recipe::{BuildTools, Recipe};
use crate::relink::LayoutKind;
use crate::subject::SubjectIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// Placement of tasks on CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinPolicy {
    /// One CPU for each task: cores before hardware threads, one socket before the next.
    Each,
    /// The operating system's scheduler decides.
    None,
}

/// A real source tree to build, for `tree_build:given`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenTree {
    /// The tree's directory.
    pub directory: String,
    /// Words of the command; `{tasks}` stands for the number of tasks.
    pub command: Vec<String>,
}

/// A user's request, saved with the run for resumes and later readers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Numbers of tasks, ascending.
    pub cpus: Vec<u32>,
    /// Number of blocks: each cell runs once per block.
    pub repeats: u32,
    /// Seed of the order. In a lens run of a kernel it is also the seed of the first block's
    /// guests.
    pub seed: u64,
    /// Time limit of each execution in milliseconds, if given.
    pub limit_ms: Option<u64>,
    /// `--size` for the workloads, if given.
    pub size: Option<u64>,
    /// The kind of run, with its settings.
    pub kind: RunKind,
}

/// The settings by what the run measures. Readers of a plan ask these instead of matching kinds, so
/// that a new kind is treated like the others with the same settings.
impl Settings {
    /// Settings of time measurements; `None` for a run under the lens.
    pub fn timed(&self) -> Option<&TimedSettings> {
        match &self.kind {
            RunKind::Timed(timed) => Some(timed),
            RunKind::Comparison(comparison) => Some(&comparison.timed),
            _ => match &self.measured_line()?.measure {
                LineMeasure::Timed { settings, .. } => Some(settings),
                LineMeasure::Counted(_) => None,
            },
        }
    }

    /// Commits that the run builds and measures; `None` for a run that builds none.
    pub fn measured_line(&self) -> Option<&MeasuredLine> {
        match &self.kind {
            RunKind::Bisect(search) => Some(&search.measured),
            RunKind::History(history) => Some(&history.measured),
            _ => None,
        }
    }

    /// Settings of a live comparison; `None` for any other run.
    pub fn comparison(&self) -> Option<&ComparisonSettings> {
        match &self.kind {
            RunKind::Comparison(comparison) => Some(comparison),
            _ => None,
        }
    }

    /// Settings of a lens run; `None` for any other run.
    pub fn lens(&self) -> Option<&LensSettings> {
        match &self.kind {
            RunKind::Lens(lens) => Some(lens),
            _ => None,
        }
    }

    /// Settings of the lens, for any run whose executions it counts: a lens run, or a search along
    /// a line of commits or a history by counts.
    pub fn counting(&self) -> Option<&LensSettings> {
        match &self.kind {
            RunKind::Lens(lens) => Some(lens),
            _ => self.measured_line()?.measure.counted().map(|counted| &counted.lens),
        }
    }

    /// Settings of a search along a line of commits; `None` for any other run.
    pub fn bisect(&self) -> Option<&LineSearch> {
        match &self.kind {
            RunKind::Bisect(search) => Some(search),
            _ => None,
        }
    }

    /// Settings of a run that measures commits of a history; `None` for any other run.
    pub fn history(&self) -> Option<&HistorySettings> {
        match &self.kind {
            RunKind::History(history) => Some(history),
            _ => None,
        }
    }
}

/// A kind of run, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RunKind {
    /// Rates and times of one subject.
    Timed(TimedSettings),
    /// Rates and times of two alternating subjects, until a difference is established or excluded.
    Comparison(ComparisonSettings),
    /// Transfers between CPUs, counted.
    Lens(LensSettings),
    /// A search for the commits that changed a program's time, or the lens's counts of it. Its plan
    /// grows during the search.
    Bisect(Box<LineSearch>),
    /// The time or a count of a program at chosen commits. Its plan grows while they are built.
    History(Box<HistorySettings>),
}

impl RunKind {
    /// Name of the kind.
    pub fn name(&self) -> KindOfRun {
        match self {
            RunKind::Timed(_) => KindOfRun::Timed,
            RunKind::Comparison(_) => KindOfRun::Comparison,
            RunKind::Lens(_) => KindOfRun::Lens,
            RunKind::Bisect(_) => KindOfRun::Bisect,
            RunKind::History(_) => KindOfRun::History,
        }
    }
}

/// The name of a kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KindOfRun {
    /// Measures time.
    Timed,
    /// Compares two subjects.
    Comparison,
    /// Counts under the lens.
    Lens,
    /// Searches a line of commits.
    Bisect,
    /// Measures commits of a history.
    History,
}

impl KindOfRun {
    /// Every kind.
    pub const ALL: [KindOfRun; 5] =
        [KindOfRun::Timed, KindOfRun::Comparison, KindOfRun::Lens, KindOfRun::Bisect, KindOfRun::History];

    /// True if the run builds commits and measures each. Its plan grows, and its figures are those
    /// of many subjects.
    pub fn measures_commits(self) -> bool {
        matches!(self, KindOfRun::Bisect | KindOfRun::History)
    }

    /// The word used in files.
    pub fn word(self) -> &'static str {
        match self {
            KindOfRun::Timed => "timed",
            KindOfRun::Comparison => "comparison",
            KindOfRun::Lens => "lens",
            KindOfRun::Bisect => "bisect",
            KindOfRun::History => "history",
        }
    }
}

/// Settings of time measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedSettings {
    /// The suite's name, if one was chosen.
    pub suite: Option<String>,
    /// Placement of tasks on CPUs.
    pub pin: PinPolicy,
    /// True if more tasks than CPUs were requested on purpose.
    pub oversubscribe: bool,
    /// Time budget in milliseconds, if given: no item starts after it.
    pub budget_ms: Option<u64>,
    /// Time in milliseconds that executions take at least: the plan grows by blocks until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_ms: Option<u64>,
    /// True if the run ends with its first failed execution.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_at_failure: bool,
    /// Number of concurrent copies that `tree_build` builds.
    pub copies: u32,
    /// A real tree to build.
    pub tree: Option<GivenTree>,
}

impl TimedSettings {
    /// Settings with pinning only: no suite, no budget, one copy, no tree.
    pub fn pinned(pin: PinPolicy) -> Self {
        TimedSettings {
            suite: None,
            pin,
            oversubscribe: false,
            budget_ms: None,
            least_ms: None,
            ends_at_failure: false,
            copies: 1,
            tree: None,
        }
    }
}

/// Commits that are built and measured. Each subject of the run is a commit that was built, or
/// failed to build, in the order in which they were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLine {
    /// The measurement of each commit.
    #[serde(flatten)]
    pub measure: LineMeasure,
    /// The choice of the quantity, if the request left it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<QuantityChoice>,
    /// The directory of the repository; for releases, of the file that declares them.
    pub repository: String,
    /// The repository's page on its forge ([`crate::forge`]), if its remote has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<String>,
    /// The directory for checkouts and builds, if given.
    pub work: Option<String>,
    /// The commits. A release counts as one.
    pub line: CommitLine,
    /// Releases instead of a repository: kernels that replace commits, or archives from which
    /// commits are made. Empty for a repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
    /// The recipe that builds a commit.
    pub recipe: Recipe,
    /// The tools that build the commits.
    pub tools: BuildTools,
    /// The measured part of a build.
    #[serde(flatten)]
    pub artefact: Artefact,
    /// The host over SSH on which time is measured, with absolute paths; `None` for this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<ControlledHost>,
    /// For builds that are installed on that host: the file of a build with the release of its
    /// kernel (`uname -r`), relative to its top directory. A boot of another release is a failure
    /// of the build. `None` if the program of a build is sent and executed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_file: Option<String>,
    /// Kind of the random layouts, if the run has any.
    pub layout_kind: LayoutKind,
}

impl MeasuredLine {
    /// Compares the chosen quantity from now on.
    pub fn choose(&mut self, choice: QuantityChoice) {
        if let LineMeasure::Timed { quantity, .. } = &mut self.measure {
            *quantity = choice.quantity();
            self.choice = Some(choice);
        }
    }

    /// The name of the program's file, for people.
    pub fn program_name(&self) -> &str {
        let word = self.artefact.command().first().map_or("", String::as_str);
        word.rsplit('/').next().unwrap_or(word)
    }
}

/// Settings of a search along a line of commits. Fields of `measured` can be read directly:
/// `search.line`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineSearch {
    /// The commits, and the measurement.
    #[serde(flatten)]
    pub measured: MeasuredLine,
    /// Settings of the search itself.
    pub search: BisectSettings,
    /// Further counts to answer from the same executions, if the measure is one. Then no step is
    /// confirmed in executions of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Quantity>,
    /// Effect of an inconclusive search on the gate that the search has to pass; `None` without a
    /// gate.
    pub gate: Option<WhenInconclusive>,
    /// Total time of the run's executions in milliseconds, after which the search ends. `None`:
    /// unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// The commit on top of which each commit that made a step is undone, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revert: Option<CommitInfo>,
    /// Results of earlier runs for its commits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownCommit>,
    /// The old and the new commit as the user named them; `None` for the step of a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<[String; 2]>,
    /// The change of a history that the search should confirm, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<NamedChange>,
}

/// Result of an earlier run for a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownCommit {
    /// The commit's position on the line.
    pub position: u32,
    /// The result.
    #[serde(flatten)]
    pub result: KnownResult,
}

impl KnownCommit {
    /// The directory of the measured build, if it is known.
    pub fn build(&self) -> Option<&str> {
        match &self.result {
            KnownResult::Value { build, .. } => build.as_deref(),
            KnownResult::Unusable { .. } => None,
        }
    }
}

/// The result of a commit in an earlier run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum KnownResult {
    /// An exact value.
    Value {
        /// The value.
        value: f64,
        /// The directory of the measured build.
        #[serde(skip_serializing_if = "Option::is_none")]
        build: Option<String>,
    },
    /// The commit cannot be measured.
    Unusable {
        /// The reason.
        why: Unusable,
    },
}

impl Deref for LineSearch {
    type Target = MeasuredLine;

    fn deref(&self) -> &MeasuredLine {
        &self.measured
    }
}

/// Settings of a run that measures commits of a history. Fields of `measured` can be read directly:
/// `history.line`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistorySettings {
    /// The picked commits of the history and those with results of earlier runs, oldest first, and
    /// the measurement. Neighbours need not be parent and child.
    #[serde(flatten)]
    pub measured: MeasuredLine,
    /// The subject's name.
    pub subject: String,
    /// Positions of the commits that this run measures, ascending.
    pub wanted: Vec<u32>,
    /// Name of the measuring machine. Results of another machine, or emulator, belong to another
    /// series.
    pub machine: String,
    /// Order of the commits.
    pub order: CommitOrder,
    /// For counts: true if the number of seeds is chosen by two seeds of the first and the last
    /// commit that this run measures. All commits are then counted with one seed, or with as many
    /// as the run has repeats. If false, they are always counted with as many as the run has
    /// repeats.
    #[serde(default, skip_serializing_if = "is_false")]
    pub seeds_by_ends: bool,
    /// Number of random layouts in which each commit is linked and measured, in addition to its
    /// own; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub layouts: u32,
}

fn is_time(quantity: &Quantity) -> bool {
    *quantity == Quantity::Time
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Order of a history's commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitOrder {
    /// A line: each commit contains the changes of all commits before it.
    Line,
    /// Parallel branches, whose commits may be mixed.
    #[default]
    Branches,
}

impl Deref for HistorySettings {
    type Target = MeasuredLine;

    fn deref(&self) -> &MeasuredLine {
        &self.measured
    }
}

/// The measurement of each commit of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineMeasure {
    /// A cost of the program's executions.
    Timed {
        /// The cost.
        quantity: Quantity,
        /// Settings of the executions.
        #[serde(flatten)]
        settings: TimedSettings,
    },
    /// A count of the lens.
    Counted(Box<CountedSettings>),
}

impl LineMeasure {
    /// The compared quantity.
    pub fn quantity(&self) -> Quantity {
        match self {
            LineMeasure::Timed { quantity, .. } => *quantity,
            LineMeasure::Counted(counted) => counted.what,
        }
    }

    /// Settings of the lens; `None` if executions are measured.
    pub fn counted(&self) -> Option<&CountedSettings> {
        match self {
            LineMeasure::Counted(counted) => Some(counted),
            LineMeasure::Timed { .. } => None,
        }
    }
}

/// Count of the lens for each commit of a line. With one seed a commit's count is exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedSettings {
    /// The compared count.
    pub what: Quantity,
    /// Settings of the lens.
    pub lens: LensSettings,
}

/// Settings of a live comparison. Its sides are the run's first two subjects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonSettings {
    /// Settings of time measurements, for both sides.
    pub timed: TimedSettings,
    /// The compared quantity; none that the lens counts.
    #[serde(default, skip_serializing_if = "is_time")]
    pub quantity: Quantity,
    /// Familywise confidence level, across all workloads and all looks: 0…1.
    pub level: f64,
    /// Margin of equality, as a share: sides whose ratio lies within [1/(1 + margin), 1 + margin]
    /// count as equal.
    pub margin: f64,
    /// True for one test without interim looks, when all planned items are measured or the time is
    /// used up.
    pub once: bool,
    /// Purpose of the comparison.
    pub purpose: ComparisonPurpose,
}

/// Effect of an inconclusive workload, or search, on a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenInconclusive {
    /// The gate fails.
    #[default]
    Fail,
    /// The gate passes, with a note.
    Pass,
}

/// Purpose of a live comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonPurpose {
    /// To find the better side.
    #[default]
    Answer,
    /// To find the better side, with the exit status of a gate.
    Gate(WhenInconclusive),
    /// To check that this machine is fit to measure on. It is both sides.
    Check,
}

/// Default margin of equality.
pub const USUAL_MARGIN: f64 = 0.02;

/// Lengths of an item's phases, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Length of the warm-up, which is counted but not used for the rate.
    pub warmup_ms: u64,
    /// Length of the region of interest.
    pub window_ms: u64,
    /// Length of one interval in either phase.
    pub interval_ms: u64,
}

impl Timing {
    /// Number of intervals in the region of interest: the samples that the item has to deliver.
    pub fn intervals(&self) -> u64 {
        self.window_ms / self.interval_ms
    }
}

/// One execution of one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    /// Position in the order, from 0; identifies the item within its run.
    pub ordinal: u32,
    /// The item's block (repeat), from 0. Each block contains every cell once.
    pub block: u32,
    /// The measured subject.
    pub subject: SubjectIndex,
    /// The executed cell.
    pub cell: Cell,
    /// Lengths of the phases; `None` for a workload that runs once.
    pub timing: Option<Timing>,
    /// Seed of the guest's random numbers, in a lens run of a kernel: equal for all cells of a
    /// block. `None` in other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed() -> TimedSettings {
        TimedSettings::pinned(PinPolicy::Each)
    }

    #[test]
    fn what_is_measured_of_a_line_is_saved_beside_the_rest() {
        let mut executed = serde_json::to_value(timed()).unwrap();
        executed["quantity"] = "time".into();
        let mut line = serde_json::json!({"timed": executed, "search": {"noise": "any", "level": 0.95, "least": 0.02,
            "most_blocks": 60, "layouts": 0, "thorough": false}, "repository": "/r", "work": null,
            "line": {"commits": []}, "recipe": {"command": [], "limit_s": 1, "is_clean": false},
            "tools": {"digest": "1", "versions": {}}, "command": ["./x"], "layout_kind": LayoutKind::default()});
        let read = |line: &serde_json::Value| serde_json::from_value::<LineSearch>(line.clone()).unwrap();
        let search = read(&line);
        assert_eq!(search.measure, LineMeasure::Timed { quantity: Quantity::Time, settings: timed() });
        assert_eq!(read(&serde_json::to_value(&search).unwrap()), search);

        line.as_object_mut().unwrap().remove("timed");
        let times = serde_json::json!({"instruction_ps": 1, "same_cache_ns": 1, "same_socket_ns": 1,
            "other_socket_ns": 1, "memory_ns": 1});
        let again = serde_json::json!({"plugin": {"path": "/plugin", "sha256": "00"}, "whole": false, "times": times});
        line["counted"] = serde_json::json!({"what": "transfers",
            "lens": {"sockets": 1, "costs": "default", "budgets": [], "again": again}});
        let search = read(&line);
        assert_eq!(search.measure.quantity(), Quantity::Transfers);
        assert_eq!(search.program_name(), "x");
        assert_eq!(read(&serde_json::to_value(&search).unwrap()), search);

        line.as_object_mut().unwrap().remove("command");
        line["kernel"] = serde_json::json!({"image": "bzImage", "workload": "zero_fill:base", "mode": "thread"});
        let search = read(&line);
        assert_eq!(search.artefact.kernel().map(|kernel| kernel.image.as_str()), Some("bzImage"));
        assert_eq!(read(&serde_json::to_value(&search).unwrap()), search);
    }
}
