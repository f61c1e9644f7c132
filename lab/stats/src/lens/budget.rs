//! Budgets: the maximum of a figure per operation at a number of CPUs, and whether a run meets them.

use crate::lens::cells::{CaseReadings, CellReadings, cases, instructions, transfers};
use crate::lens::figures::{self, Counts};
use crate::lens::seeds::seeds_of;
use crate::lens::summary::problems;
use crate::median::median;
use crate::progress::standings;
use crate::thresholds::LENS_GATE_SHOWN;
use faultline_model::cell::Case;
use faultline_model::lens::gate::{Check, GateReport, NoFigure, Standing};
use faultline_model::lens::reading::Reading;
use faultline_model::record::RunRecord;
use std::fmt;
use std::str::FromStr;

/// What a budget limits, per operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Transfers,
    TrueSharing,
    FalseSharing,
    Instructions,
}

impl Metric {
    const ALL: [Metric; 4] = [Metric::Transfers, Metric::TrueSharing, Metric::FalseSharing, Metric::Instructions];

    fn word(self) -> &'static str {
        match self {
            Metric::Transfers => "transfers",
            Metric::TrueSharing => "true_sharing",
            Metric::FalseSharing => "false_sharing",
            Metric::Instructions => "instructions",
        }
    }

    fn of(self, reading: &Reading) -> f64 {
        match self {
            Metric::Transfers => transfers(reading),
            Metric::TrueSharing => reading.per_operation(reading.totals.true_sharing),
            Metric::FalseSharing => reading.per_operation(reading.totals.false_sharing),
            Metric::Instructions => instructions(reading),
        }
    }
}

/// A limit: `[METRIC:]CASE<=NUMBER@CPUS`, for example `fault_existing:shared<=1.5@8` or `instructions:path_stat<=9000@4`. METRIC is
/// `transfers` (the default), `true_sharing`, `false_sharing` or `instructions`, per operation. CASE is `WORKLOAD:VARIANT`, or `WORKLOAD`
/// for all its variants, each of which must meet the limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    metric: Metric,
    case: String,
    limit: f64,
    cpus: u32,
}

/// A budget that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a budget: {problem}")]
pub struct BudgetError {
    text: String,
    problem: String,
}

impl BudgetError {
    /// The syntax of a budget.
    pub const HINT: &'static str = "[METRIC:]CASE<=NUMBER@CPUS, for example 'fault_existing:shared<=1.5@8'; METRIC is transfers, true_sharing, false_sharing \
         or instructions, per operation";
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem: &str| BudgetError { text: text.to_owned(), problem: problem.to_owned() };
        let (what, limit) = text.split_once("<=").ok_or_else(|| wrong("it has no '<='"))?;
        let (limit, cpus) = limit.split_once('@').ok_or_else(|| wrong("'@' with a number of CPUs is missing"))?;
        let limit: f64 = limit.trim().parse().map_err(|_| wrong("the text after '<=' is not a number"))?;
        if !limit.is_finite() || limit < 0.0 {
            return Err(wrong("the limit must be a number from 0"));
        }
        let cpus: u32 = cpus.trim().parse().map_err(|_| wrong("the text after '@' is not a number of CPUs"))?;
        if cpus == 0 {
            return Err(wrong("the number of CPUs is 0"));
        }
        let what = what.trim();
        let prefixed = what
            .split_once(':')
            .and_then(|(word, case)| Some((Metric::ALL.into_iter().find(|metric| metric.word() == word)?, case)));
        let (metric, case) = prefixed.unwrap_or((Metric::Transfers, what));
        if case.is_empty() {
            return Err(wrong("it does not name a case"));
        }
        Ok(Budget { metric, case: case.to_owned(), limit, cpus })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}<={}@{}", self.metric.word(), self.case, self.limit, self.cpus)
    }
}

/// Compares a run with budgets: each limits the median of a cell's repeats, or of its seeds. A budget fails if it cannot be checked: a case or number of CPUs that the run does not have, a cell with a
/// failed attempt, a reading that counted less than it should have.
pub fn check(budgets: &[Budget], record: &RunRecord) -> GateReport {
    let standings = standings(record);
    let cases = cases(record, &standings);
    GateReport {
        format: GateReport::FORMAT.to_owned(),
        run: record.id,
        baseline: None,
        checks: budgets.iter().flat_map(|budget| budget.checks(&cases)).collect(),
    }
}

impl Budget {
    /// The number of CPUs that it is about.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Whether it may limit a case of that workload, given as `WORKLOAD` or `WORKLOAD:VARIANT`.
    pub fn is_about(&self, name: &str) -> bool {
        let workload = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
        workload(&self.case) == workload(name)
    }

    /// Whether it limits this case.
    pub fn is_for(&self, case: &Case) -> bool {
        case.workload == self.case || case.to_string() == self.case
    }

    fn checks(&self, cases: &[CaseReadings<'_>]) -> Vec<Check> {
        let cells = cases.iter().filter(|case| self.is_for(case.case)).flat_map(|case| {
            let at = case.cells.iter().filter(|cell| cell.cpus == self.cpus);
            at.map(move |cell| (case.case.to_string(), cell))
        });
        let checks: Vec<Check> =
            cells.map(|(name, cell)| self.check(&name, seeds_of(&cell.readings), self.standing(cell))).collect();
        if checks.is_empty() {
            return vec![self.check(&self.case, Vec::new(), NoFigure::NoSuchCell.into())];
        }
        checks
    }

    fn check(&self, case: &str, seeds: Vec<u64>, standing: Standing) -> Check {
        Check {
            cell: format!("{case} at {}", self.cpus),
            metric: self.metric.word().to_owned(),
            limit: Some(self.limit),
            seeds,
            standing,
            differences: Vec::new(),
        }
    }

    fn standing(&self, cell: &CellReadings<'_>) -> Standing {
        judge(cell, self.limit, |reading| self.metric.of(reading))
    }
}

/// Compares the median of a cell's figure with a limit. A figure whose counts are too low can exceed its limit, but not meet it.
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
    use crate::lens::example;
    use faultline_model::failure::{Failure, FailureCause};
    use faultline_model::lens::raw::Problem;
    use faultline_model::outcome::Outcome;

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
    fn budgets_are_read() {
        assert_eq!(budget("fault_existing:shared<=1.5@8").to_string(), "transfers:fault_existing:shared<=1.5@8");
        assert_eq!(budget("instructions:path_stat <= 9000 @ 4").to_string(), "instructions:path_stat<=9000@4");
        assert_eq!(budget("false_sharing:prog:program<=0@2").metric, Metric::FalseSharing);
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        let refused = |text: &str| text.parse::<Budget>().unwrap_err().problem;
        assert_eq!(refused("fault"), "it has no '<='");
        assert_eq!(refused("fault<=1"), "'@' with a number of CPUs is missing");
        assert_eq!(refused("fault<=much@2"), "the text after '<=' is not a number");
        for limit in ["-1", "NaN", "inf"] {
            assert_eq!(refused(&format!("fault<={limit}@2")), "the limit must be a number from 0");
        }
        assert_eq!(refused("fault<=1@many"), "the text after '@' is not a number of CPUs");
        assert_eq!(refused("fault<=1@0"), "the number of CPUs is 0");
        assert_eq!(refused("<=1@2"), "it does not name a case");
        assert_eq!(refused("transfers:<=1@2"), "it does not name a case");
    }

    #[test]
    fn a_budget_is_kept_up_to_its_limit_and_exceeded_above() {
        let record = example::record(&[(2, 0.5), (8, 1.5)]);
        assert_eq!(standing("load:base<=1.5@8", &record), Standing::Kept { value: 1.5 });
        assert_eq!(standing("load<=0.5@2", &record), Standing::Kept { value: 0.5 });
        let Standing::Exceeded { value, lines, code } = standing("load:base<=1.4@8", &record) else { panic!() };
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
        let stall = Problem { kind: "stall".into(), text: "CPU 1 stood still".into() };
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
        assert_eq!(reason("other<=9@2"), NoFigure::NoSuchCell);
    }

    #[test]
    fn one_failed_attempt_of_several_does_not_pass_either() {
        let mut record = example::record(&[(2, 0.5), (2, 0.5)]);
        record.attempts[1].reading = None;
        let Standing::NoFigure(reason) = standing("load<=9@2", &record) else { panic!() };
        let NoFigure::SomeFailed { failures } = reason.what else { panic!() };
        assert_eq!(failures.iter().map(|failure| &failure.cause).collect::<Vec<_>>(), [&FailureCause::NoReport]);
    }

    #[test]
    fn nothing_to_check_does_not_pass() {
        assert!(!check(&[], &example::record(&[(2, 0.5)])).passed());
    }
}
