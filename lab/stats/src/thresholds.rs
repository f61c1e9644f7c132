//! Thresholds of verdicts and warnings. docs/METHODOLOGY-APPENDIX.md lists each with its value and
//! reason.

/// Required coverage of an interval.
pub const COVERAGE: f64 = 0.95;

/// Lowest efficiency of a curve that scales.
pub const SCALES_EFFICIENCY: f64 = 0.90;

/// A curve does not scale if its gain per added CPU is below this: more than half of the added CPUs
/// is lost.
pub const LOST_GAIN: f64 = 0.50;

/// Fewest paired repeats for a verdict.
pub const VERDICT_REPEATS: u32 = 5;

/// If an efficiency's whole interval lies further above 1 than this, the base is assumed to have
/// been slowed down.
pub const ABOVE_IDEAL: f64 = 0.02;

/// Largest share of a core's work that a busy sibling thread takes away.
pub const SIBLING_SHARE: f64 = 0.50;

/// A session began on a busy machine if programs used more CPUs than this just before.
pub const BUSY_AT_START: f64 = 0.20;

/// A session began on a busy machine if the load average of the last minute exceeded this.
pub const LOAD_AVERAGE: f64 = 0.50;

/// CPU time of other processes during the region of interest, in CPUs.
pub const OTHERS_CPUS: f64 = 0.05;

/// Resolution of the machine-wide CPU times, in nanoseconds: one tick at the 100 Hz of Linux's
/// counters.
pub const TICK_NS: f64 = 1e7;

/// Share of the machine's CPU time that a hypervisor stole.
pub const STEAL_SHARE: f64 = 0.01;

/// Change of the rate between the first third and the rest of the region of interest.
pub const UNSETTLED_CHANGE: f64 = 0.02;

/// Probability of a warning for a run whose warm-up has settled everywhere.
pub const UNSETTLED_LEVEL: f64 = 0.05;

/// Granules of all tasks, as a share of the operations counted in a repeat.
pub const COARSE_SHARE: f64 = 0.01;

/// Fewest counts whose greatest common divisor is used as the granule.
pub const GRANULE_COUNTS: usize = 8;

/// Half the interval's width, as a share of the median.
pub const NOISY_SHARE: f64 = 0.05;

/// Kernel counters kept per point.
pub const COUNTERS_KEPT: usize = 40;

/// A difference in transfers per operation below this is not growth.
pub const LENS_FLAT_TRANSFERS: f64 = 0.05;

/// A difference below this share of the mean is not growth.
pub const LENS_FLAT_SHARE: f64 = 0.10;

/// Fewest numbers of CPUs for a statement about the growth of transfers.
pub const LENS_FIT_POINTS: usize = 3;

/// Largest root mean square of the relative residuals with which a growth law fits.
pub const LENS_FIT_ERROR: f64 = 0.15;

/// Share of the busy time in which at least two CPUs must be busy for a prediction.
pub const LENS_OVERLAP: f64 = 0.50;

/// Share of the time in which at least two CPUs must be busy for transfers to decide in `faultline
/// ci`.
pub const CI_OVERLAP: f64 = 0.10;

/// Share of the busy time below which a warning says that few CPUs worked at the same time.
pub const LENS_OVERLAP_WARNED: f64 = 0.80;

/// Largest share of time of unknown cause with which a rate is predicted.
pub const LENS_UNKNOWN: f64 = 0.25;

/// A difference in transfers per operation between two runs up to this counts as none.
pub const LENS_CHANGE_TRANSFERS: f64 = 0.02;

/// As above, as a share of the larger value or of the baseline.
pub const LENS_CHANGE_SHARE: f64 = 0.03;

/// If code causes at least this share of a line's transfers, it is named in place of unnamed data.
pub const LENS_CODE_SHARE: f64 = 0.10;

/// Number of lines and of code locations shown for a cell.
pub const LENS_SHOWN: usize = 20;

/// Number of lines and of code locations that a gate names for an exceeded limit.
pub const LENS_GATE_SHOWN: usize = 5;

/// Probability of detecting a difference of the smallest detectable size.
pub const POWER: f64 = 0.80;

/// Default margin of equality, as a share.
pub const MARGIN: f64 = faultline_record::plan::USUAL_MARGIN;

/// A confidence interval is too wide for an answer if the ratio of its ends exceeds this, unless it
/// lies far from equality.
pub const TOO_NOISY: f64 = 1.5;

/// Fewest units of a side for a bootstrap interval.
pub const BOOTSTRAP_UNITS: usize = 10;

/// Fewest units of a side for the detection of drift and of two groups.
pub const SHAPE_VALUES: usize = 8;

/// Significance level of the drift test.
pub const DRIFT_LEVEL: f64 = 0.01;

/// A side is bimodal if at least this share of the variance lies between the two groups.
pub const BIMODAL_SHARE: f64 = 0.90;

/// Significance level of the test for lack of fit of a scaling law.
pub const MISFIT_LEVEL: f64 = 0.01;

/// False-positive rate of steps: share of series without a step in which one is found.
pub const CHANGE_FALSE_ALARMS: f64 = 0.10;

/// As above, for firm steps.
pub const CHANGE_CONFIRMED: f64 = 0.01;

/// Share of quiet histories, watched over 180 points with a search after each, in which a firm step
/// ever appears.
pub const CHANGE_WATCHED: f64 = 0.10;

/// Smallest reported change of a level, as a share of the level.
pub const CHANGE_LEAST: f64 = 0.01;

/// In series with fewer points, slow noise cannot be distinguished from steps.
pub const CHANGE_SHORT_POINTS: usize = 100;

/// Number of points that must follow a firm step.
pub const CHANGE_POINTS_AFTER: usize = 10;

/// Share of a step for the worse that a later step must undo to count as its fix.
pub const CHANGE_UNDONE_SHARE: f64 = 0.75;

/// Number of kernel counters tested for a difference between two sides.
pub const COUNTERS_TESTED: usize = 12;

/// Number of differing kernel counters that are reported.
pub const COUNTERS_TOLD: usize = 10;

/// Number of blocks at a look of a live comparison, relative to the look before.
pub const LOOK_GROWTH: f64 = 1.35;

/// Share of the error that the last look may spend.
pub const LAST_LOOK_SHARE: f64 = 0.50;

/// A machine is coarse from this smallest detectable difference on.
pub const COARSE_DETECTABLE: f64 = 0.05;

/// A machine is unfit from this smallest detectable difference on.
pub const UNFIT_DETECTABLE: f64 = 0.20;
