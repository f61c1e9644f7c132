//! Requests to build and measure commits: what searches and histories have in common.

use crate::workshop::absolute;
use faultline_experiment::lens::{BuildsRequest, KernelsRequest, USUAL_SEED, settings_of_builds, settings_of_kernels};
use faultline_experiment::{Error, Lab};
use faultline_record::artefact::{Artefact, Release};
use faultline_record::bisect::{BisectSettings, Noise};
use faultline_record::commit::CommitLine;
use faultline_record::machine::ControlledHost;
use faultline_record::plan::{CountedSettings, LineMeasure, MeasuredLine, PinPolicy, TimedSettings};
use faultline_record::quantity::{Quantity, QuantityChoice};
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_record::relink::LayoutKind;
use faultline_stats::history::StepLayouts;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Default maximum of executions of a commit.
const USUAL_REPEATS: u32 = 60;

/// Default maximum of seeds of a commit.
pub(crate) const USUAL_SEEDS: u32 = 12;

/// Allowed numbers of random layouts of a commit. Fewer cannot separate code from layout.
pub const LAYOUTS: RangeInclusive<u32> = StepLayouts::FEWEST..=1000;

/// Minimum number of seeds that can confirm a step of counts that depend on the seed.
pub const FEWEST_SEEDS: u32 = 8;

/// Commits of a repository: the recipe of their builds, and where they run.
#[derive(Debug, Clone)]
pub struct LineRequest {
    /// A directory of the repository; for releases, the directory of the file that declares them.
    pub repository: PathBuf,
    /// Directory for checkouts and builds; one in the user's cache if `None`.
    pub work: Option<PathBuf>,
    /// Releases instead of a repository; empty if there is one.
    pub releases: Vec<Release>,
    /// Recipe of a build.
    pub recipe: Recipe,
    /// The part of a build that is measured.
    pub artefact: Artefact,
    /// The SSH host that measures time; `None` for this host.
    pub on: Option<ControlledHost>,
    /// For builds that are installed there: the file of a build with the release of its kernel.
    pub release_file: Option<String>,
    /// Kind of random layouts.
    pub layout_kind: LayoutKind,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// Seed of the order and of guests. If `None`, time has a random seed and counts the default.
    pub seed: Option<u64>,
}

impl LineRequest {
    /// The request as it is saved with a run. Fails if the lens cannot be used here, or if a path
    /// is not UTF-8.
    pub(crate) fn saved(
        &self,
        measure: &MeasureRequest,
        line: CommitLine,
        tools: BuildTools,
        lab: &Lab<'_>,
    ) -> Result<MeasuredLine, Error> {
        Ok(MeasuredLine {
            measure: measure.settings(lab)?,
            choice: measure.choice().filter(|_| self.artefact.kernel().is_none()),
            repository: absolute(&self.repository)?,
            forge: None,
            work: self.work.as_deref().map(absolute).transpose()?,
            line,
            releases: self.releases.clone(),
            recipe: Recipe {
                outside_sandbox: self.recipe.outside_sandbox || !lab.places.sandboxing.is_wanted(),
                ..self.recipe.clone()
            },
            tools,
            artefact: self.artefact.clone(),
            on: self.on.clone(),
            release_file: self.release_file.clone(),
            layout_kind: self.layout_kind,
        })
    }

    /// The seed of a new run that measures these commits.
    pub(crate) fn run_seed(&self, measure: &MeasureRequest) -> u64 {
        let usual = || if measure.quantity().is_counted() { USUAL_SEED } else { faultline_experiment::any_seed() };
        self.seed.unwrap_or_else(usual)
    }
}

/// Required certainty of a search.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Confidence level of all that is found, together: 0…1.
    pub level: f64,
    /// Smallest change to search for, as a share.
    pub least: f64,
    /// True to search stretches with equal ends too.
    pub thorough: bool,
    /// Number of random layouts of the commits on both sides of a step; 0 for none.
    pub layouts: u32,
}

/// The measure of each commit.
#[derive(Debug, Clone)]
pub enum MeasureRequest {
    /// A cost of the command's executions.
    Executions {
        /// Which cost. `None`: time, or CPU time if the first executions show that the machine is
        /// busy and the program has one thread that waits for nothing.
        quantity: Option<Quantity>,
        /// CPU binding of the command.
        pin: PinPolicy,
        /// Copies of the command that run at once.
        tasks: u32,
    },
    /// A count of the lens for the command.
    Count {
        /// The count.
        what: Quantity,
        /// Settings of the lens.
        request: Box<BuildsRequest>,
    },
    /// A count of the lens for a workload on the kernel.
    CountOnKernel {
        /// The count.
        what: Quantity,
        /// Settings of the lens.
        request: Box<KernelsRequest>,
    },
}

impl MeasureRequest {
    /// Settings of a search by this measure. `executions`: maximum number of executions of a
    /// commit; for counts, each has its own seed. One seed makes counts exact. With `None`, two
    /// seeds at the ends show whether counts depend on the seed.
    pub fn search(&self, wanted: Wanted, executions: Option<u32>) -> BisectSettings {
        let Wanted { level, least, thorough, layouts } = wanted;
        let (noise, most_blocks) = match (self, executions) {
            (MeasureRequest::Executions { .. }, repeats) => (Noise::Any, repeats.unwrap_or(USUAL_REPEATS)),
            (_, Some(1)) => (Noise::None, 1),
            (_, Some(seeds)) => (Noise::Seeds, seeds.max(FEWEST_SEEDS)),
            (_, None) => (Noise::FromEnds, USUAL_SEEDS),
        };
        BisectSettings { noise, level, least, most_blocks, layouts, thorough }
    }

    /// The measure as it is saved. Fails if the lens cannot be used here.
    pub(crate) fn settings(&self, lab: &Lab<'_>) -> Result<LineMeasure, Error> {
        let (what, lens) = match self {
            MeasureRequest::Executions { quantity, pin, .. } => {
                return Ok(LineMeasure::Timed {
                    quantity: quantity.unwrap_or_default(),
                    settings: TimedSettings::pinned(*pin),
                });
            }
            MeasureRequest::Count { what, request } => (*what, settings_of_builds(request, lab)?),
            MeasureRequest::CountOnKernel { what, request } => (*what, settings_of_kernels(request, lab)?),
        };
        Ok(LineMeasure::Counted(Box::new(CountedSettings { what, lens })))
    }

    /// The state of the choice between time and CPU time for a new run; `None` if the quantity is
    /// given.
    pub(crate) fn choice(&self) -> Option<QuantityChoice> {
        match self {
            MeasureRequest::Executions { quantity: None, .. } => Some(QuantityChoice::Open),
            _ => None,
        }
    }

    /// This request, with the quantity given if it was left open.
    pub(crate) fn given(&self, quantity: Quantity) -> Self {
        match self {
            MeasureRequest::Executions { quantity: None, pin, tasks } => {
                MeasureRequest::Executions { quantity: Some(quantity), pin: *pin, tasks: *tasks }
            }
            other => other.clone(),
        }
    }

    /// The quantity that is measured; time until an open choice is made.
    pub(crate) fn quantity(&self) -> Quantity {
        match self {
            MeasureRequest::Executions { quantity, .. } => quantity.unwrap_or_default(),
            MeasureRequest::Count { what, .. } | MeasureRequest::CountOnKernel { what, .. } => *what,
        }
    }

    /// Number of copies of the command, of its threads, or of tasks of the workload.
    pub fn tasks(&self) -> u32 {
        match self {
            MeasureRequest::Executions { tasks, .. } => *tasks,
            MeasureRequest::Count { request, .. } => request.threads(),
            MeasureRequest::CountOnKernel { request, .. } => request.cpus,
        }
    }
}
