//! Compares two datasets.

use super::paired::{details, samples};
use super::pairs::{Pair, pairs, unmatched};
use super::recorded::{Plain, Recorded};
use super::scaling::scaled_cases;
use super::untested::take_untested;
use super::{ComparisonError, Settings};
use crate::comparison::{ComparedWorkload, Comparison, Described};
use crate::machine::{self, lasting_differences};
use crate::said::Said;
use crate::two_sample::{Workload, compare, units};
use crate::unmatched::{Unmatched, UnmatchedReason};
use crate::workload_comparison::{Inconclusive, WorkloadComparison};
use faultline_record::dataset::Dataset;

/// Compares everything that two datasets have in common. `names` are the names of the sides.
pub fn compare_datasets(
    names: [&str; 2],
    a: &Dataset,
    b: &Dataset,
    settings: &Settings,
) -> Result<Comparison, ComparisonError> {
    let [first, second] = [(names[0], a), (names[1], b)].map(|(name, dataset)| described(name, dataset));
    Ok(without_failed(paired([first, second], [a, b], settings, &Plain([a, b]))?.0))
}

/// Withholds the answers about workloads of which executions failed: the slow ones may be those
/// that failed. A time-out counts as a failure.
pub(super) fn without_failed(mut compared: Comparison) -> Comparison {
    let has_failed = |workload: &&mut ComparedWorkload| workload.details.failures.iter().any(|side| !side.is_empty());
    for ComparedWorkload { comparison, details } in compared.workloads.iter_mut().filter(has_failed) {
        for figure in std::iter::once(comparison).chain(&mut details.figures) {
            *figure = figure.clone().without_answer(Inconclusive::Failures);
        }
        details.counters.clear();
        details.by_cpu_time = None;
        compared.improvement = None;
    }
    compared
}

fn described(name: &str, dataset: &Dataset) -> Described {
    let known = !dataset.facts.0.is_empty();
    Described {
        name: name.to_owned(),
        setup: Vec::new(),
        run: None,
        started: None,
        machine: known.then(|| machine::line(Some(&dataset.facts))),
    }
}

/// The comparison, and the pairs behind its workloads in the same order.
pub(crate) fn paired(
    [first, second]: [Described; 2],
    [a, b]: [&Dataset; 2],
    settings: &Settings,
    recorded: &dyn Recorded,
) -> Result<(Comparison, Vec<Pair>), ComparisonError> {
    let mut found = pairs(a, b, recorded, settings.direction);
    if found.pairs.is_empty() {
        return Err(ComparisonError::NothingInCommon { unmatched: found.unmatched });
    }
    let untested = take_untested(&mut found.pairs, [a, b]);
    let workloads: Vec<Workload> = found.pairs.iter().map(|pair| workload(pair, [a, b], recorded)).collect();
    let suite = compare(&workloads, &settings.two_sample)?;
    let measured = found.pairs.iter().zip(&workloads);
    let with_details = |(comparison, (pair, workload)): (WorkloadComparison, (&Pair, &Workload))| ComparedWorkload {
        comparison,
        details: details(pair, workload, [recorded.failures(0, pair.a), recorded.failures(1, pair.b)]),
    };
    let answered: Vec<ComparedWorkload> = suite.workloads.into_iter().zip(measured).map(with_details).collect();
    let side_by_side = found.pairs.iter().zip(&workloads).zip(&answered).filter(|(_, answered)| may_differ(answered));
    let side_by_side: Vec<(&Pair, &Workload)> = side_by_side.map(|(measured, _)| measured).collect();
    let (scaling, unfitted) = scaled_cases(&side_by_side, settings.two_sample.level);
    found.unmatched.extend(unfitted);
    found.unmatched.extend(found.pairs.iter().zip(&workloads).flat_map(|(pair, workload)| split(pair, workload, a)));
    let compared = Comparison {
        format: Comparison::FORMAT.to_owned(),
        a: first,
        b: second,
        level: suite.level,
        seed: suite.seed,
        resamples: suite.resamples,
        workloads: answered,
        improvement: suite.improvement,
        scaling,
        facts: lasting_differences(&a.facts, &b.facts),
        untested,
        sequential: None,
        unmatched: found.unmatched.into_iter().map(Said::from).collect(),
    };
    Ok((compared, found.pairs))
}

/// True if a difference can be attributed to the sides, rather than to two boots or two times.
fn may_differ(ComparedWorkload { comparison, .. }: &ComparedWorkload) -> bool {
    !matches!(comparison.inconclusive, Some(Inconclusive::ConfoundedBoots | Inconclusive::NotInterleaved))
}

/// Blocks that do not form pairs.
fn split(pair: &Pair, workload: &Workload, a: &Dataset) -> Vec<Unmatched> {
    let series = &a.series[pair.a];
    let of_block = |block: u32| unmatched(series, UnmatchedReason::SplitBlock { block });
    units(&workload.a, &workload.b).split.into_iter().map(of_block).collect()
}

fn workload(pair: &Pair, [a, b]: [&Dataset; 2], recorded: &dyn Recorded) -> Workload {
    Workload {
        name: pair.name.clone(),
        unit: pair.unit.clone(),
        direction: pair.direction,
        a: samples(&a.series[pair.a], &a.facts, recorded.conditions(0, pair.a), |point| {
            recorded.block(0, pair.a, point)
        }),
        b: samples(&b.series[pair.b], &b.facts, recorded.conditions(1, pair.b), |point| {
            recorded.block(1, pair.b, point)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unmatched::Letter;
    use crate::workload_comparison::{Answer, Caution, CautionCode, FewUnits, Unit};
    use faultline_record::dataset::{DataPoint, Measured, Series, Summed};
    use faultline_record::direction::Direction;
    use faultline_record::failure::{Failure, FailureCause};

    fn series(name: &str, tasks: Option<u32>, points: Vec<DataPoint>) -> Series {
        let (unit, direction) = ("op/s".to_owned(), Some(Direction::Higher));
        Series { name: name.to_owned(), tasks, measure: None, unit, direction, points }
    }

    fn points(values: &[f64]) -> Vec<DataPoint> {
        values.iter().map(|&value| DataPoint::of(Measured::Values(vec![value]))).collect()
    }

    const LOW: [f64; 6] = [8.0, 8.1, 8.2, 7.9, 7.8, 8.05];
    const HIGH: [f64; 6] = [10.0, 10.1, 10.2, 9.9, 9.8, 10.05];

    fn of(a: Vec<Series>, b: Vec<Series>) -> Comparison {
        let mut settings = Settings::default();
        settings.two_sample.assume_quiet = true;
        compare_datasets(["old", "new"], &Dataset::of(a), &Dataset::of(b), &settings).unwrap()
    }

    #[test]
    fn an_answer_comes_with_what_stands_behind_it() {
        let mut high = points(&HIGH);
        high.push(DataPoint::of(Measured::Missing("hung".to_owned())));
        let found = of(
            vec![series("x", Some(2), points(&LOW)), series("y", None, points(&HIGH))],
            vec![series("y", None, points(&HIGH)), series("x", Some(2), high)],
        );
        let told: Vec<(&str, Answer, Option<u32>)> = found
            .workloads
            .iter()
            .map(|ComparedWorkload { comparison, details }| {
                (comparison.name.as_str(), comparison.answer, details.tasks)
            })
            .collect();
        assert_eq!(told, [("x", Answer::Inconclusive, Some(2)), ("y", Answer::Inconclusive, None)]);
        let why = found.workloads.iter().map(|workload| workload.comparison.inconclusive);
        assert_eq!(why.collect::<Vec<_>>(), [Some(Inconclusive::Failures), Some(Inconclusive::PastMargin)]);
        assert_eq!(found.workloads[0].details.values, [LOW.to_vec(), HIGH.to_vec()]);
        let hung = Failure { block: None, cause: FailureCause::Told { words: "hung".to_owned() } };
        assert_eq!(found.workloads[0].details.failures, [vec![], vec![hung.into()]]);
        assert_eq!((found.a.name.as_str(), found.b.machine), ("old", None));
    }

    #[test]
    fn values_come_in_the_order_in_which_they_were_measured() {
        let placed = |values: &[f64]| {
            let mut points = points(values);
            points.iter_mut().enumerate().for_each(|(i, point)| point.order = Some(10 - i as u64));
            points
        };
        let found = of(vec![series("x", None, placed(&LOW))], vec![series("x", None, placed(&HIGH))]);
        assert_eq!(found.workloads[0].details.values[0], [8.05, 7.8, 7.9, 8.2, 8.1, 8.0]);
    }

    #[test]
    fn boots_are_units_and_a_sum_is_one_value() {
        let booted = |values: &[f64]| -> Vec<DataPoint> {
            let summed = |value| Summed { value, low: None, high: None, deviation: None, n: Some(9) };
            let point = |(i, &value): (usize, &f64)| DataPoint {
                boot: Some(format!("{value} {}", i / 2)),
                ..DataPoint::of(Measured::Summary(summed(value)))
            };
            values.iter().flat_map(|value| [value, value]).enumerate().map(point).collect()
        };
        let found = of(vec![series("x", None, booted(&LOW))], vec![series("x", None, booted(&HIGH))]);
        let workload = &found.workloads[0].comparison;
        assert_eq!(
            (workload.independent, workload.a.boots, workload.a.runs, workload.a.intervals),
            (Unit::Boot, 6, 12, 12)
        );
    }

    #[test]
    fn sides_of_nothing_but_summaries_count_as_such() {
        let summed = |value| Summed { value, low: None, high: None, deviation: None, n: Some(9) };
        let summary = |value| DataPoint::of(Measured::Summary(summed(value)));
        let unit = |a, b| {
            let found =
                of(vec![series("x", None, vec![summary(8.0), a])], vec![series("x", None, vec![summary(9.0), b])]);
            let workload = found.workloads[0].comparison.clone();
            let caution = workload.cautions.iter().find(|caution| caution.code() == CautionCode::FewUnits).unwrap();
            let Caution::FewUnits(FewUnits::ForAnyTest { unit, .. }) = caution.what else { panic!("{caution:?}") };
            assert_eq!((unit, workload.a.units), (workload.independent, 2));
            unit
        };
        let hung = || DataPoint::of(Measured::Missing("hung".to_owned()));
        assert_eq!(unit(summary(8.1), summary(9.1)), Unit::Summary);
        assert_eq!(unit(summary(8.1), DataPoint::of(Measured::Values(vec![9.1]))), Unit::Run);
        let found =
            of(vec![series("x", None, vec![summary(8.0), hung()])], vec![series("x", None, vec![summary(9.0)])]);
        assert_eq!(found.workloads[0].comparison.independent, Unit::Summary);
    }

    #[test]
    fn facts_that_last_are_laid_side_by_side() {
        let mut a = Dataset::of(vec![series("x", None, points(&LOW))]);
        let mut b = Dataset::of(vec![series("x", None, points(&HIGH))]);
        a.facts.text("kernel.release", "6.1");
        a.facts.text("cpu.governor", "powersave");
        b.facts.text("kernel.release", "6.2");
        b.facts.text("boot.id", "2");
        let found = compare_datasets(["a", "b"], &a, &b, &Settings::default()).unwrap();
        let keys: Vec<&str> = found.facts.iter().map(|fact| fact.key.as_str()).collect();
        assert_eq!(keys, ["cpu.governor", "kernel.release"]);
        assert_eq!((found.facts[0].b.is_none(), found.a.machine.as_deref()), (true, Some("6.1")));
        assert!(
            found.workloads[0].comparison.cautions.iter().any(|caution| caution.code() == CautionCode::DifferentFacts)
        );
    }

    #[test]
    fn with_nothing_in_common_the_names_are_reported() {
        let (a, b) = (vec![series("x", None, points(&LOW))], vec![series("x", Some(2), points(&HIGH))]);
        let error = compare_datasets(["a", "b"], &Dataset::of(a), &Dataset::of(b), &Settings::default()).unwrap_err();
        let only = |tasks, side| Unmatched {
            name: "x".to_owned(),
            tasks,
            measure: None,
            reason: UnmatchedReason::OneSideOnly { side },
        };
        let unmatched = vec![only(None, Letter::A), only(Some(2), Letter::B)];
        assert_eq!(error, ComparisonError::NothingInCommon { unmatched });
    }

    #[test]
    fn results_of_extreme_values_survive_json() {
        for powers in [[149, -149, 149, -149], [-149, -149, -149, 149], [149, 149, 149, 149]] {
            let curve = |turn: usize| -> Vec<Series> {
                let at = |place: usize| {
                    let value = 10f64.powi(powers[(place + turn) % 4]);
                    series("x", Some(1 << place), points(&[value, 3.0 * value, 2.0 * value, 9.0 / value.cbrt()]))
                };
                (0..4).map(at).collect()
            };
            for turn in 0..4 {
                let found = of(curve(0), curve(turn));
                let json = serde_json::to_string(&found).unwrap();
                let back: Result<Comparison, _> = serde_json::from_str(&json);
                assert_eq!(back.unwrap().workloads.len(), 4);
            }
        }
    }

    #[test]
    fn cases_at_three_numbers_of_tasks_have_laws() {
        let curve = |serial: f64| -> Vec<Series> {
            let at = |tasks: u32| {
                let rate = 100.0 * f64::from(tasks) / (1.0 + serial * f64::from(tasks - 1));
                series("x", Some(tasks), points(&[rate, rate * 1.01, rate * 0.99, rate * 1.005]))
            };
            [1, 2, 4, 8].map(at).to_vec()
        };
        let found = of(curve(0.21), curve(0.08));
        assert_eq!((found.scaling.len(), found.scaling[0].name.as_str()), (1, "x"));
        let serial = found.scaling[0].comparison.serial;
        assert!((serial.a - 0.21).abs() < 0.01 && (serial.b - 0.08).abs() < 0.01, "{serial:?}");
        assert!(of(curve(0.1)[..2].to_vec(), curve(0.1)).scaling.is_empty());
        let [a, b] = [0.21, 0.08].map(|serial| Dataset::of(curve(serial)));
        let untrusted = compare_datasets(["old", "new"], &a, &b, &Settings::default()).unwrap();
        assert!(untrusted.scaling.is_empty(), "one side was measured after the other");
    }
}
