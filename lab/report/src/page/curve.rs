//! The card of a curve: verdict, chart, bars of CPU time, and every figure as a table.

use super::document::chart;
use super::element::{self, badge, none};
use crate::escape::one_line;
use crate::figure::percent;
use crate::names;
use crate::run::{columns, words};
use crate::style::UNICODE;
use crate::table::{Column, ResultTable};
use faultline_stats::summary::{Curve, Point, RunSummary, SideFigure, TimeShares};
use faultline_stats::verdict::Verdict;
use maud::{Markup, html as markup};

/// Cards are small, several in a row, if no curve has more points.
const FEW_POINTS: usize = 3;

/// Kernel counters shown.
const COUNTERS: usize = 12;

/// Smallest share whose part of a bar has room for words.
const ROOM_FOR_WORDS: f64 = 0.22;

/// The parts of a bar, in order.
const PARTS: [&str; 4] = ["user", "system", "idle", "steal"];

const CAPTION: &str = "Medians with intervals (bars), repeats (faint dots), ideal line (dashed)";
const SHARES: &str = "CPU time of the whole machine, by number of tasks";

/// All cards. Small ones share their captions above.
pub(crate) fn cards(summary: &RunSummary) -> Markup {
    let curves = &summary.curves;
    let small = curves.iter().all(|curve| curve.points.len() <= FEW_POINTS);
    markup! {
        @if small && !curves.is_empty() {
            div.common {
                p { (CAPTION) "." }
                p { (SHARES) ":" }
                (key())
            }
        }
        div.cards.small[small] { @for curve in curves { (card(summary, curve)) } }
    }
}

fn card(summary: &RunSummary, curve: &Curve) -> Markup {
    let name = one_line(&curve.case.to_string());
    let anchor = element::case_anchor(&curve.case);
    let title = format!("{anchor}-title");
    let points = columns::curve_table(summary, curve);
    markup! {
        article.curve id=(anchor) aria-labelledby=(title) {
            header {
                h3 id=(title) { (name) " " span.mode { (names::tasks_are(curve.case.mode)) } }
                p.verdict {
                    (verdict(curve.verdict.verdict)) span.basis { (words::verdict_basis(curve, &UNICODE)) }
                }
                @if let Some(reason) = words::verdict_reason(curve, &UNICODE) { p.reason { (reason) } }
                p.about { (one_line(&curve.text)) }
            }
            (figures(curve, &name))
            details {
                summary { "All figures" span.of { " of " (name) } }
                (points.html(&format!("{name}: figures by number of tasks, {} is better", curve.direction.word())))
                (repeats(curve, &name))
                (side(curve, &name))
                (counters(curve, &name))
                @if !curve.notes.is_empty() {
                    dl.notes { @for (key, text) in &curve.notes { dt { (one_line(key)) } dd { (one_line(text)) } } }
                }
            }
        }
    }
}

/// A verdict as a badge.
pub(crate) fn verdict(verdict: Verdict) -> Markup {
    let (class, sign) = match verdict {
        Verdict::Scales => ("good", "✓"),
        Verdict::Partly => ("partly", "◐"),
        Verdict::DoesNotScale => ("bad", "✕"),
        Verdict::Inconclusive => ("quiet", "?"),
        Verdict::NotMeasured => ("quiet", "–"),
    };
    badge(class, sign, verdict.words())
}

fn figures(curve: &Curve, name: &str) -> Markup {
    let verdict = words::verdict(curve, &UNICODE);
    let label = format!("Scaling of {name}, {}: {verdict}", names::tasks_are(curve.case.mode));
    let shortfall = |point: &Point| {
        words::shortfall(point, &UNICODE).map(|words| markup! { b { (tasks(point.tasks)) ": " } (words) })
    };
    let has_failed = curve.points.iter().any(|point| !point.failures.is_empty());
    markup! {
        @if curve.points.iter().any(|point| point.value.is_some()) {
            div.figures {
                figure.scaling { (chart("", None, &label)) figcaption { (CAPTION) } }
                (shares(curve))
            }
            @for shortfall in curve.points.iter().filter_map(shortfall) { p.shortfall { (shortfall) } }
        } @else {
            p.nothing.failed { "No figure: " (if has_failed { "every attempt failed." } else { "not run." }) }
            ul.shortfalls { @for shortfall in curve.points.iter().filter_map(shortfall) { li { (shortfall) } } }
        }
    }
}

fn tasks(tasks: u32) -> String {
    if tasks == 1 { "1 task".to_owned() } else { format!("{tasks} tasks") }
}

fn repeats(curve: &Curve, name: &str) -> Markup {
    let most = curve.points.iter().map(|point| point.repeats.len()).max().unwrap_or(0);
    type Row<'a> = (&'a Curve, &'a Point);
    let mut columns = vec![Column::<Row<'_>>::right("tasks", |(_, point), _| point.tasks.to_string()).row_heading()];
    columns.extend((0..most).map(|repeat| {
        Column::page_right(format!("repeat {}", repeat + 1), move |(curve, point): &Row<'_>| {
            point.repeats.get(repeat).map_or_else(none, |value| element::quantity(*value, &curve.unit))
        })
    }));
    let rows = curve.points.iter().map(|point| (curve, point));
    markup! { @if most > 0 { (ResultTable::new(columns, rows).html(&format!("{name}: every repeat"))) } }
}

/// A table with a column per point, after the columns in `first`. `cell`: the figure of a row at a
/// point.
fn by_points<R: 'static>(
    curve: &Curve,
    first: Column<R>,
    rows: Vec<R>,
    cell: impl Fn(&R, usize) -> Option<Markup> + Copy + 'static,
) -> ResultTable<R> {
    let points = curve.points.iter().enumerate().map(|(index, point)| {
        Column::page_right(tasks(point.tasks), move |row: &R| cell(row, index).unwrap_or_else(none))
    });
    ResultTable::new(std::iter::once(first).chain(points).collect(), rows)
}

fn side(curve: &Curve, name: &str) -> Markup {
    let mut rows: Vec<(SideFigure, Vec<Option<SideFigure>>)> = Vec::new();
    for figure in curve.points.iter().flat_map(|point| &point.side) {
        let is_same = |other: &SideFigure| other.name == figure.name && other.unit == figure.unit;
        if !rows.iter().any(|(known, _)| is_same(known)) {
            let at = |point: &Point| point.side.iter().find(|other| is_same(other)).cloned();
            rows.push((figure.clone(), curve.points.iter().map(at).collect()));
        }
    }
    let is_empty = rows.is_empty();
    let first = Column::left("figure", |(figure, _): &(SideFigure, _), _| one_line(&figure.name)).row_heading();
    let table = by_points(curve, first, rows, |(_, figures), point| {
        figures[point].as_ref().map(|SideFigure { estimate, unit, .. }| {
            markup! {
                (element::median(Some(*estimate), unit)) br;
                small { (element::interval(Some(*estimate), unit)) ", n " (estimate.n) }
            }
        })
    });
    markup! { @if !is_empty { (table.html(&format!("{name}: other figures, medians with intervals"))) } }
}

fn counters(curve: &Curve, name: &str) -> Markup {
    let mut rows: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for (counter, _) in curve.points.iter().flat_map(|point| &point.counters) {
        if !rows.iter().any(|(known, _)| known == counter) {
            let at = |point: &Point| point.counters.iter().find(|(known, _)| known == counter).map(|(_, value)| *value);
            rows.push((counter.clone(), curve.points.iter().map(at).collect()));
        }
    }
    let largest = |values: &[Option<f64>]| values.iter().flatten().map(|value| value.abs()).fold(0.0, f64::max);
    rows.sort_by(|a, b| largest(&b.1).total_cmp(&largest(&a.1)));
    let left_out = rows.len().saturating_sub(COUNTERS);
    rows.truncate(COUNTERS);
    let is_empty = rows.is_empty();
    let first =
        Column::page("counter", |(counter, _): &(String, _)| markup! { code { (one_line(counter)) } }).row_heading();
    let table = by_points(curve, first, rows, |(_, values), point| values[point].map(element::number));
    let caption = format!(
        "{name}: kernel counters per {}, whole machine, medians over the repeats, largest first",
        one_line(&curve.operation)
    );
    markup! {
        @if !is_empty {
            (table.html(&caption))
            @if left_out > 0 { p.hint { (left_out) " smaller counters are in the JSON only." } }
        }
    }
}

/// Each part's pattern.
fn key() -> Markup {
    markup! { ul.key aria-hidden="true" { @for part in PARTS { li { span.swatch.(part) {} (part) } } } }
}

/// CPU time as a stacked bar per number of tasks. Patterns and words distinguish the parts without
/// colour.
fn shares(curve: &Curve) -> Markup {
    let points: Vec<(u32, &TimeShares)> =
        curve.points.iter().filter_map(|point| Some((point.tasks, point.shares.as_ref()?))).collect();
    markup! {
        @if !points.is_empty() {
            figure.shares {
                figcaption { (SHARES) }
                (key())
                div.bars { @for (tasks, shares) in points { (bar(tasks, shares)) } }
            }
        }
    }
}

fn bar(tasks: u32, shares: &TimeShares) -> Markup {
    let parts = PARTS.into_iter().zip([shares.user, shares.system, shares.idle, shares.steal]);
    let words: Vec<String> = parts.clone().map(|(name, share)| format!("{name} {}", percent(share))).collect();
    let words = words.join(", ");
    markup! {
        span.bar-label aria-hidden="true" { (tasks) }
        div.bar role="img" aria-label={ (tasks) " tasks: " (words) } title=(words) {
            @for (name, share) in parts.filter(|(_, share)| *share > 0.0) {
                span.part.(name) style={ "width:" (format!("{:.2}", share * 100.0)) "%" } {
                    @if share >= ROOM_FOR_WORDS { span.words { (name) " " (format!("{:.0} %", share * 100.0)) } }
                }
            }
        }
    }
}
