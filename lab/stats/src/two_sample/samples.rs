//! What a comparison is made of: values by boot, run and interval.

use faultline_model::direction::Direction;
use faultline_model::facts::Facts;
use faultline_model::unmatched::{Letter, UnmatchedReason};
use faultline_model::workload_comparison::NotQuiet;

/// Least and greatest value: sums of such values, and ratios of two, are finite.
const RANGE: [f64; 2] = [1e-150, 1e150];

/// All reasons, in the order in which they are reported.
const NOT_QUIET: [NotQuiet; 5] =
    [NotQuiet::NotRecorded, NotQuiet::Load, NotQuiet::Steal, NotQuiet::BusyAtStart, NotQuiet::Frequency];

/// Why the record does not show that the machine was quiet while either side was measured.
pub(crate) fn not_quiet(sides: [&Conditions; 2]) -> Vec<NotQuiet> {
    NOT_QUIET.into_iter().filter(|reason| sides.iter().any(|side| side.has(*reason))).collect()
}

/// One run: a process group, or a program's whole life.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its place in the order in which the runs of both sides were made; any numbers that ascend with time.
    pub order: Option<u64>,
    /// The block that it belongs to, where each block holds one run of either side in random order.
    pub block: Option<u32>,
    /// One value per interval, above 0, in the workload's unit.
    pub intervals: Vec<f64>,
}

/// Runs of one boot.
#[derive(Debug, Clone, PartialEq)]
pub struct Boot {
    /// Tells boots apart, on both sides. None when it isn't known which boot this was.
    pub id: Option<String>,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// Its boots.
    pub boots: Vec<Boot>,
    /// Whether each run is another tool's summary of several.
    pub are_summaries: bool,
    /// The machine that was measured.
    pub facts: Facts,
    /// What was recorded of it meanwhile.
    pub conditions: Conditions,
}

/// What was recorded of a machine while a side was measured on it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Conditions {
    /// CPUs that other processes used; none where that wasn't more than usual, or isn't known.
    pub others_cpus: Option<f64>,
    /// Share of the CPU time that a hypervisor took away; none where that wasn't more than usual, or isn't known.
    pub steal_share: Option<f64>,
    /// Whether the CPU time of others and of the hypervisor was recorded.
    pub is_recorded: bool,
    /// Whether other programs ran at the start.
    pub is_busy_at_start: bool,
    /// Whether the CPUs change their frequency, as far as the facts tell.
    pub changes_frequency: bool,
}

impl Conditions {
    /// Whether the record shows that nothing else used the machine meanwhile.
    pub(crate) fn is_undisturbed(&self) -> bool {
        self.is_recorded && self.others_cpus.is_none() && self.steal_share.is_none()
    }

    /// Whether the record shows that nothing disturbed, then or before, and that the frequency was held.
    pub(crate) fn is_quiet(&self) -> bool {
        NOT_QUIET.iter().all(|reason| !self.has(*reason))
    }

    /// Whether the reason speaks against a quiet machine.
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
    /// Which direction is better.
    pub direction: Direction,
    /// The first side: what there was.
    pub a: Samples,
    /// The second side: what is new.
    pub b: Samples,
}

/// Why there is nothing to compare.
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
    /// A value that no ratio can be made of.
    #[error("{name}: no ratio can be made of the value {value:?} of the {} side", .side.ordinal())]
    NoRatio {
        /// Workload.
        name: String,
        /// The side.
        side: Letter,
        /// The value.
        value: f64,
    },
    /// A level that is none.
    #[error("the level {0} is not between 0.5 and 1")]
    Level(f64),
}

impl Samples {
    /// One boot of which nothing is known, with one value per run: what most files hold.
    pub fn of_values(values: &[f64]) -> Self {
        let run = |&value| Run { order: None, block: None, intervals: vec![value] };
        let boot = Boot { id: None, runs: values.iter().map(run).collect() };
        Samples { boots: vec![boot], ..Samples::default() }
    }

    /// All runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.boots.iter().flat_map(|boot| &boot.runs)
    }

    /// Refuses what has no value, or one that no ratio can be made of.
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

/// Why no ratio can be made of a side's value, if so.
pub(crate) fn no_ratio(side: Letter, value: f64) -> Option<UnmatchedReason> {
    let [least, greatest] = RANGE;
    (!(least..=greatest).contains(&value)).then_some(UnmatchedReason::NoRatio { side, value, least, greatest })
}
