//! What makes a machine's figures worse, and what to do about it, the most important first: what has no answer, what was seen to disturb, then what
//! may.

mod answers;
mod machine;
mod others;

use crate::gather::gather;
use crate::machine::Cpus;
use crate::progress::standings;
use crate::warnings::Findings;
use faultline_model::advice::Advice;
use faultline_model::comparison::Comparison;
use faultline_model::record::RunRecord;

/// All there is to say; `unmeasured` comes first.
pub(super) fn advice(compared: &Comparison, record: &RunRecord, unmeasured: &[Advice]) -> Vec<Advice> {
    let standings = standings(record);
    let cases = gather(&record.workloads, &standings);
    let findings = Findings { record, cpus: Cpus::of(record), standings: &standings, cases: &cases, curves: &[] };
    let mut advice = unmeasured.to_vec();
    advice.extend(answers::unanswered(compared));
    advice.extend(answers::differences(compared));
    advice.extend(answers::failures(compared));
    advice.extend(others::others(&findings));
    advice.extend(answers::shapes(compared));
    advice.extend(machine::machine(&findings));
    advice.extend(answers::blind(compared));
    advice
}
