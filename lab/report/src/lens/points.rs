//! The tables of a lens run: a row per case and number of CPUs, top lines, top code. In CSV,
//! numbers are raw and per operation, and shares are ratios from 0 to 1.

use crate::escape::one_line;
use crate::lens::{seeds, words};
use crate::page::element;
use crate::style::{Signs, Style, UNICODE};
use crate::table::{self, Attributes, Form, ResultTable, number};
use crate::{figure, sentences};
use faultline_stats::estimate::Estimate;
use faultline_stats::lens::code_site::CodeSite;
use faultline_stats::lens::summary::{
    InterruptFigures, LensCurve, LensPoint, LineFigures, ObjectFigures, ProcessFigures, Span,
};
use faultline_stats::summary::RunSummary;
use maud::{Markup, html as markup};

/// A point with its curve.
pub(crate) struct Row<'a> {
    summary: &'a RunSummary,
    curve: &'a LensCurve,
    point: &'a LensPoint,
}

/// The table of the points that are `wanted`.
pub(super) fn table<'a>(
    summary: &'a RunSummary,
    curves: &'a [LensCurve],
    wanted: fn(&LensPoint) -> bool,
) -> ResultTable<Row<'a>> {
    let points = curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let rows = points.filter(|(_, point)| wanted(point)).map(|(curve, point)| Row { summary, curve, point });
    ResultTable::new(columns(false, curves.iter().any(has_ranges)), rows)
}

/// The table of one case, for its card on the page.
pub(crate) fn curve_table<'a>(summary: &'a RunSummary, curve: &'a LensCurve) -> ResultTable<Row<'a>> {
    let has_seeds = curve.points.iter().any(|point| point.seeds.iter().any(Option::is_some));
    ResultTable::new(
        columns(has_seeds, has_ranges(curve)),
        curve.points.iter().map(|point| Row { summary, curve, point }),
    )
    .row_attributes(|row| Attributes::default().with("data-cpus", row.point.cpus))
}

fn has_ranges(curve: &LensCurve) -> bool {
    curve.points.iter().any(|point| point.speedup_range.is_some())
}

type Column<'a> = table::Column<Row<'a>>;

/// `has_seeds`, `has_ranges`: whether a row has seeds, or the range of a predicted speed-up.
fn columns<'a>(has_seeds: bool, has_ranges: bool) -> Vec<Column<'a>> {
    vec![
        Column::csv_only("run", |row| row.summary.run.to_string()),
        Column::csv_only("label", |row| row.summary.label.clone().unwrap_or_default()),
        Column::csv_only("started_utc", |row| figure::iso_time(row.summary.started)),
        Column::csv_only("workload", |row| row.curve.case.workload.clone()),
        Column::csv_only("variant", |row| row.curve.case.variant.clone()),
        Column::csv_only("mode", |row| row.curve.case.mode.word().to_owned()),
        Column::csv_only("operation", |row| row.curve.operation.clone()),
        Column::right("CPUs", |row, _| row.point.cpus.to_string()).indented(3).csv_as_shown("cpus").row_heading(),
        Column::csv_only("n_repeats", |row| row.point.transfers.map_or(0, |transfers| transfers.n).to_string()),
        Column::csv_option("operations", |row| row.point.operations),
        Column::right("transfers", |row, _| row.figure(|transfers| figure::transfers(transfers.median)))
            .number("transfers_per_operation_median", |row| row.point.transfers.map(|transfers| transfers.median)),
        Column::left("interval", |row, signs| row.figure(|transfers| interval(transfers, signs)))
            .on(Form::ROOMY)
            .html(|row| element::interval(row.point.transfers.filter(|transfers| transfers.n > 1), "")),
        Column::csv_option("transfers_per_operation_low", |row| row.point.transfers.map(|e| e.low)),
        Column::csv_option("transfers_per_operation_high", |row| row.point.transfers.map(|e| e.high)),
        Column::csv_option("transfers_coverage_ratio", |row| row.point.transfers.map(|e| e.coverage)),
        Column::right("false sharing", |row, signs| row.part(row.point.false_share, figure::percent, signs))
            .on(Form::ROOMY)
            .number("false_sharing_ratio", |row| row.point.false_share),
        Column::right("interrupts", |row, signs| {
            row.part(row.interrupts(|figures| figures.transfers), figure::transfers, signs)
        })
        .on(Form::ROOMY)
        .number("interrupt_transfers_per_operation_median", |row| row.interrupts(|figures| figures.transfers)),
        Column::csv_option("interrupt_instructions_per_operation_median", |row| {
            row.interrupts(|figures| figures.instructions)
        }),
        Column::page_right("from memory", |row: &Row<'_>| {
            row.point.capacity_misses.map_or_else(element::none, |misses| element::transfers(misses.median))
        })
        .csv("capacity_misses_per_operation_median", |row| median(row.point.capacity_misses)),
        Column::csv_option("faults_per_operation_median", |row| row.point.faults),
        Column::right("overlap", |row, signs| {
            let several = row.point.overlap.filter(|_| row.point.cpus > 1);
            row.part(several, figure::percent, signs)
        })
        .on(Form::ROOMY)
        .number("overlap_ratio", |row| row.point.overlap),
        Column::right("instructions", |row, signs| {
            row.part(row.point.instructions, |count| figure::quantity(count.median, "", signs), signs)
        })
        .number("instructions_per_operation_median", |row| row.point.instructions.map(|count| count.median)),
        Column::right("predicted", |row, signs| {
            let unit = format!("{}/s", row.curve.operation);
            row.part(row.point.rate, |rate| figure::quantity(rate.median, &unit, signs), signs)
        })
        .number("predicted_operations_per_s_median", |row| row.point.rate.map(|rate| rate.median)),
        Column::right("speed-up", |row, signs| row.part(row.point.speedup, figure::plain, signs))
            .number("predicted_speedup_ratio", |row| row.point.speedup),
        Column::left("interval", |row, signs| row.part(row.point.speedup_range, |range| span(range, signs), signs))
            .on(Form::ROOMY)
            .when(has_ranges),
        Column::csv_option("predicted_operations_per_s_low", |row| row.point.rate_range.map(|range| range.low)),
        Column::csv_option("predicted_operations_per_s_high", |row| row.point.rate_range.map(|range| range.high)),
        Column::csv_option("predicted_speedup_low", |row| row.point.speedup_range.map(|range| range.low)),
        Column::csv_option("predicted_speedup_high", |row| row.point.speedup_range.map(|range| range.high)),
        Column::page_right("lines moved", |row: &Row<'_>| markup! { (row.point.lines_moved) })
            .csv("lines_moved", |row| row.point.lines_moved.to_string()),
        Column::csv_only("top_line", |row| row.point.lines.first().map_or_else(String::new, |line| line.name.clone())),
        Column::csv_only("top_code", |row| row.point.code.first().map_or_else(String::new, |code| code.name.clone())),
        Column::csv_only("repeats", |row| row.point.repeats.iter().map(f64::to_string).collect::<Vec<_>>().join(";")),
        Column::page("seeds", |row: &Row<'_>| markup! { (seeds::of_point(row.point, &UNICODE)) }).when(has_seeds).csv(
            "seeds",
            |row| {
                let seed = |seed: &Option<u64>| seed.map_or_else(String::new, |seed| seed.to_string());
                row.point.seeds.iter().map(seed).collect::<Vec<_>>().join(";")
            },
        ),
        Column::csv_only("problems", |row| {
            row.point.problems.iter().map(|problem| problem.kind()).collect::<Vec<_>>().join(";")
        }),
        Column::csv_only("failures", |row| {
            row.point.failures.iter().map(|failure| sentences::cause(&failure.cause)).collect::<Vec<_>>().join("; ")
        }),
        Column::csv_only("verdict", |row| row.curve.verdict.words().to_owned()),
        Column::right("n", |row, _| row.figure(|transfers| transfers.n.to_string()))
            .exact(|row| row.point.transfers.map(|transfers| transfers.n.into())),
        Column::left("problems", |row, _| words::amiss(row.point).join("; "))
            .on(&[Form::Markdown])
            .class("words")
            .html(|row| {
                let amiss = words::amiss(row.point);
                markup! { @if amiss.is_empty() { "none" } @else { (amiss.join("; ")) } }
            }),
    ]
}

impl Row<'_> {
    /// The point's figure as text; empty if there is none.
    fn figure(&self, words: impl Fn(Estimate) -> String) -> String {
        self.point.transfers.map_or_else(String::new, words)
    }

    /// The median of a figure about interrupts.
    fn interrupts(&self, figure: fn(&InterruptFigures) -> Estimate) -> Option<f64> {
        self.point.interrupts.as_ref().map(|figures| figure(figures).median)
    }

    /// Another value of a point with a figure.
    fn part<T>(&self, part: Option<T>, words: impl Fn(T) -> String, signs: &Signs) -> String {
        match (self.point.transfers, part) {
            (None, _) => String::new(),
            (Some(_), None) => signs.none.to_owned(),
            (Some(_), Some(part)) => words(part),
        }
    }
}

fn interval(transfers: Estimate, signs: &Signs) -> String {
    if transfers.n < 2 {
        return signs.none.to_owned();
    }
    [transfers.low, transfers.high].map(figure::transfers).join(&format!(" {} ", signs.to))
}

fn span(range: Span, signs: &Signs) -> String {
    [range.low, range.high].map(figure::plain).join(&format!(" {} ", signs.to))
}

fn median(estimate: Option<Estimate>) -> String {
    number(estimate.map(|estimate| estimate.median))
}

/// Places in code named for a line.
const MOVERS: usize = 2;

/// Minimum width for a separate column of code, and for ranges of repeats in differences.
const WIDE: usize = 120;

/// The form of the tables below the points.
pub(crate) fn form(style: &Style) -> Form {
    if style.width.is_some_and(|width| width < WIDE) { Form::Narrow } else { Form::Wide }
}

/// The first `shown` lines, most transfers first, without those of 0.0 %.
pub(crate) fn lines(lines: &[LineFigures], shown: usize) -> ResultTable<&LineFigures> {
    ResultTable::new(line_columns(), words::above_zero(lines, |line| line.share).take(shown))
        .sortable()
        .row_attributes(|line| Attributes::default().with("data-line", &line.address))
}

type LineColumn<'a> = table::Column<&'a LineFigures>;

/// In narrow text, data and code share one column, which can wrap.
fn line_columns<'a>() -> Vec<LineColumn<'a>> {
    vec![
        LineColumn::left("data", |line, _| words::data(line))
            .on(Form::ROOMY)
            .row_heading()
            .html(|line| markup! { (one_line(&line.name)) br; small { (words::held(line)) } }),
        LineColumn::right("transfers", |line, _| figure::transfers(line.transfers)).exact(|line| Some(line.transfers)),
        LineColumn::right("share", |line, _| figure::percent(line.share)).exact(|line| Some(line.share)),
        LineColumn::right("reads", |line, signs| {
            line.read_share.map_or_else(|| signs.none.to_owned(), figure::percent)
        })
        .exact(|line| line.read_share),
        LineColumn::left("sharing", |line, _| words::sharing(line.false_share)),
        LineColumn::right("CPUs", |line, _| words::cpu_list(&line.by_cpu)).exact(|line| Some(line.by_cpu.len() as f64)),
        LineColumn::left("moved by", |line, _| words::movers(line, MOVERS))
            .on(Form::ROOMY)
            .class("words")
            .html(|line| moved_by(&line.code)),
        LineColumn::left("data, moved by", |line, _| {
            format!("{}, by {}", words::data(line), words::movers(line, MOVERS))
        })
        .on(Form::NARROW),
    ]
}

/// All code that moves a line or member, with shares, on the page.
pub(super) fn moved_by(code: &[CodeSite]) -> Markup {
    markup! {
        @for place in words::above_zero_rounded(code) {
            (words::place(place)) " " span.mode { (format!("{:.0}\u{a0}%", place.share * 100.0)) } br;
        }
    }
}

/// The first `shown` objects, most transfers first, without those of 0.0 %.
pub(crate) fn objects(objects: &[ObjectFigures], shown: usize) -> ResultTable<&ObjectFigures> {
    ResultTable::new(object_columns(), words::above_zero(objects, |of| of.share).take(shown))
}

type ObjectColumn<'a> = table::Column<&'a ObjectFigures>;

/// In narrow text, object and code share one column, which can wrap.
fn object_columns<'a>() -> Vec<ObjectColumn<'a>> {
    vec![
        ObjectColumn::left("object", |of, _| words::object(of)).on(Form::ROOMY).row_heading(),
        ObjectColumn::right("lines", |of, _| of.lines.to_string()).exact(|of| Some(of.lines as f64)),
        ObjectColumn::right("transfers", |of, _| figure::transfers(of.transfers)).exact(|of| Some(of.transfers)),
        ObjectColumn::right("share", |of, _| figure::percent(of.share)).exact(|of| Some(of.share)),
        ObjectColumn::right("reads", |of, _| figure::percent(of.read_share)).exact(|of| Some(of.read_share)),
        ObjectColumn::left("sharing", |of, _| words::sharing(of.false_share)),
        ObjectColumn::right("CPUs", |of, _| of.cpus.to_string()).exact(|of| Some(of.cpus as f64)),
        ObjectColumn::left("moved by", |of, _| words::code(&of.code, MOVERS))
            .on(Form::ROOMY)
            .class("words")
            .html(|of| moved_by(&of.code)),
        ObjectColumn::left("object, moved by", |of, _| {
            format!("{}, by {}", words::object(of), words::code(&of.code, MOVERS))
        })
        .on(Form::NARROW),
    ]
}

/// The programs that processes ran, without those of 0.0 %.
pub(crate) fn processes(processes: &[ProcessFigures]) -> ResultTable<&ProcessFigures> {
    ResultTable::new(process_columns(), words::above_zero(processes, |of| of.share))
}

type ProcessColumn<'a> = table::Column<&'a ProcessFigures>;

fn process_columns<'a>() -> Vec<ProcessColumn<'a>> {
    vec![
        ProcessColumn::left("program", |of, _| words::process(of)).row_heading(),
        ProcessColumn::right("processes", |of, _| of.processes.to_string()).exact(|of| Some(of.processes as f64)),
        ProcessColumn::right("transfers", |of, _| figure::transfers(of.transfers)).exact(|of| Some(of.transfers)),
        ProcessColumn::right("share", |of, _| figure::percent(of.share)).exact(|of| Some(of.share)),
        ProcessColumn::left("sharing", |of, _| words::sharing(of.false_share)),
        ProcessColumn::right("instructions", |of, signs| figure::quantity(of.instructions, "", signs))
            .exact(|of| Some(of.instructions)),
    ]
}

/// The first `shown` places in code, most transfers first, without those of 0.0 %.
pub(crate) fn code(places: &[CodeSite], shown: usize) -> ResultTable<&CodeSite> {
    ResultTable::new(code_columns(), words::above_zero(places, |place| place.share).take(shown)).sortable()
}

type CodeColumn<'a> = table::Column<&'a CodeSite>;

fn code_columns<'a>() -> Vec<CodeColumn<'a>> {
    vec![
        CodeColumn::right("transfers", |place, _| figure::transfers(place.transfers))
            .exact(|place| Some(place.transfers)),
        CodeColumn::right("share", |place, _| figure::percent(place.share)).exact(|place| Some(place.share)),
        CodeColumn::left("sharing", |place, _| place.false_share.map(words::sharing).unwrap_or_default()),
        CodeColumn::left("code", |place, _| words::place(place)).leading(0).row_heading(),
    ]
}
