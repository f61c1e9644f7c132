//! A run under the lens: which cases share lines, and for each its curve, a map of lines and CPUs, and tables of all of it.

use crate::figure;
use crate::introduction;
use crate::lens::{layout, seeds, words};
use crate::one_line::one_line;
use crate::page::document::table;
use crate::page::{anchor, lens_callers, lens_types, value};
use crate::style::{Tone, UNICODE};
use faultline_model::estimate::Estimate;
use faultline_model::lens::callers::CallersFigures;
use faultline_model::lens::place::Place;
use faultline_model::lens::summary::{LensCurve, LensPoint, LensSummary, LensVerdict, LineFigures};
use maud::{Markup, html as markup};

/// The first answer: a row per case.
pub(crate) fn overview(lens: &LensSummary) -> Markup {
    markup! {
        section #overview aria-labelledby="overview-title" {
            h2 #overview-title { "Do transfers grow with CPUs?" }
            p.hint { (words::subject(lens, &UNICODE)) }
            @if lens.curves.is_empty() {
                p.nothing { "There are no figures yet." }
            } @else {
                div.scroll tabindex="0" role="region" aria-label="Overview of all cases" {
                    table.sortable {
                        thead {
                            tr {
                                th scope="col" { "case" }
                                th scope="col" { "verdict" }
                                th.number scope="col" { "each doubling adds" }
                                th.number scope="col" { "CPUs from" }
                                th.number scope="col" { "transfers" }
                                th.number scope="col" { "CPUs to" }
                                th.number scope="col" { "transfers" }
                                th.number scope="col" { "rate lost there" }
                                th scope="col" { "top line there" }
                            }
                        }
                        tbody { @for curve in &lens.curves { (overview_row(curve)) } }
                    }
                }
            }
        }
    }
}

fn overview_row(curve: &LensCurve) -> Markup {
    let top = words::shown_point(curve).and_then(|point| point.lines.first());
    markup! {
        tr {
            th scope="row" {
                a href={ "#" (anchor::of_case(&curve.case)) } { (value::name(&curve.case.to_string())) } " "
                span.mode { (introduction::tasks_are(curve.case.mode)) }
            }
            td { (badge(curve)) }
            @match curve.verdict.reach() {
                Some(reach) => {
                    td.number { (transfers(reach.per_doubling)) }
                    td.number { (value::count(reach.from_cpus)) }
                    td.number { (transfers(reach.from)) }
                    td.number { (value::count(reach.to_cpus)) }
                    td.number { (transfers(reach.to)) }
                }
                None => { @for _ in 0..5 { td.number { (value::none()) } } }
            }
            td.number { (curve.against_one.map_or_else(value::none, |against| value::plain_share(against.lost.max(0.0)))) }
            td.name { @if let Some(line) = top { (words::data(line)) } @else { (value::none()) } }
        }
    }
}

/// Transfers per operation, with the exact number.
fn transfers(exact: f64) -> Markup {
    markup! { data value=(exact) { (figure::transfers(exact)) } }
}

/// The verdict with a sign that doesn't need colour.
fn badge(curve: &LensCurve) -> Markup {
    let sign = match curve.verdict {
        LensVerdict::Free { .. } => "✓",
        LensVerdict::Flat { .. } => "=",
        LensVerdict::Grows { .. } => "▲",
        LensVerdict::Falls { .. } => "▼",
        LensVerdict::Uneven { .. } => "?",
        LensVerdict::TooFewPoints => "–",
    };
    let class = match words::tone(curve) {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Middling => "partly",
        Tone::Title | Tone::Quiet => "quiet",
    };
    markup! { span.badge.(class) { span.sign aria-hidden="true" { (sign) } " " (curve.verdict.words()) } }
}

/// All cases.
pub(crate) fn cases(lens: &LensSummary) -> Markup {
    markup! {
        section #curves aria-labelledby="curves-title" {
            h2 #curves-title { "Cases" }
            @if lens.curves.is_empty() {
                p.nothing { "Nothing was planned." }
            } @else {
                p #chart-keys.hint {
                    "In a chart: arrow keys move between points or fields, Enter pins the figures of one, Escape closes them."
                }
            }
            @for curve in &lens.curves { (case(curve)) }
        }
    }
}

fn case(curve: &LensCurve) -> Markup {
    let name = one_line(&curve.case.to_string());
    let anchor = anchor::of_case(&curve.case);
    let title = format!("{anchor}-title");
    let verdict = words::verdict(curve);
    let shown = words::shown_point(curve);
    markup! {
        article.curve id=(anchor) aria-labelledby=(title) {
            header {
                h3 id=(title) { (name) " " span.mode { (introduction::tasks_are(curve.case.mode)) } }
                p.verdict { (badge(curve)) span.basis { (words::verdict_basis(curve)) } }
                p.about { (one_line(&curve.text)) }
            }
            @if curve.points.iter().any(|point| point.transfers.is_some()) {
                div.figures.stacked {
                    (curve_figure(&name, &verdict))
                    @if let Some(point) = shown.filter(|point| !point.lines.is_empty()) { (map_figure(&name, point)) }
                    @if let Some((point, callers)) = shown.and_then(with_callers) { (lens_callers::figure(&name, callers, point.cpus)) }
                }
            } @else {
                p.nothing.failed { "No figure." }
            }
            @for point in &curve.points {
                @for text in words::amiss(point) { p.shortfall { b { (words::cpus(point.cpus)) ": " } (text) } }
            }
            @if let Some(point) = shown {
                @for text in words::beside(&curve.operation, point) { p.about { (text) } }
            }
            @if let Some(point) = shown {
                (lines(&name, point))
                @if let Some((point, callers)) = with_callers(point) { (lens_callers::lines(&name, callers, point.cpus)) }
                @if let Some(figures) = &point.types {
                    (lens_types::section(&name, &one_line(&curve.operation), figures, point.cpus))
                }
                (code(&name, point))
            }
            details {
                summary { "All figures of " (name) }
                (points(curve, &name))
                @if let Some(point) = shown.filter(|point| !point.lines.is_empty()) { (map_table(&name, point)) }
            }
        }
    }
}

/// A point with its callers, if it has any.
fn with_callers(point: &LensPoint) -> Option<(&LensPoint, &CallersFigures)> {
    Some((point, point.callers.as_ref()?))
}

fn noscript() -> Markup {
    markup! { noscript { p.nothing { "The chart needs JavaScript. The tables below hold the same figures." } } }
}

fn curve_figure(name: &str, verdict: &str) -> Markup {
    let label = format!("Transfers per operation of {name} by number of CPUs: {verdict}");
    markup! {
        figure.scaling {
            div.chart aria-label=(label) aria-describedby="chart-keys" { (noscript()) }
            figcaption { "Transfers per operation: medians, with intervals where there are repeats" }
        }
    }
}

fn map_figure(name: &str, point: &LensPoint) -> Markup {
    let at = words::cpus(point.cpus);
    let label = format!("Map of {name} at {at}: transfers of the top {} lines to each CPU", point.lines.len());
    markup! {
        figure.heat {
            div.chart.map data-cpus=(point.cpus) aria-label=(label) aria-describedby="chart-keys" { (noscript()) }
            figcaption { "Top lines at " (at) ". Each field shows how often one CPU fetched one line. The strength of the colour follows the square root of that number. “All figures” below has the numbers." }
        }
    }
}

fn lines(name: &str, point: &LensPoint) -> Markup {
    let head = markup! {
        th scope="col" { "data" }
        th.number scope="col" { "transfers" }
        th.number scope="col" { "share" }
        th scope="col" { "sharing" }
        th.number scope="col" { "CPUs" }
        th scope="col" { "moved by" }
    };
    let body = markup! { @for line in &point.lines { (line_row(line)) } };
    let caption =
        format!("{name}: top lines at {}, per operation; {} lines moved", words::cpus(point.cpus), point.lines_moved);
    table(&caption, true, head, body)
}

fn line_row(line: &LineFigures) -> Markup {
    markup! {
        tr data-line=(line.address) {
            th scope="row" { (one_line(&line.name)) br; small { (held(line)) } }
            td.number { (transfers(line.transfers)) }
            td.number { (value::plain_share(line.share)) }
            td { (words::sharing(line.false_share)) }
            td.number { (value::count(line.by_cpu.len() as u32)) }
            td.words { @for place in &line.code { (words::place(place)) " " span.mode { (format!("{:.0}\u{a0}%", place.share * 100.0)) } br; } }
        }
    }
}

/// The address, and what else moves along.
fn held(line: &LineFigures) -> String {
    let others = line.held.iter().filter(|held| held.name != line.name);
    let others: Vec<String> = others.map(|held| format!("{} {:.0} %", held.name, held.share * 100.0)).collect();
    let address = &line.address;
    one_line(&match others.is_empty() {
        true => address.clone(),
        false => format!("{address}, with {}", others.join(", ")),
    })
}

fn code(name: &str, point: &LensPoint) -> Markup {
    let head = markup! {
        th scope="col" { "code" }
        th.number scope="col" { "transfers" }
        th.number scope="col" { "share" }
        th scope="col" { "sharing" }
    };
    let body = markup! { @for place in &point.code { (code_row(place)) } };
    table(&format!("{name}: top code at {}, per operation", words::cpus(point.cpus)), true, head, body)
}

fn code_row(place: &Place) -> Markup {
    markup! {
        tr {
            th scope="row" { (words::place(place)) }
            td.number { (transfers(place.transfers)) }
            td.number { (value::plain_share(place.share)) }
            td { (place.false_share.map(words::sharing).unwrap_or_default()) }
        }
    }
}

fn points(curve: &LensCurve, name: &str) -> Markup {
    let rate = format!("{}/s", one_line(&curve.operation));
    let has_seeds = curve.points.iter().any(|point| point.seeds.iter().any(Option::is_some));
    let head = markup! {
        th.number scope="col" { "CPUs" }
        th.number scope="col" { "transfers" }
        th scope="col" { "interval" }
        th.number scope="col" { "n" }
        th.number scope="col" { "false sharing" }
        th.number scope="col" { "by interrupts" }
        th.number scope="col" { "from memory" }
        th.number scope="col" { "instructions" }
        th.number scope="col" { "predicted rate" }
        th.number scope="col" { "speed-up" }
        th.number scope="col" { "lines moved" }
        @if has_seeds { th scope="col" { "seeds" } }
        th scope="col" { "amiss" }
    };
    let interval = |estimate: Option<Estimate>| value::interval(estimate.filter(|estimate| estimate.n > 1), "");
    let body = markup! {
        @for point in &curve.points {
            tr data-cpus=(point.cpus) {
                th.number scope="row" { (point.cpus) }
                td.number { (point.transfers.map_or_else(value::none, |estimate| transfers(estimate.median))) }
                td { (interval(point.transfers)) }
                td.number { (value::n(point.transfers)) }
                td.number { (point.false_share.map_or_else(value::none, value::plain_share)) }
                td.number { (point.interrupts.as_ref().map_or_else(value::none, |figures| transfers(figures.transfers.median))) }
                td.number { (point.capacity_misses.map_or_else(value::none, |estimate| transfers(estimate.median))) }
                td.number { (value::median(point.instructions, "")) }
                td.number { (value::median(point.rate, &rate)) }
                td.number { (point.speedup.map_or_else(value::none, value::plain)) }
                td.number { (point.lines_moved) }
                @if has_seeds { td { (seeds::of_point(point, &UNICODE)) } }
                td.words { @let amiss = words::amiss(point); @if amiss.is_empty() { "nothing" } @else { (amiss.join("; ")) } }
            }
        }
    };
    let operation = one_line(&curve.operation);
    table(&format!("{name}: figures per {operation} by number of CPUs"), false, head, body)
}

/// The map as numbers.
fn map_table(name: &str, point: &LensPoint) -> Markup {
    let head = markup! {
        th scope="col" { "line" }
        @for cpu in 0..point.cpus { th.number scope="col" { "CPU " (cpu) } }
    };
    let body = markup! {
        @for line in &point.lines {
            tr {
                th scope="row" { (one_line(&line.name)) }
                @for cpu in 0..point.cpus {
                    @let count = line.by_cpu.iter().find(|part| part.cpu == cpu).map_or(0, |part| part.transfers);
                    td.number { data value=(count) { (count) } }
                }
            }
        }
    };
    table(
        &format!("{name}: transfers of the top lines to each CPU at {}, in all", words::cpus(point.cpus)),
        false,
        head,
        body,
    )
}

/// How to read the page.
pub(crate) fn reading(lens: &LensSummary) -> Markup {
    markup! {
        section #reading aria-labelledby="reading-title" {
            h2 #reading-title { "How to read this" }
            ul {
                @for sentence in words::legend(lens) { li { (sentence) } }
                li {
                    "free: no more transfers than on one CPU; fixed price: more than on one CPU, and as many on many CPUs as on two; \
                     grows: more with more CPUs; falls: fewer; uneven: both ends alike, and in between otherwise. The colour follows the share of the \
                     rate that is lost, as predicted: of what the CPUs would do if each did what one does alone."
                }
                @if lens.curves.iter().flat_map(|curve| &curve.points).any(|point| point.types.is_some()) {
                    @for sentence in layout::LEGEND { li { (sentence) } }
                }
                li {
                    "from memory: lines that a CPU's cache had given up for lack of room; these are not transfers."
                }
            }
        }
    }
}
