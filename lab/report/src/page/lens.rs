//! The page of a lens run: whether transfers grow with CPUs, and for each case its charts and
//! tables.

use super::document::{chart, chart_keys, reading, section};
use super::element::{self, badge, none, tone_class};
use crate::escape::one_line;
use crate::lens::answer::matter;
use crate::lens::{callers, layout, points, proposal, types, words};
use crate::names::{self, counted};
use crate::style::UNICODE;
use crate::table::{Column, ResultTable};
use faultline_record::bounds::MOST_TASKS;
use faultline_record::lens::callers::CallersFigures;
use faultline_stats::lens::summary::{LensCurve, LensPoint, LensSummary, LensVerdict, LineFigures, Reach};
use faultline_stats::lens::types::TypesFigures;
use faultline_stats::summary::RunSummary;
use maud::{Markup, html as markup};

/// Types in the table of types.
const TYPES: usize = 10;

/// The first answer: a row per case.
pub(crate) fn overview(lens: &LensSummary) -> Markup {
    let content = markup! {
        p.hint { (words::subject(lens, &UNICODE)) }
        @if lens.curves.is_empty() {
            p.nothing { "There are no figures yet." }
        } @else {
            (ResultTable::new(overview_columns(lens), &lens.curves).sortable().html_below_heading("Overview of all cases"))
        }
    };
    section("overview", "Do transfers grow with CPUs?", content)
}

/// Columns of growth only if a case has several numbers of CPUs.
fn overview_columns<'a>(lens: &LensSummary) -> Vec<Column<&'a LensCurve>> {
    type Row<'a> = &'a LensCurve;
    fn several(curve: &LensCurve) -> Option<&Reach> {
        curve.verdict.reach().filter(|reach| reach.from_cpus < reach.to_cpus)
    }
    let has_reach = lens.curves.iter().any(|curve| several(curve).is_some());
    fn last(curve: &LensCurve) -> Option<(u32, f64)> {
        let last = || curve.points.iter().rev().find_map(|point| Some((point.cpus, point.transfers?.median)));
        curve.verdict.reach().map(|reach| (reach.to_cpus, reach.to)).or_else(last)
    }
    fn reach(curve: &LensCurve, figure: impl Fn(&Reach) -> Markup) -> Markup {
        several(curve).map_or_else(none, figure)
    }
    vec![
        Column::page("case", |curve: &Row<'_>| {
            markup! {
                a href={ "#" (element::case_anchor(&curve.case)) } { (element::name(&curve.case.to_string())) } " "
                span.mode { (names::tasks_are(curve.case.mode)) }
            }
        })
        .row_heading(),
        Column::page("verdict", |curve: &Row<'_>| verdict(curve)),
        Column::page_right("each doubling adds", |curve: &Row<'_>| {
            reach(curve, |reach| element::transfers(reach.per_doubling))
        })
        .when(has_reach),
        Column::page_right("CPUs from", |curve: &Row<'_>| reach(curve, |reach| element::count(reach.from_cpus)))
            .when(has_reach),
        Column::page_right("transfers", |curve: &Row<'_>| reach(curve, |reach| element::transfers(reach.from)))
            .when(has_reach),
        Column::page_right(if has_reach { "CPUs to" } else { "CPUs" }, |curve: &Row<'_>| {
            last(curve).map_or_else(none, |(cpus, _)| element::count(cpus))
        }),
        Column::page_right("transfers", |curve: &Row<'_>| {
            last(curve).map_or_else(none, |(_, transfers)| element::transfers(transfers))
        }),
        Column::page_right("rate lost there", |curve: &Row<'_>| {
            curve.against_one.map_or_else(none, |against| element::plain_share(against.lost.max(0.0)))
        }),
        Column::page("top line there", |curve: &Row<'_>| {
            let top = words::shown_point(curve).and_then(|point| point.lines.first());
            top.map_or_else(none, |line| markup! { (words::data(line)) })
        })
        .class("name"),
    ]
}

fn verdict(curve: &LensCurve) -> Markup {
    let sign = match curve.verdict {
        LensVerdict::Free { .. } => "✓",
        LensVerdict::Flat { .. } => "=",
        LensVerdict::Contended { .. } => "✗",
        LensVerdict::Costs { .. } => "+",
        LensVerdict::Grows { .. } => "▲",
        LensVerdict::Falls { .. } => "▼",
        LensVerdict::Uneven { .. } => "?",
        LensVerdict::TooFewPoints => "–",
    };
    badge(tone_class(words::tone(curve)), sign, curve.verdict.words())
}

/// All cases.
pub(crate) fn cases(summary: &RunSummary, lens: &LensSummary) -> Markup {
    let content = markup! {
        @if lens.curves.is_empty() { p.nothing { "Nothing was planned." } } @else { (chart_keys()) }
        @for curve in &lens.curves { (case(summary, curve)) }
    };
    section("curves", "Cases", content)
}

fn case(summary: &RunSummary, curve: &LensCurve) -> Markup {
    let name = one_line(&curve.case.to_string());
    let operation = one_line(&curve.operation);
    let anchor = element::case_anchor(&curve.case);
    let title = format!("{anchor}-title");
    let shown = words::shown_point(curve);
    let with_lines = shown.filter(|point| !point.lines.is_empty());
    let points = points::curve_table(summary, curve);
    markup! {
        article.curve id=(anchor) aria-labelledby=(title) {
            header {
                h3 id=(title) { (name) " " span.mode { (names::tasks_are(curve.case.mode)) } }
                p.verdict { (verdict(curve)) span.basis { (words::verdict_basis(curve)) } }
                p.about { (one_line(&curve.text)) }
            }
            @if curve.points.iter().any(|point| point.transfers.is_some()) {
                div.figures.stacked {
                    (growth(&name, curve))
                    @if let Some(point) = with_lines { (map(&name, point)) }
                    @if let Some((point, callers)) = shown.and_then(with_callers) { (flame(&name, callers, point.cpus)) }
                }
            } @else {
                p.nothing.failed { "No figure." }
            }
            @for point in &curve.points {
                @for text in words::amiss(point) { p.shortfall { b { (words::cpus(point.cpus)) ": " } (text) } }
            }
            @for text in words::withheld(curve) { p.about { (text) } }
            @if let Some(point) = shown {
                @for text in words::beside(&curve.operation, point) { p.about { (text) } }
                (lines(&name, point))
                @if let Some((point, callers)) = with_callers(point) {
                    (callers::whole_table(callers).html(&format!("{name}: {}", callers::heading(callers, point.cpus))))
                }
                @if let Some(figures) = &point.types { (by_type(&name, &operation, figures, point.cpus)) }
                (code(&name, point))
            }
            details {
                summary { "All figures of " (name) }
                (points.html(&format!("{name}: figures per {operation} by number of CPUs")))
                @if let Some(point) = with_lines { (map_table(&name, point)) }
            }
        }
    }
}

fn with_callers(point: &LensPoint) -> Option<(&LensPoint, &CallersFigures)> {
    Some((point, point.callers.as_ref()?))
}

fn growth(name: &str, curve: &LensCurve) -> Markup {
    let label = format!("Transfers per operation of {name} by number of CPUs: {}", words::verdict(curve));
    markup! {
        figure.scaling {
            (chart("", None, &label))
            figcaption { "Transfers per operation: medians, with intervals where there are repeats" }
        }
    }
}

fn map(name: &str, point: &LensPoint) -> Markup {
    let at = words::cpus(point.cpus);
    let lines = matter(&point.lines, |line| line.share).len();
    let label = format!("Map of {name} at {at}: transfers of the top {} to each CPU", counted(lines as u64, "line"));
    markup! {
        figure.heat data-lines=(lines) {
            (chart("map", Some(point.cpus), &label))
            figcaption {
                "Top lines at " (at) ". A field shows how often one CPU fetched one line; its colour strength follows \
                 the square root of the count. The numbers are under “All figures”."
            }
        }
    }
}

/// A flame graph of the callers.
fn flame(name: &str, figures: &CallersFigures, cpus: u32) -> Markup {
    let (at, basis) = (words::cpus(cpus), callers::basis(figures));
    let top = figures.chains.first().map(|top| (callers::chain(figures, top, &UNICODE), top.samples));
    let most = top.map_or_else(String::new, |(chain, samples)| format!("; most samples, {samples}: {chain}"));
    markup! {
        figure.callers {
            (chart("flame", Some(cpus), &format!("Flame graph of {name} at {at}: callers by {basis}{most}")))
            figcaption {
                "Callers at " (at) ", by " (basis) ". A function lies on its caller; its width is its share of the \
                 transfers, including the functions that it called. Slanted names were inlined; dashed boxes are \
                 unknown callers. Functions below 0.2 % are not drawn."
            }
        }
    }
}

fn lines(name: &str, point: &LensPoint) -> Markup {
    let at = words::cpus(point.cpus);
    let shown = matter(&point.lines, |line| line.share);
    let more = point.lines_moved.saturating_sub(shown.len() as u64);
    let more = if more == 0 { String::new() } else { format!("; {more} more moved") };
    points::lines(shown, usize::MAX).html(&format!("{name}: top lines at {at}, per operation{more}"))
}

fn code(name: &str, point: &LensPoint) -> Markup {
    let caption = format!("{name}: top code at {}, per operation", words::cpus(point.cpus));
    points::code(matter(&point.code, |place| place.share), usize::MAX).html(&caption)
}

/// The table of types, and the layout of each type by cache line.
fn by_type(name: &str, operation: &str, figures: &TypesFigures, cpus: u32) -> Markup {
    let caption = format!("{name}: {}, per {operation}", types::heading(figures, cpus));
    markup! {
        (types::table(types::rows(figures, TYPES)).html(&caption))
        div.layouts {
            @for (index, of) in figures.types.iter().enumerate() {
                details.layout open[index == 0] data-type=(of.name) {
                    summary { (layout::heading(of, operation)) }
                    (layout::layout(of).html(&format!("{}, transfers per {operation}", layout::type_name(of))))
                    @for note in layout::notes(of) { p.hint { (note) } }
                    (proposal::html(of, operation))
                }
            }
        }
    }
}

/// The map as numbers.
fn map_table(name: &str, point: &LensPoint) -> Markup {
    type Row<'a> = &'a LineFigures;
    let mut columns = vec![Column::<Row<'_>>::left("line", |line, _| line.name.clone()).row_heading()];
    columns.extend((0..point.cpus.min(MOST_TASKS)).map(|cpu| {
        Column::page_right(format!("CPU {cpu}"), move |line: &Row<'_>| {
            let count = line.by_cpu.iter().find(|part| part.cpu == cpu).map_or(0, |part| part.transfers);
            markup! { data value=(count) { (count) } }
        })
    }));
    let caption = format!("{name}: total transfers of the top lines to each CPU at {}", words::cpus(point.cpus));
    ResultTable::new(columns, matter(&point.lines, |line| line.share)).html(&caption)
}

/// The explanation of the page.
pub(crate) fn explanation(lens: &LensSummary) -> Markup {
    let has_types = lens.curves.iter().flat_map(|curve| &curve.points).any(|point| point.types.is_some());
    let verdicts = [
        "free: no more transfers than on one CPU. fixed price: more than on one CPU, and the same number on many CPUs \
         as on two. contended: not growing, but the moves of one line, one after another, take so long that the CPUs \
         cannot all work. costs: more than on one CPU, with a figure of one larger number only. grows: more with more \
         CPUs. falls: fewer. uneven: equal at both ends, but not in between. The colour follows the predicted loss: \
         the share of the rate that the CPUs would have if each worked as fast as one CPU alone.",
    ];
    let memory = ["from memory: lines fetched again after the CPU's cache evicted them; these are not transfers."];
    let of_types = layout::LEGEND.into_iter().filter(|_| has_types);
    reading(words::legend(lens).chain(verdicts).chain(of_types).chain(memory))
}
