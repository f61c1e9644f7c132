//! A comparison without its answers: what may be seen of it when no look is due.

use faultline_model::compared::{Compared, Details};
use faultline_model::comparison::{Answer, Caution, CautionCode, Comparison, Method, SuiteComparison};

/// Takes out all that a test or an interval says about a difference. Values and what describes them stay; each workload is cautioned with `reason`.
pub(super) fn withheld(compared: Compared, reason: &str) -> Compared {
    let workloads = compared.suite.workloads.into_iter().map(|workload| without_answer(workload, reason)).collect();
    let details = compared.details.into_iter().map(|details| Details { counters: Vec::new(), ..details });
    Compared {
        suite: SuiteComparison { workloads, improvement: None, ..compared.suite },
        details: details.collect(),
        scaling: Vec::new(),
        ..compared
    }
}

fn without_answer(workload: Comparison, reason: &str) -> Comparison {
    let no_look = Caution { code: CautionCode::FewUnits, text: reason.to_owned() };
    let others = workload.cautions.into_iter().filter(|caution| caution.code != CautionCode::FewUnits);
    Comparison {
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
