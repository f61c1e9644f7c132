//! The callers behind a sample of the transfers: call chains of the top lines, and folded stacks of
//! all.

use crate::escape::one_line;
use crate::lens::words;
use crate::style::Signs;
use crate::table::{self, Form, ResultTable};
use crate::{figure, names};
use faultline_record::lens::callers::{CallersFigures, ChainFigures, LineCallers};
use faultline_stats::lens::summary::LensCurve;
use faultline_stats::summary::RunSummary;
use maud::html as markup;

/// Chains per line in text and Markdown.
const CHAINS: usize = 2;

/// Functions of a chain in tables, beginning with the one that caused the transfer.
const FUNCTIONS: usize = 8;

/// The name of unknown callers.
const UNKNOWN: &str = "[unknown]";

/// A call chain of a line.
pub(crate) struct Row<'a> {
    figures: &'a CallersFigures,
    line: &'a LineCallers,
    chain: &'a ChainFigures,
    is_first: bool,
}

/// The heading of the table: `callers of the top lines at 8 CPUs, by 3107 samples, one in 64
/// transfers; …`.
pub(crate) fn heading(figures: &CallersFigures, cpus: u32) -> String {
    format!("callers of the top lines at {}, by {}", words::cpus(cpus), basis(figures))
}

/// The sample: `3107 samples, one in 64 transfers; all callers known for 99.8 %`.
pub(crate) fn basis(figures: &CallersFigures) -> String {
    let sample = match figures.one_in {
        1 => "all transfers".to_owned(),
        many => format!("one in {many} transfers"),
    };
    format!("{} samples, {sample}; all callers known for {}", figures.samples, figure::percent(figures.whole_share))
}

type Column<'a> = table::Column<Row<'a>>;

/// The first chains of the top lines, for text and Markdown.
pub(crate) fn table(figures: &CallersFigures) -> ResultTable<Row<'_>> {
    table_of(figures, CHAINS)
}

/// All chains of the top lines, for the page.
pub(crate) fn whole_table(figures: &CallersFigures) -> ResultTable<Row<'_>> {
    table_of(figures, usize::MAX).sortable()
}

fn table_of<'a>(figures: &'a CallersFigures, most: usize) -> ResultTable<Row<'a>> {
    let of_line = |line: &'a LineCallers| {
        let chains = line.chains.iter().take(most).enumerate();
        chains.map(move |(index, chain)| Row { figures, line, chain, is_first: index == 0 })
    };
    ResultTable::new(columns(), figures.lines.iter().flat_map(of_line))
}

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("data", |row, _| data(row))
            .on(Form::ROOMY)
            .row_heading()
            .html(|row| markup! { (one_line(&row.line.name)) }),
        Column::right("of its samples", |row, _| share(row.line, row.chain)),
        Column::right("samples", |row, _| row.chain.samples.to_string())
            .on(Form::ROOMY)
            .exact(|row| Some(row.chain.samples as f64)),
        Column::left("function and its callers", |row, signs| chain(row.figures, row.chain, signs))
            .on(Form::ROOMY)
            .class("words"),
        Column::left("data: function and its callers", |row, signs| {
            let separator = if row.is_first { ": " } else { "" };
            format!("{}{separator}{}", data(row), chain(row.figures, row.chain, signs))
        })
        .on(Form::NARROW),
    ]
}

/// The line's data, in the row of its first chain.
fn data(row: &Row<'_>) -> String {
    if row.is_first { one_line(&row.line.name) } else { String::new() }
}

/// A chain's share of its line's samples.
fn share(line: &LineCallers, chain: &ChainFigures) -> String {
    figure::percent(chain.samples as f64 / line.samples as f64)
}

/// A call chain: `down_read ← lock_mm ← do_user_addr_fault ← …`.
pub(crate) fn chain(figures: &CallersFigures, chain: &ChainFigures, signs: &Signs) -> String {
    let mut names: Vec<String> =
        chain.frames.iter().take(FUNCTIONS).map(|&frame| one_line(name(figures, frame))).collect();
    let more = chain.frames.len().saturating_sub(FUNCTIONS);
    names.extend((more > 0).then(|| format!("{more} more")));
    names.extend((!chain.is_whole).then(|| UNKNOWN.to_owned()));
    names.join(&format!(" {} ", signs.called_by))
}

fn name(figures: &CallersFigures, frame: u32) -> &str {
    figures.frames.get(frame as usize).map_or(UNKNOWN, |frame| frame.shown())
}

/// Folded stacks for flame-graph tools: a line per chain with the case, the functions from the
/// outermost inwards, and the transfers that its samples represent. `None` if no case of the run
/// has callers.
pub fn folded(summary: &RunSummary) -> Option<String> {
    let curves = summary.lens.iter().flat_map(|lens| &lens.curves);
    let lines: Vec<String> = curves.flat_map(folded_curve).collect();
    (!lines.is_empty()).then(|| lines.concat())
}

fn folded_curve(curve: &LensCurve) -> Vec<String> {
    let of_point = |cpus, figures: &CallersFigures| -> Vec<String> {
        let mode = names::tasks_are(curve.case.mode);
        let case = foldable(&format!("{} {mode} @{cpus}", curve.case));
        let line = |chain: &ChainFigures| {
            let unknown = (!chain.is_whole).then_some(UNKNOWN);
            let outermost_first = chain.frames.iter().rev().map(|&frame| name(figures, frame));
            let functions: Vec<String> = unknown.into_iter().chain(outermost_first).map(foldable).collect();
            format!("{case};{} {}\n", functions.join(";"), chain.samples * figures.one_in)
        };
        figures.chains.iter().map(line).collect()
    };
    curve.points.iter().flat_map(|point| point.callers.iter().flat_map(move |of| of_point(point.cpus, of))).collect()
}

/// A name without the separator of names.
fn foldable(name: &str) -> String {
    one_line(name).replace(';', ":")
}
