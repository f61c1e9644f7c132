//! Sorts a record's attempts by case, number of tasks and block.

use crate::progress::Standing;
use crate::repeat::Repeat;
use faultline_record::cell::{Case, Cell};
use faultline_record::describe::{Style, VariantInfo, WorkloadInfo};
use faultline_record::direction::Direction;
use faultline_record::failure::{Failure, FailureCause};
use faultline_record::plan::PlanItem;
use std::collections::BTreeMap;

/// A cell with its repeats.
#[derive(Debug, Default)]
pub(crate) struct CellRepeats<'a> {
    /// Number of tasks.
    pub(crate) tasks: u32,
    /// Successful attempts that have a value, by block.
    pub(crate) repeats: Vec<Repeat<'a>>,
    /// The failures, by block.
    pub(crate) failures: Vec<Failure>,
}

impl CellRepeats<'_> {
    /// The values, by block.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.repeats.iter().map(|repeat| repeat.value).collect()
    }
}

/// The workload's description of a case. Generic if the record does not describe the workload.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) operation: String,
    pub(crate) text: String,
    pub(crate) unit: String,
    pub(crate) direction: Direction,
    pub(crate) style: Style,
}

/// A case with its cells.
#[derive(Debug)]
pub(crate) struct CaseCells<'a> {
    /// The case.
    pub(crate) case: &'a Case,
    /// The description.
    pub(crate) about: About,
    /// Its cells, by number of tasks.
    pub(crate) cells: Vec<CellRepeats<'a>>,
}

impl CaseCells<'_> {
    /// The cell at a number of tasks.
    pub(crate) fn cell(&self, tasks: u32) -> Cell {
        Cell { case: self.case.clone(), tasks }
    }
}

/// Every planned case, in the order of the workloads and of their variants and modes.
pub(crate) fn gather<'a>(workloads: &[WorkloadInfo], standings: &[(&'a PlanItem, Standing<'a>)]) -> Vec<CaseCells<'a>> {
    let mut items: BTreeMap<&Case, Vec<&(&'a PlanItem, Standing<'a>)>> = BTreeMap::new();
    for standing in standings {
        items.entry(&standing.0.cell.case).or_default().push(standing);
    }
    let mut cases: Vec<CaseCells<'a>> = items
        .into_values()
        .map(|items| {
            let first = items[0].0;
            let about = about(workloads, first);
            let cells = cells(about.style, &items);
            CaseCells { case: &first.cell.case, about, cells }
        })
        .collect();
    cases.sort_by_key(|case| place(workloads, case.case));
    cases
}

fn cells<'a>(style: Style, items: &[&(&'a PlanItem, Standing<'a>)]) -> Vec<CellRepeats<'a>> {
    let mut cells: BTreeMap<u32, CellRepeats<'a>> = BTreeMap::new();
    let mut items = items.to_vec();
    items.sort_by_key(|(item, _)| (item.block, item.ordinal));
    for (item, standing) in items {
        let cell = cells.entry(item.cell.tasks).or_default();
        cell.tasks = item.cell.tasks;
        match standing {
            Standing::Done(attempt) => match Repeat::of(style, item.block, attempt) {
                Some(repeat) => cell.repeats.push(repeat),
                None => cell.failures.push(failure(item, FailureCause::NoFigure)),
            },
            Standing::Failed(attempt) => {
                cell.failures
                    .extend(attempt.outcome.clone().map(|outcome| failure(item, FailureCause::Ended { outcome })));
            }
            Standing::Skipped | Standing::Left => {}
        }
    }
    cells.into_values().collect()
}

/// The failure of an item.
pub(crate) fn failure(item: &PlanItem, cause: FailureCause) -> Failure {
    Failure { block: Some(item.block), cause }
}

fn find<'w>(workloads: &'w [WorkloadInfo], case: &Case) -> Option<(&'w WorkloadInfo, Option<&'w VariantInfo>)> {
    let workload = workloads.iter().find(|workload| workload.name == case.workload)?;
    Some((workload, workload.variant(&case.variant)))
}

/// The workloads' description of an item's case.
pub(crate) fn about(workloads: &[WorkloadInfo], item: &PlanItem) -> About {
    let Some((workload, variant)) = find(workloads, &item.cell.case) else {
        return undescribed(item);
    };
    About {
        operation: workload.operation.clone(),
        text: variant.map(|variant| &variant.text).filter(|text| !text.is_empty()).unwrap_or(&workload.summary).clone(),
        unit: workload.unit.clone(),
        direction: workload.direction,
        style: workload.style,
    }
}

fn undescribed(item: &PlanItem) -> About {
    let (unit, direction, style) = match item.timing {
        Some(_) => ("operation/s", Direction::Higher, Style::Loop),
        None => ("", Direction::Lower, Style::Once),
    };
    About { operation: "operation".to_owned(), text: String::new(), unit: unit.to_owned(), direction, style }
}

/// Sort key of a case in the order of the workloads; unknown cases come last.
pub(crate) fn place(workloads: &[WorkloadInfo], case: &Case) -> [usize; 3] {
    let workload = workloads.iter().position(|workload| workload.name == case.workload);
    let variants = workload.map_or(&[][..], |index| &workloads[index].variants);
    let variant = variants.iter().position(|variant| variant.name == case.variant);
    let mode = variant.and_then(|index| variants[index].modes.iter().position(|&mode| mode == case.mode));
    [workload, variant, mode].map(|place| place.unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::progress::standings;
    use faultline_record::outcome::Outcome;

    #[test]
    fn cases_come_in_the_order_of_the_workloads_not_of_the_plan() {
        let mut record = example::Run::new(&["b_load", "a_load"]).tasks(&[1]).repeats(1).record();
        record.plan.reverse();
        let standings = standings(&record);
        let names: Vec<&str> =
            gather(&record.workloads, &standings).iter().map(|case| case.case.workload.as_str()).collect();
        assert_eq!(names, ["b_load", "a_load"]);
    }

    #[test]
    fn repeats_come_by_block_whatever_the_order_of_the_plan() {
        let rate = |_, block| 100 + u64::from(block);
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(3).rate(rate).record();
        for item in &mut record.plan {
            item.block = 2 - item.block;
        }
        let standings = standings(&record);
        assert_eq!(gather(&record.workloads, &standings)[0].cells[0].values(), [102.0, 101.0, 100.0]);
    }

    #[test]
    fn failures_and_missing_figures_are_reported_with_their_repeat() {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(3).record();
        record.attempts[0].outcome = Some(Outcome::TimedOut { limit_ms: 1500 });
        record.attempts[2].window.clear();
        let standings = standings(&record);
        let failures = &gather(&record.workloads, &standings)[0].cells[0].failures;
        let cause = FailureCause::Ended { outcome: Outcome::TimedOut { limit_ms: 1500 } };
        assert_eq!(failures[0], Failure { block: Some(0), cause });
        assert_eq!(failures[1], Failure { block: Some(2), cause: FailureCause::NoFigure });
    }

    #[test]
    fn a_case_that_no_workload_describes_is_kept() {
        let mut record = example::Run::new(&["load"]).tasks(&[1]).repeats(1).record();
        record.head.workloads.clear();
        let standings = standings(&record);
        let cases = gather(&record.workloads, &standings);
        assert_eq!((cases[0].about.unit.as_str(), cases[0].cells[0].repeats.len()), ("operation/s", 1));
    }
}
