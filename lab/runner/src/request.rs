//! A user's request, before it is checked against the machine and its workloads.

use crate::Suite;
use faultline_record::cell::{Case, TaskMode};
use faultline_record::describe::{SizeMemory, SizeRange, WorkloadInfo};
use faultline_record::plan::{GivenTree, PinPolicy};

/// A request for a run. The plan decides everything that is `None`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A suite; its timing also applies to workloads that are chosen by name.
    pub suite: Option<Suite>,
    /// Workloads as `name` or `name:variant`; empty for the whole suite.
    pub workloads: Vec<String>,
    /// Numbers of tasks.
    pub cpus: Option<Vec<u32>>,
    /// Number of blocks.
    pub repeats: Option<u32>,
    /// Time budget in milliseconds.
    pub budget_ms: Option<u64>,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// Warm-up in milliseconds.
    pub warmup_ms: Option<u64>,
    /// Window in milliseconds.
    pub window_ms: Option<u64>,
    /// Interval in milliseconds.
    pub interval_ms: Option<u64>,
    /// Placement of tasks on CPUs.
    pub pin: Option<PinPolicy>,
    /// Mode of the tasks, for workloads with several.
    pub mode: Option<TaskMode>,
    /// Allows more tasks than CPUs.
    pub oversubscribe: bool,
    /// `--size` for the workloads.
    pub size: Option<u64>,
    /// Number of copies that `tree_build` builds at once; 0 means one.
    pub copies: u32,
    /// The subjects provide a command to run.
    pub command_given: bool,
    /// Ends a run with its first failed execution. A comparison has its own rules.
    pub ends_at_failure: bool,
    /// A real tree to build.
    pub tree: Option<GivenTree>,
    /// Memory of the machine in bytes, if known.
    pub memory_bytes: Option<u64>,
    /// Time of each execution there in addition to its own, in milliseconds: a boot, if there is
    /// one.
    pub boot_ms: u64,
}

/// Error: the request cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct RequestError {
    /// One line for people.
    pub problem: String,
    /// Advice for the user.
    pub hint: String,
}

impl RequestError {
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        RequestError { problem: problem.into(), hint: hint.into() }
    }
}

/// Checks the requested size against each case's range. `most_tasks`: the largest number of tasks;
/// `memory_bytes`: the machine's memory, if known. Fails if a case does not accept the size, or the
/// memory cannot hold it.
pub(crate) fn check_size(
    request: &Request,
    cases: &[Case],
    most_tasks: u32,
    memory_bytes: Option<u64>,
    workloads: &[WorkloadInfo],
) -> Result<(), RequestError> {
    let Some(size) = request.size else { return Ok(()) };
    for case in cases {
        let Some(info) = workloads.iter().find(|info| info.name == case.workload) else { continue };
        if info.size.is_none() {
            return Err(RequestError::new(
                format!("--size has no meaning for {}", info.name),
                format!("workloads that take it: {}", taking_sizes(workloads)),
            ));
        }
        if let Some(range) = info.size_range(&case.variant) {
            check_range(case, range, size)?;
            check_memory(case, range, size, most_tasks, memory_bytes)?;
        }
    }
    Ok(())
}

fn taking_sizes(workloads: &[WorkloadInfo]) -> String {
    let names = workloads.iter().filter(|info| info.size.is_some()).map(|info| info.name.as_str());
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none of these".to_owned() } else { names.join(", ") }
}

fn check_range(case: &Case, range: &SizeRange, size: u64) -> Result<(), RequestError> {
    if (range.least..=range.most).contains(&size) {
        return Ok(());
    }
    let wrong = if size < range.least { "small" } else { "large" };
    Err(RequestError::new(
        format!("--size {size} is too {wrong} for {}:{}", case.workload, case.variant),
        format!("it takes {} … {}", range.least, range.most),
    ))
}

fn check_memory(
    case: &Case,
    range: &SizeRange,
    size: u64,
    most_tasks: u32,
    memory_bytes: Option<u64>,
) -> Result<(), RequestError> {
    let (Some(place), Some(memory)) = (range.memory, memory_bytes) else { return Ok(()) };
    let needed = match place {
        SizeMemory::Once => size,
        SizeMemory::Each => size.saturating_mul(u64::from(most_tasks)),
    };
    if needed <= memory {
        return Ok(());
    }
    Err(RequestError::new(
        format!(
            "{}:{} in {most_tasks} tasks with --size {size} needs {}, and the machine has {}",
            case.workload,
            case.variant,
            gibibytes(needed),
            gibibytes(memory)
        ),
        "choose a smaller `--size`, or fewer tasks with `--tasks`",
    ))
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::cell::TaskMode;
    use faultline_record::describe;

    fn refusal(variant: &str, size: u64, tasks: u32) -> Option<String> {
        let fill = "faultline-describe 1 fill\nsummary s\noperation o\nunit o/s\ndirection higher\nstyle loop\nwindow_ms 1\n\
            size 8 bytes\nvariant own process o\nvariant same process s\nsize_range own 4096 9000000000 each\n\
            size_range same 4096 9000000000 once\nend\n";
        let stat = "faultline-describe 1 stat\nsummary s\noperation o\nunit o/s\ndirection higher\nstyle loop\nwindow_ms 1\n\
            variant own process o\nend\n";
        let workloads = [fill, stat].map(|text| describe::parse(text).unwrap());
        let (workload, variant) = variant.split_once(':').unwrap();
        let case = Case { workload: workload.into(), variant: variant.into(), mode: TaskMode::Process };
        let request = Request { size: Some(size), ..Request::default() };
        let checked = check_size(&request, &[case], tasks, Some(2 << 30), &workloads);
        checked.err().map(|error| format!("{error}; {}", error.hint))
    }

    #[test]
    fn sizes_that_a_variant_takes_and_the_machine_holds_pass() {
        assert_eq!(refusal("fill:own", 1 << 30, 2), None);
        assert_eq!(refusal("fill:same", 2 << 30, 64), None);
    }

    #[test]
    fn other_sizes_are_refused_with_what_is_possible() {
        let refused = |variant, size, tasks| refusal(variant, size, tasks).unwrap();
        assert_eq!(refused("fill:own", 4095, 1), "--size 4095 is too small for fill:own; it takes 4096 … 9000000000");
        assert!(refused("fill:own", 9_000_000_001, 1).starts_with("--size 9000000001 is too large for fill:own"));
        assert!(
            refused("fill:own", 1 << 30, 3)
                .starts_with("fill:own in 3 tasks with --size 1073741824 needs 3.0 GiB, and the machine has 2.0 GiB")
        );
        assert_eq!(refused("stat:own", 5, 1), "--size has no meaning for stat; workloads that take it: fill");
    }
}
