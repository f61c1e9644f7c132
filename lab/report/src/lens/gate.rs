//! The result of a lens gate in text, Markdown, CSV and JSON.

use crate::escape::one_line;
use crate::figure;
use crate::format::Format;
use crate::lens::compare::{differences, of_all};
use crate::lens::seeds::{self, joined};
use crate::lens::{layout, points};
use crate::sentences::{no_figure, worded_gate};
use crate::sheet::{Sheet, in_format};
use crate::style::{Signs, Style, Tone};
use crate::table::{self, ResultTable, number};
use faultline_stats::lens::gate::{Check, GateReport, Standing};

/// The result of a gate: every limit, and the lines and code behind exceeded limits.
///
/// JSON is the report with its sentences.
pub fn budget_table(report: &GateReport, format: Format, style: &Style) -> String {
    in_format(format, style, |sheet| body(sheet, report), || worded_gate(report), || table(report).csv())
}

/// The outcome: `budget exceeded`; for several `1 of 3 budgets kept, 1 exceeded, 1 without a
/// figure`.
fn outcome(report: &GateReport) -> String {
    let limit = if report.baseline.is_some() { "limit" } else { "budget" };
    let count = |named: &str| report.checks.iter().filter(|check| word(&check.standing) == named).count();
    match &report.checks[..] {
        [] => format!("no {limit} to check"),
        [check] => match check.standing {
            Standing::NoFigure(_) => format!("{limit} not checked, no figure"),
            Standing::Kept { .. } | Standing::Exceeded { .. } => format!("{limit} {}", word(&check.standing)),
        },
        all => {
            let others = [("exceeded", count("exceeded")), ("without a figure", count("no figure"))];
            let others = others.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!(", {count} {what}"));
            format!("{} of {} {limit}s kept{}", count("kept"), all.len(), others.collect::<String>())
        }
    }
}

fn title(report: &GateReport) -> String {
    match report.baseline {
        None => format!("Run {}: {}", report.run, outcome(report)),
        Some(baseline) => format!("Run {} against the baseline, run {baseline}: {}", report.run, outcome(report)),
    }
}

fn word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Kept { .. } => "kept",
        Standing::Exceeded { .. } => "exceeded",
        Standing::NoFigure(_) => "no figure",
    }
}

fn value(standing: &Standing) -> Option<f64> {
    match standing {
        Standing::Kept { value } | Standing::Exceeded { value, .. } => Some(*value),
        Standing::NoFigure(_) => None,
    }
}

/// The reason for a missing figure.
fn reason(standing: &Standing) -> Option<String> {
    match standing {
        Standing::NoFigure(reason) => Some(no_figure(reason)),
        Standing::Kept { .. } | Standing::Exceeded { .. } => None,
    }
}

/// A report with one of its limits.
type Row<'a> = (&'a GateReport, &'a Check);

fn table(report: &GateReport) -> ResultTable<Row<'_>> {
    ResultTable::new(columns(), report.checks.iter().map(|check| (report, check)))
}

type Column<'a> = table::Column<Row<'a>>;

/// In CSV, value and limit are per operation.
fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("", |(_, check), _| word(&check.standing).to_owned()),
        Column::csv_only("run", |(report, _)| report.run.to_string()),
        Column::csv_option("baseline", |(report, _)| report.baseline),
        Column::csv_only("cell", |(_, check)| cell(check)),
        Column::csv_only("seeds", |(_, check)| joined(&check.seeds)),
        Column::csv_only("metric", |(_, check)| check.metric.word().to_owned()),
        Column::right("figure", |(_, check), signs| transfers(value(&check.standing), signs))
            .csv("value", |(_, check)| number(value(&check.standing))),
        Column::right("limit", |(_, check), signs| transfers(check.limit, signs))
            .csv("limit", |(_, check)| number(check.limit)),
        Column::csv_only("standing", |(_, check)| word(&check.standing).to_owned()),
        Column::csv_only("reason", |(_, check)| reason(&check.standing).unwrap_or_default()),
        Column::left("per operation", |(_, check), _| check.metric.word().to_owned()),
        Column::left("cell", |(_, check), signs| {
            let exact = match check.seeds.is_empty() {
                true => String::new(),
                false => format!(" ({})", seeds::exact(&check.seeds, signs)),
            };
            let reason = reason(&check.standing).map_or_else(String::new, |reason| format!(": {reason}"));
            one_line(&format!("{}{exact}{reason}", cell(check)))
        }),
    ]
}

/// The limited cell: `fault_existing:shared at 8`, `mm_struct in fault_existing:shared at 8`.
fn cell(check: &Check) -> String {
    let Check { of, case, cpus, .. } = check;
    match of {
        Some(of) => format!("{of} in {case} at {cpus}"),
        None => format!("{case} at {cpus}"),
    }
}

fn transfers(value: Option<f64>, signs: &Signs) -> String {
    value.map_or_else(|| signs.none.to_owned(), figure::transfers)
}

fn body(mut sheet: Sheet<'_>, report: &GateReport) -> String {
    match (sheet.is_markdown(), report.passed()) {
        (true, _) => sheet.titled(&title(report), ""),
        (false, passed) => sheet.paragraph(Some(if passed { Tone::Good } else { Tone::Bad }), "", &title(report)),
    }
    if !report.checks.is_empty() {
        sheet.space();
        sheet.table(&table(report));
    }
    for check in &report.checks {
        evidence(&mut sheet, check);
    }
    sheet.text
}

/// The evidence for an exceeded limit: the type's layout, or new data, top lines and top code.
fn evidence(sheet: &mut Sheet<'_>, check: &Check) {
    let Standing::Exceeded { lines, code, of, .. } = &check.standing else { return };
    let (cell, form) = (one_line(&cell(check)), points::form(sheet.style));
    if let Some(of) = of {
        return sheet.subtable(&layout::heading(of, "operation"), &layout::layout(of), form);
    }
    if !check.differences.is_empty() {
        let of_all = of_all(&check.differences).map_or_else(String::new, |of_all| format!("; {of_all}"));
        let heading = format!("{cell}: data with more transfers per operation than in the baseline{of_all}");
        sheet.subtable(&heading, &differences("data", &check.differences), form);
    }
    if !lines.is_empty() {
        sheet.subtable(&format!("{cell}: top lines"), &points::lines(lines, lines.len()), form);
    }
    if !code.is_empty() {
        sheet.subtable(&format!("{cell}: top code"), &points::code(code, code.len()), form);
    }
}
