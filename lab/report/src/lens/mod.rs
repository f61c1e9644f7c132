//! Lens runs in text, Markdown, CSV and JSON: transfers per case and number of CPUs, top lines,
//! types, callers and code.

pub(crate) mod answer;
mod calibration;
pub(crate) mod callers;
pub(crate) mod compare;
mod gate;
pub(crate) mod layout;
pub(crate) mod points;
pub(crate) mod proposal;
pub(crate) mod seeds;
pub(crate) mod types;
pub(crate) mod words;

pub use calibration::lens_calibration;
pub use callers::folded;
pub use compare::lens_compare_table;
pub(crate) use compare::{difference_words, totals};
pub use gate::budget_table;
pub use types::lens_types_table;

use crate::escape::one_line;
use crate::format::Format;
use crate::names;
use crate::run::words::{head, warnings};
use crate::sentences::worded_run;
use crate::sheet::{Sheet, in_format};
use crate::style::{Style, Tone};
use faultline_stats::lens::summary::{LensCurve, LensPoint, LensSummary};
use faultline_stats::summary::RunSummary;

/// Lines, types and places in code shown per case.
const SHOWN: usize = 10;

/// Indent of words below a row.
const BELOW: &str = "         ";

/// A lens run: for each case a row per number of CPUs, then the lines and the code with the most
/// transfers.
///
/// JSON is the run's summary. CSV has a record per number of CPUs, without lines and code.
pub(crate) fn lens_table(summary: &RunSummary, lens: &LensSummary, format: Format, style: &Style) -> String {
    in_format(
        format,
        style,
        |sheet| body(sheet, summary, lens),
        || worded_run(summary),
        || points::table(summary, &lens.curves, |_| true).csv(),
    )
}

fn body(mut sheet: Sheet<'_>, summary: &RunSummary, lens: &LensSummary) -> String {
    head(&mut sheet, summary);
    sheet.paragraph(None, "", &words::subject(lens, sheet.style.signs()));
    sheet.space();
    if lens.curves.is_empty() {
        sheet.line("Nothing was planned.");
        return sheet.text;
    }
    let (_, grid) = points::table(summary, &lens.curves, has_figure).fitting(sheet.style);
    let folded = grid.folded(sheet.style.width);
    let mut rows = folded.rows.into_iter().map(|lines| lines.join("\n"));
    if !sheet.is_markdown() {
        sheet.headings(folded.headings.as_deref());
    }
    for curve in &lens.curves {
        sheet.space();
        case_heading(&mut sheet, curve);
        if sheet.is_markdown() {
            sheet.table(&points::table(summary, std::slice::from_ref(curve), |_| true));
        } else {
            for point in &curve.points {
                let row = if has_figure(point) { rows.next() } else { None };
                write_point(&mut sheet, point, row.as_deref());
            }
        }
        for words in words::withheld(curve) {
            sheet.paragraph(Some(Tone::Quiet), BELOW, &words);
        }
        if let Some(point) = words::shown_point(curve) {
            top(&mut sheet, &curve.operation, point);
        }
    }
    if !summary.warnings.is_empty() {
        sheet.heading("Warnings");
        warnings(&mut sheet, summary);
    }
    sheet.legend(words::legend(lens));
    sheet.text
}

fn case_heading(sheet: &mut Sheet<'_>, curve: &LensCurve) {
    let dot = sheet.style.signs().dot;
    let name = one_line(&curve.case.to_string());
    let mode = names::tasks_are(curve.case.mode);
    sheet.titled(&name, &format!(" {dot} {mode} {dot} per {}", one_line(&curve.operation)));
    sheet.paragraph(Some(words::tone(curve)), "  ", &words::verdict(curve));
    if !curve.text.is_empty() {
        sheet.paragraph(Some(Tone::Quiet), "  ", &one_line(&curve.text));
    }
}

/// True for a point with a row of figures; others have words.
fn has_figure(point: &LensPoint) -> bool {
    point.transfers.is_some()
}

/// A row of figures with its problems below, or the problems in its place.
fn write_point(sheet: &mut Sheet<'_>, point: &LensPoint, row: Option<&str>) {
    let amiss = words::amiss(point);
    let Some(row) = row else {
        return sheet.labelled(Some(Tone::Bad), &format!("{:>7}  ", point.cpus), &amiss.join("; "));
    };
    sheet.line(row);
    for words in amiss {
        sheet.paragraph(Some(Tone::Bad), BELOW, &words);
    }
}

/// The top lines, callers, types and code of a point.
fn top(sheet: &mut Sheet<'_>, operation: &str, point: &LensPoint) {
    let at = words::cpus(point.cpus);
    let form = points::form(sheet.style);
    sheet.space();
    for words in words::beside(operation, point) {
        sheet.paragraph(Some(Tone::Quiet), "  ", &words);
    }
    if !point.processes.is_empty() {
        sheet.subtable(&format!("by program at {at}"), &points::processes(&point.processes), form);
    }
    // A few lines say as much by themselves.
    if point.lines_moved > SHOWN as u64 && !point.objects.is_empty() {
        sheet.subtable(&format!("top objects at {at}"), &points::objects(&point.objects, SHOWN), form);
    }
    if !point.lines.is_empty() {
        let heading = format!("top lines at {at}, of {} that moved", point.lines_moved);
        sheet.subtable(&heading, &points::lines(&point.lines, SHOWN), form);
    }
    if let Some(figures) = point.callers.as_ref().filter(|figures| !figures.lines.is_empty()) {
        sheet.subtable(&callers::heading(figures, point.cpus), &callers::table(figures), form);
    }
    if let Some(figures) = &point.types {
        sheet.subtable(&types::heading(figures, point.cpus), &types::table(types::rows(figures, SHOWN)), form);
        let all = point.transfers.as_ref().map_or(0.0, |transfers| transfers.median);
        for of in types::worth_proposing(figures, all) {
            proposal::write(sheet, of, operation);
        }
    }
    if !point.code.is_empty() {
        sheet.subtable(&format!("top code at {at}"), &points::code(&point.code, SHOWN), form);
    }
}
