//! What a search measures of each commit, and how sure it is to be.

use faultline_experiment::lens::{BuildsRequest, KernelsRequest, USUAL_SEED, settings_of_builds, settings_of_kernels};
use faultline_experiment::{Error, Lab};
use faultline_model::count::Count;
use faultline_model::drill::{DrillSettings, Noise};
use faultline_model::history::layouts::StepLayouts;
use faultline_model::plan::{CountedSettings, LineMeasure, PinPolicy, TimedSettings};
use std::ops::RangeInclusive;

/// How sure a search is to be, and of what.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The probability with which all that is said to be found is right: 0…1.
    pub level: f64,
    /// The smallest change to search for, as a share.
    pub least: f64,
    /// Whether stretches with equal ends are searched too.
    pub thorough: bool,
    /// Number of random layouts of the commits on both sides of a step; 0 for none.
    pub layouts: u32,
}

/// Maximum number of executions of a commit, unless another is asked for.
const USUAL_REPEATS: u32 = 60;

/// Maximum number of seeds of a commit, unless another is asked for.
pub(crate) const USUAL_SEEDS: u32 = 12;

/// The numbers of random layouts of a commit that may be tried. Fewer cannot tell code from layout.
pub const LAYOUTS: RangeInclusive<u32> = StepLayouts::FEWEST..=1000;

/// Fewest seeds with which counts that depend on the seed can be told apart: fewer cannot confirm a step.
pub const FEWEST_SEEDS: u32 = 8;

/// What is measured of each commit.
#[derive(Debug, Clone)]
pub enum MeasureRequest {
    /// The time of the command.
    Time {
        /// Whether the command is bound to a CPU.
        pin: PinPolicy,
        /// Copies of the command that run at once.
        tasks: u32,
    },
    /// What the lens counts of the command.
    Count {
        /// Which count.
        what: Count,
        /// How it is counted.
        request: Box<BuildsRequest>,
    },
    /// What the lens counts of a workload on the kernel.
    CountOnKernel {
        /// Which count.
        what: Count,
        /// How it is counted.
        request: Box<KernelsRequest>,
    },
}

impl MeasureRequest {
    /// How a line is searched by it: times are noisy, and counts may depend on their seed. `executions`: the maximum number of executions of a commit, of counts
    /// each with a seed of its own. With one seed counts are exact; if `None`, two seeds at the ends show whether they depend on it.
    pub fn search(&self, wanted: Wanted, executions: Option<u32>) -> DrillSettings {
        let Wanted { level, least, thorough, layouts } = wanted;
        let (noise, most_blocks) = match (self, executions) {
            (MeasureRequest::Time { .. }, repeats) => (Noise::Any, repeats.unwrap_or(USUAL_REPEATS)),
            (_, Some(1)) => (Noise::None, 1),
            (_, Some(seeds)) => (Noise::Seeds, seeds.max(FEWEST_SEEDS)),
            (_, None) => (Noise::FromEnds, USUAL_SEEDS),
        };
        DrillSettings { noise, level, least, most_blocks, layouts, thorough }
    }

    /// As it is saved. Fails if the lens cannot be used here.
    pub(crate) fn settings(&self, lab: &Lab<'_>) -> Result<LineMeasure, Error> {
        let (what, lens) = match self {
            MeasureRequest::Time { pin, .. } => return Ok(LineMeasure::Timed(TimedSettings::pinned(*pin))),
            MeasureRequest::Count { what, request } => (*what, settings_of_builds(request, lab)?),
            MeasureRequest::CountOnKernel { what, request } => (*what, settings_of_kernels(request, lab)?),
        };
        Ok(LineMeasure::Counted(Box::new(CountedSettings { what, lens })))
    }

    /// What is counted; `None` if time is measured.
    pub(crate) fn count(&self) -> Option<Count> {
        match self {
            MeasureRequest::Time { .. } => None,
            MeasureRequest::Count { what, .. } | MeasureRequest::CountOnKernel { what, .. } => Some(*what),
        }
    }

    /// Copies of the command, its threads, or the tasks of a workload on a kernel.
    pub fn tasks(&self) -> u32 {
        match self {
            MeasureRequest::Time { tasks, .. } => *tasks,
            MeasureRequest::Count { request, .. } => request.threads(),
            MeasureRequest::CountOnKernel { request, .. } => request.cpus,
        }
    }

    /// The seed that holds if none is asked for; `None` for a random one.
    pub(crate) fn usual_seed(&self) -> Option<u64> {
        match self {
            MeasureRequest::Time { .. } => None,
            MeasureRequest::Count { .. } | MeasureRequest::CountOnKernel { .. } => Some(USUAL_SEED),
        }
    }
}
