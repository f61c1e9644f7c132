//! The plan of a live comparison: every cell of both sides once per block, each block in seeded
//! random order.
//!
//! It contains the maximum number of blocks. Callers decide from the data where to stop earlier.

use crate::plan::{
    Plan, cells, check_budget, check_repeats, check_size, most, order, repeats, settings, task_counts, timed,
};
use crate::suite::given_command;
use crate::{Request, RequestError, request, select};
use faultline_record::cell::Case;
use faultline_record::describe::WorkloadInfo;
use faultline_record::plan::{ComparisonPurpose, ComparisonSettings, RunKind, TimedSettings};
use faultline_record::quantity::Quantity;
use faultline_record::subject::{Subject, SubjectIndex};
use std::collections::BTreeSet;

/// Default maximum of blocks: the power to detect differences of 0.5 standard deviations in three
/// workloads is then 53 %, of 0.75 standard deviations 95 % (docs/METHODOLOGY.md, §16), and more
/// blocks add little for their time.
const MOST_BLOCKS: u32 = 60;

/// The request for a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonRequest {
    /// The old side, and the new one.
    pub sides: [Subject; 2],
    /// The compared quantity; none that the lens counts.
    pub quantity: Quantity,
    /// Familywise confidence level, over all workloads and interim looks: 0…1.
    pub level: f64,
    /// Equivalence margin, as a share.
    pub margin: f64,
    /// One test, at the end.
    pub once: bool,
    /// Question of the conclusion.
    pub purpose: ComparisonPurpose,
}

/// Data about a side's machine.
#[derive(Debug, Clone, Copy)]
pub struct SideMachine<'a> {
    /// Its workloads.
    pub workloads: &'a [WorkloadInfo],
    /// Number of usable CPUs.
    pub usable_cpus: u32,
    /// Its memory in bytes, if known.
    pub memory_bytes: Option<u64>,
}

/// Plans a comparison; `seed` determines the order. Fails if the request names unknown workloads or
/// variants, if the sides have nothing in common, or if a number, size or time is impossible.
pub fn plan_comparison(
    request: &Request,
    comparison: &ComparisonRequest,
    machines: [SideMachine<'_>; 2],
    seed: u64,
) -> Result<Plan, RequestError> {
    check_repeats(request)?;
    check_commands(request, comparison)?;
    let fewest_cpus = machines.iter().map(|machine| machine.usable_cpus).min().unwrap_or(1);
    let cpus = task_counts(&with_usual_tasks(request, comparison), fewest_cpus)?;
    let mut planned = Vec::new();
    let mut cases = Vec::new();
    for ((index, side), machine) in SubjectIndex::SIDES.into_iter().zip(&comparison.sides).zip(machines) {
        let request = request_of(request, side);
        let own = select::cases(&request, machine.workloads)?;
        request::check_size(&request, &own, most(&cpus), machine.memory_bytes, machine.workloads)?;
        planned.extend(cells(&request, &own, &cpus, index, machine.workloads)?);
        cases.push(own);
    }
    check_cases(&cases[0], &cases[1])?;
    check_budget(request, &planned)?;
    let repeats = match request.repeats {
        None if !comparison.once => MOST_BLOCKS,
        // Without an interim look, as many blocks as fit the time. The duration of commands is
        // unknown, so the time limit ends them.
        None if request.budget_ms.is_some() => repeats(request, &planned)?.max(MOST_BLOCKS),
        _ => repeats(request, &planned)?,
    };
    check_size(planned.len(), repeats)?;
    let timed = TimedSettings { suite: suite_name(request, comparison), ..timed(request) };
    let ComparisonRequest { quantity, level, margin, once, purpose, .. } = *comparison;
    let kind = RunKind::Comparison(ComparisonSettings { timed, quantity, level, margin, once, purpose });
    let settings = settings(request, kind, cpus, repeats, seed);
    Ok(Plan { settings, items: order(&planned, repeats, seed) })
}

/// A command runs as one task, unless the request asks for more.
fn with_usual_tasks(request: &Request, comparison: &ComparisonRequest) -> Request {
    let has_command = comparison.sides.iter().any(|side| !side.setup.command.is_empty());
    let cpus = request.cpus.clone().or_else(|| has_command.then(|| vec![1]));
    Request { cpus, ..request.clone() }
}

/// The request for one side: its own workload or command, otherwise the compared one.
fn request_of(request: &Request, side: &Subject) -> Request {
    let setup = &side.setup;
    let own = match &setup.workload {
        _ if !setup.command.is_empty() => Some(given_command()),
        own => own.clone(),
    };
    let workloads = own.map_or_else(|| request.workloads.clone(), |own| vec![own]);
    Request { workloads, command_given: !setup.command.is_empty(), ..request.clone() }
}

/// The suite's name, if neither workloads nor sides specify what to run.
fn suite_name(request: &Request, comparison: &ComparisonRequest) -> Option<String> {
    let chosen = comparison.sides.iter().any(|side| !request_of(request, side).workloads.is_empty());
    (!chosen).then(|| request.suite.unwrap_or_default().name().to_owned())
}

/// Refuses a command on only one side.
fn check_commands(request: &Request, comparison: &ComparisonRequest) -> Result<(), RequestError> {
    let sides = &comparison.sides;
    let has_command = |side: &Subject| !side.setup.command.is_empty();
    if let Some(workload) = request.workloads.first().filter(|_| sides.iter().any(has_command)) {
        return Err(RequestError::new(
            format!("the sides are commands, so the workload '{workload}' cannot run too"),
            "leave out the workload, or the commands",
        ));
    }
    match sides.iter().find(|side| !has_command(side)) {
        Some(side) if sides.iter().any(has_command) => Err(RequestError::new(
            format!("only one side has a command: '{}' has none", side.name),
            "give each side a command: `--a './old 10' --b './new 10'`",
        )),
        _ => Ok(()),
    }
}

/// Refuses cases that are on one side only, unless each side has exactly one case.
fn check_cases(a: &[Case], b: &[Case]) -> Result<(), RequestError> {
    let (a, b): (BTreeSet<&Case>, BTreeSet<&Case>) = (a.iter().collect(), b.iter().collect());
    if a == b || (a.len() == 1 && b.len() == 1) {
        return Ok(());
    }
    let only = a.symmetric_difference(&b).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Err(RequestError::new(
        format!("on one side only: {only}"),
        "name workloads that both sides have, or one workload for each side",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::workloads;
    use faultline_record::machine::Machine;
    use faultline_record::setup::Setup;

    fn comparison(a: Setup, b: Setup) -> ComparisonRequest {
        let named = |name: &str, setup| Subject::on(name.to_owned(), Machine::Host, setup);
        ComparisonRequest {
            sides: [named("old", a), named("new", b)],
            quantity: Quantity::Time,
            level: 0.95,
            margin: 0.02,
            once: false,
            purpose: ComparisonPurpose::Answer,
        }
    }

    fn request(names: &[&str]) -> Request {
        Request { workloads: names.iter().map(|&name| name.to_owned()).collect(), ..Request::default() }
    }

    fn planned(request: &Request, comparison: &ComparisonRequest) -> Result<Plan, RequestError> {
        let workloads = workloads();
        let machine = SideMachine { workloads: &workloads, usable_cpus: 2, memory_bytes: None };
        plan_comparison(request, comparison, [machine, machine], 1)
    }

    #[test]
    fn each_block_holds_both_sides_of_every_cell_once_in_orders_that_differ() {
        let plan =
            planned(&request(&["zero_fill", "tree_build"]), &comparison(Setup::default(), Setup::default())).unwrap();
        let block = |number| plan.items.iter().filter(move |item| item.block == number);
        assert_eq!(plan.items.len(), 60 * 12);
        for number in 0..60 {
            let cells: BTreeSet<_> = block(number).map(|item| (item.subject, item.cell.clone())).collect();
            assert_eq!(cells.len(), 12);
        }
        let sides = |number| block(number).map(|item| item.subject).collect::<Vec<_>>();
        assert_ne!(sides(0), sides(1), "they agree for one seed in 924");
    }

    #[test]
    fn a_side_may_have_a_workload_of_its_own() {
        let huge = Setup { workload: Some("zero_fill:huge".to_owned()), ..Setup::default() };
        let plan = planned(&request(&["zero_fill:base"]), &comparison(Setup::default(), huge)).unwrap();
        let names: BTreeSet<_> = plan.items.iter().map(|item| (item.subject, item.cell.case.to_string())).collect();
        let [a, b] = SubjectIndex::SIDES;
        assert_eq!(names, [(a, "zero_fill:base".to_owned()), (b, "zero_fill:huge".to_owned())].into());
        assert_eq!(plan.settings.timed().unwrap().suite, None);
    }

    #[test]
    fn what_has_no_counterpart_is_refused() {
        let huge = Setup { workload: Some("zero_fill:huge".to_owned()), ..Setup::default() };
        let error = planned(&request(&["zero_fill"]), &comparison(Setup::default(), huge)).unwrap_err();
        assert_eq!(error.problem, "on one side only: zero_fill:base");
        let command = Setup { command: vec!["./x".to_owned()], ..Setup::default() };
        let error = planned(&request(&[]), &comparison(command, Setup::default())).unwrap_err();
        assert_eq!(error.problem, "only one side has a command: 'new' has none");
    }
}
