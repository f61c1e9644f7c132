//! The result of a gate, in the four formats.

use crate::figure;
use crate::format::Format;
use crate::grid::{Grid, escape_markdown};
use crate::json::json;
use crate::lens::compare::differences;
use crate::lens::greatest::of_all;
use crate::lens::layout;
use crate::lens::seeds::{self, joined};
use crate::lens::tables;
use crate::one_line::one_line;
use crate::sentences::{no_figure, worded_gate};
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone, UNICODE};
use crate::table::{self, Form, Table, number};
use faultline_model::lens::gate::{Check, GateReport, Standing};

/// The result of a gate: every limit, and for exceeded limits the lines and code to look at. JSON is the report with its sentences.
pub fn budget_table(report: &GateReport, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(report, style),
        Format::Json => json(&worded_gate(report)),
        Format::Csv => table(report).csv(),
        Format::Markdown => markdown(report),
    }
}

/// `budget exceeded`; of several: `1 of 3 budgets kept, 1 exceeded, 1 without a figure`.
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

/// Why there is no figure, if there is none.
fn reason(standing: &Standing) -> Option<String> {
    match standing {
        Standing::NoFigure(reason) => Some(no_figure(reason)),
        Standing::Kept { .. } | Standing::Exceeded { .. } => None,
    }
}

/// A limit with its report.
type Row<'a> = (&'a GateReport, &'a Check);

fn table(report: &GateReport) -> Table<Row<'_>> {
    Table::new(columns(), report.checks.iter().map(|check| (report, check)))
}

type Column<'a> = table::Column<Row<'a>>;

/// In CSV, value and limit are per operation.
fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("", |(_, check), _| word(&check.standing).to_owned()),
        Column::csv_only("run", |(report, _)| report.run.to_string()),
        Column::csv_only("baseline", |(report, _)| report.baseline.map_or_else(String::new, |run| run.to_string())),
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

/// What is limited: `fault_existing:shared at 8`, `mm_struct in fault_existing:shared at 8`.
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

/// The evidence for an exceeded limit: a heading and a grid each.
fn evidence(check: &Check, form: Form, signs: &Signs) -> Vec<(String, Grid)> {
    let Standing::Exceeded { lines, code, of, .. } = &check.standing else { return Vec::new() };
    let cell = one_line(&cell(check));
    let mut evidence = Vec::new();
    if let Some(of) = of {
        let heading = layout::heading(of, "operation");
        return vec![(heading, layout::layout(of).grid(form, signs))];
    }
    if !check.differences.is_empty() {
        let grid = differences("data", &check.differences).grid(form, signs);
        let of_all = of_all(&check.differences).map_or_else(String::new, |of_all| format!("; {of_all}"));
        evidence.push((format!("{cell}: data with more transfers per operation than in the baseline{of_all}"), grid));
    }
    if !lines.is_empty() {
        evidence.push((format!("{cell}: top lines"), tables::lines(lines, lines.len()).grid(form, signs)));
    }
    if !code.is_empty() {
        evidence.push((format!("{cell}: top code"), tables::code(code, code.len()).grid(form, signs)));
    }
    evidence
}

fn text(report: &GateReport, style: &Style) -> String {
    let signs = style.signs();
    let mut sheet = Sheet::new(style);
    sheet.paragraph(Some(if report.passed() { Tone::Good } else { Tone::Bad }), "", &title(report));
    if report.checks.is_empty() {
        return sheet.text;
    }
    sheet.line("");
    sheet.text.push_str(&table(report).text(style));
    for (heading, grid) in report.checks.iter().flat_map(|check| evidence(check, tables::form(style), signs)) {
        sheet.table(&heading, &grid);
    }
    sheet.text
}

fn markdown(report: &GateReport) -> String {
    let mut text = format!("**{}**\n", escape_markdown(&title(report)));
    if !report.checks.is_empty() {
        text.push_str(&format!("\n{}", table(report).markdown(&UNICODE)));
    }
    for (heading, grid) in report.checks.iter().flat_map(|check| evidence(check, Form::Markdown, &UNICODE)) {
        text.push_str(&format!("\n{}:\n\n{}", escape_markdown(&heading), grid.markdown()));
    }
    text
}
