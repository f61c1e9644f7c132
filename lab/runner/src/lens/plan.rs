//! The plan of a lens run: every case at every number of CPUs, with the requested number of repeats.

use crate::plan::{Plan, Planned, check_size, most, order};
use crate::select::cases;
use crate::{Request, RequestError, size};
use faultline_model::cell::{Case, Cell, TaskMode};
use faultline_model::describe::{Style, WorkloadInfo};
use faultline_model::lens::settings::LensSettings;
use faultline_model::plan::{RunKind, Settings};
use faultline_model::subject::SubjectIndex;

/// The variant name of a program that is not a workload.
const PROGRAM: &str = "program";

/// The request for a lens run.
#[derive(Debug, Clone)]
pub struct LensRequest {
    /// Workloads as the user names them.
    pub workloads: Vec<String>,
    /// What tasks are, if given.
    pub mode: Option<TaskMode>,
    /// Numbers of CPUs.
    pub cpus: Vec<u32>,
    /// How often each cell runs.
    pub repeats: u32,
    /// `--size` for the workloads, if given.
    pub size: Option<u64>,
    /// Memory of the largest machine in bytes, if it is known.
    pub memory_bytes: Option<u64>,
    /// Time limit of each execution in milliseconds, if given.
    pub limit_ms: Option<u64>,
    /// Seed of the order.
    pub seed: u64,
    /// Settings of the lens.
    pub settings: LensSettings,
}

/// Plans workloads in a guest that has `workloads`. Fails if the request names no workload, an unknown one, one that runs once, or a size that is not
/// accepted; and if the numbers of CPUs or repeats are impossible.
pub fn plan_kernel(request: &LensRequest, workloads: &[WorkloadInfo]) -> Result<Plan, RequestError> {
    if request.workloads.is_empty() {
        return Err(RequestError::new(
            "no workload is named",
            "for example `fault_existing:shared`; `faultline workloads` lists them",
        ));
    }
    let wanted =
        Request { workloads: request.workloads.clone(), mode: request.mode, size: request.size, ..Request::default() };
    let cases = cases(&wanted, workloads)?;
    let is_once = |case: &&Case| workloads.iter().any(|info| info.name == case.workload && info.style == Style::Once);
    if let Some(case) = cases.iter().find(is_once) {
        return Err(RequestError::new(
            format!("{} runs once, so it has no operations to count per", case.workload),
            "choose a workload that loops",
        ));
    }
    size::check(&wanted, &cases, most(&request.cpus), request.memory_bytes, workloads)?;
    plan(request, &cases)
}

/// Plans a program with the name `name`. Fails if the numbers of threads or repeats are impossible.
pub fn plan_program(request: &LensRequest, name: &str) -> Result<Plan, RequestError> {
    let case = Case { workload: name.to_owned(), variant: PROGRAM.to_owned(), mode: TaskMode::Thread };
    plan(request, &[case])
}

fn plan(request: &LensRequest, cases: &[Case]) -> Result<Plan, RequestError> {
    let mut cpus = request.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.contains(&0) || cpus.is_empty() {
        return Err(RequestError::new(
            "the number of CPUs is 0",
            "`--cpus` takes numbers from 1, for example `--cpus 1,2,8`",
        ));
    }
    if request.repeats == 0 {
        return Err(RequestError::new("the number of repeats is 0", "`--repeats` takes numbers from 1"));
    }
    let cell = |case: &Case, tasks| Planned {
        subject: SubjectIndex::A,
        cell: Cell { case: case.clone(), tasks },
        timing: None,
    };
    let cells: Vec<_> = cases.iter().flat_map(|case| cpus.iter().map(move |&tasks| cell(case, tasks))).collect();
    check_size(cells.len(), request.repeats)?;
    let settings = Settings {
        cpus,
        repeats: request.repeats,
        seed: request.seed,
        limit_ms: request.limit_ms,
        size: request.size,
        kind: RunKind::Lens(request.settings.clone()),
    };
    Ok(Plan { settings, items: order(&cells, request.repeats, request.seed) })
}
