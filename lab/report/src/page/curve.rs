//! One curve: heading with its verdict, place for the chart, time shares, and below them every figure as a table.

use crate::introduction;
use crate::one_line::one_line;
use crate::page::document::table;
use crate::page::{anchor, overview, shares, value};
use crate::run::words;
use crate::style::UNICODE;
use faultline_model::summary::{Curve, Point};
use maud::{Markup, html as markup};

/// Cards are small, several in a row, where no curve has more points.
const FEW_POINTS: usize = 3;

/// How many kernel counters are shown.
const COUNTERS: usize = 12;

/// All cards; above small ones what they leave out because it is the same for all of them.
pub(crate) fn cards(curves: &[Curve]) -> Markup {
    let small = curves.iter().all(|curve| curve.points.len() <= FEW_POINTS);
    markup! {
        @if small && !curves.is_empty() {
            div.common {
                p { (CAPTION) "." }
                p { (shares::CAPTION) ":" }
                (shares::key())
            }
        }
        div.cards.small[small] { @for curve in curves { (card(curve)) } }
    }
}

/// What stands below a chart.
const CAPTION: &str = "Medians with intervals (bars), repeats (faint dots beside them), ideal line (dashed)";

/// The curve's card.
fn card(curve: &Curve) -> Markup {
    let name = one_line(&curve.case.to_string());
    let verdict = words::verdict(curve, &UNICODE);
    let anchor = anchor::of_case(&curve.case);
    let title = format!("{anchor}-title");
    markup! {
        article.curve id=(anchor) aria-labelledby=(title) {
            header {
                h3 id=(title) { (name) " " span.mode { (introduction::tasks_are(curve.case.mode)) } }
                p.verdict { (overview::badge(curve.verdict.verdict)) span.basis { (words::verdict_basis(curve, &UNICODE)) } }
                @if let Some(reason) = words::verdict_reason(curve, &UNICODE) { p.reason { (reason) } }
                p.about { (one_line(&curve.text)) }
            }
            (figures(curve, &name, &verdict))
            details {
                summary { "All figures" span.of { " of " (name) } }
                (points(curve, &name))
                (repeats(curve, &name))
                (side(curve, &name))
                (counters(curve, &name))
                (notes(curve))
            }
        }
    }
}

fn figures(curve: &Curve, name: &str, verdict: &str) -> Markup {
    let label = format!("Scaling of {name}, {}: {verdict}", introduction::tasks_are(curve.case.mode));
    markup! {
        @if curve.points.iter().any(|point| point.value.is_some()) {
            div.figures {
                figure.scaling {
                    div.chart aria-label=(label) aria-describedby="chart-keys" {
                        noscript { p.nothing { "The chart needs JavaScript. The table below holds the same figures." } }
                    }
                    figcaption { (CAPTION) }
                }
                (shares::figure(curve))
            }
            @for point in &curve.points {
                @if let Some(words) = words::shortfall(point, &UNICODE) {
                    p.shortfall { b { (tasks(point.tasks)) ": " } (words) }
                }
            }
        } @else {
            p.nothing.failed { "No figure: " (if curve.points.iter().any(|p| !p.failures.is_empty()) { "every attempt failed." } else { "not run." }) }
            ul.shortfalls {
                @for point in &curve.points {
                    li { b { (tasks(point.tasks)) ": " } (words::shortfall(point, &UNICODE).unwrap_or_default()) }
                }
            }
        }
    }
}

fn tasks(tasks: u32) -> String {
    if tasks == 1 { "1 task".to_owned() } else { format!("{tasks} tasks") }
}

fn points(curve: &Curve, name: &str) -> Markup {
    let head = markup! {
        th.number scope="col" { "tasks" }
        th.number scope="col" { "rate or time" }
        th scope="col" { "interval" }
        th.number scope="col" { "coverage" }
        th.number scope="col" { "n" }
        th.number scope="col" { "intervals" }
        th.number scope="col" { "speed-up" }
        th scope="col" { "interval" }
        th.number scope="col" { "efficiency" }
        th scope="col" { "interval" }
        th.number scope="col" { "tasks' system" }
        th scope="col" { "interval" }
        @for part in ["user", "system", "idle", "steal"] { th.number scope="col" { "machine: " (part) } }
        th scope="col" { "failures" }
    };
    let body = markup! { @for point in &curve.points { (point_row(curve, point)) } };
    table(&format!("{name}: figures per number of tasks, {} is better", curve.direction.word()), false, head, body)
}

fn point_row(curve: &Curve, point: &Point) -> Markup {
    let base = curve.base_tasks == Some(point.tasks);
    let unit = &curve.unit;
    markup! {
        tr data-tasks=(point.tasks) {
            th.number scope="row" { (point.tasks) }
            td.number { (value::median(point.value, unit)) }
            td { (value::interval(point.value, unit)) }
            td.number { (value::coverage(point.value)) }
            td.number { (value::n(point.value)) }
            td.number { (point.intervals) }
            @if base {
                td.number { "base" } td { (value::none()) } td.number { "base" } td { (value::none()) }
            } @else {
                td.number { (value::median(point.speedup, "")) }
                td { (value::interval(point.speedup, "")) }
                td.number { (value::share(point.efficiency)) }
                td { (value::share_interval(point.efficiency)) }
            }
            td.number { (value::share(point.system_share)) }
            td { (value::share_interval(point.system_share)) }
            @for share in machine_shares(point) { td.number { (share.map_or_else(value::none, value::plain_share)) } }
            td.words { (words::shortfall(point, &UNICODE).unwrap_or_else(|| "none".to_owned())) }
        }
    }
}

/// Where the machine's time went: user, system, idle, steal.
fn machine_shares(point: &Point) -> [Option<f64>; 4] {
    let shares = point.shares.as_ref();
    [shares.map(|s| s.user), shares.map(|s| s.system), shares.map(|s| s.idle), shares.map(|s| s.steal)]
}

fn repeats(curve: &Curve, name: &str) -> Markup {
    let most = curve.points.iter().map(|point| point.repeats.len()).max().unwrap_or(0);
    if most == 0 {
        return markup! {};
    }
    let head = markup! {
        th.number scope="col" { "tasks" }
        @for repeat in 1..=most { th.number scope="col" { "repeat " (repeat) } }
    };
    let body = markup! {
        @for point in &curve.points {
            tr {
                th.number scope="row" { (point.tasks) }
                @for repeat in 0..most {
                    td.number {
                        @if let Some(value) = point.repeats.get(repeat) { (value::quantity(*value, &curve.unit)) } @else { (value::none()) }
                    }
                }
            }
        }
    };
    table(&format!("{name}: every repeat"), false, head, body)
}

/// Columns for the numbers of tasks.
fn task_columns(curve: &Curve) -> Markup {
    markup! { @for point in &curve.points { th.number scope="col" { (tasks(point.tasks)) } } }
}

fn side(curve: &Curve, name: &str) -> Markup {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for figure in curve.points.iter().flat_map(|point| &point.side) {
        if !names.contains(&(figure.name.as_str(), figure.unit.as_str())) {
            names.push((&figure.name, &figure.unit));
        }
    }
    if names.is_empty() {
        return markup! {};
    }
    let head = markup! { th scope="col" { "figure" } (task_columns(curve)) };
    let body = markup! {
        @for (name, unit) in names {
            tr {
                th scope="row" { (one_line(name)) }
                @for point in &curve.points {
                    @let figure = point.side.iter().find(|figure| figure.name == name && figure.unit == unit);
                    td.number {
                        @if let Some(figure) = figure {
                            (value::median(Some(figure.estimate), unit)) br;
                            small { (value::interval(Some(figure.estimate), unit)) ", n " (figure.estimate.n) }
                        } @else { (value::none()) }
                    }
                }
            }
        }
    };
    table(&format!("{name}: other figures, medians with intervals"), false, head, body)
}

fn counters(curve: &Curve, name: &str) -> Markup {
    let mut largest: Vec<(&str, f64)> = Vec::new();
    for (counter, value) in curve.points.iter().flat_map(|point| &point.counters) {
        match largest.iter_mut().find(|(known, _)| known == counter) {
            Some((_, most)) => *most = most.max(value.abs()),
            None => largest.push((counter, value.abs())),
        }
    }
    if largest.is_empty() {
        return markup! {};
    }
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    let left_out = largest.len().saturating_sub(COUNTERS);
    let head = markup! { th scope="col" { "counter" } (task_columns(curve)) };
    let body = markup! {
        @for (counter, _) in largest.iter().take(COUNTERS) {
            tr {
                th scope="row" { code { (one_line(counter)) } }
                @for point in &curve.points {
                    @let value = point.counters.iter().find(|(known, _)| known == counter);
                    td.number { @if let Some((_, value)) = value { (value::number(*value)) } @else { (value::none()) } }
                }
            }
        }
    };
    let operation = one_line(&curve.operation);
    markup! {
        (table(&format!("{name}: kernel counters per {operation}, whole machine, medians over the repeats, the largest first"), false, head, body))
        @if left_out > 0 { p.hint { (left_out) " smaller counters are in the JSON only." } }
    }
}

fn notes(curve: &Curve) -> Markup {
    markup! {
        @if !curve.notes.is_empty() {
            dl.notes { @for (key, text) in &curve.notes { dt { (one_line(key)) } dd { (one_line(text)) } } }
        }
    }
}
