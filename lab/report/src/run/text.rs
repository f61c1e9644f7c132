//! A run's table for people: one set of columns for all curves, a heading above each curve, words below its rows.

use crate::figure::{self, Scale};
use crate::grid::{Grid, Side};
use crate::run::{legend, words};
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone};
use faultline_model::summary::{Curve, Point, RunSummary};
use textwrap::core::display_width;

/// The whole table with head, warnings and legend.
pub(crate) fn text(summary: &RunSummary, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    head(&mut sheet, summary);
    curves(&mut sheet, summary);
    warnings(&mut sheet, summary);
    explain(&mut sheet, summary);
    sheet.text
}

/// How much stands in a row, from most to least; the first that fits is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Interval of rate, speed-up and efficiency.
    Wide,
    /// Interval of rate and efficiency.
    Medium,
    /// Half-widths in place of intervals.
    Narrow,
}

fn head(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    let signs = sheet.style.signs();
    let title = format!("{} {} {}", words::title(summary, signs), signs.dash, words::one_line(&summary.machine));
    sheet.paragraph(Some(Tone::Title), "", &title);
    sheet.paragraph(None, "", &words::standing(summary, signs));
    sheet.line("");
}

fn curves(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    if summary.curves.is_empty() {
        sheet.line("No workload has been run.\n");
        return;
    }
    let lines = fitting(summary, sheet.style);
    let (headings, mut rows) = lines.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let headings = sheet.style.paint(Tone::Title, headings);
    sheet.line(&headings);
    for curve in &summary.curves {
        let (own, others) = rows.split_at(curve.points.len());
        rows = others;
        write_curve(sheet, summary, curve, own);
    }
}

/// Name and verdict, what it does in which unit, then the points.
fn write_curve(sheet: &mut Sheet<'_>, summary: &RunSummary, curve: &Curve, rows: &[String]) {
    let signs = sheet.style.signs();
    let name = words::one_line(&curve.case.to_string());
    let mode = words::tasks_are(curve.case.mode);
    let verdict = words::verdict(summary, curve, signs);
    let tone = words::verdict_tone(curve.verdict);
    let title = sheet.style.paint(Tone::Title, &name);
    let dot = signs.dot;
    sheet.line("");
    if display_width(&format!("{name} {dot} {mode} {dot} {verdict}")) <= sheet.style.text_width() {
        let verdict = sheet.style.paint(tone, &verdict);
        sheet.line(&format!("{title} {dot} {mode} {dot} {verdict}"));
    } else {
        sheet.line(&format!("{title} {dot} {mode}"));
        sheet.paragraph(Some(tone), "  ", &verdict);
    }
    let unit = format!("{}, {} is better", words::one_line(&curve.unit), curve.direction.word());
    let about = if curve.text.is_empty() { unit } else { format!("{}; {unit}", words::one_line(&curve.text)) };
    sheet.paragraph(Some(Tone::Quiet), "  ", &about);
    for (point, row) in curve.points.iter().zip(rows) {
        write_point(sheet, point, row);
    }
}

/// A row of figures, or words in its place; and what failed besides.
fn write_point(sheet: &mut Sheet<'_>, point: &Point, row: &str) {
    let signs = sheet.style.signs();
    let shortfall = words::shortfall(point, signs);
    match (point.value.is_some(), shortfall) {
        (true, None) => sheet.line(row),
        (true, Some(words)) => {
            sheet.line(row);
            sheet.paragraph(Some(Tone::Bad), "         ", &words);
        }
        (false, words) => {
            let text = format!("{:>7}  {}", point.tasks, words.unwrap_or_default());
            sheet.hanging(Some(Tone::Bad), "", "         ", &text);
        }
    }
}

fn warnings(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    if summary.warnings.is_empty() {
        return;
    }
    sheet.line("");
    let title = sheet.style.paint(Tone::Title, "Warnings");
    sheet.line(&title);
    for warning in &summary.warnings {
        let code = sheet.style.paint(Tone::Middling, warning.code.word());
        let cells = words::cells(&warning.cells).map_or_else(String::new, |cells| format!(" [{cells}]"));
        sheet.line(&format!("  {code}"));
        sheet.paragraph(None, "    ", &format!("{}{cells}", words::one_line(&warning.text)));
    }
}

fn explain(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    if summary.curves.is_empty() {
        return;
    }
    sheet.line("");
    for sentence in legend::sentences(summary) {
        sheet.paragraph(Some(Tone::Quiet), "", &sentence);
    }
}

/// The lines of the grid with the most detail that fits: headings, then a line per point of every curve.
fn fitting(summary: &RunSummary, style: &Style) -> Vec<String> {
    let room = style.width.unwrap_or(usize::MAX);
    let fits = |lines: &[String]| lines.iter().all(|line| display_width(line) <= room);
    for detail in [Detail::Wide, Detail::Medium] {
        let lines = grid(summary, detail, style.signs()).lines();
        if fits(&lines) {
            return lines;
        }
    }
    grid(summary, Detail::Narrow, style.signs()).lines()
}

fn grid(summary: &RunSummary, detail: Detail, signs: &Signs) -> Grid {
    let mut columns = vec![("  tasks", Side::Right), ("rate", Side::Right)];
    columns.push(("interval", if detail == Detail::Narrow { Side::Right } else { Side::Left }));
    columns.push(("speed-up", Side::Right));
    if detail == Detail::Wide {
        columns.push(("interval", Side::Left));
    }
    columns.push(("efficiency", Side::Right));
    if detail != Detail::Narrow {
        columns.push(("interval", Side::Left));
    }
    columns.extend([("system", Side::Right), ("n", Side::Right)]);
    let mut grid = Grid::new(&columns);
    for curve in &summary.curves {
        for point in &curve.points {
            grid.row(row(curve, point, detail, columns.len(), signs));
        }
    }
    grid
}

/// A point's cells; without a figure, empty ones that [`write_point`] puts words in place of.
fn row(curve: &Curve, point: &Point, detail: Detail, columns: usize, signs: &Signs) -> Vec<String> {
    let none = || signs.none.to_owned();
    let mut row = vec![point.tasks.to_string()];
    let Some(value) = point.value else {
        row.resize(columns, String::new());
        return row;
    };
    let scale = Scale::of(value.median, &curve.unit, signs);
    row.push(scale.quantity(value.median));
    row.push(match detail {
        Detail::Narrow => figure::relative_margin(&value, signs),
        _ => scale.span(value.low, value.high, signs),
    });
    let base = curve.base_tasks == Some(point.tasks);
    row.push(if base { "base".to_owned() } else { point.speedup.map_or_else(none, |s| figure::plain(s.median)) });
    if detail == Detail::Wide {
        let span = |s: faultline_model::summary::Estimate| Scale::of(s.median, "", signs).span(s.low, s.high, signs);
        row.push(if base { String::new() } else { point.speedup.map_or_else(String::new, span) });
    }
    let efficiency = point.efficiency.filter(|_| !base);
    if detail == Detail::Narrow {
        row.push(efficiency.map_or_else(none, |e| figure::percent_margin(&e, signs)));
    } else {
        row.push(efficiency.map_or_else(none, |e| figure::percent(e.median)));
        row.push(efficiency.map_or_else(String::new, |e| figure::percent_span(&e, signs)));
    }
    row.push(point.system_share.map_or_else(none, |s| figure::percent_margin(&s, signs)));
    row.push(value.n.to_string());
    row
}
