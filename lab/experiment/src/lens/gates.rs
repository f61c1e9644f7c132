//! Gates: compares a finished run with budgets and with another run.

use super::request::Gates;
use crate::error::Error;
use crate::places::Places;
use crate::stored;
use faultline_model::cell::Case;
use faultline_model::lens::budget::Budget;
use faultline_model::lens::gate::GateReport;
use faultline_model::record::{RunId, RunRecord};
use faultline_runner::Plan;
use faultline_runner::lens::Naming;
use faultline_stats::lens::{Tolerance, against, check, has_counts};
use faultline_symbols::KernelTypes;
use std::collections::BTreeSet;
use std::path::Path;

/// A lens run. Fails if it does not exist, or if it measured time.
pub(super) fn under_lens(run: RunId, places: &Places) -> Result<RunRecord, Error> {
    let record = stored::load(run, places)?;
    if record.settings.lens().is_some() {
        return Ok(record);
    }
    Err(Error::usage(
        format!("run {} measured time, not transfers", record.id),
        "name a run of `faultline lens kernel`, `program` or `machine`",
    ))
}

/// A lens run to compare with, which has counts. Fails if it does not exist, if it measured time, or if no execution of the run was counted to its
/// end.
pub(super) fn counted(run: RunId, places: &Places) -> Result<RunRecord, Error> {
    let record = under_lens(run, places)?;
    match has_counts(&record) {
        true => Ok(record),
        false => Err(Error::usage(
            format!("run {} has no counts", record.id),
            format!("`faultline show {}` tells why; compare runs that have some", record.id),
        )),
    }
}

/// The run to compare with, which must exist before anything runs. Fails if it does not, if it is not a lens run, or if it has no
/// counts.
pub(super) fn baseline(gates: &Gates, places: &Places) -> Result<Option<RunRecord>, Error> {
    gates.baseline.map(|run| counted(run, places)).transpose()
}

/// Refuses budgets for numbers of CPUs that are not run.
pub(super) fn check_counts(gates: &Gates, cpus: &[u32]) -> Result<(), Error> {
    match gates.budgets.iter().find(|budget| !cpus.contains(&budget.cpus)) {
        None => Ok(()),
        Some(budget) => {
            let counts: Vec<String> = cpus.iter().map(u32::to_string).collect();
            Err(Error::usage(
                format!("the budget '{budget}' is for {} CPUs, which are not run", budget.cpus),
                format!("the run has {}: change the number after '@', or the numbers of the run", counts.join(", ")),
            ))
        }
    }
}

/// Refuses budgets that name neither a requested workload nor what could be a type.
pub(super) fn check_workloads(gates: &Gates, names: &[String]) -> Result<(), Error> {
    let is_no_type = |budget: &&Budget| budget.type_among(names).is_some_and(is_no_type_name);
    match gates.budgets.iter().find(is_no_type) {
        None => Ok(()),
        Some(budget) => Err(names_nothing(budget, names)),
    }
}

/// Whether a name has a colon as cases have, not two as names of types in C++ and Rust.
pub(super) fn is_no_type_name(name: &str) -> bool {
    name.replace("::", "").contains(':')
}

/// Refuses budgets of types that the kernel's image does not describe. Types in an image that cannot be read are refused unless the budget says that
/// it names a type.
pub(super) fn check_types(gates: &Gates, workloads: &[String], image: &Path) -> Result<(), Error> {
    let mut types = None;
    for budget in &gates.budgets {
        let Some(of) = budget.type_among(workloads) else { continue };
        check_metric(budget)?;
        let read = || std::fs::read(image).ok().and_then(|bytes| KernelTypes::of_image(&bytes));
        match types.get_or_insert_with(read) {
            Some(types) if types.has(of) => {}
            Some(types) if types.is_empty() => {
                return Err(Error::usage(
                    format!("the budget '{budget}' names a type, but the kernel describes none"),
                    "build it with CONFIG_DEBUG_INFO_BTF, or name a workload",
                ));
            }
            None if budget.is_type => {}
            Some(types) => return Err(names_no_type(budget, of, types, workloads)),
            None => return Err(names_nothing(budget, workloads)),
        }
    }
    Ok(())
}

/// Why a kernel with these types has none of that name.
fn names_no_type(budget: &Budget, name: &str, types: &KernelTypes, workloads: &[String]) -> Error {
    match types.names_of(name) {
        Some([own]) => Error::usage(
            format!("the budget '{budget}' names {name}, which is another name for {own}"),
            format!("limit {own}: a type is counted by its own name"),
        ),
        Some(names) => Error::usage(
            format!("the budget '{budget}' names {name}, a type with several names: {}", names.join(", ")),
            "limit the structures that have such members: members are counted by the name with which they are declared",
        ),
        None => names_nothing(budget, workloads),
    }
}

fn check_metric(budget: &Budget) -> Result<(), Error> {
    match budget.is_of_instructions() {
        false => Ok(()),
        true => Err(Error::usage(
            format!("the budget '{budget}' does not name a case of the run, and instructions are not counted by type"),
            "name a case, or limit transfers, true_sharing or false_sharing of a type",
        )),
    }
}

/// Refuses budgets of a program that name neither its case nor a type of its own. `is_type`: whether the program has a type of that name.
pub(super) fn check_types_of_program(gates: &Gates, plan: &Plan, is_type: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let refused = |budget: &Budget, name: &str, cases: &[String]| {
        Error::usage(
            format!("the budget '{budget}' names neither a case of the run nor a type of the program: {name}"),
            format!(
                "the run has {}; a program's types are those of its own debug information (`cc -g`), and the types of a kernel's data are counted by `faultline \
                 lens kernel` alone",
                cases.join(", ")
            ),
        )
    };
    check_names(gates, plan, is_type, &refused)
}

/// Refuses budgets of a machine that name neither its case nor a type that its files describe. `is_type`: whether one of them has a type of that name.
pub(super) fn check_types_in_files(gates: &Gates, plan: &Plan, is_type: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let refused = |budget: &Budget, name: &str, cases: &[String]| {
        Error::usage(
            format!(
                "the budget '{budget}' names neither a case of the run nor a type in the files with symbols: {name}"
            ),
            format!(
                "the run has {}; types are those of the debug information in the files that `--symbols` names",
                cases.join(", ")
            ),
        )
    };
    check_names(gates, plan, is_type, &refused)
}

fn names_nothing(budget: &Budget, there: &[String]) -> Error {
    Error::usage(
        format!("the budget '{budget}' names neither a case of the run nor a type"),
        format!("the run has {}; a type is written like mm_struct, or type:mm_struct", there.join(", ")),
    )
}

/// Refuses budgets of a kernel that name nothing in the plan, and cannot be types.
pub(super) fn check_names_of_kernel(gates: &Gates, plan: &Plan) -> Result<(), Error> {
    let refused = |budget: &Budget, _: &str, cases: &[String]| names_nothing(budget, cases);
    check_names(gates, plan, &|name| !is_no_type_name(name), &refused)
}

/// Why a budget that limits the type of this name is refused in a run of these cases.
type Refused<'a> = dyn Fn(&Budget, &str, &[String]) -> Error + 'a;

/// Refuses budgets that name nothing in the plan, and no type. `is_type`: whether there is a type of that name.
fn check_names(gates: &Gates, plan: &Plan, is_type: &dyn Fn(&str) -> bool, refused: &Refused<'_>) -> Result<(), Error> {
    let cases: BTreeSet<&Case> = plan.items.iter().map(|item| &item.cell.case).collect();
    let limits_type = |budget: &&Budget| budget.type_in(cases.iter().copied()).is_some();
    gates.budgets.iter().filter(limits_type).try_for_each(check_metric)?;
    for budget in &gates.budgets {
        if let Some(of) = budget.type_in(cases.iter().copied()).filter(|of| !is_type(of)) {
            let names: Vec<String> = cases.iter().map(ToString::to_string).collect();
            return Err(refused(budget, of, &names));
        }
    }
    Ok(())
}

/// Applies all requested gates to `record`. Fails if a budget names a type that the kernel does not have.
pub(super) fn hold(
    gates: &Gates,
    baseline: Option<&RunRecord>,
    record: &RunRecord,
    naming: &Naming,
) -> Result<Vec<GateReport>, Error> {
    let cases: BTreeSet<&Case> = record.plan.iter().map(|item| &item.cell.case).collect();
    let is_unknown = |of: &str| naming.has_type(of) == Some(false);
    let names_none = |budget: &&Budget| budget.type_in(cases.iter().copied()).is_some_and(is_unknown);
    if let Some(budget) = gates.budgets.iter().find(names_none) {
        return Err(Error::usage(
            format!("the budget '{budget}' names a type that the kernel does not have"),
            format!("run {run} is saved; `faultline lens types {run}` lists its types", run = record.id),
        ));
    }
    Ok(reports(gates, baseline, record))
}

/// What the gates find of `record`.
pub(super) fn reports(gates: &Gates, baseline: Option<&RunRecord>, record: &RunRecord) -> Vec<GateReport> {
    let budgets = (!gates.budgets.is_empty()).then(|| check(&gates.budgets, record));
    let against = baseline.map(|baseline| against(record, baseline, Tolerance::default()));
    budgets.into_iter().chain(against).collect()
}
