//! A lens run's table for people.

use crate::introduction;
use crate::lens::{callers, points, tables, types, words};
use crate::one_line::one_line;
use crate::sentences;
use crate::sheet::Sheet;
use crate::style::{Style, Tone};
use faultline_model::lens::summary::{LensCurve, LensPoint, LensSummary};
use faultline_model::summary::RunSummary;

/// Lines, types and places in code shown of each case.
const SHOWN: usize = 10;

/// The whole table with head, warnings and legend.
pub(crate) fn text(summary: &RunSummary, lens: &LensSummary, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    head(&mut sheet, summary, lens);
    if lens.curves.is_empty() {
        sheet.line("Nothing was planned.");
        return sheet.text;
    }
    let (_, grid) = points::table(summary, &lens.curves, has_figure).fitting(style);
    let folded = grid.folded(style.width);
    sheet.headings(folded.headings.as_deref());
    let mut rows = folded.rows.into_iter().map(|lines| lines.join("\n"));
    for curve in &lens.curves {
        write_curve(&mut sheet, curve, &mut rows);
    }
    warnings(&mut sheet, summary);
    sheet.line("");
    for sentence in words::legend(lens) {
        sheet.paragraph(Some(Tone::Quiet), "", sentence);
    }
    sheet.text
}

fn head(sheet: &mut Sheet<'_>, summary: &RunSummary, lens: &LensSummary) {
    let signs = sheet.style.signs();
    let machine = one_line(&summary.machine);
    let title = format!("{} {} {machine}", introduction::title(summary, signs), signs.dash);
    sheet.paragraph(Some(Tone::Title), "", &title);
    sheet.paragraph(None, "", &introduction::standing(summary, signs));
    sheet.paragraph(None, "", &words::subject(lens, signs));
    sheet.line("");
}

fn write_curve(sheet: &mut Sheet<'_>, curve: &LensCurve, rows: &mut impl Iterator<Item = String>) {
    let dot = sheet.style.signs().dot;
    let name = one_line(&curve.case.to_string());
    sheet.line("");
    let mode = introduction::tasks_are(curve.case.mode);
    sheet.titled(&name, &format!(" {dot} {mode} {dot} per {}", one_line(&curve.operation)));
    sheet.paragraph(Some(words::tone(curve)), "  ", &words::verdict(curve));
    if !curve.text.is_empty() {
        sheet.paragraph(Some(Tone::Quiet), "  ", &one_line(&curve.text));
    }
    for point in &curve.points {
        let row = if has_figure(point) { rows.next() } else { None };
        write_point(sheet, point, row.as_deref());
    }
    if let Some(point) = words::shown_point(curve) {
        top(sheet, &curve.operation, point);
    }
}

/// Whether a point has a row of figures, and not words in its place.
fn has_figure(point: &LensPoint) -> bool {
    point.transfers.is_some()
}

/// A row of figures, and in words what is amiss; without a figure, the words in its place.
fn write_point(sheet: &mut Sheet<'_>, point: &LensPoint, row: Option<&str>) {
    const INDENT: &str = "         ";
    let amiss = words::amiss(point);
    if let Some(row) = row {
        sheet.line(row);
        for words in amiss {
            sheet.paragraph(Some(Tone::Bad), INDENT, &words);
        }
        return;
    }
    let text = format!("{:>7}  {}", point.cpus, amiss.join("; "));
    for line in sheet.style.wrap(&text, "", INDENT) {
        let painted = sheet.style.paint(Tone::Bad, &line);
        sheet.line(&painted);
    }
}

fn top(sheet: &mut Sheet<'_>, operation: &str, point: &LensPoint) {
    let at = words::cpus(point.cpus);
    for (index, words) in words::beside(operation, point).iter().enumerate() {
        if index == 0 {
            sheet.line("");
        }
        sheet.paragraph(Some(Tone::Quiet), "  ", words);
    }
    if !point.lines.is_empty() {
        let heading = format!("top lines at {at}, of {} that moved", point.lines_moved);
        sheet.table(&heading, &tables::lines(&point.lines, SHOWN).grid(tables::form(sheet.style), sheet.style.signs()));
    }
    if let Some(figures) = point.callers.as_ref().filter(|figures| !figures.lines.is_empty()) {
        let grid = callers::table(figures).grid(tables::form(sheet.style), sheet.style.signs());
        sheet.table(&callers::heading(figures, point.cpus), &grid);
    }
    if let Some(figures) = &point.types {
        let grid = types::table(types::rows(figures, SHOWN)).grid(tables::form(sheet.style), sheet.style.signs());
        sheet.table(&types::heading(figures, point.cpus), &grid);
    }
    if !point.code.is_empty() {
        sheet.table(
            &format!("top code at {at}"),
            &tables::code(&point.code, SHOWN).grid(tables::form(sheet.style), sheet.style.signs()),
        );
    }
}

fn warnings(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    for warning in &summary.warnings {
        let cells = introduction::cells(&warning.cells).map_or_else(String::new, |cells| format!(" [{cells}]"));
        sheet.line("");
        let text = format!("{}: {}{cells}", warning.code().word(), one_line(&sentences::warning(warning)));
        sheet.paragraph(Some(Tone::Middling), "", &text);
    }
}
