//! A live comparison's answers: whether all are there, and a comparison without them.

use faultline_model::comparison::{ComparedWorkload, Comparison, Details};
use faultline_model::said::Said;
use faultline_model::workload_comparison::{
    Answer, Bounded, Caution, CautionCode, FewUnits, Method, WorkloadComparison,
};

/// Whether every workload has its answer: a difference, or a ratio whose interval reaches no further from the estimate than `precision`, a share.
pub fn settled<'a>(workloads: impl IntoIterator<Item = &'a WorkloadComparison>, precision: f64) -> bool {
    workloads.into_iter().all(|workload| has_answer(workload, precision))
}

fn has_answer(workload: &WorkloadComparison, precision: f64) -> bool {
    match workload.answer {
        Answer::Faster | Answer::Slower => true,
        Answer::NoDifference => workload.ratio.is_some_and(|ratio| is_narrow(&ratio, precision)),
        Answer::Undecided => false,
    }
}

/// Within [value / (1 + precision), value · (1 + precision)]: as far up as down, as ratios go.
fn is_narrow(ratio: &Bounded, precision: f64) -> bool {
    ratio.high <= ratio.value * (1.0 + precision) && ratio.low * (1.0 + precision) >= ratio.value
}

/// Takes out all that a test or an interval says about a difference. Values and what describes them stay; each workload is cautioned with `no_look`.
pub(super) fn withheld(compared: Comparison, no_look: FewUnits) -> Comparison {
    let without = |ComparedWorkload { comparison, details }| ComparedWorkload {
        comparison: without_answer(comparison, no_look),
        details: Details { counters: Vec::new(), ..details },
    };
    let workloads = compared.workloads.into_iter().map(without).collect();
    Comparison { workloads, improvement: None, scaling: Vec::new(), ..compared }
}

fn without_answer(workload: WorkloadComparison, no_look: FewUnits) -> WorkloadComparison {
    let no_look = Said::from(Caution::FewUnits(no_look));
    let others = workload.cautions.into_iter().filter(|caution| caution.code() != CautionCode::FewUnits);
    WorkloadComparison {
        method: Method::None,
        answer: Answer::Undecided,
        p: None,
        p_corrected: None,
        ratio: None,
        shift: None,
        ratio_of_medians: None,
        detectable: None,
        cautions: std::iter::once(no_look).chain(others).collect(),
        ..workload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::two_sample::{Samples, Settings, Workload, compare};
    use faultline_model::direction::Direction;

    fn compared(sides: &[[&[f64]; 2]]) -> Vec<WorkloadComparison> {
        let workload = |[a, b]: &[&[f64]; 2]| Workload {
            name: "load".to_owned(),
            unit: "s".to_owned(),
            direction: Direction::Lower,
            a: Samples::of_values(a),
            b: Samples::of_values(b),
        };
        compare(&sides.iter().map(workload).collect::<Vec<_>>(), &Settings::default()).unwrap().workloads
    }

    const WIDE: [f64; 8] = [10.0, 11.0, 12.0, 9.0, 13.0, 10.5, 11.5, 12.5];
    const NARROW: [f64; 8] = [10.0, 10.01, 10.02, 9.99, 10.03, 10.005, 10.015, 10.025];

    #[test]
    fn a_difference_or_a_narrow_interval_settles_and_neither_does_not() {
        assert!(settled(&compared(&[[&NARROW, &NARROW]]), 0.01));
        assert!(!settled(&compared(&[[&WIDE, &WIDE]]), 0.01));
        let doubled = WIDE.map(|value| 2.0 * value);
        assert!(settled(&compared(&[[&WIDE, &doubled]]), 0.01), "however wide its interval");
        assert!(!settled(&compared(&[[&WIDE, &doubled], [&WIDE, &WIDE]]), 0.01), "one of two is missing");
        assert!(!settled(&compared(&[[&NARROW[..2], &NARROW[..2]]]), 0.01), "too few to tell");
    }
}
