//! Input of a comparison: values by boot, run and interval.

use crate::unmatched::{Letter, UnmatchedReason};
use crate::workload_comparison::NotQuiet;
use faultline_record::direction::Direction;
use faultline_record::facts::Facts;

/// Smallest and largest value with a usable ratio: their sums and ratios are finite.
const RANGE: [f64; 2] = [1e-150, 1e150];

/// All reasons, in the order in which they are reported.
const NOT_QUIET: [NotQuiet; 5] =
    [NotQuiet::NotRecorded, NotQuiet::Load, NotQuiet::Steal, NotQuiet::BusyAtStart, NotQuiet::Frequency];

/// Reasons why the record does not show that the machine was quiet while both sides were measured.
pub(crate) fn not_quiet(sides: [&Conditions; 2]) -> Vec<NotQuiet> {
    NOT_QUIET.into_iter().filter(|reason| sides.iter().any(|side| side.has(*reason))).collect()
}

/// One run: a process group, or a program's whole life.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its place in the order of all runs of both sides; any numbers that increase with time.
    pub order: Option<u64>,
    /// Its block, if each block has one run of both sides in random order.
    pub block: Option<u32>,
    /// One value per interval, above 0, in the workload's unit.
    pub intervals: Vec<f64>,
}

/// Runs of one boot.
#[derive(Debug, Clone, PartialEq)]
pub struct Boot {
    /// Identifies the boot on both sides. `None` if unknown.
    pub id: Option<String>,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// Its boots.
    pub boots: Vec<Boot>,
    /// True if each run is another tool's summary of several.
    pub are_summaries: bool,
    /// The machine that was measured.
    pub facts: Facts,
    /// Conditions recorded meanwhile.
    pub conditions: Conditions,
}

/// Conditions recorded on a machine while a side was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Conditions {
    /// CPUs used by other processes; `None` if no more than usual, or unknown.
    pub others_cpus: Option<f64>,
    /// Share of the CPU time stolen by a hypervisor; `None` if no more than usual, or unknown.
    pub steal_share: Option<f64>,
    /// True if CPU time of other processes and of the hypervisor was recorded.
    pub is_recorded: bool,
    /// True if other programs ran at the start.
    pub is_busy_at_start: bool,
    /// True if CPU frequency changes, according to the facts.
    pub changes_frequency: bool,
}

impl Conditions {
    /// True if the record shows that nothing else used the machine meanwhile.
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.is_recorded && self.others_cpus.is_none() && self.steal_share.is_none()
    }

    /// True if the record shows that nothing used the machine before or meanwhile, and that the
    /// frequency was constant.
    pub(crate) fn is_quiet(&self) -> bool {
        NOT_QUIET.iter().all(|reason| !self.has(*reason))
    }

    /// True if the reason applies.
    fn has(&self, reason: NotQuiet) -> bool {
        match reason {
            NotQuiet::NotRecorded => !self.is_recorded,
            NotQuiet::Load => self.others_cpus.is_some(),
            NotQuiet::Steal => self.steal_share.is_some(),
            NotQuiet::BusyAtStart => self.is_busy_at_start,
            NotQuiet::Frequency => self.changes_frequency,
        }
    }
}

/// A workload on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Better direction.
    pub direction: Direction,
    /// The first side, the baseline.
    pub a: Samples,
    /// The second side, the new one.
    pub b: Samples,
}

/// Reason why there is nothing to compare.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TwoSampleError {
    /// No workload.
    #[error("there is no workload to compare")]
    Nothing,
    /// A side, a boot or a run without a value.
    #[error("{name}: the {} side has no value, or a boot or run without one", .side.ordinal())]
    Empty {
        /// Workload.
        name: String,
        /// The side.
        side: Letter,
    },
    /// A value without a usable ratio.
    #[error("{name}: the value {value:?} of the {} side has no usable ratio", .side.ordinal())]
    NoRatio {
        /// Workload.
        name: String,
        /// The side.
        side: Letter,
        /// The value.
        value: f64,
    },
    /// A level out of range.
    #[error("the level {0} is not between 0.5 and 1")]
    Level(f64),
}

impl Samples {
    /// One unknown boot with one value per run, as in most files.
    pub fn of_values(values: &[f64]) -> Self {
        let run = |&value| Run { order: None, block: None, intervals: vec![value] };
        let boot = Boot { id: None, runs: values.iter().map(run).collect() };
        Samples { boots: vec![boot], ..Samples::default() }
    }

    /// All runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.boots.iter().flat_map(|boot| &boot.runs)
    }

    /// Fails if a value is missing or has no usable ratio.
    pub(crate) fn check(&self, name: &str, side: Letter) -> Result<(), TwoSampleError> {
        let hollow = |boot: &Boot| boot.runs.is_empty() || boot.runs.iter().any(|run| run.intervals.is_empty());
        if self.boots.is_empty() || self.boots.iter().any(hollow) {
            return Err(TwoSampleError::Empty { name: name.to_owned(), side });
        }
        match self.runs().flat_map(|run| &run.intervals).find(|&&value| no_ratio(side, value).is_some()) {
            Some(&value) => Err(TwoSampleError::NoRatio { name: name.to_owned(), side, value }),
            None => Ok(()),
        }
    }
}

/// The error for a value without a usable ratio.
pub(crate) fn no_ratio(side: Letter, value: f64) -> Option<UnmatchedReason> {
    let [least, greatest] = RANGE;
    (!(least..=greatest).contains(&value)).then_some(UnmatchedReason::NoRatio { side, value, least, greatest })
}
