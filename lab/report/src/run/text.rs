//! A run's table for people: one set of columns for all curves, a heading above each curve, words below its rows.

use crate::introduction;
use crate::one_line::one_line;
use crate::run::{columns, legend, words};
use crate::sentences;
use crate::sheet::Sheet;
use crate::style::{Style, Tone};
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

fn head(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    let signs = sheet.style.signs();
    let title = format!("{} {} {}", introduction::title(summary, signs), signs.dash, one_line(&summary.machine));
    sheet.paragraph(Some(Tone::Title), "", &title);
    sheet.paragraph(None, "", &introduction::standing(summary, signs));
    sheet.line("");
}

fn curves(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    if summary.curves.is_empty() {
        sheet.line("No workload has been run.\n");
        return;
    }
    let (_, grid) = columns::table(summary, has_figure).fitting(sheet.style);
    let folded = grid.folded(sheet.style.width);
    sheet.headings(folded.headings.as_deref());
    let mut rows = folded.rows.into_iter().map(|lines| lines.join("\n"));
    for curve in &summary.curves {
        write_curve(sheet, curve, &mut rows);
    }
}

/// Name and verdict, why there is none, what it does in which unit, then the points.
fn write_curve(sheet: &mut Sheet<'_>, curve: &Curve, rows: &mut impl Iterator<Item = String>) {
    let signs = sheet.style.signs();
    let name = one_line(&curve.case.to_string());
    let mode = introduction::tasks_are(curve.case.mode);
    let verdict = words::verdict(curve, signs);
    let tone = words::verdict_tone(curve.verdict.verdict);
    let dot = signs.dot;
    sheet.line("");
    if display_width(&format!("{name} {dot} {mode} {dot} {verdict}")) <= sheet.style.text_width() {
        let title = sheet.style.paint(Tone::Title, &name);
        let verdict = sheet.style.paint(tone, &verdict);
        sheet.line(&format!("{title} {dot} {mode} {dot} {verdict}"));
    } else {
        sheet.titled(&name, &format!(" {dot} {mode}"));
        sheet.paragraph(Some(tone), "  ", &verdict);
    }
    if let Some(reason) = words::verdict_reason(curve, signs) {
        sheet.paragraph(None, "  ", &reason);
    }
    let unit = format!("{}, {} is better", one_line(&curve.unit), curve.direction.word());
    let about = if curve.text.is_empty() { unit } else { format!("{}; {unit}", one_line(&curve.text)) };
    sheet.paragraph(Some(Tone::Quiet), "  ", &about);
    for point in &curve.points {
        let row = if has_figure(point) { rows.next() } else { None };
        write_point(sheet, point, row.as_deref());
    }
}

/// Whether a point has a row of figures, and not words in its place.
fn has_figure(point: &Point) -> bool {
    point.value.is_some()
}

/// A row of figures, or words in its place; and what failed besides.
fn write_point(sheet: &mut Sheet<'_>, point: &Point, row: Option<&str>) {
    let signs = sheet.style.signs();
    let shortfall = words::shortfall(point, signs);
    match (row, shortfall) {
        (Some(row), None) => sheet.line(row),
        (Some(row), Some(words)) => {
            sheet.line(row);
            sheet.paragraph(Some(Tone::Bad), "         ", &words);
        }
        (None, words) => {
            let text = format!("{:>7}  {}", point.tasks, words.unwrap_or_default());
            sheet.hanging(Some(Tone::Bad), "", "         ", &text);
        }
    }
    for end in words::ends(point, signs) {
        sheet.paragraph(Some(Tone::Quiet), "         ", &end);
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
        let code = sheet.style.paint(Tone::Middling, warning.code().word());
        let cells = introduction::cells(&warning.cells).map_or_else(String::new, |cells| format!(" [{cells}]"));
        sheet.line(&format!("  {code}"));
        sheet.paragraph(None, "    ", &format!("{}{cells}", one_line(&sentences::warning(warning))));
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
