//! What was planned and has no comparison at all.

use crate::datasets::sides;
use faultline_model::comparison::Comparison;
use faultline_model::dataset::Series;
use faultline_model::record::RunRecord;
use faultline_model::said::Said;
use faultline_model::unmatched::Unmatched;
use std::collections::BTreeSet;

/// A workload without a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unmeasured {
    /// Its name with its number of tasks: `zero_fill:base×1`.
    pub(super) name: String,
    /// Why it has none.
    pub(super) reason: String,
}

/// All of `record`'s workloads that `compared` doesn't hold, in the order of the workloads.
pub(super) fn unmeasured(compared: &Comparison, record: &RunRecord) -> Vec<Unmeasured> {
    let (a, b) = sides(record);
    let measured = |name: &str, tasks: Option<u32>| {
        compared.workloads.iter().any(|workload| workload.comparison.name == name && workload.details.tasks == tasks)
    };
    let without = a.series.iter().chain(&b.series).filter(|series| !measured(&series.name, series.tasks));
    let mut told = BTreeSet::new();
    let once = without.filter(|series| told.insert(series.to_string()));
    once.map(|series| Unmeasured { name: series.to_string(), reason: reason(compared, series) }).collect()
}

fn reason(compared: &Comparison, series: &Series) -> String {
    let is_of = |unmatched: &&Said<Unmatched>| unmatched.name == series.name && unmatched.tasks == series.tasks;
    let told = compared.unmatched.iter().find(is_of);
    told.map_or_else(|| "it has no value".to_owned(), |unmatched| unmatched.reason.to_string())
}
