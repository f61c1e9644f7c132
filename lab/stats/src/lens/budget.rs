//! Comparison of a run with budgets.

use crate::lens::by_type;
use crate::lens::cells::{CaseReadings, CellReadings, cases, instructions, transfers};
use crate::lens::figures::{self, Counts};
use crate::lens::gate::{Check, GateReport, NoFigure, Standing};
use crate::lens::seeds::seeds_of;
use crate::lens::summarise::problems;
use crate::lens::type_view::TypeView;
use crate::median::median;
use crate::progress::standings;
use crate::thresholds::LENS_GATE_SHOWN;
use faultline_record::lens::budget::{Budget, Limited, Metric, is_named};
use faultline_record::lens::by_object::{ObjectReading, Owner};
use faultline_record::lens::by_type::Sharing;
use faultline_record::lens::reading::Reading;
use faultline_record::record::RunRecord;

/// Compares a run with budgets: each limits the median of a cell's repeats, or of its seeds. A
/// budget that cannot be checked fails: a case or number of CPUs that the run lacks, a cell with a
/// failed attempt, an incomplete reading.
pub fn check(budgets: &[Budget], record: &RunRecord) -> GateReport {
    let standings = standings(record);
    let cases = cases(record, &standings);
    GateReport {
        format: GateReport::FORMAT.to_owned(),
        run: record.id,
        baseline: None,
        checks: budgets.iter().flat_map(|budget| checks(budget, &cases)).collect(),
    }
}

/// Each limit of a budget.
fn checks(budget: &Budget, cases: &[CaseReadings<'_>]) -> Vec<Check> {
    let subject = budget.limited(&|name| cases.iter().any(|case| is_named(case.case, name)));
    let name = match subject {
        Limited::Cases => Some(budget.what.as_str()),
        Limited::Type { case, .. } | Limited::Variable { case, .. } => case,
    };
    let is_limited = |case: &&CaseReadings<'_>| name.is_none_or(|name| is_named(case.case, name));
    let cells = cases.iter().filter(is_limited).flat_map(|case| {
        let at = case.cells.iter().filter(|cell| cell.cpus == budget.cpus);
        at.map(move |cell| (case.case.to_string(), cell))
    });
    let checks: Vec<Check> = cells
        .map(|(case, cell)| {
            let (of, standing) = match subject {
                Limited::Cases => (None, judge(cell, budget.limit, |reading| figure(budget.metric, reading))),
                Limited::Type { of, .. } => (Some(of.to_owned()), standing_of_type(budget, of, cell)),
                Limited::Variable { of, .. } => {
                    let figure = |reading: &Reading| figure_of_variable(budget.metric, reading, of);
                    (Some(of.to_owned()), judge(cell, budget.limit, figure))
                }
            };
            let seeds = seeds_of(&cell.readings);
            Check { of, seeds, ..limit(budget, case, standing) }
        })
        .collect();
    if checks.is_empty() {
        return vec![limit(budget, budget.what.clone(), NoFigure::NoSuchCell.into())];
    }
    checks
}

/// Compares the transfers of all objects of a type with the limit.
fn standing_of_type(budget: &Budget, of: &str, cell: &CellReadings<'_>) -> Standing {
    if budget.metric == Metric::Instructions {
        return NoFigure::NotOfTypes.into();
    }
    if let Some(why) = cell.readings.iter().find_map(|reading| reading.untyped.clone()) {
        return NoFigure::NoTypes { why }.into();
    }
    match judge(cell, budget.limit, |reading| figure_of_type(budget.metric, reading, of)) {
        Standing::Exceeded { value, lines, code, .. } => {
            let figures = cell.typical().and_then(|reading| by_type::named(reading, of));
            Standing::Exceeded { value, lines, code, of: figures.map(Box::new) }
        }
        other => other,
    }
}

/// A limit of whole cases, without readings.
fn limit(budget: &Budget, case: String, standing: Standing) -> Check {
    Check {
        of: None,
        case,
        cpus: budget.cpus,
        metric: budget.metric,
        limit: Some(budget.limit),
        seeds: Vec::new(),
        standing,
        differences: Vec::new(),
    }
}

/// The figure of a reading that a budget limits.
fn figure(metric: Metric, reading: &Reading) -> f64 {
    match metric {
        Metric::Transfers => transfers(reading),
        Metric::TrueSharing => reading.per_operation(reading.totals.true_sharing),
        Metric::FalseSharing => reading.per_operation(reading.totals.false_sharing),
        Metric::Instructions => instructions(reading),
    }
}

/// The figure of all objects of a type; 0 if none moved. Instructions are not counted by type.
fn figure_of_type(metric: Metric, reading: &Reading, of: &str) -> f64 {
    let view = TypeView::named(&reading.by_type, of);
    let transfers = view.map(|view| view.transfers()).unwrap_or_default();
    in_metric(metric, transfers).map_or(f64::NAN, |transfers| reading.per_operation(transfers))
}

/// The figure of a variable; 0 if it did not move.
fn figure_of_variable(metric: Metric, reading: &Reading, of: &str) -> f64 {
    let is_it = |object: &&ObjectReading| matches!(&object.owner, Owner::Variable { name } if name == of);
    let moved = reading.by_object.iter().find(is_it).map(ObjectReading::transfers).unwrap_or_default();
    reading.per_operation(in_metric(metric, moved).unwrap_or_default())
}

/// The transfers that a metric selects; `None` for instructions.
fn in_metric(metric: Metric, moved: Sharing) -> Option<u64> {
    match metric {
        Metric::Transfers => Some(moved.total()),
        Metric::TrueSharing => Some(moved.true_sharing),
        Metric::FalseSharing => Some(moved.false_sharing),
        Metric::Instructions => None,
    }
}

/// Compares the median of a cell's figure with a limit. An incomplete count can exceed its limit,
/// but not meet it.
pub(crate) fn judge(cell: &CellReadings<'_>, limit: f64, figure: impl Fn(&Reading) -> f64) -> Standing {
    let Some((typical, value)) = cell.typical().zip(median(&cell.values(figure))) else {
        return match cell.failures.is_empty() {
            true => NoFigure::NotRun.into(),
            false => NoFigure::AllFailed { failures: cell.failures.clone() }.into(),
        };
    };
    if value > limit {
        return Standing::Exceeded {
            value,
            lines: figures::lines(Counts::of_operation(typical), LENS_GATE_SHOWN),
            code: figures::code(Counts::of_operation(typical), LENS_GATE_SHOWN),
            of: None,
        };
    }
    if !cell.failures.is_empty() {
        return NoFigure::SomeFailed { failures: cell.failures.clone() }.into();
    }
    match problems(cell).into_iter().next() {
        Some(problem) => NoFigure::CountedTooLittle { problem }.into(),
        None => Standing::Kept { value },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::example::{self, access, member, mm_struct};
    use faultline_record::failure::{Failure, FailureCause};
    use faultline_record::lens::by_type::{ByType, TypeReading, Untyped};
    use faultline_record::lens::problem::Problem;
    use faultline_record::outcome::Outcome;

    fn budget(text: &str) -> Budget {
        text.parse().unwrap()
    }

    fn standing(text: &str, record: &RunRecord) -> Standing {
        let report = check(&[budget(text)], record);
        assert_eq!(report.checks.len(), 1);
        assert_eq!(report.passed(), matches!(report.checks[0].standing, Standing::Kept { .. }));
        report.checks[0].standing.clone()
    }

    #[test]
    fn a_budget_is_kept_up_to_its_limit_and_exceeded_above() {
        let record = example::record(&[(2, 0.5), (8, 1.5)]);
        assert_eq!(standing("load:base<=1.5@8", &record), Standing::Kept { value: 1.5 });
        assert_eq!(standing("load<=0.5@2", &record), Standing::Kept { value: 0.5 });
        let Standing::Exceeded { value, lines, code, of: None } = standing("load:base<=1.4@8", &record) else {
            panic!()
        };
        assert_eq!((value, lines[0].name.as_str(), code[0].name.as_str()), (1.5, "counter", "work main.c:10"));
        assert!(matches!(standing("instructions:load<=10@2", &record), Standing::Exceeded { value: 100.0, .. }));
    }

    #[test]
    fn the_median_of_the_repeats_is_judged() {
        let record = example::record(&[(2, 1.0), (2, 5.0), (2, 1.2)]);
        assert_eq!(standing("load<=1.2@2", &record), Standing::Kept { value: 1.2 });
    }

    #[test]
    fn the_seeds_that_were_judged_are_named_if_all_repeat_exactly() {
        let mut record = example::seeded(&[(2, 1, 1.0), (2, 2, 1.4), (2, 3, 1.2)]);
        let checked = |record: &RunRecord| check(&[budget("load<=1.3@2")], record).checks[0].clone();
        assert_eq!((checked(&record).seeds, checked(&record).standing), (vec![1, 2, 3], Standing::Kept { value: 1.2 }));
        record.attempts[1].reading.as_mut().unwrap().seed = None;
        assert!(checked(&record).seeds.is_empty());
        assert!(check(&[budget("load<=1.3@8")], &record).checks[0].seeds.is_empty());
    }

    #[test]
    fn what_cannot_be_judged_does_not_pass() {
        let mut record = example::record(&[(2, 0.5), (8, 0.5), (16, 0.5), (32, 0.5)]);
        let outcome = Outcome::TimedOut { limit_ms: 1000 };
        record.attempts[1].outcome = Some(outcome.clone());
        record.attempts.pop();
        let stall = Problem::LeftProcesses;
        record.attempts[2].reading.as_mut().unwrap().problems.push(stall.clone());
        let reason = |text: &str| match standing(text, &record) {
            Standing::NoFigure(reason) => reason.what,
            other => panic!("{other:?}"),
        };
        let timed_out = Failure { block: Some(1), cause: FailureCause::Ended { outcome } };
        assert_eq!(reason("load<=9@8"), NoFigure::AllFailed { failures: vec![timed_out] });
        assert_eq!(reason("load<=9@16"), NoFigure::CountedTooLittle { problem: stall });
        assert_eq!(reason("load<=9@32"), NoFigure::NotRun);
        assert_eq!(reason("load<=9@64"), NoFigure::NoSuchCell);
        assert_eq!(standing("other<=9@2", &record), Standing::Kept { value: 0.0 }, "it may be a type");
    }

    #[test]
    fn one_failed_attempt_of_several_does_not_pass_either() {
        let mut record = example::record(&[(2, 0.5), (2, 0.5)]);
        record.attempts[1].reading = None;
        let Standing::NoFigure(reason) = standing("load<=9@2", &record) else { panic!() };
        let NoFigure::SomeFailed { failures } = reason.what else { panic!() };
        assert_eq!(failures.iter().map(|failure| &failure.cause).collect::<Vec<_>>(), [&FailureCause::NoReport]);
    }

    /// A run on 8 CPUs with these transfers of members of `mm_struct` for each of its 1000
    /// operations.
    fn by_type(types: Vec<TypeReading>) -> RunRecord {
        let mut record = example::record(&[(8, 5.0)]);
        record.attempts[0].reading.as_mut().unwrap().by_type = ByType { types, untyped: Vec::new() };
        record
    }

    #[test]
    fn a_member_that_spoils_a_good_layout_exceeds_the_budget_of_its_type() {
        let good = by_type(vec![mm_struct(vec![access(64, 0, 1500), access(72, 100, 0)])]);
        let kept = standing("mm_struct<=2@8", &good);
        assert_eq!(kept, Standing::Kept { value: 1.6 });
        // A new counter, written by all CPUs, beside the lock that they also read.
        let mut spoilt = mm_struct(vec![access(64, 1500, 1500), access(72, 100, 0), access(80, 0, 1500)]);
        spoilt.layout.members.push(member("new_counter", "long", 80, 8));
        spoilt.layout.size = 88;
        let spoilt = by_type(vec![spoilt]);
        let Standing::Exceeded { value, of: Some(of), .. } = standing("mm_struct<=2@8", &spoilt) else { panic!() };
        assert_eq!((value, of.name.as_str(), of.lines[1].moved.writes), (4.6, "mm_struct", 3.0));
        assert!(of.lines[1].rows.iter().any(|row| row.path == "new_counter" && row.moved.writes == 1.5), "{of:?}");
        assert_eq!(standing("load<=5@8", &spoilt), Standing::Kept { value: 5.0 }, "the workload's own budget is kept");
    }

    #[test]
    fn a_type_s_budget_counts_it_within_others_and_in_the_case_that_is_named() {
        let record = by_type(vec![mm_struct(vec![access(8, 500, 0), access(64, 0, 1500)])]);
        assert_eq!(standing("rw_semaphore<=1.5@8", &record), Standing::Kept { value: 1.5 });
        assert_eq!(standing("true_sharing:rw_semaphore:load:base<=2@8", &record), Standing::Kept { value: 1.5 });
        assert_eq!(standing("false_sharing:mm_struct<=0@8", &record), Standing::Kept { value: 0.0 });
        assert_eq!(standing("zone<=0@8", &record), Standing::Kept { value: 0.0 }, "nothing of it moved");
        let report = check(&[budget("rw_semaphore<=1@8")], &record);
        let Check { of, case, cpus, .. } = &report.checks[0];
        assert_eq!((of.as_deref(), case.as_str(), *cpus), (Some("rw_semaphore"), "load:base", 8));
    }

    #[test]
    fn a_type_without_figures_does_not_pass() {
        let reason = |text: &str, record: &RunRecord| match standing(text, record) {
            Standing::NoFigure(reason) => reason.what,
            other => panic!("{other:?}"),
        };
        let mut record = example::record(&[(8, 0.1)]);
        record.attempts[0].reading.as_mut().unwrap().untyped = Some(Untyped::NoTypes);
        assert_eq!(reason("mm_struct<=9@8", &record), NoFigure::NoTypes { why: Untyped::NoTypes });
        assert_eq!(reason("instructions:mm_struct<=9@8", &record), NoFigure::NotOfTypes);
        assert_eq!(reason("mm_struct<=9@16", &record), NoFigure::NoSuchCell);
    }

    #[test]
    fn a_variable_has_a_budget_of_its_own() {
        let mut record = example::record(&[(8, 5.0)]);
        let of = |name: &str, true_sharing, false_sharing| ObjectReading {
            owner: Owner::Variable { name: name.to_owned() },
            lines: 3,
            cpus: 8,
            reads: Sharing { true_sharing, false_sharing: 0 },
            writes: Sharing { true_sharing: 0, false_sharing },
            by_site: Vec::new(),
        };
        let objects = vec![of("pool", 1500, 500), of("load", 10, 0)];
        record.attempts[0].reading.as_mut().unwrap().by_object = objects;
        assert_eq!(standing("var:pool<=2@8", &record), Standing::Kept { value: 2.0 });
        assert_eq!(standing("false_sharing:var:pool:load:base<=0.5@8", &record), Standing::Kept { value: 0.5 });
        assert_eq!(standing("var:load<=1@8", &record), Standing::Kept { value: 0.01 }, "not the case of that name");
        assert!(matches!(standing("var:pool<=1.9@8", &record), Standing::Exceeded { value: 2.0, .. }));
        let check = check(&[budget("var:pool<=1@8")], &record).checks.remove(0);
        assert_eq!((check.of.as_deref(), check.case.as_str()), (Some("pool"), "load:base"));
    }

    #[test]
    fn nothing_to_check_does_not_pass() {
        assert!(!check(&[], &example::record(&[(2, 0.5)])).passed());
    }
}
