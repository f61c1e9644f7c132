//! Growth of transfers per operation with the number of CPUs: none, constant, or growing and by
//! which law; and the loss of many CPUs compared with one.

use crate::lens::summary::{AgainstOne, Growth, LensVerdict, LineLimit, Loss, Reach};
use crate::thresholds::{
    LENS_FIT_ERROR, LENS_FIT_POINTS, LENS_FLAT_SHARE, LENS_FLAT_TRANSFERS, LOST_GAIN, SCALES_EFFICIENCY,
};

/// The verdict for points of CPUs and transfers per operation, by ascending CPUs.
///
/// Transfers are free if none of the values is more than [`LENS_FLAT_TRANSFERS`] above that of one
/// CPU (0 if unknown). A single CPU shares with no other, so it is left out of the growth. Values
/// are flat if they differ by at most the tolerance t = max([`LENS_FLAT_TRANSFERS`],
/// [`LENS_FLAT_SHARE`] of their mean). Otherwise the ends decide: values grow if the last is more
/// than t above the first, fall if it is more than t below, and are uneven otherwise.
pub(crate) fn verdict(points: &[(u32, f64)]) -> LensVerdict {
    let one = points.iter().find(|&&(cpus, _)| cpus == 1).map_or(0.0, |&(_, transfers)| transfers);
    let points: Vec<(u32, f64)> = points.iter().copied().filter(|&(cpus, _)| cpus >= 2).collect();
    let (Some(&(from_cpus, from)), Some(&(to_cpus, to))) = (points.first(), points.last()) else {
        return LensVerdict::TooFewPoints;
    };
    let doublings = (f64::from(to_cpus) / f64::from(from_cpus)).log2();
    let per_doubling = if doublings > 0.0 { (to - from) / doublings } else { 0.0 };
    let reach = Reach { from_cpus, from, to_cpus, to, per_doubling };
    let values = || points.iter().map(|&(_, value)| value);
    let mean = values().sum::<f64>() / points.len() as f64;
    let tolerance = LENS_FLAT_TRANSFERS.max(LENS_FLAT_SHARE * mean);
    let (least, most) = values().fold((from, from), |(least, most), value| (least.min(value), most.max(value)));
    if most - one <= LENS_FLAT_TRANSFERS {
        LensVerdict::Free { reach }
    } else if points.len() == 1 {
        LensVerdict::Costs { reach }
    } else if most - least <= tolerance {
        LensVerdict::Flat { reach }
    } else if to - from > tolerance {
        LensVerdict::Grows { reach, growth: growth(&points) }
    } else if from - to > tolerance {
        LensVerdict::Falls { reach }
    } else {
        LensVerdict::Uneven { reach }
    }
}

/// The verdict of a case whose busiest line sets this limit: *contended* instead of any verdict
/// that sounds harmless, if the limit is below the largest number of CPUs.
pub(crate) fn with_limit(verdict: LensVerdict, limit: Option<LineLimit>) -> LensVerdict {
    match (verdict, limit) {
        (
            LensVerdict::Flat { reach }
            | LensVerdict::Costs { reach }
            | LensVerdict::Falls { reach }
            | LensVerdict::Uneven { reach },
            Some(limit),
        ) if limit.cpus < f64::from(reach.to_cpus) => LensVerdict::Contended { reach, limit },
        (verdict, _) => verdict,
    }
}

/// The largest number of CPUs with transfers and a predicted rate, compared with one CPU. `None` if
/// one is missing.
pub(crate) fn against_one(transfers: &[(u32, f64)], rates: &[(u32, f64)]) -> Option<AgainstOne> {
    let at_one = |points: &[(u32, f64)]| points.iter().find(|&&(cpus, _)| cpus == 1).map(|&(_, value)| value);
    let (one, rate_of_one) = (at_one(transfers)?, at_one(rates).filter(|&rate| rate > 0.0)?);
    let &(cpus, rate) = rates.iter().filter(|&&(cpus, _)| cpus >= 2).max_by_key(|&&(cpus, _)| cpus)?;
    let speedup = rate / rate_of_one;
    let efficiency = speedup / f64::from(cpus);
    let loss = match efficiency {
        efficiency if efficiency >= SCALES_EFFICIENCY => Loss::Little,
        efficiency if efficiency >= LOST_GAIN => Loss::Part,
        _ => Loss::Most,
    };
    Some(AgainstOne { one, cpus, speedup, lost: 1.0 - efficiency, loss })
}

/// The law that fits best: a + b·log₂ CPUs, or a + b·CPUs.
fn growth(points: &[(u32, f64)]) -> Growth {
    if points.len() < LENS_FIT_POINTS {
        return Growth::Unknown;
    }
    let logarithmic = fit_error(points, |cpus| f64::from(cpus).log2());
    let linear = fit_error(points, f64::from);
    match logarithmic.min(linear) {
        best if best > LENS_FIT_ERROR => Growth::Other,
        best if best == logarithmic => Growth::Logarithmic,
        _ => Growth::Linear,
    }
}

/// Root mean square of the relative residuals of value ≈ a + b·`scale`(CPUs), fitted by least
/// squares with weights 1/value². So each point counts by its ratio to the law, like residuals of
/// logarithms, and small values count as much as large ones.
fn fit_error(points: &[(u32, f64)], scale: impl Fn(u32) -> f64) -> f64 {
    let weighted = || points.iter().map(|&(cpus, value)| (value.max(LENS_FLAT_TRANSFERS).powi(-2), scale(cpus), value));
    let weight: f64 = weighted().map(|(w, ..)| w).sum();
    let mean_x = weighted().map(|(w, x, _)| w * x).sum::<f64>() / weight;
    let mean_y = weighted().map(|(w, _, y)| w * y).sum::<f64>() / weight;
    let covariance: f64 = weighted().map(|(w, x, y)| w * (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = weighted().map(|(w, x, _)| w * (x - mean_x).powi(2)).sum();
    let slope = covariance / variance;
    let squares: f64 = weighted().map(|(w, x, y)| w * (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    (squares / points.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(law: impl Fn(f64) -> f64) -> LensVerdict {
        verdict(&[1, 2, 4, 8, 16, 32].map(|cpus| (cpus, law(f64::from(cpus)))))
    }

    fn grows(verdict: LensVerdict) -> Growth {
        match verdict {
            LensVerdict::Grows { growth, .. } => growth,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_shared_counter_is_flat_though_one_cpu_has_no_transfers() {
        let points = [(1, 0.0), (2, 0.98), (8, 1.0), (32, 1.03)];
        assert!(matches!(verdict(&points), LensVerdict::Flat { .. }));
        assert!(matches!(verdict(&points[1..]), LensVerdict::Flat { .. }));
    }

    #[test]
    fn no_more_than_on_one_cpu_is_free_and_false_sharing_from_two_on_is_not() {
        assert!(matches!(of(|_| 0.0004), LensVerdict::Free { .. }));
        assert!(matches!(verdict(&[(1, 3.0), (2, 3.0), (8, 3.05)]), LensVerdict::Free { .. }));
        assert!(matches!(verdict(&[(1, 0.0), (2, 2.0), (4, 2.0), (8, 2.0)]), LensVerdict::Flat { .. }));
        assert!(matches!(verdict(&[(1, 3.0), (2, 3.06), (8, 3.06)]), LensVerdict::Flat { .. }));
    }

    #[test]
    fn what_is_lost_is_relative_to_one_cpu() {
        let transfers = [(1, 0.0), (2, 2.0), (8, 2.0)];
        let lost = |rates: &[(u32, f64)]| against_one(&transfers, rates).map(|against| (against.lost, against.loss));
        assert_eq!(lost(&[(1, 100.0), (2, 20.0), (8, 20.0)]), Some((0.975, Loss::Most)));
        assert_eq!(lost(&[(1, 100.0), (8, 720.0)]), Some((1.0 - 0.9, Loss::Little)));
        assert_eq!(lost(&[(1, 100.0), (8, 400.0)]), Some((0.5, Loss::Part)));
        assert_eq!(lost(&[(1, 100.0), (8, 1000.0)]), Some((-0.25, Loss::Little)));
        assert_eq!(lost(&[(2, 100.0), (8, 200.0)]), None);
        assert_eq!(lost(&[(1, 100.0)]), None);
        assert_eq!(against_one(&transfers[1..], &[(1, 100.0), (8, 200.0)]), None);
    }

    #[test]
    fn the_laws_are_distinguished() {
        assert_eq!(grows(of(|cpus| 0.5 * cpus)), Growth::Linear);
        assert_eq!(grows(of(|cpus| 3.0 + cpus)), Growth::Linear);
        assert_eq!(grows(of(|cpus| 3.0 + 1.6 * cpus.log2())), Growth::Logarithmic);
        assert_eq!(grows(of(|cpus| cpus * cpus * cpus)), Growth::Other);
        assert_eq!(grows(verdict(&[(2, 1.0), (8, 4.0)])), Growth::Unknown);
    }

    #[test]
    fn the_addition_of_each_doubling_is_reported() {
        let faults = verdict(&[(2, 4.8), (8, 7.2), (32, 9.7), (64, 13.1)]);
        let reach = *faults.reach().unwrap();
        assert_eq!(grows(faults), Growth::Logarithmic);
        assert_eq!((reach.from_cpus, reach.to_cpus), (2, 64));
        assert!((reach.per_doubling - 1.66).abs() < 1e-9, "{reach:?}");
    }

    #[test]
    fn falling_and_uneven_are_not_flat() {
        assert!(matches!(verdict(&[(2, 4.0), (4, 2.0)]), LensVerdict::Falls { .. }));
        assert!(matches!(verdict(&[(2, 1.0), (4, 3.0), (8, 1.0)]), LensVerdict::Uneven { .. }));
    }

    #[test]
    fn the_tolerance_is_kept_to() {
        assert!(matches!(verdict(&[(2, 0.0), (4, 0.05)]), LensVerdict::Free { .. }));
        assert!(matches!(verdict(&[(2, 0.0), (4, 0.051)]), LensVerdict::Grows { .. }));
        assert!(matches!(verdict(&[(2, 0.1), (4, 0.15)]), LensVerdict::Flat { .. }));
        assert!(matches!(verdict(&[(2, 9.6), (4, 10.4)]), LensVerdict::Flat { .. }));
        assert!(matches!(verdict(&[(2, 9.4), (4, 10.6)]), LensVerdict::Grows { .. }));
    }

    #[test]
    fn one_number_of_cpus_has_a_price_and_no_growth() {
        assert_eq!(verdict(&[]), LensVerdict::TooFewPoints);
        assert_eq!(verdict(&[(1, 0.0)]), LensVerdict::TooFewPoints);
        let reach = Reach { from_cpus: 8, from: 1.0, to_cpus: 8, to: 1.0, per_doubling: 0.0 };
        assert_eq!(verdict(&[(1, 0.0), (8, 1.0)]), LensVerdict::Costs { reach });
        assert!(matches!(verdict(&[(1, 0.0), (8, 0.04)]), LensVerdict::Free { .. }));
        assert!(matches!(verdict(&[(8, 1.0)]), LensVerdict::Costs { .. }));
    }
}
