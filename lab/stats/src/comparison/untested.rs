//! Figures that are shown but not tested: one side has a single value, while another figure of the
//! same benchmark has several on both sides.
//!
//! An example is the user time in hyperfine's files: a single mean beside the times of all runs. If
//! no figure of a benchmark has several values, its figures stay workloads, which are inconclusive
//! because of too few values.

use super::pairs::Pair;
use crate::comparison::{UntestedFigure, UntestedReason};
use crate::median::median;
use faultline_record::dataset::{Dataset, Series};
use std::collections::BTreeSet;

/// Moves the untested figures out of `pairs`.
pub(super) fn take_untested(pairs: &mut Vec<Pair>, [a, b]: [&Dataset; 2]) -> Vec<UntestedFigure> {
    let has_several = |pair: &Pair| values(&a.series[pair.a]) > 1 && values(&b.series[pair.b]) > 1;
    let benchmark = |pair: &Pair| (a.series[pair.a].name.as_str(), pair.tasks);
    let tested: BTreeSet<(&str, Option<u32>)> = pairs.iter().filter(|pair| has_several(pair)).map(benchmark).collect();
    let aside = pairs.extract_if(.., |pair| !has_several(pair) && tested.contains(&benchmark(pair)));
    aside.filter_map(|pair| figure(&pair, &a.series[pair.a], &b.series[pair.b])).collect()
}

/// Number of runs with a value.
fn values(series: &Series) -> usize {
    series.points.iter().filter(|point| !point.measured.values().is_empty()).count()
}

fn figure(pair: &Pair, a: &Series, b: &Series) -> Option<UntestedFigure> {
    Some(UntestedFigure {
        name: pair.name.clone(),
        figure: None,
        reason: UntestedReason::SingleValue,
        tasks: pair.tasks,
        unit: pair.unit.clone(),
        direction: pair.direction,
        a: middle(a)?,
        b: middle(b)?,
    })
}

/// Median of the runs' medians.
fn middle(series: &Series) -> Option<f64> {
    let runs: Vec<f64> = series.points.iter().filter_map(|point| median(point.measured.values())).collect();
    median(&runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Settings, compare_datasets};
    use crate::workload_comparison::{Answer, Inconclusive};
    use faultline_record::dataset::{DataPoint, Measured, Summed};
    use faultline_record::direction::Direction;

    const TIMES: [f64; 8] = [1.0, 1.001, 1.002, 0.999, 0.998, 1.0005, 1.0015, 0.9995];

    fn series(measure: Option<&str>, points: Vec<DataPoint>) -> Series {
        let (unit, measure) = ("s".to_owned(), measure.map(str::to_owned));
        Series { name: "sort".to_owned(), tasks: None, measure, unit, direction: Some(Direction::Lower), points }
    }

    fn times(n: usize) -> Series {
        series(None, TIMES[..n].iter().map(|&value| DataPoint::of(Measured::Values(vec![value]))).collect())
    }

    fn mean(value: f64) -> Series {
        let summed = Summed { value, low: None, high: None, deviation: None, n: Some(8) };
        series(Some("user"), vec![DataPoint::of(Measured::Summary(summed))])
    }

    fn compared(n: usize) -> crate::comparison::Comparison {
        let mut settings = Settings::default();
        settings.two_sample.assume_quiet = true;
        let [a, b] = [0.7, 0.8].map(|user| Dataset::of(vec![times(n), mean(user)]));
        compare_datasets(["a", "b"], &a, &b, &settings).unwrap()
    }

    #[test]
    fn a_mean_beside_times_is_shown_and_not_tested() {
        let found = compared(8);
        let [times] = found.workloads.as_slice() else { panic!("{found:?}") };
        assert_eq!((times.comparison.name.as_str(), times.comparison.answer), ("sort", Answer::Equal));
        let [user] = found.untested.as_slice() else { panic!("{found:?}") };
        assert_eq!((user.name.as_str(), user.a, user.b), ("sort user", 0.7, 0.8));
    }

    #[test]
    fn where_every_figure_has_one_value_none_stands_aside() {
        let found = compared(1);
        assert_eq!((found.workloads.len(), found.untested.len()), (2, 0));
        let few = |workload: &crate::comparison::ComparedWorkload| {
            workload.comparison.inconclusive == Some(Inconclusive::FewValues)
        };
        assert!(found.workloads.iter().all(few), "{found:?}");
    }
}
