//! Answers of a live comparison: whether all workloads are settled, and the removal of answers
//! before a look.

use crate::comparison::{ComparedWorkload, Comparison, Details};
use crate::said::Said;
use crate::workload_comparison::{Answer, Caution, CautionCode, FewUnits, Inconclusive, WorkloadComparison};

/// True if every workload has its answer: a difference, or equality within the margin.
pub fn settled<'a>(workloads: impl IntoIterator<Item = &'a WorkloadComparison>) -> bool {
    workloads.into_iter().all(|workload| workload.answer != Answer::Inconclusive)
}

/// Removes the results of tests and intervals of differences. Values and their descriptions stay.
/// Each workload gets the caution `no_look`.
pub(super) fn withheld(compared: Comparison, no_look: FewUnits) -> Comparison {
    let without = |ComparedWorkload { comparison, details }| ComparedWorkload {
        comparison: without_answer(comparison, no_look),
        details: Details { counters: Vec::new(), figures: Vec::new(), by_cpu_time: None, ..details },
    };
    let workloads = compared.workloads.into_iter().map(without).collect();
    Comparison { workloads, improvement: None, scaling: Vec::new(), ..compared }
}

fn without_answer(workload: WorkloadComparison, no_look: FewUnits) -> WorkloadComparison {
    let no_look = Said::from(Caution::FewUnits(no_look));
    let others = workload.cautions.iter().filter(|caution| caution.code() != CautionCode::FewUnits).cloned();
    let cautions = std::iter::once(no_look).chain(others).collect();
    WorkloadComparison { cautions, ..workload }.without_answer(Inconclusive::FewValues)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::two_sample::{Samples, Settings, Workload, compare};
    use faultline_record::direction::Direction;

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
