//! The plan of a lens run: every case at every number of CPUs, with the requested number of
//! repeats.

use crate::plan::{Plan, Planned, check_size, most, order};
use crate::select::cases;
use crate::{Request, RequestError, request};
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::describe::{Style, WorkloadInfo};
use faultline_record::lens::settings::LensSettings;
use faultline_record::plan::{PlanItem, RunKind, Settings};
use faultline_record::subject::SubjectIndex;
use std::cmp::Reverse;

/// The variant name of a program that is not a workload.
const PROGRAM: &str = "program";

/// The variant name of a machine that starts by itself.
const MACHINE: &str = "machine";

/// The request for a lens run.
#[derive(Debug, Clone)]
pub struct LensRequest {
    /// Workloads as the user names them.
    pub workloads: Vec<String>,
    /// Mode of the tasks, if specified.
    pub mode: Option<TaskMode>,
    /// Numbers of CPUs.
    pub cpus: Vec<u32>,
    /// Number of repeats of each cell.
    pub repeats: u32,
    /// `--size` for the workloads, if specified.
    pub size: Option<u64>,
    /// Memory of the largest machine in bytes, if known.
    pub memory_bytes: Option<u64>,
    /// Time limit of each execution in milliseconds, if specified.
    pub limit_ms: Option<u64>,
    /// In a guest, the seed of the first repeat; each further repeat has the next number. Also the
    /// seed of the order of machines of one size.
    pub seed: u64,
    /// Settings of the lens.
    pub settings: LensSettings,
}

/// Plans workloads in a guest that has `workloads`. Fails if the request names no workload, an
/// unknown one, one that runs once, or a size that is not accepted; and if the numbers of CPUs or
/// repeats, or the seeds, are impossible.
pub fn plan_kernel(request: &LensRequest, workloads: &[WorkloadInfo]) -> Result<Plan, RequestError> {
    if request.workloads.is_empty() {
        return Err(RequestError::new(
            "no workload is named",
            "for example `fault_existing:shared`; `faultline run --list` lists them",
        ));
    }
    let wanted =
        Request { workloads: request.workloads.clone(), mode: request.mode, size: request.size, ..Request::default() };
    let cases = looping(cases(&wanted, workloads)?, workloads)?;
    request::check_size(&wanted, &cases, most(&request.cpus), request.memory_bytes, workloads)?;
    plan(request, &cases)
}

/// Plans a program with the name `name`. Fails if the numbers of threads or repeats are impossible.
pub fn plan_program(request: &LensRequest, name: &str) -> Result<Plan, RequestError> {
    plan(request, &[case_of_program(name)])
}

/// A block that counts the programs of these subjects once each, in the given order. All have the
/// seed `seed`, so that their counts can be compared. `name`: the programs' name; `ordinal`: of the
/// first item.
pub fn block_of_programs(
    subjects: &[SubjectIndex],
    (name, threads): (&str, u32),
    (block, ordinal): (u32, u32),
    seed: u64,
) -> Vec<PlanItem> {
    block_of_one_cell(subjects, &Cell { case: case_of_program(name), tasks: threads }, (block, ordinal), seed)
}

fn block_of_one_cell(subjects: &[SubjectIndex], cell: &Cell, (block, ordinal): (u32, u32), seed: u64) -> Vec<PlanItem> {
    let item = |(ordinal, &subject): (u32, &SubjectIndex)| PlanItem {
        ordinal,
        block,
        subject,
        cell: cell.clone(),
        timing: None,
        seed: Some(seed),
    };
    (ordinal..).zip(subjects).map(item).collect()
}

/// The only case with a workload's name and a mode. Fails if there is none or if there are several,
/// and for a workload that runs once.
pub fn case_of_workload(name: &str, mode: Option<TaskMode>, workloads: &[WorkloadInfo]) -> Result<Case, RequestError> {
    let wanted = Request { workloads: vec![name.to_owned()], mode, ..Request::default() };
    let cases = looping(cases(&wanted, workloads)?, workloads)?;
    let names: Vec<String> = cases.iter().map(|case| format!("'{case}'")).collect();
    <[Case; 1]>::try_from(cases).map(|[case]| case).map_err(|_| {
        RequestError::new(format!("'{name}' has several variants"), format!("name one: {}", names.join(", ")))
    })
}

/// The cases. Fails if one is of a workload that runs once.
fn looping(cases: Vec<Case>, workloads: &[WorkloadInfo]) -> Result<Vec<Case>, RequestError> {
    let is_once = |case: &&Case| workloads.iter().any(|info| info.name == case.workload && info.style == Style::Once);
    match cases.iter().find(is_once) {
        Some(case) => Err(RequestError::new(
            format!("{} runs once, so it has no operations to count per", case.workload),
            "choose a workload that loops",
        )),
        None => Ok(cases),
    }
}

/// A block that counts a workload once on each of these subjects, in the given order. All have the
/// seed `seed`, so that their counts can be compared. `ordinal`: of the first item.
pub fn block_of_kernels(
    subjects: &[SubjectIndex],
    (case, tasks): (&Case, u32),
    (block, ordinal): (u32, u32),
    seed: u64,
) -> Vec<PlanItem> {
    block_of_one_cell(subjects, &Cell { case: case.clone(), tasks }, (block, ordinal), seed)
}

fn case_of_program(name: &str) -> Case {
    Case { workload: name.to_owned(), variant: PROGRAM.to_owned(), mode: TaskMode::Thread }
}

/// Plans a machine that starts by itself, with the name `name`. Fails if the numbers of CPUs or
/// repeats are impossible.
pub fn plan_machine(request: &LensRequest, name: &str) -> Result<Plan, RequestError> {
    let case = Case { workload: name.to_owned(), variant: MACHINE.to_owned(), mode: TaskMode::Thread };
    plan(request, &[case])
}

/// Assigns each item the seed of its block: block b has the request's seed + b. So two runs with
/// one seed have equal seeds block by block, and the seed of any block can be requested by its
/// number. Fails if the last seed does not fit a signed 64-bit integer, which every reader of JSON
/// and SQL can hold.
fn give_seeds(items: &mut [PlanItem], request: &LensRequest) -> Result<(), RequestError> {
    let last = request.seed.checked_add(u64::from(request.repeats) - 1);
    if last.is_none_or(|last| last > i64::MAX as u64) {
        return Err(RequestError::new(
            format!("there are no {} seeds from {}", request.repeats, request.seed),
            format!("each repeat has the next number, and the last must be at most {}", i64::MAX),
        ));
    }
    for item in items {
        item.seed = Some(request.seed + u64::from(item.block));
    }
    Ok(())
}

/// Within each block, machines with many CPUs go first. They take longest, so that none of them
/// runs alone at the end. Counts do not depend on the order.
fn largest_first(items: &mut [PlanItem]) {
    items.sort_by_key(|item| (item.block, Reverse(item.cell.tasks)));
    for (ordinal, item) in (0..).zip(items) {
        item.ordinal = ordinal;
    }
}

fn plan(request: &LensRequest, cases: &[Case]) -> Result<Plan, RequestError> {
    let mut cpus = request.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.contains(&0) || cpus.is_empty() {
        return Err(RequestError::new(
            "the number of tasks is 0",
            "`--tasks` takes numbers from 1, for example `--tasks 1,2,8`",
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
    let mut items = order(&cells, request.repeats, request.seed);
    largest_first(&mut items);
    give_seeds(&mut items, request)?;
    Ok(Plan { settings, items })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::workloads;
    use faultline_lens_format::CostTimes;
    use faultline_record::lens::settings::{LensAgain, SavedFile};

    #[test]
    fn large_machines_come_first_in_each_block_and_each_block_has_all() {
        let times =
            CostTimes { instruction_ps: 1, same_cache_ns: 1, same_socket_ns: 1, other_socket_ns: 1, memory_ns: 1 };
        let again = LensAgain::new(SavedFile { path: "/plugin".to_owned(), sha256: "00".to_owned() }, times);
        let settings = LensSettings {
            sockets: 1,
            cpus_per_cache: None,
            costs: "laptop".to_owned(),
            operations_per_task: None,
            quantum: None,
            private_quantum: None,
            budgets: Vec::new(),
            again: Box::new(again),
        };
        let request = LensRequest {
            workloads: vec!["zero_fill".to_owned()],
            mode: None,
            cpus: vec![2, 64, 1, 8],
            repeats: 2,
            size: None,
            memory_bytes: None,
            limit_ms: None,
            seed: 7,
            settings,
        };
        let items = plan_kernel(&request, &workloads()).unwrap().items;
        let blocks: Vec<_> = items.chunk_by(|before, item| before.block == item.block).collect();
        assert_eq!(blocks.len(), 2);
        for (seed, block) in (7..).zip(blocks) {
            assert!(block.is_sorted_by_key(|item| Reverse(item.cell.tasks)));
            let mut cells: Vec<_> =
                block.iter().map(|item| (item.cell.case.variant.clone(), item.cell.tasks)).collect();
            cells.sort();
            let all = ["base", "huge"].map(|variant| [1, 2, 8, 64].map(|cpus| (variant.to_owned(), cpus)));
            assert_eq!(cells, all.concat());
            assert!(block.iter().all(|item| item.seed == Some(seed)));
        }
        assert!(items.iter().zip(0..).all(|(item, ordinal)| item.ordinal == ordinal));
    }

    #[test]
    fn one_case_is_named() {
        let case = |name: &str, mode| case_of_workload(name, mode, &workloads());
        let base = case("zero_fill:base", None).unwrap();
        assert_eq!((base.to_string().as_str(), base.mode), ("zero_fill:base", TaskMode::Process));
        assert_eq!(case("zero_fill:base", Some(TaskMode::Thread)).unwrap().mode, TaskMode::Thread);
        let refused = case("zero_fill", None).unwrap_err();
        assert_eq!(refused.problem, "'zero_fill' has several variants");
        assert_eq!(refused.hint, "name one: 'zero_fill:base', 'zero_fill:huge'");
        assert!(case("tree_build:generated", None).unwrap_err().problem.contains("runs once"));
        assert!(case("zero_fil:base", None).is_err());
    }

    #[test]
    fn each_kernel_of_a_block_runs_the_same_with_one_seed() {
        let case = case_of_workload("zero_fill:base", None, &workloads()).unwrap();
        let items = block_of_kernels(&[SubjectIndex(2), SubjectIndex(0)], (&case, 8), (0, 5), 7);
        let told: Vec<_> =
            items.iter().map(|item| (item.ordinal, item.subject.0, item.cell.tasks, item.seed)).collect();
        assert_eq!(told, [(5, 2, 8, Some(7)), (6, 0, 8, Some(7))]);
    }
}
