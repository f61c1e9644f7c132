//! What was planned and has no comparison at all.

use crate::datasets::sides;
use faultline_model::comparison::Comparison;
use faultline_model::record::RunRecord;
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
        let workloads = compared.suite.workloads.iter().zip(&compared.details);
        workloads.into_iter().any(|(workload, details)| workload.name == name && details.tasks == tasks)
    };
    let without = a.series.iter().chain(&b.series).filter(|series| !measured(&series.name, series.tasks));
    let mut told = BTreeSet::new();
    let names = without.map(ToString::to_string).filter(|name| told.insert(name.clone()));
    names.map(|name| Unmeasured { reason: reason(compared, &name), name }).collect()
}

fn reason(compared: &Comparison, name: &str) -> String {
    let told = compared.unmatched.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    told.unwrap_or("it has no value").to_owned()
}
