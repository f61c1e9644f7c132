//! Causes of noisy or slow figures on a machine, the most important first: missing answers,
//! observed disturbances, possible disturbances.

mod answers;
mod machine;
mod others;

use crate::advice::Advice;
use crate::comparison::Comparison;
use crate::gather::gather;
use crate::machine::Cpus;
use crate::progress::standings;
use crate::warnings::Findings;
use faultline_record::record::RunRecord;

/// All advice; `unmeasured` comes first.
pub(super) fn advice(compared: &Comparison, record: &RunRecord, unmeasured: &[Advice]) -> Vec<Advice> {
    let standings = standings(record);
    let cases = gather(&record.workloads, &standings);
    let findings = Findings { record, cpus: Cpus::of(record), standings: &standings, cases: &cases, curves: &[] };
    let mut advice = unmeasured.to_vec();
    advice.extend(answers::unanswered(compared));
    advice.extend(answers::differences(compared));
    advice.extend(others::others(&findings));
    advice.extend(answers::shapes(compared));
    advice.extend(machine::machine(&findings));
    advice.extend(answers::blind(compared));
    advice
}
