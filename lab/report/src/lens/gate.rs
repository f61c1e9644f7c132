//! What a gate found, in the four formats.

use crate::format::Format;
use crate::grid::{self, Grid, Side, escape_markdown};
use crate::json::json;
use crate::lens::compare::differences;
use crate::lens::tables;
use crate::lens::words;
use crate::one_line::one_line;
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone, UNICODE};
use faultline_model::lens::gate::{Check, GateReport, Standing};

/// Columns of the CSV; value and limit are per operation.
const HEADER: [&str; 8] = ["run", "baseline", "cell", "metric", "value", "limit", "standing", "reason"];

/// What a gate found: every limit, and for those exceeded the lines and code to look at. JSON is the report as it is.
pub fn budget_table(report: &GateReport, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(report, style),
        Format::Json => json(report),
        Format::Csv => csv(report),
        Format::Markdown => markdown(report),
    }
}

/// `2 of 3 limits are kept`.
fn outcome(report: &GateReport) -> String {
    let kept = report.checks.iter().filter(|check| check.passed()).count();
    match report.checks.len() {
        0 => "there was nothing to hold it to".to_owned(),
        1 if kept == 1 => "the limit is kept".to_owned(),
        1 => "the limit is not kept".to_owned(),
        all => format!("{kept} of {all} limits are kept"),
    }
}

fn title(report: &GateReport) -> String {
    let against = report.baseline.map_or_else(|| "its budgets".to_owned(), |baseline| format!("run {baseline}"));
    format!("Run {} held to {against}: {}", report.run, outcome(report))
}

fn word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Kept { .. } => "kept",
        Standing::Exceeded { .. } => "exceeded",
        Standing::NoFigure { .. } => "no figure",
    }
}

fn value(standing: &Standing) -> Option<f64> {
    match standing {
        Standing::Kept { value } | Standing::Exceeded { value, .. } => Some(*value),
        Standing::NoFigure { .. } => None,
    }
}

fn reason(standing: &Standing) -> &str {
    match standing {
        Standing::NoFigure { reason } => reason,
        _ => "",
    }
}

fn grid(report: &GateReport, signs: &Signs) -> Grid {
    let mut grid = Grid::new(&[
        ("", Side::Left),
        ("figure", Side::Right),
        ("limit", Side::Right),
        ("per operation", Side::Left),
        ("cell", Side::Left),
    ]);
    let number = |value: Option<f64>| value.map_or_else(|| signs.none.to_owned(), words::transfers);
    for check in &report.checks {
        let cell = match reason(&check.standing) {
            "" => check.cell.clone(),
            reason => format!("{}: {reason}", check.cell),
        };
        grid.row(vec![
            word(&check.standing).to_owned(),
            number(value(&check.standing)),
            number(check.limit),
            check.metric.clone(),
            one_line(&cell),
        ]);
    }
    grid
}

/// What there is to see for an exceeded limit: a heading and a grid each.
fn evidence(check: &Check, style: &Style) -> Vec<(String, Grid)> {
    let Standing::Exceeded { lines, code, .. } = &check.standing else { return Vec::new() };
    let cell = one_line(&check.cell);
    let mut evidence = Vec::new();
    if !check.differences.is_empty() {
        let grid = differences("data", &check.differences, style);
        evidence.push((format!("{cell}: data with more transfers per operation than in the baseline"), grid));
    }
    if !lines.is_empty() {
        evidence.push((format!("{cell}: top lines"), tables::lines_for(style)(lines, lines.len())));
    }
    if !code.is_empty() {
        evidence.push((format!("{cell}: top code"), tables::code(code, code.len())));
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
    sheet.text.push_str(&grid(report, signs).text(style));
    for (heading, grid) in report.checks.iter().flat_map(|check| evidence(check, style)) {
        sheet.table(&heading, &grid);
    }
    sheet.text
}

fn markdown(report: &GateReport) -> String {
    let mut text = format!("**{}**\n", escape_markdown(&title(report)));
    if !report.checks.is_empty() {
        text.push_str(&format!("\n{}", grid(report, &UNICODE).markdown()));
    }
    for (heading, grid) in report.checks.iter().flat_map(|check| evidence(check, &Style::PLAIN)) {
        text.push_str(&format!("\n{}:\n\n{}", escape_markdown(&heading), grid.markdown()));
    }
    text
}

fn csv(report: &GateReport) -> String {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let record = |check: &Check| {
        [
            report.run.to_string(),
            report.baseline.map(|run| run.to_string()).unwrap_or_default(),
            check.cell.clone(),
            check.metric.clone(),
            number(value(&check.standing)),
            number(check.limit),
            word(&check.standing).to_owned(),
            reason(&check.standing).to_owned(),
        ]
    };
    grid::csv(HEADER, report.checks.iter().map(record))
}
