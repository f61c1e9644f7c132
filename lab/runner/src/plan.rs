//! The plan of a request: numbers of tasks, timing, and the order.
//!
//! The order is that of randomised complete blocks: each block contains every cell once, in seeded
//! random order. So drift over time affects all cells equally, and all cells of an interrupted run
//! have equally many samples.

use crate::suite::{GIVEN_COMMAND, Suite, SuiteTiming};
use crate::{Request, RequestError, request, select};
use faultline_record::bounds::MOST_TASKS;
use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::describe::{Style, WorkloadInfo};
use faultline_record::plan::{PinPolicy, PlanItem, RunKind, Settings, TimedSettings, Timing};
use faultline_record::subject::SubjectIndex;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Longest window or warm-up that the workloads accept.
const LONGEST_PHASE_MS: u64 = 86_400_000;

/// Maximum number of executions in a plan: days of the shortest ones, and still quick to save and
/// load.
const MOST_ITEMS: u64 = 1_000_000;

/// Time of an item in addition to its phases: start, set-up, counters, clean-up. Measured with this
/// suite, and used only to estimate the remaining time.
const OVERHEAD_MS: u64 = 70;

/// Assumed time of a workload that runs once, before it has run.
const ONCE_MS: u64 = 3000;

/// Default number of executions of a command at each number of tasks, and their least time. More
/// are added until that time is over. Both are hyperfine's defaults.
const COMMAND_REPEATS: u32 = 10;
const COMMAND_MS: u64 = 3000;

/// Maximum number of blocks of a grown plan.
const MOST_GROWN_BLOCKS: u32 = 1000;

/// A plan and its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The request with all defaults filled in.
    pub settings: Settings,
    /// The items in order.
    pub items: Vec<PlanItem>,
}

/// Expected time of an item in milliseconds, on a target that boots for `boot_ms` each time.
pub(crate) fn expected_ms(item: &PlanItem, boot_ms: u64) -> u64 {
    boot_ms + item.timing.map_or(ONCE_MS, |timing| timing.warmup_ms + timing.window_ms + OVERHEAD_MS)
}

/// Plans a run on a machine with `usable_cpus` CPUs. Fails if the request names an unknown
/// workload, variant or suite, or if a number, size or time is impossible on this machine.
pub fn plan(request: &Request, workloads: &[WorkloadInfo], usable_cpus: u32, seed: u64) -> Result<Plan, RequestError> {
    let (request, least_ms) = &amount(request);
    let cases = select::cases(request, workloads)?;
    let cpus = task_counts(request, usable_cpus)?;
    request::check_size(request, &cases, most(&cpus), request.memory_bytes, workloads)?;
    let cells = cells(request, &cases, &cpus, SubjectIndex::A, workloads)?;
    let repeats = repeats(request, &cells)?;
    check_budget(request, &cells)?;
    check_size(cells.len(), repeats)?;
    let kind = RunKind::Timed(TimedSettings {
        least_ms: *least_ms,
        ends_at_failure: request.ends_at_failure,
        ..timed(request)
    });
    let settings = settings(request, kind, cpus, repeats, seed);
    Ok(Plan { settings, items: order(&cells, repeats, seed) })
}

/// The request with the default amount for a command, whose duration is unknown, and the time of
/// executions until which the plan grows. Other requests are not changed.
fn amount(request: &Request) -> (Request, Option<u64>) {
    if !request.command_given {
        return (request.clone(), None);
    }
    let cpus = request.cpus.clone().unwrap_or_else(|| vec![1]);
    let counts = cpus.len() as u64;
    let request = Request { cpus: Some(cpus), ..request.clone() };
    match (request.repeats, request.budget_ms) {
        (Some(_), _) | (None, Some(0)) => (request, None),
        (None, Some(budget_ms)) => (Request { repeats: Some(1), ..request }, Some(budget_ms)),
        (None, None) => (Request { repeats: Some(COMMAND_REPEATS), ..request }, Some(COMMAND_MS * counts)),
    }
}

/// The blocks by which a plan grows after its items took `spent_ms`: as many as fit into the time
/// up to `least_ms`, each with all items of the first block. None if no block fits, or if the plan
/// has its maximum size.
pub fn further_blocks(plan: &[PlanItem], spent_ms: u64, least_ms: u64, seed: u64) -> Vec<PlanItem> {
    let blocks = plan.iter().map(|item| item.block + 1).max().unwrap_or(0);
    if blocks == 0 {
        return Vec::new();
    }
    let block_ms = (spent_ms / u64::from(blocks)).max(1);
    let more = u32::try_from(least_ms.saturating_sub(spent_ms) / block_ms).unwrap_or(u32::MAX);
    let first: Vec<&PlanItem> = plan.iter().filter(|item| item.block == 0).collect();
    let mut items = Vec::new();
    for block in blocks..blocks.saturating_add(more).min(MOST_GROWN_BLOCKS) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(block));
        let mut order = first.clone();
        order.shuffle(&mut random);
        items.extend(order.into_iter().map(|item| PlanItem { block, ..item.clone() }));
    }
    for (ordinal, item) in (plan.len() as u32..).zip(&mut items) {
        item.ordinal = ordinal;
    }
    items
}

/// The largest number of tasks.
pub(crate) fn most(cpus: &[u32]) -> u32 {
    cpus.iter().copied().max().unwrap_or(1)
}

/// A part of the plan, once per block.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    /// The measured subject.
    pub(crate) subject: SubjectIndex,
    /// The case.
    pub(crate) cell: Cell,
    /// Its phases; `None` for a workload that runs once.
    pub(crate) timing: Option<Timing>,
}

/// Every case at every number of tasks. Fails if a case's timing is impossible.
pub(crate) fn cells(
    request: &Request,
    cases: &[Case],
    cpus: &[u32],
    subject: SubjectIndex,
    workloads: &[WorkloadInfo],
) -> Result<Vec<Planned>, RequestError> {
    let suite = request.suite.unwrap_or_default().timing();
    let mut cells = Vec::new();
    for case in cases {
        let timing = timing(request, &suite, case, workloads)?;
        cells.extend(cpus.iter().map(|&tasks| Planned { subject, cell: Cell { case: case.clone(), tasks }, timing }));
    }
    Ok(cells)
}

/// The request's settings, completed by the plan's decisions.
pub(crate) fn settings(request: &Request, kind: RunKind, cpus: Vec<u32>, repeats: u32, seed: u64) -> Settings {
    Settings { cpus, repeats, seed, limit_ms: request.limit_ms, size: request.size, kind }
}

/// The settings of a timed run.
pub(crate) fn timed(request: &Request) -> TimedSettings {
    TimedSettings {
        suite: request.workloads.is_empty().then(|| request.suite.unwrap_or_default().name().to_owned()),
        pin: request.pin.unwrap_or(PinPolicy::Each),
        oversubscribe: request.oversubscribe,
        budget_ms: request.budget_ms,
        least_ms: None,
        ends_at_failure: false,
        copies: request.copies.max(1),
        tree: request.tree.clone(),
    }
}

/// Refuses a plan of too many items.
pub(crate) fn check_size(cells: usize, repeats: u32) -> Result<(), RequestError> {
    if cells as u64 * u64::from(repeats) <= MOST_ITEMS {
        return Ok(());
    }
    Err(RequestError::new(
        format!("{repeats} repeats of {cells} cells are too many"),
        format!("at most {MOST_ITEMS} executions are planned at once: fewer repeats, or less time"),
    ))
}

/// Powers of two up to the number of CPUs, and that number, or the numbers in the request. Fails if
/// there are none, too many, or more than CPUs without `oversubscribe`.
pub(crate) fn task_counts(request: &Request, usable_cpus: u32) -> Result<Vec<u32>, RequestError> {
    let Some(asked) = &request.cpus else {
        let mut counts: Vec<u32> = (0..).map(|power| 1u32 << power).take_while(|&count| count < usable_cpus).collect();
        counts.push(usable_cpus);
        return Ok(counts);
    };
    let mut counts = asked.clone();
    counts.sort_unstable();
    counts.dedup();
    let Some(&most) = counts.last() else {
        return Err(RequestError::new("no number of tasks was given", "for example `--tasks 1,2`"));
    };
    if counts[0] == 0 {
        return Err(RequestError::new(
            "the number of tasks is 0",
            "`--tasks` takes numbers from 1, for example `--tasks 1,2`",
        ));
    }
    if most > MOST_TASKS {
        return Err(RequestError::new(
            format!("{most} tasks are more than a workload can have"),
            format!("use at most {MOST_TASKS}"),
        ));
    }
    if most > usable_cpus && !request.oversubscribe {
        return Err(too_many(&counts, usable_cpus));
    }
    Ok(counts)
}

/// Hint: the requested numbers for which this machine has CPUs.
fn too_many(counts: &[u32], usable_cpus: u32) -> RequestError {
    let cpus = if usable_cpus == 1 { "1 CPU".to_owned() } else { format!("{usable_cpus} CPUs") };
    let most = counts.last().copied().unwrap_or(usable_cpus);
    let mut possible: Vec<u32> = counts.iter().copied().filter(|&count| count <= usable_cpus).collect();
    if possible.is_empty() {
        possible.push(usable_cpus);
    }
    let possible = possible.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    RequestError::new(
        format!("{most} tasks need {most} CPUs, and {cpus} can be used here"),
        format!("`--tasks {possible}`, or `--oversubscribe` to let tasks share CPUs"),
    )
}

/// Phases of a case's items; none for a workload that runs once. Windows and warm-ups are whole
/// numbers of intervals.
fn timing(
    request: &Request,
    suite: &SuiteTiming,
    case: &Case,
    workloads: &[WorkloadInfo],
) -> Result<Option<Timing>, RequestError> {
    let info = workloads.iter().find(|info| info.name == case.workload);
    let Some(info) = info.filter(|info| info.style == Style::Loop) else { return Ok(None) };
    let window_ms = request.window_ms.unwrap_or(suite.window_ms.max(info.window_ms));
    let interval_ms = request.interval_ms.unwrap_or(suite.interval_ms.min(window_ms));
    let warmup_ms = request.warmup_ms.unwrap_or(suite.warmup_ms);
    if window_ms == 0 || interval_ms == 0 {
        return Err(RequestError::new(
            "the window or the interval is 0 ms",
            "for example `--window 300ms --interval 50ms`",
        ));
    }
    if window_ms.max(warmup_ms) > LONGEST_PHASE_MS {
        return Err(RequestError::new(
            "a window or warm-up of more than a day is too long",
            "use more repeats instead of a longer window",
        ));
    }
    if interval_ms > window_ms {
        return Err(RequestError::new(
            format!("the interval of {interval_ms} ms is longer than the window of {window_ms} ms"),
            "use a shorter `--interval` or a longer `--window`",
        ));
    }
    Ok(Some(Timing {
        warmup_ms: warmup_ms.next_multiple_of(interval_ms),
        window_ms: window_ms.next_multiple_of(interval_ms),
        interval_ms,
    }))
}

/// The requested number of blocks, or as many as fit the budget, at least one. Fails if there are
/// none, or too many items.
pub(crate) fn repeats(request: &Request, cells: &[Planned]) -> Result<u32, RequestError> {
    check_repeats(request)?;
    match (request.repeats, request.budget_ms) {
        (Some(repeats), _) => Ok(repeats),
        (None, None) => Ok(request.suite.unwrap_or_default().timing().repeats),
        (None, Some(budget_ms)) => {
            let block_ms: u64 = block(cells, 0).iter().map(|item| expected_ms(item, request.boot_ms)).sum();
            Ok(u32::try_from(budget_ms / block_ms.max(1)).unwrap_or(u32::MAX).max(1))
        }
    }
}

/// Refuses zero repeats, or a budget of zero.
pub(crate) fn check_repeats(request: &Request) -> Result<(), RequestError> {
    if request.repeats == Some(0) {
        return Err(RequestError::new(
            "the number of repeats is 0",
            "`--repeats` takes numbers from 1; 6 or more give a 95 % confidence interval",
        ));
    }
    if request.budget_ms == Some(0) {
        return Err(RequestError::new("the time budget is 0", "for example `--time 2m`"));
    }
    Ok(())
}

/// Refuses a budget that is too short for the windows and warm-ups of one block.
pub(crate) fn check_budget(request: &Request, cells: &[Planned]) -> Result<(), RequestError> {
    let Some(budget_ms) = request.budget_ms else { return Ok(()) };
    let phases_ms = |planned: &Planned| planned.timing.map_or(0, |timing| timing.warmup_ms + timing.window_ms);
    let least_ms: u64 = cells.iter().map(|planned| phases_ms(planned) + request.boot_ms).sum();
    if least_ms <= budget_ms {
        return Ok(());
    }
    let block_ms: u64 = block(cells, 0).iter().map(|item| expected_ms(item, request.boot_ms)).sum();
    let seconds = |ms: u64| ms as f64 / 1000.0;
    Err(RequestError::new(
        format!(
            "a time budget of {:.1} s is too short for one block, which has windows and warm-ups of {:.1} s",
            seconds(budget_ms),
            seconds(least_ms)
        ),
        format!(
            "use `--time {}s` or more, fewer workloads, fewer numbers in `--tasks`, or a shorter `--window`",
            block_ms.div_ceil(1000)
        ),
    ))
}

/// One block's items in the order of the cells.
fn block(cells: &[Planned], block: u32) -> Vec<PlanItem> {
    let item = |planned: &Planned| PlanItem {
        ordinal: 0,
        block,
        subject: planned.subject,
        cell: planned.cell.clone(),
        timing: planned.timing,
        seed: None,
    };
    cells.iter().map(item).collect()
}

/// Blocks of `cells`, each in its own order.
pub(crate) fn order(cells: &[Planned], repeats: u32, seed: u64) -> Vec<PlanItem> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut items = Vec::with_capacity(cells.len() * repeats as usize);
    for number in 0..repeats {
        let mut block = block(cells, number);
        block.shuffle(&mut random);
        items.extend(block);
    }
    for (ordinal, item) in items.iter_mut().enumerate() {
        item.ordinal = ordinal as u32;
    }
    items
}

/// A block of a growing plan: the command of each subject once, in an order that follows from the
/// seed and the block. `ordinal`: of the first item.
pub fn block_of_commands(subjects: &[SubjectIndex], tasks: u32, block: u32, ordinal: u32, seed: u64) -> Vec<PlanItem> {
    let (workload, variant) = GIVEN_COMMAND;
    let case = Case { workload: workload.to_owned(), variant: variant.to_owned(), mode: TaskMode::Process };
    block_of_cell(subjects, (&Cell { case, tasks }, None), (block, ordinal), seed)
}

/// [`block_of_commands`] with a cell instead of a command, and its phases.
pub fn block_of_cell(
    subjects: &[SubjectIndex],
    (cell, timing): (&Cell, Option<Timing>),
    (block, ordinal): (u32, u32),
    seed: u64,
) -> Vec<PlanItem> {
    let mut order = subjects.to_vec();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(block));
    order.shuffle(&mut random);
    let item = |(ordinal, subject)| PlanItem { ordinal, block, subject, cell: cell.clone(), timing, seed: None };
    (ordinal..).zip(order).map(item).collect()
}

/// Default phases of a looping case: those of the full suite. Fails if it runs once.
pub fn timing_of_case(case: &Case, workloads: &[WorkloadInfo]) -> Result<Timing, RequestError> {
    let phases = timing(&Request::default(), &Suite::Full.timing(), case, workloads)?;
    phases.ok_or_else(|| RequestError::new(format!("{case} runs once"), "choose a workload that loops"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Suite;
    use faultline_record::describe;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Two workloads, one of each style.
    pub(crate) fn workloads() -> Vec<WorkloadInfo> {
        let zero_fill = "faultline-describe 1 zero_fill\nsummary s\noperation fault\nunit fault/s\ndirection higher\n\
            style loop\nwindow_ms 100\nvariant base process,thread b\nvariant huge process,thread h\nsuite full 0 base/process huge/process\nend\n";
        let tree_build = "faultline-describe 1 tree_build\nsummary s\noperation build\nunit s\ndirection lower\nstyle once\n\
            window_ms 0\nvariant generated process g\nvariant given process g\nsuite full 1 generated/process\nend\n";
        [zero_fill, tree_build].map(|text| describe::parse(text).unwrap()).to_vec()
    }

    fn request() -> Request {
        Request { suite: Some(Suite::Full), ..Request::default() }
    }

    #[test]
    fn cpus_are_powers_of_two_and_all() {
        let counts = |usable| task_counts(&request(), usable).unwrap();
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(6), [1, 2, 4, 6]);
    }

    /// A workload that runs a command, and a request for it.
    fn of_command() -> (Vec<WorkloadInfo>, Request) {
        let text = "faultline-describe 1 program\nsummary s\noperation run\nunit s\ndirection lower\nstyle once\nwindow_ms 1\n\
            variant given process g\nend\n";
        let workloads = vec![describe::parse(text).unwrap()];
        let workload = crate::given_command();
        (workloads, Request { workloads: vec![workload], command_given: true, ..Request::default() })
    }

    #[test]
    fn a_command_runs_ten_times_as_one_task_and_then_until_its_time_is_over() {
        let (workloads, request) = of_command();
        let amount = |request: &Request| {
            let plan = plan(request, &workloads, 2, 1).unwrap();
            let timed = plan.settings.timed().unwrap();
            (plan.settings.cpus.clone(), plan.settings.repeats, timed.budget_ms, timed.least_ms)
        };
        assert_eq!(amount(&request), (vec![1], 10, None, Some(3000)));
        assert_eq!(amount(&Request { cpus: Some(vec![1, 2]), ..request.clone() }), (vec![1, 2], 10, None, Some(6000)));
        let timed = Request { budget_ms: Some(60_000), ..request.clone() };
        assert_eq!(amount(&timed), (vec![1], 1, Some(60_000), Some(60_000)));
        assert_eq!(amount(&Request { repeats: Some(5), ..request }), (vec![1], 5, None, None));
    }

    #[test]
    fn a_plan_grows_by_the_blocks_that_fit() {
        let (workloads, request) = of_command();
        let plan = plan(&Request { cpus: Some(vec![1, 2]), ..request }, &workloads, 2, 1).unwrap().items;
        // Ten blocks of two items took 100 ms each.
        let grown = further_blocks(&plan, 1000, 1450, 1);
        let places: Vec<_> = grown.iter().map(|item| (item.ordinal, item.block)).collect();
        assert_eq!(places, [(20, 10), (21, 10), (22, 11), (23, 11), (24, 12), (25, 12), (26, 13), (27, 13)]);
        for block in 10..14 {
            let mut tasks: Vec<u32> =
                grown.iter().filter(|item| item.block == block).map(|item| item.cell.tasks).collect();
            tasks.sort_unstable();
            assert_eq!(tasks, [1, 2]);
        }
        assert_eq!(further_blocks(&plan, 1000, 1099, 1), []);
        assert_eq!(further_blocks(&plan, 2000, 1000, 1), []);
        assert_eq!(further_blocks(&plan, 1, 3_600_000, 1).len(), 2 * 990);
    }

    #[test]
    fn impossible_requests_are_refused() {
        let refused = |request: Request| plan(&request, &workloads(), 2, 1).unwrap_err().problem;
        assert_eq!(refused(Request { cpus: Some(vec![0, 1]), ..request() }), "the number of tasks is 0");
        assert_eq!(
            refused(Request { cpus: Some(vec![3]), ..request() }),
            "3 tasks need 3 CPUs, and 2 CPUs can be used here"
        );
        assert_eq!(refused(Request { repeats: Some(0), ..request() }), "the number of repeats is 0");
        assert_eq!(refused(Request { budget_ms: Some(0), ..request() }), "the time budget is 0");
        assert_eq!(
            refused(Request { window_ms: Some(10), interval_ms: Some(20), ..request() }),
            "the interval of 20 ms is longer than the window of 10 ms"
        );
        let oversubscribed = Request { cpus: Some(vec![3]), oversubscribe: true, ..request() };
        assert!(plan(&oversubscribed, &workloads(), 2, 1).is_ok());
    }

    #[test]
    fn a_refusal_names_the_numbers_that_can_be_measured() {
        let hint = |asked: &[u32], usable| {
            let request = Request { cpus: Some(asked.to_vec()), ..request() };
            task_counts(&request, usable).unwrap_err().hint
        };
        assert_eq!(hint(&[1, 2, 4], 2), "`--tasks 1,2`, or `--oversubscribe` to let tasks share CPUs");
        assert_eq!(hint(&[8], 6), "`--tasks 6`, or `--oversubscribe` to let tasks share CPUs");
    }

    #[test]
    fn a_budget_decides_the_repeats() {
        let planned =
            |budget_ms| plan(&Request { budget_ms: Some(budget_ms), ..request() }, &workloads(), 1, 1).unwrap();
        // Two loops of 500 + 2000 + 70 ms and one build of 3 s.
        assert_eq!(planned(2 * 8140).settings.repeats, 2);
        assert_eq!(planned(2 * 8140 - 1).settings.repeats, 1);
        // Only the loops measure, for 5 s; a build's time is unknown.
        assert_eq!(planned(5000).settings.repeats, 1);
        let short = Request { budget_ms: Some(4999), ..request() };
        let error = plan(&short, &workloads(), 1, 1).unwrap_err();
        assert_eq!(
            error.problem,
            "a time budget of 5.0 s is too short for one block, which has windows and warm-ups of 5.0 s"
        );
        assert!(error.hint.starts_with("use `--time 9s` or more"), "{}", error.hint);
    }

    proptest! {
        #[test]
        fn every_block_holds_every_cell_once(seed: u64, repeats in 1u32..5, usable in 1u32..9) {
            let request = Request { repeats: Some(repeats), ..request() };
            let planned = plan(&request, &workloads(), usable, seed).unwrap();
            let mut seen: BTreeMap<(u32, Cell), u32> = BTreeMap::new();
            for (index, item) in planned.items.iter().enumerate() {
                prop_assert_eq!(item.ordinal as usize, index);
                *seen.entry((item.block, item.cell.clone())).or_default() += 1;
            }
            prop_assert!(seen.values().all(|&count| count == 1));
            prop_assert_eq!(seen.len(), planned.items.len());
            let blocks: Vec<u32> = planned.items.iter().map(|item| item.block).collect();
            prop_assert!(blocks.is_sorted());
            prop_assert_eq!(planned, plan(&request, &workloads(), usable, seed).unwrap());
        }
    }
}
