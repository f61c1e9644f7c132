//! Whether a curve scales: the verdict from the interval of its efficiency.

use crate::thresholds::{LOST_GAIN, SCALES_EFFICIENCY, VERDICT_REPEATS};
use faultline_model::estimate::Estimate;
use faultline_model::summary::{CurveVerdict, Point, Verdict, VerdictBasis};

/// The verdict at the greatest number of tasks that have CPUs of their own: at most `own_cpus`, or any number where
/// that isn't known.
///
/// - scales: the efficiency's interval lies at or above [`SCALES_EFFICIENCY`];
/// - does not scale: the interval of the gain per added CPU lies below [`LOST_GAIN`];
/// - in part: it lies between the two;
/// - undecided: the interval lies across a limit, or fewer than [`VERDICT_REPEATS`] pairs stand behind it.
pub(crate) fn verdict(base_tasks: Option<u32>, points: &[Point], own_cpus: Option<u32>) -> CurveVerdict {
    let Some(base_tasks) = base_tasks else { return CurveVerdict::NOT_MEASURED };
    let has_cpus = |point: &&Point| point.tasks > base_tasks && own_cpus.is_none_or(|cpus| point.tasks <= cpus);
    let judged = points.iter().filter(has_cpus).filter_map(|point| Some((point.tasks, point.efficiency?))).next_back();
    let Some((tasks, efficiency)) = judged else { return CurveVerdict::NOT_MEASURED };
    CurveVerdict {
        verdict: judge(&efficiency, f64::from(tasks) / f64::from(base_tasks)),
        rests_on: Some(VerdictBasis { tasks, efficiency }),
    }
}

/// What an efficiency at `times` the base's tasks says.
fn judge(efficiency: &Estimate, times: f64) -> Verdict {
    let lost = lost_efficiency(times);
    if efficiency.n < VERDICT_REPEATS {
        Verdict::Undecided
    } else if efficiency.low >= SCALES_EFFICIENCY {
        Verdict::Scales
    } else if efficiency.high < lost {
        Verdict::DoesNotScale
    } else if efficiency.low >= lost && efficiency.high < SCALES_EFFICIENCY {
        Verdict::Partly
    } else {
        Verdict::Undecided
    }
}

/// The efficiency at which the gain per added CPU is [`LOST_GAIN`], at `times` the base's tasks.
///
/// With the speed-up S, the gain per added CPU is (S − 1)/(times − 1): 0 when added CPUs bring nothing, 1 when they
/// bring all they could.
fn lost_efficiency(times: f64) -> f64 {
    (1.0 + LOST_GAIN * (times - 1.0)) / times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(tasks: u32, low: f64, high: f64, n: u32) -> Point {
        let efficiency = Some(Estimate { median: low.midpoint(high), low, high, coverage: 0.9, n });
        Point {
            tasks,
            value: efficiency,
            speedup: efficiency,
            efficiency,
            system_share: None,
            shares: None,
            repeats: Vec::new(),
            intervals: 0,
            side: Vec::new(),
            counters: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn at(tasks: u32, low: f64, high: f64) -> Verdict {
        verdict(Some(1), &[point(1, 1.0, 1.0, 5), point(tasks, low, high, 5)], Some(tasks)).verdict
    }

    /// The verdict, and the number of tasks that it rests on.
    fn rests(base_tasks: Option<u32>, points: &[Point], own_cpus: Option<u32>) -> (Verdict, Option<u32>) {
        let found = verdict(base_tasks, points, own_cpus);
        (found.verdict, found.rests_on.map(|basis| basis.tasks))
    }

    #[test]
    fn the_interval_decides() {
        assert_eq!(at(2, 0.90, 1.02), Verdict::Scales);
        assert_eq!(at(2, 0.89, 1.02), Verdict::Undecided);
        assert_eq!(at(2, 0.76, 0.89), Verdict::Partly);
        assert_eq!(at(2, 0.70, 0.80), Verdict::Undecided);
        assert_eq!(at(64, 0.52, 0.60), Verdict::Partly);
        assert_eq!(at(64, 0.30, 0.49), Verdict::DoesNotScale);
        assert_eq!(at(64, 0.30, 0.95), Verdict::Undecided);
    }

    #[test]
    fn two_tasks_that_do_the_work_of_one_do_not_scale() {
        assert_eq!(at(2, 0.48, 0.53), Verdict::DoesNotScale);
    }

    #[test]
    fn tasks_without_cpus_of_their_own_are_not_judged() {
        let points = [point(1, 1.0, 1.0, 5), point(2, 0.95, 1.0, 5), point(4, 0.2, 0.3, 5)];
        assert_eq!(rests(Some(1), &points, Some(2)), (Verdict::Scales, Some(2)));
        assert_eq!(rests(Some(1), &points, Some(4)), (Verdict::DoesNotScale, Some(4)));
        assert_eq!(rests(Some(1), &points, None), (Verdict::DoesNotScale, Some(4)));
        assert_eq!(rests(Some(1), &points, Some(1)), (Verdict::NotMeasured, None));
        assert_eq!(rests(None, &points, None), (Verdict::NotMeasured, None));
        assert_eq!(verdict(Some(1), &points, Some(2)).rests_on.map(|basis| basis.efficiency), points[1].efficiency);
    }

    #[test]
    fn a_point_without_figures_gives_way_to_the_one_before() {
        let failed = Point { efficiency: None, ..point(4, 0.0, 0.0, 0) };
        let points = [point(1, 1.0, 1.0, 5), point(2, 0.95, 1.0, 5), failed];
        assert_eq!(rests(Some(1), &points, Some(4)), (Verdict::Scales, Some(2)));
    }

    #[test]
    fn two_repeats_decide_nothing() {
        let points = [point(1, 1.0, 1.0, 2), point(2, 0.99, 1.0, 2)];
        assert_eq!(rests(Some(1), &points, Some(2)), (Verdict::Undecided, Some(2)));
    }
}
