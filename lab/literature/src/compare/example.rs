//! Outcomes of tests, made by hand for the tests here.

use super::table::{Judged, Table};
use faultline_model::direction::Direction;
use faultline_model::workload_comparison::{
    Answer, Bounded, Caution, CautionCode, Method, Side, SuiteComparison, Unit, WorkloadComparison,
};

/// An outcome with this ratio, its lower and its upper end, at 95 %, that was called faster.
pub(super) fn tested(direction: Direction, [value, low, high]: [f64; 3]) -> WorkloadComparison {
    let side = Side { boots: 1, runs: 6, intervals: 6, units: 6, median: 1.0, mean: 1.0 };
    WorkloadComparison {
        name: "build".to_owned(),
        unit: "s".to_owned(),
        direction,
        a: side,
        b: side,
        independent: Unit::Run,
        method: Method::Ranks,
        answer: Answer::Faster,
        p: Some(0.01),
        p_corrected: Some(0.02),
        ratio: Some(Bounded { value, low, high, level: 0.95 }),
        shift: None,
        ratio_of_medians: None,
        detectable: None,
        cautions: vec![Caution { code: CautionCode::OneBoot, text: "Boots unknown.".to_owned() }],
    }
}

/// An outcome for each pair of a table, no two with the same ratio.
pub(super) fn judged(table: &Table) -> Judged {
    let pairs = table.pairs();
    let ratio = |index: usize| 0.5 + index as f64 / 100.0;
    let alone: Vec<WorkloadComparison> = pairs
        .iter()
        .enumerate()
        .map(|(index, pair)| tested(pair.direction, [ratio(index), ratio(index) - 0.1, ratio(index) + 0.1]))
        .collect();
    let suite = SuiteComparison {
        format: SuiteComparison::FORMAT.to_owned(),
        level: 0.95,
        seed: 1,
        resamples: 2000,
        workloads: alone.clone(),
        improvement: None,
    };
    Judged { suite, alone }
}
