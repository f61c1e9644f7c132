//! Advice from the answers of a machine's comparison with itself.

use crate::advice::{Advice, NamedWorkload};
use crate::comparison::{ComparedWorkload, Comparison};
use crate::thresholds::COARSE_DETECTABLE;
use crate::workload_comparison::{Answer, CautionCode, Inconclusive, WorkloadComparison};
use faultline_record::failure::Failure;

/// Compared workloads without an answer, because executions failed or are too few.
pub(super) fn unanswered(compared: &Comparison) -> Vec<Advice> {
    let advice = |workload: &ComparedWorkload| match failed(workload) {
        Some((times, first)) => Advice::Unanswered { workload: named(workload), times, first },
        None => Advice::FewValues { workload: named(workload) },
    };
    chosen(compared, has_no_answer).map(advice).collect()
}

/// Workloads that differ from themselves.
pub(super) fn differences(compared: &Comparison) -> Vec<Advice> {
    let differing = chosen(compared, |workload| matches!(workload.answer, Answer::Faster | Answer::Slower));
    let advice = |workload: &ComparedWorkload| {
        let ratio = workload.comparison.ratio.map_or(1.0, |ratio| ratio.value);
        Advice::Differs { workload: named(workload), difference: ratio.max(1.0 / ratio) - 1.0 }
    };
    differing.map(advice).collect()
}

/// Values that fall into two groups, or drift.
pub(super) fn shapes(compared: &Comparison) -> Vec<Advice> {
    let with = |code: CautionCode| -> Option<Vec<NamedWorkload>> {
        let cautioned =
            |workload: &&ComparedWorkload| workload.comparison.cautions.iter().any(|caution| caution.code() == code);
        let workloads: Vec<NamedWorkload> = compared.workloads.iter().filter(cautioned).map(named).collect();
        (!workloads.is_empty()).then_some(workloads)
    };
    let bimodal = with(CautionCode::Bimodal).map(|workloads| Advice::Bimodal { workloads });
    let drift = with(CautionCode::Drift).map(|workloads| Advice::Drift { workloads });
    bimodal.into_iter().chain(drift).collect()
}

/// The smallest detectable difference, if it is large.
pub(super) fn blind(compared: &Comparison) -> Option<Advice> {
    let is_judged = |workload: &WorkloadComparison| match workload.answer {
        Answer::Equal => true,
        Answer::Inconclusive => !has_no_answer(workload),
        Answer::Faster | Answer::Slower => false,
    };
    let judged = chosen(compared, is_judged);
    let smallest = |workload: &ComparedWorkload| workload.comparison.detectable.unwrap_or(f64::INFINITY);
    let worst = judged.max_by(|x, y| smallest(x).total_cmp(&smallest(y)))?;
    let ratio = smallest(worst);
    (ratio > 1.0 + COARSE_DETECTABLE)
        .then(|| Advice::Blind { workload: named(worst), smallest: ratio.is_finite().then_some(ratio - 1.0) })
}

/// Number of failures of a workload, and the first failure. `None` if it never failed.
fn failed(workload: &ComparedWorkload) -> Option<(u32, Failure)> {
    let [a, b] = &workload.details.failures;
    let first = a.iter().chain(b).next()?;
    Some(((a.len() + b.len()) as u32, first.what.clone()))
}

fn named(workload: &ComparedWorkload) -> NamedWorkload {
    NamedWorkload { name: workload.comparison.name.clone(), tasks: workload.details.tasks }
}

fn has_no_answer(workload: &WorkloadComparison) -> bool {
    matches!(workload.inconclusive, Some(Inconclusive::FewValues | Inconclusive::Failures))
}

/// The workloads for which `is_chosen` is true.
fn chosen(
    compared: &Comparison,
    is_chosen: impl Fn(&WorkloadComparison) -> bool,
) -> impl Iterator<Item = &ComparedWorkload> {
    compared.workloads.iter().filter(move |workload| is_chosen(&workload.comparison))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Settings, compare_datasets};
    use faultline_record::dataset::{DataPoint, Dataset, Measured, Series};
    use faultline_record::direction::Direction;

    /// A workload whose sides have these values, measured alternately.
    fn of(a: &[f64], b: &[f64]) -> Comparison {
        let [a, b] = [(0, a), (1, b)].map(|(side, values)| {
            let point = |(order, &value): (usize, &f64)| DataPoint {
                order: Some(2 * order as u64 + side),
                ..DataPoint::of(Measured::Values(vec![value]))
            };
            let points = values.iter().enumerate().map(point).collect();
            let (unit, direction) = ("s".to_owned(), Some(Direction::Lower));
            Dataset::of(vec![Series {
                name: "load".to_owned(),
                tasks: Some(2),
                measure: None,
                unit,
                direction,
                points,
            }])
        });
        compare_datasets(["a", "b"], &a, &b, &Settings::default()).unwrap()
    }

    const CALM: [f64; 8] = [1.05, 1.03, 1.06, 1.04, 1.055, 1.035, 1.045, 1.065];

    #[test]
    fn calm_values_give_no_advice() {
        let compared = of(&CALM, &CALM);
        assert_eq!((differences(&compared), shapes(&compared), blind(&compared)), (vec![], vec![], None));
    }

    #[test]
    fn each_answer_has_its_advice() {
        let load = NamedWorkload { name: "load".to_owned(), tasks: Some(2) };
        let slower = differences(&of(&CALM, &CALM.map(|value| 1.1 * value)));
        let [Advice::Differs { workload, difference }] = &slower[..] else { panic!("{slower:?}") };
        assert!(*workload == load && (difference - 0.1).abs() < 1e-9, "{slower:?}");
        let two = shapes(&of(&[1.0, 2.0, 1.01, 2.01, 2.02, 1.02, 1.03, 2.03], &CALM));
        assert_eq!(two, [Advice::Bimodal { workloads: vec![load.clone()] }]);
        let rising: Vec<f64> = (0..9).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        assert_eq!(shapes(&of(&rising, &CALM)), [Advice::Drift { workloads: vec![load.clone()] }]);
        let wide = CALM.map(|value| value * value * value);
        let wide = blind(&of(&wide, &wide)).unwrap();
        let Advice::Blind { workload, smallest: Some(smallest) } = &wide else { panic!("{wide:?}") };
        assert!(*workload == load && *smallest > COARSE_DETECTABLE, "{wide:?}");
        assert_eq!(unanswered(&of(&CALM[..2], &CALM[..2])), [Advice::FewValues { workload: load }]);
    }
}
