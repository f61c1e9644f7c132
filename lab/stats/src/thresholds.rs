//! Every limit that decides a verdict or a warning, in one place. Each is argued in docs/METHODOLOGY.md, which names
//! it with its value.

/// Coverage that an interval should reach.
pub const COVERAGE: f64 = 0.95;

/// Efficiency from which on a curve scales.
pub const SCALES_EFFICIENCY: f64 = 0.90;

/// Gain per added CPU below which a curve does not scale: more than half of what was added is lost.
pub const LOST_GAIN: f64 = 0.50;

/// Fewest paired repeats that a verdict rests on.
pub const VERDICT_REPEATS: u32 = 3;

/// How far above 1 the whole interval of an efficiency may lie before the base is taken to have been slowed down.
pub const ABOVE_IDEAL: f64 = 0.02;

/// Part of a core's work that a busy second thread on it takes away, at most.
pub const SIBLING_SHARE: f64 = 0.50;

/// CPUs that programs used in the moments before a session, above which it began on a busy machine.
pub const BUSY_AT_START: f64 = 0.20;

/// Load average of the last minute, in runnable tasks, above which a session began on a busy machine.
pub const LOAD_AVERAGE: f64 = 0.50;

/// CPU time of others during the region of interest, in CPUs.
pub const OTHERS_CPUS: f64 = 0.05;

/// Resolution of the machine-wide CPU times, in nanoseconds: one tick of the 100 Hz in which Linux shows them.
pub const TICK_NS: f64 = 1e7;

/// Share of the machine's time that a hypervisor took away.
pub const STEAL_SHARE: f64 = 0.01;

/// Change of the rate between the first third and the rest of the region of interest.
pub const UNSETTLED_CHANGE: f64 = 0.02;

/// Chance that a run whose warm-up has settled everywhere is warned about all the same.
pub const UNSETTLED_LEVEL: f64 = 0.05;

/// Granules of all tasks, as a share of the operations that a repeat counted.
pub const COARSE_SHARE: f64 = 0.01;

/// Counts that have to be there before their greatest common divisor is taken for the granule.
pub const GRANULE_COUNTS: usize = 8;

/// Half the interval's width, as a share of the median.
pub const NOISY_SHARE: f64 = 0.05;

/// Kernel counters kept per point.
pub const COUNTERS_KEPT: usize = 40;

/// Difference in transfers per operation that is no growth, whatever there is of them.
pub const LENS_FLAT_TRANSFERS: f64 = 0.05;

/// Difference as a share of the mean that is no growth.
pub const LENS_FLAT_SHARE: f64 = 0.10;

/// Numbers of CPUs from which on it is said how transfers grow.
pub const LENS_FIT_POINTS: usize = 3;

/// Root mean square of the relative residuals up to which a law of growth is said to fit.
pub const LENS_FIT_ERROR: f64 = 0.15;

/// Share of the busy time in which at least two CPUs have to be busy.
pub const LENS_OVERLAP: f64 = 0.50;

/// Share of the time from which on a rate is not predicted, if what this time follows from is not known.
pub const LENS_UNKNOWN: f64 = 0.25;

/// Difference in transfers per operation between two runs that counts as none.
pub const LENS_CHANGE_TRANSFERS: f64 = 0.02;

/// The same as a share of the larger of the two, or of a baseline.
pub const LENS_CHANGE_SHARE: f64 = 0.03;

/// Part of a line's transfers from which on code is named in place of data without a name.
pub const LENS_CODE_SHARE: f64 = 0.10;

/// Lines, and places in code, that are shown of a cell.
pub const LENS_SHOWN: usize = 20;

/// Lines, and places in code, that a gate names for an exceeded limit.
pub const LENS_GATE_SHOWN: usize = 5;

/// Probability with which a difference that is called detectable is detected.
pub const POWER: f64 = 0.80;

/// Margin of equality where none is asked for, as a share.
pub const MARGIN: f64 = faultline_model::plan::USUAL_MARGIN;

/// Ratio of the ends of a confidence interval above which it is too wide for an answer, unless it lies far from equality.
pub const TOO_NOISY: f64 = 1.5;

/// Fewest units of a side of which a bootstrap interval is made.
pub const BOOTSTRAP_UNITS: usize = 10;

/// Fewest units of a side whose shape is looked at: drift, two groups.
pub const SHAPE_VALUES: usize = 8;

/// Chance of so even a rise or fall below which a side is said to drift.
pub const DRIFT_LEVEL: f64 = 0.01;

/// Share of the variance that lies between two groups from which on a side is said to consist of them.
pub const BIMODAL_SHARE: f64 = 0.90;

/// Chance of points as far off a law of scaling below which the law is said not to fit.
pub const MISFIT_LEVEL: f64 = 0.01;

/// Share of series without a step in which one is found.
pub const CHANGE_FALSE_ALARMS: f64 = 0.10;

/// The same for a firm step.
pub const CHANGE_CONFIRMED: f64 = 0.01;

/// Least change of a level, as a share of it, that is told of.
pub const CHANGE_LEAST: f64 = 0.01;

/// Points below which slow noise can't be told from steps.
pub const CHANGE_SHORT_POINTS: usize = 100;

/// Points that follow a firm step.
pub const CHANGE_POINTS_AFTER: usize = 10;

/// Part of a step for the worse that a later step has to take back to count as its fix.
pub const CHANGE_UNDONE_SHARE: f64 = 0.75;

/// Kernel counters that are tested for a difference between two sides.
pub const COUNTERS_TESTED: usize = 12;

/// Kernel counters that are told to differ.
pub const COUNTERS_TOLD: usize = 10;

/// Blocks at a look of a live comparison, as a multiple of those at the look before.
pub const LOOK_GROWTH: f64 = 1.35;

/// Part of the error that the last look may spend.
pub const LAST_LOOK_SHARE: f64 = 0.50;

/// Smallest detectable difference from which on a machine sees great differences only.
pub const COARSE_DETECTABLE: f64 = 0.05;

/// Smallest detectable difference from which on a machine sees next to nothing.
pub const UNFIT_DETECTABLE: f64 = 0.20;
