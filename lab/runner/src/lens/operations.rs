//! How much work each task does under the lens, where the user does not say: enough that setting up does not show in the figures
//! per operation, little enough that a machine of 32 CPUs ends within minutes.

/// Operations of each task, by workload. Ten to twenty million instructions in a Linux 6.1 guest, as far as that was measured; `file_cow`
/// and `protect_churn` were not.
const BY_WORKLOAD: [(&str, u64); 8] = [
    ("zero_fill", 4096),
    ("fault_existing", 1024),
    ("file_cow", 2048),
    ("path_stat", 4096),
    ("map_churn", 1024),
    ("protect_churn", 1024),
    ("fork_exit", 64),
    ("self_exec", 32),
];

/// Of any other workload.
const OTHERWISE: u64 = 256;

/// Operations of each task of a workload: as many as were asked for, or what is usual.
pub(crate) fn operations_per_task(asked: Option<u64>, workload: &str) -> u64 {
    let usual =
        || BY_WORKLOAD.iter().find(|(name, _)| *name == workload).map_or(OTHERWISE, |(_, operations)| *operations);
    asked.unwrap_or_else(usual)
}
