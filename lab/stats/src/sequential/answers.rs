//! A live comparison's answers: whether all are there, and a comparison without them.

use faultline_model::comparison::{ComparedWorkload, Comparison, Details};
use faultline_model::said::Said;
use faultline_model::workload_comparison::{
    Answer, Caution, CautionCode, FewUnits, Inconclusive, Method, WorkloadComparison,
};

/// Whether every workload has its answer: a difference, or equality within the margin.
pub fn settled<'a>(workloads: impl IntoIterator<Item = &'a WorkloadComparison>) -> bool {
    workloads.into_iter().all(|workload| workload.answer != Answer::Inconclusive)
}

/// Takes out all that a test or an interval says about a difference. Values and what describes them stay; each workload is cautioned with `no_look`.
pub(super) fn withheld(compared: Comparison, no_look: FewUnits) -> Comparison {
    let without = |ComparedWorkload { comparison, details }| ComparedWorkload {
        comparison: without_answer(comparison, no_look),
        details: Details { counters: Vec::new(), figures: Vec::new(), ..details },
    };
    let workloads = compared.workloads.into_iter().map(without).collect();
    Comparison { workloads, improvement: None, scaling: Vec::new(), ..compared }
}

fn without_answer(workload: WorkloadComparison, no_look: FewUnits) -> WorkloadComparison {
    let no_look = Said::from(Caution::FewUnits(no_look));
    let others = workload.cautions.into_iter().filter(|caution| caution.code() != CautionCode::FewUnits);
    WorkloadComparison {
        method: Method::None,
        answer: Answer::Inconclusive,
        inconclusive: Some(Inconclusive::FewValues),
        within_margin: false,
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
        let settings = Settings { assume_quiet: true, ..Settings::default() };
        compare(&sides.iter().map(workload).collect::<Vec<_>>(), &settings).unwrap().workloads
    }

    const WIDE: [f64; 8] = [10.0, 11.0, 12.0, 9.0, 13.0, 10.5, 11.5, 12.5];
    const NARROW: [f64; 8] = [10.0, 10.01, 10.02, 9.99, 10.03, 10.005, 10.015, 10.025];

    #[test]
    fn a_difference_or_equality_settles_and_neither_does_not() {
        assert!(settled(&compared(&[[&NARROW, &NARROW]])));
        assert!(!settled(&compared(&[[&WIDE, &WIDE]])));
        let doubled = WIDE.map(|value| 2.0 * value);
        assert!(settled(&compared(&[[&WIDE, &doubled]])), "however wide its interval");
        assert!(!settled(&compared(&[[&WIDE, &doubled], [&WIDE, &WIDE]])), "one of two is missing");
        assert!(!settled(&compared(&[[&NARROW[..2], &NARROW[..2]]])), "too few to tell");
    }
}
