//! Planned workloads without any comparison.

use crate::datasets::sides;
use faultline_model::advice::{Advice, NamedWorkload};
use faultline_model::comparison::Comparison;
use faultline_model::dataset::Series;
use faultline_model::record::RunRecord;
use faultline_model::said::Said;
use faultline_model::unmatched::{Unmatched, UnmatchedReason};
use std::collections::BTreeSet;

/// The workloads of `record` that `compared` does not contain, in the order of the workloads.
pub(super) fn unmeasured(compared: &Comparison, record: &RunRecord) -> Vec<Advice> {
    let (a, b) = sides(record);
    let measured = |name: &str, tasks: Option<u32>| {
        compared.workloads.iter().any(|workload| workload.comparison.name == name && workload.details.tasks == tasks)
    };
    let without = a.series.iter().chain(&b.series).filter(|series| !measured(&series.name, series.tasks));
    let mut told = BTreeSet::new();
    let once = without.filter(|series| told.insert((&series.name, series.tasks)));
    let unmeasured = |series: &Series| Advice::Unmeasured {
        workload: NamedWorkload { name: series.name.clone(), tasks: series.tasks },
        why: reason(compared, series),
    };
    once.map(unmeasured).collect()
}

fn reason(compared: &Comparison, series: &Series) -> Option<UnmatchedReason> {
    let is_of = |unmatched: &&Said<Unmatched>| unmatched.name == series.name && unmatched.tasks == series.tasks;
    compared.unmatched.iter().find(is_of).map(|unmatched| unmatched.reason.clone())
}
