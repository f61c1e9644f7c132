//! A run in text, Markdown, CSV and JSON: a row per curve and number of tasks, warnings, and a
//! legend. A command at one number of tasks has a table of its own.

pub(crate) mod columns;
mod command;
pub(crate) mod words;

use crate::escape::one_line;
use crate::format::Format;
use crate::sentences::worded_run;
use crate::sheet::{Sheet, in_format};
use crate::style::{Style, Tone};
use crate::{lens, names};
use faultline_stats::estimate::Estimate;
use faultline_stats::summary::{Curve, Point, RunSummary};
use std::collections::BTreeSet;
use textwrap::core::display_width;

/// Indent of words below a row.
const BELOW: &str = "         ";

/// A run: for each curve a row per number of tasks. A lens run: for each case a row per number of
/// CPUs, then the lines and the code with the most transfers.
///
/// JSON is the summary with its sentences and `format`.
pub fn run_table(summary: &RunSummary, format: Format, style: &Style) -> String {
    if let Some(lens) = &summary.lens {
        return lens::lens_table(summary, lens, format, style);
    }
    in_format(
        format,
        style,
        |sheet| body(sheet, summary),
        || worded_run(summary),
        || columns::table(summary, |_| true).csv(),
    )
}

fn body(mut sheet: Sheet<'_>, summary: &RunSummary) -> String {
    words::head(&mut sheet, summary);
    sheet.space();
    let points = summary.curves.iter().map(|curve| curve.points.len()).sum::<usize>();
    let alone = summary.command.as_ref().filter(|command| !command.figures.is_empty() || points == 1);
    if let (None, Some(several)) = (alone, &summary.command) {
        command::name(&mut sheet, several);
        sheet.space();
    }
    if let Some(command) = alone {
        command::figures(&mut sheet, summary, command);
    } else if summary.curves.is_empty() {
        sheet.line("No workload has been run.");
    } else if sheet.is_markdown() {
        sheet.table(&columns::table(summary, |_| true));
    } else {
        curves(&mut sheet, summary);
    }
    if !summary.warnings.is_empty() {
        sheet.heading("Warnings");
        words::warnings(&mut sheet, summary);
    }
    if let Some(command) = alone {
        if !command.figures.is_empty() {
            sheet.legend(command::legend(summary));
        }
    } else if !summary.curves.is_empty() {
        sheet.legend(legend(summary));
    }
    sheet.text
}

/// The curves of text: one set of columns for all, a heading above each curve, words below its
/// rows.
fn curves(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    let (_, grid) = columns::table(summary, has_figure).fitting(sheet.style);
    let folded = grid.folded(sheet.style.width);
    sheet.headings(folded.headings.as_deref());
    let mut rows = folded.rows.into_iter().map(|lines| lines.join("\n"));
    for curve in &summary.curves {
        sheet.space();
        curve_heading(sheet, curve);
        for point in &curve.points {
            let row = if has_figure(point) { rows.next() } else { None };
            write_point(sheet, point, row.as_deref());
        }
    }
}

/// Name and verdict, the reason for a withheld verdict, and the operation with its unit.
fn curve_heading(sheet: &mut Sheet<'_>, curve: &Curve) {
    let signs = sheet.style.signs();
    let (name, mode, dot) = (one_line(&curve.case.to_string()), names::tasks_are(curve.case.mode), signs.dot);
    let verdict = words::verdict(curve, signs);
    let tone = words::verdict_tone(curve.verdict.verdict);
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
}

/// True for a point with a row of figures; others have words.
fn has_figure(point: &Point) -> bool {
    point.value.is_some()
}

/// A row of figures, or words in its place, then the failures and the figures of partners.
fn write_point(sheet: &mut Sheet<'_>, point: &Point, row: Option<&str>) {
    let signs = sheet.style.signs();
    let shortfall = words::shortfall(point, signs);
    match row {
        Some(row) => {
            sheet.line(row);
            if let Some(words) = shortfall {
                sheet.paragraph(Some(Tone::Bad), BELOW, &words);
            }
        }
        None => sheet.labelled(Some(Tone::Bad), &format!("{:>7}  ", point.tasks), &shortfall.unwrap_or_default()),
    }
    for end in words::ends(point, signs) {
        sheet.paragraph(Some(Tone::Quiet), BELOW, &end);
    }
}

/// The legend, with the coverage of the run's intervals.
pub(crate) fn legend(summary: &RunSummary) -> Vec<String> {
    let mut sentences = vec!["rate (or time): median over n repeats; each repeat is a separate execution.".to_owned()];
    sentences.extend(coverage(summary));
    sentences.push(
        "speed-up: relative to the base, the curve's smallest number of tasks; efficiency: speed-up divided by the increase in \
         tasks, 100 % is ideal; system: share of the tasks' own CPU time that was spent in the kernel, ± the longer half-width \
         of its confidence interval."
            .to_owned(),
    );
    sentences
}

/// The coverage of the intervals: `interval: … with a coverage of 93.8 % (n=5)`.
fn coverage(summary: &RunSummary) -> Option<String> {
    let points = || summary.curves.iter().flat_map(|curve| &curve.points);
    let values = coverages(points().filter_map(|point| point.value));
    if values.is_empty() {
        return None;
    }
    let derived =
        coverages(points().filter(|point| point.speedup != base_estimate(point)).filter_map(|p| p.efficiency));
    let mut sentence = format!("interval: confidence interval of the median, with a coverage of {}", list(&values));
    if !derived.is_empty() && derived != values {
        sentence.push_str(&format!("; for speed-up and efficiency of {}", list(&derived)));
    }
    Some(sentence + ".")
}

/// The speed-up of a base, which is 1 by definition and has no coverage.
fn base_estimate(point: &Point) -> Option<Estimate> {
    point.speedup.filter(|speedup| speedup.low == speedup.high && speedup.median == 1.0)
}

/// Numbers of repeats with coverages in tenths of a percent, each pair once.
fn coverages(estimates: impl Iterator<Item = Estimate>) -> BTreeSet<(u32, u32)> {
    estimates.map(|estimate| (estimate.n, (estimate.coverage * 1000.0).round() as u32)).collect()
}

fn list(pairs: &BTreeSet<(u32, u32)>) -> String {
    let words: Vec<String> =
        pairs.iter().map(|(n, tenths)| format!("{}.{} % (n={n})", tenths / 10, tenths % 10)).collect();
    words.join(", ")
}
