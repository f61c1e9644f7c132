//! What makes a machine's figures worse, and what to do about it, the most important first: what has no answer, what was seen to disturb, then what
//! may.

mod answers;
mod machine;
mod others;

use super::unmeasured::Unmeasured;
use crate::gather::gather;
use crate::machine::Cpus;
use crate::progress::standings;
use crate::warnings::Findings;
use faultline_model::comparison::{Advice, Comparison};
use faultline_model::record::RunRecord;

/// All there is to say.
pub(super) fn advice(compared: &Comparison, record: &RunRecord, unmeasured: &[Unmeasured]) -> Vec<Advice> {
    let standings = standings(record);
    let cases = gather(&record.workloads, &standings);
    let findings = Findings { record, cpus: Cpus::of(record), standings: &standings, cases: &cases, curves: &[] };
    let mut advice = answers::missing(compared, unmeasured);
    advice.extend(answers::differences(compared));
    advice.extend(answers::failures(compared));
    advice.extend(others::others(&findings));
    advice.extend(answers::shapes(compared));
    advice.extend(machine::machine(&findings));
    advice.extend(answers::blind(compared));
    advice
}

/// A share as a percentage with one decimal: `3.2 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn told(finding: impl Into<String>, remedy: impl Into<String>) -> Advice {
    Advice { finding: finding.into(), remedy: remedy.into() }
}
