//! Budgets: the maximum of a figure per operation at a number of CPUs, and whether a run meets them.

use crate::lens::cells::{CaseReadings, CellReadings, cases, instructions, transfers};
use crate::lens::figures::{self, Counts};
use crate::lens::seeds::seeds_of;
use crate::lens::summary::problems;
use crate::lens::type_view::TypeView;
use crate::lens::types;
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

    /// The figure of all objects of a type; 0 if nothing of it moved. Instructions are not counted by type.
    fn of_type(self, reading: &Reading, of: &str) -> f64 {
        let view = reading.by_type.as_ref().and_then(|by_type| TypeView::named(by_type, of));
        let transfers = view.map(|view| view.transfers()).unwrap_or_default();
        match self {
            Metric::Transfers => reading.per_operation(transfers.total()),
            Metric::TrueSharing => reading.per_operation(transfers.true_sharing),
            Metric::FalseSharing => reading.per_operation(transfers.false_sharing),
            Metric::Instructions => f64::NAN,
        }
    }
}

/// A limit: `[METRIC:]WHAT<=NUMBER@CPUS`, for example `fault_existing:shared<=1.5@8`, `instructions:path_stat<=9000@4` or `mm_struct<=2@8`.
/// METRIC is `transfers` (the default), `true_sharing`, `false_sharing` or `instructions`, per operation.
///
/// WHAT is a case or a type. A case is `WORKLOAD:VARIANT`, or `WORKLOAD` for all its variants, each of which must meet the limit. A type is `TYPE` or
/// `TYPE:CASE`: the limit is that of all its objects, also of those within other types, in each case or in this one. What names a case of the run is a
/// case; with `type:` before it, it is always a type.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    metric: Metric,
    /// Written with `type:`.
    is_type: bool,
    what: String,
    limit: f64,
    cpus: u32,
    /// As the user wrote it.
    written: String,
}

/// What a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject<'a> {
    /// Cases in whole.
    Cases,
    /// A type, in all cases or in those of that name.
    Type { of: &'a str, case: Option<&'a str> },
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
    pub const HINT: &'static str = "[METRIC:]CASE<=NUMBER@CPUS, for example 'fault_existing:shared<=1.5@8', or [METRIC:]TYPE<=NUMBER@CPUS, for example \
         'mm_struct<=2@8'; METRIC is transfers, true_sharing, false_sharing or instructions, per operation";
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
        let (metric, what) = prefixed.unwrap_or((Metric::Transfers, what));
        let (is_type, what) = what.strip_prefix(TYPE).map_or((false, what), |of| (true, of));
        if what.is_empty() {
            return Err(wrong("it does not name a case or a type"));
        }
        if is_type && metric == Metric::Instructions {
            return Err(wrong("instructions are not counted by type"));
        }
        Ok(Budget { metric, is_type, what: what.to_owned(), limit, cpus, written: text.to_owned() })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Before what is always a type.
const TYPE: &str = "type:";

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

    /// The type that it limits in a run of these workloads, each given as `WORKLOAD` or `WORKLOAD:VARIANT`; `None` if it limits cases.
    pub fn type_among(&self, workloads: &[String]) -> Option<&str> {
        let workload = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
        let has_name = |given: &String, name: &str| {
            given == name || workload(given) == name || !given.contains(':') && *given == workload(name)
        };
        self.limited_type(&|name| workloads.iter().any(|given| has_name(given, name)))
    }

    /// The same in a run of these cases.
    pub fn type_in<'a>(&self, mut cases: impl Iterator<Item = &'a Case> + Clone) -> Option<&str> {
        let cases: Vec<&Case> = cases.by_ref().collect();
        self.limited_type(&|name| cases.iter().any(|case| is_named(case, name)))
    }

    /// It limits instructions, which are not counted by type.
    pub fn is_of_instructions(&self) -> bool {
        self.metric == Metric::Instructions
    }

    /// It was written with `type:`.
    pub fn says_type(&self) -> bool {
        self.is_type
    }

    fn limited_type(&self, is_case: &dyn Fn(&str) -> bool) -> Option<&str> {
        match self.subject(is_case) {
            Subject::Type { of, .. } => Some(of),
            Subject::Cases => None,
        }
    }

    /// What it limits. `is_case`: whether a text names a case of the run.
    fn subject(&self, is_case: &dyn Fn(&str) -> bool) -> Subject<'_> {
        if !self.is_type && is_case(&self.what) {
            return Subject::Cases;
        }
        let parts = self.what.match_indices(':').map(|(at, _)| (&self.what[..at], &self.what[at + 1..]));
        let in_case = parts.into_iter().find(|(of, case)| !of.is_empty() && is_case(case));
        match in_case {
            Some((of, case)) => Subject::Type { of, case: Some(case) },
            None => Subject::Type { of: &self.what, case: None },
        }
    }

    fn checks(&self, cases: &[CaseReadings<'_>]) -> Vec<Check> {
        let subject = self.subject(&|name| cases.iter().any(|case| is_named(case.case, name)));
        let name = match subject {
            Subject::Cases => Some(self.what.as_str()),
            Subject::Type { case, .. } => case,
        };
        let is_limited = |case: &&CaseReadings<'_>| name.is_none_or(|name| is_named(case.case, name));
        let cells = cases.iter().filter(is_limited).flat_map(|case| {
            let at = case.cells.iter().filter(|cell| cell.cpus == self.cpus);
            at.map(move |cell| (case.case.to_string(), cell))
        });
        let checks: Vec<Check> = cells
            .map(|(case, cell)| {
                let (what, standing) = match subject {
                    Subject::Cases => (case, judge(cell, self.limit, |reading| self.metric.of(reading))),
                    Subject::Type { of, .. } => (format!("{of} in {case}"), self.standing_of_type(of, cell)),
                };
                self.check(&what, seeds_of(&cell.readings), standing)
            })
            .collect();
        if checks.is_empty() {
            return vec![self.check(&self.what, Vec::new(), NoFigure::NoSuchCell.into())];
        }
        checks
    }

    /// Compares the transfers of all objects of a type with the limit.
    fn standing_of_type(&self, of: &str, cell: &CellReadings<'_>) -> Standing {
        if self.metric == Metric::Instructions {
            return NoFigure::NotOfTypes.into();
        }
        let without = cell.readings.iter().find(|reading| reading.by_type.is_none() || reading.untyped.is_some());
        if let Some(reading) = without {
            return NoFigure::NoTypes { why: reading.untyped.clone() }.into();
        }
        match judge(cell, self.limit, |reading| self.metric.of_type(reading, of)) {
            Standing::Exceeded { value, lines, code, .. } => {
                let figures = cell.typical().and_then(|reading| types::named(reading, of));
                Standing::Exceeded { value, lines, code, of: figures.map(Box::new) }
            }
            other => other,
        }
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
}

/// Whether a text names a case, alone or with all variants of its workload.
fn is_named(case: &Case, name: &str) -> bool {
    case.workload == name || case.to_string() == name
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
    use faultline_model::failure::{Failure, FailureCause};
    use faultline_model::lens::by_type::{ByType, TypeReading};
    use faultline_model::lens::problem::Problem;
    use faultline_model::lens::untyped::Untyped;
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
        for written in
            ["fault_existing:shared<=1.5@8", "transfers:type:zone<=2@8", "instructions:path_stat <= 9000 @ 4"]
        {
            assert_eq!(budget(written).to_string(), written);
        }
        let path_stat = budget("instructions:path_stat <= 9000 @ 4");
        let parts = (path_stat.metric, path_stat.what.as_str(), path_stat.limit, path_stat.cpus);
        assert_eq!(parts, (Metric::Instructions, "path_stat", 9000.0, 4));
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
        assert_eq!(refused("<=1@2"), "it does not name a case or a type");
        assert_eq!(refused("transfers:<=1@2"), "it does not name a case or a type");
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
        assert_eq!(reason("other<=9@2"), NoFigure::NoTypes { why: None }, "it may be a type");
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
    fn a_workload_s_name_comes_before_a_type_s() {
        let names = ["load".to_owned(), "path_stat:own".to_owned()];
        let of = |text: &str| budget(text).type_among(&names).map(str::to_owned);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!([of("load<=1@2"), of("path_stat<=1@2"), of("load:base<=1@2")], [None, None, None]);
        assert_eq!([of("mm_struct<=1@2"), of("false_sharing:mm_struct<=1@2")], [some("mm_struct"), some("mm_struct")]);
        assert_eq!([of("type:load<=1@2"), of("mm_struct:load:base<=1@2")], [some("load"), some("mm_struct")]);
        assert_eq!([of("ns::Pool<=1@2"), of("ns::Pool:load<=1@2")], [some("ns::Pool"), some("ns::Pool")]);
        assert_eq!(budget("type:mm_struct<=1@2").to_string(), "type:mm_struct<=1@2");
        let refused = |text: &str| text.parse::<Budget>().unwrap_err().problem;
        assert_eq!(refused("instructions:type:mm_struct<=1@2"), "instructions are not counted by type");
        assert_eq!(refused("type:<=1@2"), "it does not name a case or a type");
    }

    /// A run at 8 CPUs with that many transfers of members of `mm_struct` for each of its 1000 operations.
    fn by_type(types: Vec<TypeReading>) -> RunRecord {
        let mut record = example::record(&[(8, 5.0)]);
        record.attempts[0].reading.as_mut().unwrap().by_type = Some(ByType { types, untyped: Vec::new() });
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
        let cell = check(&[budget("rw_semaphore<=1@8")], &record).checks[0].cell.clone();
        assert_eq!(cell, "rw_semaphore in load:base at 8");
    }

    #[test]
    fn a_type_without_figures_does_not_pass() {
        let reason = |text: &str, record: &RunRecord| match standing(text, record) {
            Standing::NoFigure(reason) => reason.what,
            other => panic!("{other:?}"),
        };
        let mut record = example::record(&[(8, 0.1)]);
        assert_eq!(reason("mm_struct<=9@8", &record), NoFigure::NoTypes { why: None });
        let reading = record.attempts[0].reading.as_mut().unwrap();
        (reading.by_type, reading.untyped) = (Some(ByType::default()), Some(Untyped::NoTypes));
        assert_eq!(reason("mm_struct<=9@8", &record), NoFigure::NoTypes { why: Some(Untyped::NoTypes) });
        assert_eq!(reason("instructions:mm_struct<=9@8", &record), NoFigure::NotOfTypes);
        assert_eq!(reason("mm_struct<=9@16", &record), NoFigure::NoSuchCell);
    }

    #[test]
    fn nothing_to_check_does_not_pass() {
        assert!(!check(&[], &example::record(&[(2, 0.5)])).passed());
    }
}
