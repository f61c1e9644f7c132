//! Facts about two machines that differ.

use faultline_model::compared::FactDifference;
use faultline_model::facts::Facts;
use std::collections::BTreeSet;

/// Facts that differ without a difference in what is measured, by the beginning of their keys.
const PASSING: [&str; 3] = ["load.", "memory.available_bytes", "boot.id"];

/// Lasting facts that differ, or that one side alone has, by key.
pub(crate) fn lasting_differences(a: &Facts, b: &Facts) -> Vec<FactDifference> {
    let keys: BTreeSet<&String> = a.0.keys().chain(b.0.keys()).collect();
    let lasting = |key: &&String| !PASSING.iter().any(|passing| key.starts_with(passing));
    let differing = keys.into_iter().filter(lasting).filter(|key| a.0.get(*key) != b.0.get(*key));
    let difference =
        |key: &String| FactDifference { key: key.clone(), a: a.0.get(key).cloned(), b: b.0.get(key).cloned() };
    differing.map(difference).collect()
}
