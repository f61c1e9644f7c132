//! A run's figures as one pipe table, with a line above it and the warnings and legend below.

use crate::figure::{self, Scale};
use crate::grid::{Grid, Side, escape_markdown};
use crate::run::{legend, words};
use crate::style::{Signs, UNICODE};
use faultline_model::summary::{Curve, Point, RunSummary};

/// The run as Markdown.
pub(crate) fn markdown(summary: &RunSummary) -> String {
    let signs = &UNICODE;
    let mut text = format!(
        "**{}** — {}  \n{}\n\n",
        escape_markdown(&words::title(summary, signs)),
        escape_markdown(&summary.machine),
        escape_markdown(&words::standing(summary, signs))
    );
    if summary.curves.is_empty() {
        text.push_str("No workload has been run.\n");
        return text;
    }
    text.push_str(&grid(summary, signs).markdown());
    warnings(summary, &mut text);
    text.push('\n');
    for sentence in legend::sentences(summary) {
        text.push_str(&format!("{}  \n", escape_markdown(&sentence)));
    }
    text
}

/// Warnings as a list.
fn warnings(summary: &RunSummary, text: &mut String) {
    if !summary.warnings.is_empty() {
        text.push_str("\nWarnings:\n\n");
    }
    for warning in &summary.warnings {
        let cells = words::cells(&warning.cells).map_or_else(String::new, |cells| format!(" [{cells}]"));
        let sentence = escape_markdown(&format!("{}{cells}", warning.text));
        text.push_str(&format!("- **{}**: {sentence}\n", warning.code.word()));
    }
}

fn grid(summary: &RunSummary, signs: &Signs) -> Grid {
    let mut grid = Grid::new(&[
        ("curve", Side::Left),
        ("tasks", Side::Right),
        ("rate", Side::Right),
        ("interval", Side::Left),
        ("speed-up", Side::Right),
        ("efficiency", Side::Right),
        ("interval", Side::Left),
        ("system", Side::Right),
        ("n", Side::Right),
        ("verdict", Side::Left),
    ]);
    for curve in &summary.curves {
        for (index, point) in curve.points.iter().enumerate() {
            grid.row(row(curve, point, index == 0, signs));
        }
    }
    grid
}

/// A point's cells; name, direction and verdict of the curve stand in its first row, failures in the point's own.
fn row(curve: &Curve, point: &Point, first: bool, signs: &Signs) -> Vec<String> {
    let none = || signs.none.to_owned();
    let base = curve.base_tasks == Some(point.tasks);
    let derived = |estimate: Option<_>| estimate.filter(|_| !base);
    let name = format!("{} ({}, {} is better)", curve.case, words::tasks_are(curve.case.mode), curve.direction.word());
    let scale = point.value.map(|value| (value, Scale::of(value.median, &curve.unit, signs)));
    let shortfall = words::shortfall(point, signs);
    let verdict = if first { curve.verdict.words().to_owned() } else { String::new() };
    vec![
        if first { name } else { String::new() },
        point.tasks.to_string(),
        scale.map_or_else(none, |(value, scale)| scale.quantity(value.median)),
        scale.map_or_else(none, |(value, scale)| scale.span(value.low, value.high, signs)),
        if base { "base".to_owned() } else { point.speedup.map_or_else(none, |s| figure::plain(s.median)) },
        derived(point.efficiency).map_or_else(none, |e| figure::percent(e.median)),
        derived(point.efficiency).map_or_else(none, |e| figure::percent_span(&e, signs)),
        point.system_share.map_or_else(none, |s| figure::percent_margin(&s, signs)),
        point.value.map_or_else(|| "0".to_owned(), |value| value.n.to_string()),
        [verdict, shortfall.unwrap_or_default()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("; "),
    ]
}
