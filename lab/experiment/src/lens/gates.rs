//! Gates of lens runs: budgets and baselines. Comparisons of stored lens runs, and their transfers
//! by type.

use crate::database::find_run;
use crate::error::Error;
use crate::lens::request::Gates;
use crate::places::Places;
use crate::stored;
use faultline_record::cell::Case;
use faultline_record::lens::budget::Budget;
use faultline_record::record::{RunId, RunRecord};
use faultline_runner::Plan;
use faultline_runner::lens::Naming;
use faultline_stats::lens::comparison::LensComparison;
use faultline_stats::lens::gate::GateReport;
use faultline_stats::lens::types::LensTypes;
use faultline_stats::lens::{Tolerance, TypesError, against, check, has_counts};
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

/// A lens run with counts. Fails if it does not exist, if it measured time, or if none of its
/// executions was counted to the end.
pub(super) fn counted(run: RunId, places: &Places) -> Result<RunRecord, Error> {
    let record = under_lens(run, places)?;
    match has_counts(&record) {
        true => Ok(record),
        false => Err(Error::usage(
            format!("run {} has no counts", record.id),
            format!("`faultline show {}` shows why; compare runs that have some", record.id),
        )),
    }
}

/// The baseline, loaded before anything runs. Fails if it does not exist, is no lens run, or has no
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

/// True for a name with a colon, as in cases. Names of types in C++ and Rust have two.
pub(super) fn is_no_type_name(name: &str) -> bool {
    name.replace("::", "").contains(':')
}

/// Refuses budgets of types that the kernel's image does not describe. For an unreadable image,
/// refuses budgets that do not state that they name a type.
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

/// The error for a type that the kernel does not have.
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

/// Refuses budgets of a program for anything but its case and its types. `is_type`: true for names
/// of its types.
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

/// Refuses budgets of a machine for anything but its case and the types in its files. `is_type`:
/// true for names of these types.
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

/// Refuses budgets of a kernel for names that are neither in the plan nor possible types.
pub(super) fn check_names_of_kernel(gates: &Gates, plan: &Plan) -> Result<(), Error> {
    let refused = |budget: &Budget, _: &str, cases: &[String]| names_nothing(budget, cases);
    check_names(gates, plan, &|name| !is_no_type_name(name), &refused)
}

/// Refuses budgets of unknown variables. `is_variable`: true for names of variables.
pub(super) fn check_variables(gates: &Gates, plan: &Plan, is_variable: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let cases: BTreeSet<&Case> = plan.items.iter().map(|item| &item.cell.case).collect();
    for budget in &gates.budgets {
        if let Some(of) = budget.variable_in(cases.iter().copied()).filter(|of| !is_variable(of)) {
            return Err(Error::usage(
                format!("the budget '{budget}' names no variable of the program: {of}"),
                "write the name of a global or static variable, without members",
            ));
        }
    }
    Ok(())
}

/// The error for a budget of an unknown type, in a run of these cases.
type Refused<'a> = dyn Fn(&Budget, &str, &[String]) -> Error + 'a;

/// Refuses budgets for names that are neither in the plan nor types. `is_type`: true for names of
/// types.
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

/// Applies all requested gates to `record`. Fails if a budget names a type or variable that the
/// kernel lacks.
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
    let is_no_variable = |of: &str| naming.has_variable(of) == Some(false);
    let lacks = |budget: &&Budget| budget.variable_in(cases.iter().copied()).is_some_and(is_no_variable);
    if let Some(budget) = gates.budgets.iter().find(lacks) {
        return Err(Error::usage(
            format!("the budget '{budget}' names a variable that the kernel does not have"),
            format!("run {run} is saved; `faultline show {run}` lists its hottest variables", run = record.id),
        ));
    }
    Ok(reports(gates, baseline, record))
}

/// The reports of the gates about `record`.
pub(super) fn reports(gates: &Gates, baseline: Option<&RunRecord>, record: &RunRecord) -> Vec<GateReport> {
    let budgets = (!gates.budgets.is_empty()).then(|| check(&gates.budgets, record));
    let against = baseline.map(|baseline| against(record, baseline, Tolerance::default()));
    budgets.into_iter().chain(against).collect()
}

/// Compares two runs, each named by number, label or commit. Fails if one does not exist, measured
/// time, or has no counts.
pub fn compare(a: &str, b: &str, places: &Places) -> Result<LensComparison, Error> {
    compare_runs([find_run(a, places)?, find_run(b, places)?], places)
}

/// As [`compare`], for runs by number.
pub fn compare_runs([a, b]: [RunId; 2], places: &Places) -> Result<LensComparison, Error> {
    Ok(faultline_stats::lens::compare_runs(&counted(a, places)?, &counted(b, places)?))
}

/// The types of a lens run, or the requested ones, at `cpus` or at each case's greatest number of
/// CPUs. Fails if the run does not exist, if it has no figures by type, or if no requested type has
/// transfers.
pub fn types(run: RunId, asked: &[String], cpus: Option<u32>, places: &Places) -> Result<LensTypes, Error> {
    let record = under_lens(run, places)?;
    faultline_stats::lens::types(&record, asked, cpus).map_err(|error| Error::usage(error.to_string(), hint(&error)))
}

fn hint(error: &TypesError) -> String {
    match error {
        TypesError::NoSuchCount { run, .. } => format!("`faultline show {run}` lists the run's numbers of CPUs"),
        TypesError::NoFigures { run } => format!("`faultline show {run}` shows why"),
        TypesError::NoSuchType { known, .. } if known.is_empty() => "no moved data has a known type".to_owned(),
        TypesError::NoSuchType { run, known, .. } => {
            format!("`faultline lens types {run}` lists them: {}, …", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_run() {
        let no_type = |known: &[&str]| {
            let known = known.iter().map(|&name| name.to_owned()).collect();
            hint(&TypesError::NoSuchType { run: 7, name: "x".to_owned(), known })
        };
        assert_eq!(no_type(&["mm_struct", "zone"]), "`faultline lens types 7` lists them: mm_struct, zone, …");
        assert_eq!(no_type(&[]), "no moved data has a known type");
        assert_eq!(hint(&TypesError::NoFigures { run: 7 }), "`faultline show 7` shows why");
    }
}
