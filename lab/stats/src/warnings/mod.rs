//! What may make the figures lie: one file per kind of reason, each gives at most one warning per code, with all the
//! cells that it concerns.

mod changed_surroundings;
mod coarse_count;
mod concerned;
mod cpus;
mod frequency;
mod incomplete;
mod little_overlap;
mod load;
mod spread;
mod steal;
mod virtualised;
mod warm_up;

pub(crate) use frequency::frequency_reasons;
pub(crate) use load::{busy_at_start, most_by_others, others_cpus, region_ns, tasks_ns};
pub(crate) use steal::{most_stolen, stolen_share};

use crate::gather::CaseCells;
use crate::machine::Cpus;
use crate::progress::Standing;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunRecord;
use faultline_model::summary::Curve;
use faultline_model::warning::Warning;

/// All that warnings are drawn from.
#[derive(Clone, Copy)]
pub(crate) struct Findings<'a> {
    /// The run.
    pub(crate) record: &'a RunRecord,
    /// Its CPUs.
    pub(crate) cpus: Cpus,
    /// Its items.
    pub(crate) standings: &'a [(&'a PlanItem, Standing<'a>)],
    /// Its cases.
    pub(crate) cases: &'a [CaseCells<'a>],
    /// Their curves, in the same order.
    pub(crate) curves: &'a [Curve],
}

/// Looks for one kind of reason.
type Check = fn(&Findings<'_>) -> Option<Warning>;

/// Which runs a reason matters to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// Those that take time: what disturbs clocks does not disturb counts.
    Timed,
    /// Those under the lens, which counts.
    Counted,
    /// All.
    Every,
}

/// All of them, in the order of the codes.
const CHECKS: &[(Runs, Check)] = &[
    (Runs::Timed, load::at_start),
    (Runs::Timed, load::under_way),
    (Runs::Timed, steal::steal),
    (Runs::Timed, frequency::frequency_scaling),
    (Runs::Timed, virtualised::virtualised),
    (Runs::Timed, cpus::quota),
    (Runs::Timed, cpus::one_cpu),
    (Runs::Timed, cpus::oversubscribed),
    (Runs::Timed, cpus::shared_cores),
    (Runs::Timed, warm_up::unsettled),
    (Runs::Timed, spread::few_repeats),
    (Runs::Timed, coarse_count::coarse_count),
    (Runs::Timed, spread::noisy),
    (Runs::Every, incomplete::incomplete),
    (Runs::Timed, changed_surroundings::changed_surroundings),
    (Runs::Counted, little_overlap::little_overlap),
];

/// The warnings of a run that takes time.
pub(crate) fn warnings(findings: &Findings<'_>) -> Vec<Warning> {
    found(Runs::Timed, findings)
}

/// The warnings of a run under the lens.
pub(crate) fn warnings_of_lens(findings: &Findings<'_>) -> Vec<Warning> {
    found(Runs::Counted, findings)
}

/// In the order of the codes.
fn found(of: Runs, findings: &Findings<'_>) -> Vec<Warning> {
    let matters = |runs: Runs| runs == of || runs == Runs::Every;
    CHECKS.iter().filter(|(runs, _)| matters(*runs)).filter_map(|(_, check)| check(findings)).collect()
}

#[cfg(test)]
mod tests {
    use crate::example;
    use crate::summarise;
    use faultline_model::facts::FactValue;
    use faultline_model::record::RunRecord;
    use faultline_model::warning::{Warning, WarningCode};

    /// The warnings of one code that a record gives.
    pub(super) fn of(record: &RunRecord, code: WarningCode) -> Vec<Warning> {
        summarise(record).warnings.into_iter().map(|said| said.what).filter(|warning| warning.code() == code).collect()
    }

    /// The quiet example, with one fact set to another value.
    pub(super) fn with_fact(key: &str, value: FactValue) -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        record.head.sessions[0].facts[0].0.insert(key.to_owned(), value);
        record
    }

    #[test]
    fn a_quiet_complete_run_gives_none() {
        assert_eq!(summarise(&example::Run::new(&["a_load", "b_load"]).record()).warnings, []);
    }
}
