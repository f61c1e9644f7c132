//! What a run is going to do: its settings, and its items in the order in which they run.
//!
//! Making a plan (which workloads, what order) belongs to `runner`.

use crate::artefact::{Artefact, Release};
use crate::cell::Cell;
use crate::commit::{CommitInfo, CommitLine};
use crate::count::Count;
use crate::drill::{DrillSettings, Unusable};
use crate::lens::settings::LensSettings;
use crate::line_host::LineHost;
use crate::named_change::NamedChange;
use crate::recipe::{BuildTools, Recipe};
use crate::relink::LayoutKind;
use crate::subject::SubjectIndex;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// Which CPUs the tasks run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinPolicy {
    /// Each task on a CPU of its own, cores before hardware threads, one socket before the next.
    Each,
    /// The operating system's scheduler decides.
    None,
}

/// A real source tree to build, for `tree_build:given`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenTree {
    /// The tree's directory.
    pub directory: String,
    /// Words of the command; `{jobs}` stands for the number of tasks.
    pub command: Vec<String>,
}

/// What was asked for, saved with the run so that it can be resumed and read later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Numbers of tasks, ascending.
    pub cpus: Vec<u32>,
    /// Blocks: how often each cell is run.
    pub repeats: u32,
    /// Seed of the order. In a lens run of a kernel it is also the seed of the first block's guests.
    pub seed: u64,
    /// Time limit of each execution in milliseconds, where one was given.
    pub limit_ms: Option<u64>,
    /// `--size` for the workloads, where given.
    pub size: Option<u64>,
    /// What is measured of it, and how.
    pub kind: RunKind,
}

impl Settings {
    /// How time is measured; `None` of a run under the lens.
    pub fn timed(&self) -> Option<&TimedSettings> {
        match &self.kind {
            RunKind::Timed(timed) => Some(timed),
            RunKind::Comparison(comparison) => Some(&comparison.timed),
            RunKind::Drill(_) | RunKind::History(_) => match &self.measured_line()?.measure {
                LineMeasure::Timed(timed) => Some(timed),
                LineMeasure::Counted(_) => None,
            },
            RunKind::Lens(_) => None,
        }
    }

    /// The commits that the run builds and measures; `None` of a run that builds none.
    pub fn measured_line(&self) -> Option<&MeasuredLine> {
        match &self.kind {
            RunKind::Drill(drill) => Some(&drill.measured),
            RunKind::History(history) => Some(&history.measured),
            RunKind::Timed(_) | RunKind::Comparison(_) | RunKind::Lens(_) => None,
        }
    }

    /// What is asked of a live comparison; `None` of any other run.
    pub fn comparison(&self) -> Option<&ComparisonSettings> {
        match &self.kind {
            RunKind::Comparison(comparison) => Some(comparison),
            RunKind::Timed(_) | RunKind::Lens(_) | RunKind::Drill(_) | RunKind::History(_) => None,
        }
    }

    /// What is asked of a lens run; `None` of any other run.
    pub fn lens(&self) -> Option<&LensSettings> {
        match &self.kind {
            RunKind::Lens(lens) => Some(lens),
            RunKind::Timed(_) | RunKind::Comparison(_) | RunKind::Drill(_) | RunKind::History(_) => None,
        }
    }

    /// How the lens counts, in any run whose executions it counts: a lens run, or a search along a line of commits or a history by counts.
    pub fn counting(&self) -> Option<&LensSettings> {
        match &self.kind {
            RunKind::Lens(lens) => Some(lens),
            RunKind::Drill(_) | RunKind::History(_) => {
                self.measured_line()?.measure.counted().map(|counted| &counted.lens)
            }
            RunKind::Timed(_) | RunKind::Comparison(_) => None,
        }
    }

    /// What is asked of a search along a line of commits; `None` of any other run.
    pub fn drill(&self) -> Option<&LineSearch> {
        match &self.kind {
            RunKind::Drill(drill) => Some(drill),
            RunKind::Timed(_) | RunKind::Comparison(_) | RunKind::Lens(_) | RunKind::History(_) => None,
        }
    }

    /// What is asked of a run that measures commits of a history; `None` of any other run.
    pub fn history(&self) -> Option<&HistorySettings> {
        match &self.kind {
            RunKind::History(history) => Some(history),
            RunKind::Timed(_) | RunKind::Comparison(_) | RunKind::Lens(_) | RunKind::Drill(_) => None,
        }
    }
}

/// A kind of run, with what that kind needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RunKind {
    /// Rates and times of one subject.
    Timed(TimedSettings),
    /// The same of two subjects in turn, until it is known whether they differ.
    Comparison(ComparisonSettings),
    /// Transfers between CPUs, counted.
    Lens(LensSettings),
    /// A search for the commits at which the time of a program changed, or what the lens counts of it. Its plan grows while it goes on.
    Drill(Box<LineSearch>),
    /// The time or a count of a program at chosen commits. Its plan grows while they are built.
    History(Box<HistorySettings>),
}

impl RunKind {
    /// Its name.
    pub fn name(&self) -> KindOfRun {
        match self {
            RunKind::Timed(_) => KindOfRun::Timed,
            RunKind::Comparison(_) => KindOfRun::Comparison,
            RunKind::Lens(_) => KindOfRun::Lens,
            RunKind::Drill(_) => KindOfRun::Drill,
            RunKind::History(_) => KindOfRun::History,
        }
    }
}

/// The name of a kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KindOfRun {
    /// It measures time.
    Timed,
    /// It compares two subjects.
    Comparison,
    /// It counts under the lens.
    Lens,
    /// It searches a line of commits.
    Drill,
    /// It measures commits of a history.
    History,
}

impl KindOfRun {
    /// Every kind.
    pub const ALL: [KindOfRun; 5] =
        [KindOfRun::Timed, KindOfRun::Comparison, KindOfRun::Lens, KindOfRun::Drill, KindOfRun::History];

    /// The word used in files.
    pub fn word(self) -> &'static str {
        match self {
            KindOfRun::Timed => "timed",
            KindOfRun::Comparison => "comparison",
            KindOfRun::Lens => "lens",
            KindOfRun::Drill => "drill",
            KindOfRun::History => "history",
        }
    }
}

/// How time is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedSettings {
    /// The suite's name, where one was chosen.
    pub suite: Option<String>,
    /// Where tasks run.
    pub pin: PinPolicy,
    /// More tasks than CPUs were asked for on purpose.
    pub oversubscribe: bool,
    /// Time budget in milliseconds, where one was given: no item starts after it.
    pub budget_ms: Option<u64>,
    /// Copies built at once by `tree_build`.
    pub copies: u32,
    /// A real tree to build.
    pub tree: Option<GivenTree>,
}

impl TimedSettings {
    /// What holds where only pinning is asked for: no suite, no budget, one copy, no tree.
    pub fn pinned(pin: PinPolicy) -> Self {
        TimedSettings { suite: None, pin, oversubscribe: false, budget_ms: None, copies: 1, tree: None }
    }
}

/// Commits that are built and measured, and how. Each subject of the run is a commit that was built, or failed to build, in the order in which they were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLine {
    /// What is measured of each commit.
    #[serde(flatten)]
    pub measure: LineMeasure,
    /// The directory of the repository; of releases, that of the file that declares them.
    pub repository: String,
    /// The directory for checkouts and builds, if one was named.
    pub work: Option<String>,
    /// The commits. A release counts as one.
    pub line: CommitLine,
    /// The releases that it has instead of a repository: kernels instead of commits, or archives of which commits are made. None if it has a repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
    /// How a commit is built.
    pub recipe: Recipe,
    /// The tools with which its commits are built; `None` in searches of older versions.
    #[serde(default)]
    pub tools: Option<BuildTools>,
    /// What is measured of a build.
    #[serde(flatten)]
    pub artefact: Artefact,
    /// The host over SSH on which time is measured; `None` for this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<LineHost>,
}

impl MeasuredLine {
    /// The name of the program's file, for people.
    pub fn program_name(&self) -> &str {
        let word = self.artefact.command().first().map_or("", String::as_str);
        word.rsplit('/').next().unwrap_or(word)
    }
}

/// What is asked of a search along a line of commits. What is measured can be read directly: `search.line`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineSearch {
    /// The commits, and what is measured of them.
    #[serde(flatten)]
    pub measured: MeasuredLine,
    /// How the line is searched.
    pub search: DrillSettings,
    /// How random layouts are drawn, if the search has any.
    #[serde(default)]
    pub layouts: LayoutKind,
    /// What an inconclusive search does to the gate that the search has to pass; `None` if it has none.
    #[serde(default)]
    pub gate: Option<WhenInconclusive>,
    /// The commit on top of which each commit that made a step is undone, if that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert: Option<CommitInfo>,
    /// What earlier runs say of its commits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownCommit>,
    /// The change of a history that it searches, if it is to confirm one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<NamedChange>,
}

/// What an earlier run says of a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownCommit {
    /// Its place on the line.
    pub position: u32,
    /// The result.
    #[serde(flatten)]
    pub result: KnownResult,
}

impl KnownCommit {
    /// The directory of the build that was measured, if that is known.
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
        /// The directory of the build that was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        build: Option<String>,
    },
    /// It cannot be measured.
    Unusable {
        /// Why.
        why: Unusable,
    },
}

impl Deref for LineSearch {
    type Target = MeasuredLine;

    fn deref(&self) -> &MeasuredLine {
        &self.measured
    }
}

/// What is asked of a run that measures commits of a history. What is measured can be read directly: `history.line`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistorySettings {
    /// The commits of the history that are picked, or have results of earlier runs, the oldest first, and what is measured of them. Neighbours need not be
    /// parent and child.
    #[serde(flatten)]
    pub measured: MeasuredLine,
    /// The subject's name.
    pub subject: String,
    /// Positions of the commits that this run measures, ascending.
    pub wanted: Vec<u32>,
    /// What measures them: results of another machine, or emulator, belong to another series.
    pub machine: String,
    /// How the commits follow each other. Runs of older versions do not say.
    #[serde(default)]
    pub order: CommitOrder,
    /// Of counts: whether two seeds of the first and the last commit that this run measures decide if all commits are counted with as many seeds as the run's
    /// repeats, or with one. Otherwise all are counted with as many.
    #[serde(default, skip_serializing_if = "is_false")]
    pub seeds_by_ends: bool,
    /// Number of random layouts in which each commit is linked and measured besides its own; 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub layouts: u32,
    /// How these layouts are drawn.
    #[serde(default)]
    pub layout_kind: LayoutKind,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// How the commits of a history follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitOrder {
    /// Each holds what the ones before it changed.
    Line,
    /// Those of parallel branches may be mixed.
    #[default]
    Branches,
}

impl Deref for HistorySettings {
    type Target = MeasuredLine;

    fn deref(&self) -> &MeasuredLine {
        &self.measured
    }
}

/// What is measured of each commit of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineMeasure {
    /// The time of its program.
    Timed(TimedSettings),
    /// What the lens counts of its program.
    Counted(Box<CountedSettings>),
}

impl LineMeasure {
    /// What is counted; `None` if time is measured.
    pub fn counted(&self) -> Option<&CountedSettings> {
        match self {
            LineMeasure::Counted(counted) => Some(counted),
            LineMeasure::Timed(_) => None,
        }
    }
}

/// What the lens counts of each commit of a line. With one seed a commit's count is exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedSettings {
    /// Which count is compared.
    pub what: Count,
    /// How the lens counts.
    pub lens: LensSettings,
}

/// What is asked of a live comparison. Its sides are the run's first two subjects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "SavedComparisonSettings")]
pub struct ComparisonSettings {
    /// How time is measured, on both sides.
    pub timed: TimedSettings,
    /// Familywise confidence level, over all workloads and all looks: 0…1.
    pub level: f64,
    /// Margin of equality, as a share: sides whose ratio lies within [1/(1 + margin), 1 + margin] count as equal.
    pub margin: f64,
    /// It tests once, when all that was planned is measured or the time is used up, and takes no interim looks.
    pub once: bool,
    /// What it is concluded for.
    pub purpose: ComparisonPurpose,
}

/// What an inconclusive workload, or search, does to a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenInconclusive {
    /// It closes it.
    #[default]
    Fail,
    /// It passes, and is noted.
    Pass,
}

/// What a live comparison is concluded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonPurpose {
    /// Which side is better.
    #[default]
    Answer,
    /// The same, and the exit status is that of a gate.
    Gate(WhenInconclusive),
    /// Both sides are this machine: whether it is fit to measure on.
    Check,
}

/// Margin of equality where none is asked for.
pub const USUAL_MARGIN: f64 = 0.02;

/// The settings as they were ever saved. Until a comparison had a margin it had a precision, and 0 meant that it takes no interim looks.
#[derive(Deserialize)]
struct SavedComparisonSettings {
    timed: TimedSettings,
    level: f64,
    margin: Option<f64>,
    once: Option<bool>,
    precision: Option<f64>,
    #[serde(default)]
    purpose: ComparisonPurpose,
}

impl From<SavedComparisonSettings> for ComparisonSettings {
    fn from(saved: SavedComparisonSettings) -> Self {
        ComparisonSettings {
            timed: saved.timed,
            level: saved.level,
            margin: saved.margin.unwrap_or(USUAL_MARGIN),
            once: saved.once.unwrap_or(saved.precision == Some(0.0)),
            purpose: saved.purpose,
        }
    }
}

/// How long an item's phases last, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Counted but not used for the rate.
    pub warmup_ms: u64,
    /// Region of interest.
    pub window_ms: u64,
    /// Length of one interval within either.
    pub interval_ms: u64,
}

impl Timing {
    /// Intervals in the region of interest: the samples that the item owes.
    pub fn intervals(&self) -> u64 {
        self.window_ms / self.interval_ms
    }
}

/// One execution of one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    /// Place in the order, from 0; names the item within its run.
    pub ordinal: u32,
    /// Block (repeat) it belongs to, from 0. Each block holds every cell once.
    pub block: u32,
    /// The subject that it measures.
    #[serde(default)]
    pub subject: SubjectIndex,
    /// What runs.
    pub cell: Cell,
    /// For how long; none for a workload that runs once.
    pub timing: Option<Timing>,
    /// Seed of the guest's random numbers, in a lens run of a kernel: the same for all cells of a block. `None` in other runs, and in runs of
    /// older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
        let mut line = serde_json::json!({"timed": timed(), "search": {"noise": "any", "level": 0.95, "least": 0.02,
            "most_blocks": 60, "layouts": 0, "thorough": false}, "repository": "/r", "work": null,
            "line": {"commits": []}, "recipe": {"command": [], "limit_s": 1}, "command": ["./x"]});
        let read = |line: &serde_json::Value| serde_json::from_value::<LineSearch>(line.clone()).unwrap();
        let search = read(&line);
        assert_eq!(search.measure, LineMeasure::Timed(timed()));
        assert_eq!(read(&serde_json::to_value(&search).unwrap()), search);

        line.as_object_mut().unwrap().remove("timed");
        line["counted"] =
            serde_json::json!({"what": "transfers", "lens": {"sockets": 1, "costs": "default", "budgets": []}});
        let search = read(&line);
        assert_eq!(search.measure.counted().map(|counted| counted.what), Some(Count::Transfers));
        assert_eq!(search.program_name(), "x");
        assert_eq!(read(&serde_json::to_value(&search).unwrap()), search);

        line.as_object_mut().unwrap().remove("command");
        line["kernel"] = serde_json::json!({"image": "bzImage", "workload": "zero_fill:base", "mode": "thread"});
        let search = read(&line);
        assert_eq!(search.artefact.kernel().map(|kernel| kernel.image.as_str()), Some("bzImage"));
        assert_eq!(read(&serde_json::to_value(&search).unwrap()), search);
    }

    #[test]
    fn a_comparison_that_was_saved_with_a_precision_has_the_usual_margin() {
        let mut saved = serde_json::to_value(ComparisonSettings {
            timed: timed(),
            level: 0.9,
            margin: 0.05,
            once: true,
            purpose: ComparisonPurpose::Gate(WhenInconclusive::Pass),
        })
        .unwrap();
        let back = |saved: &serde_json::Value| serde_json::from_value::<ComparisonSettings>(saved.clone()).unwrap();
        assert_eq!((back(&saved).margin, back(&saved).once), (0.05, true));
        let settings = saved.as_object_mut().unwrap();
        settings.remove("margin");
        settings.remove("once");
        settings.insert("precision".to_owned(), 0.01.into());
        assert_eq!((back(&saved).margin, back(&saved).once), (USUAL_MARGIN, false));
        saved["precision"] = 0.0.into();
        assert!(back(&saved).once);
    }
}
