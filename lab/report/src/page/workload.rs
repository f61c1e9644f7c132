//! A workload of a comparison: the card with its answer, charts and figures, and its scaling on
//! both sides.

use super::document::{chart, section};
use super::element::{self, none, tone_class};
use crate::comparison::change::{chance, level};
use crate::comparison::{columns, scaling as laws, words};
use crate::escape::one_line;
use crate::figure;
use crate::style::UNICODE;
use crate::table::{Attributes, Column, ResultTable};
use faultline_stats::comparison::{ComparedWorkload, Comparison, CounterDifference, Details, ScaledCase};
use faultline_stats::estimate::Estimate;
use faultline_stats::workload_comparison::{Bounded, Inconclusive, Method, Side, WorkloadComparison};
use maud::{Markup, html as markup};

/// Kernel counters shown.
const COUNTERS: usize = 12;

/// The workload's card.
pub(super) fn card(workload: &ComparedWorkload, anchor: &str) -> Markup {
    let ComparedWorkload { comparison, details } = workload;
    let name = words::name(workload);
    let title = format!("{anchor}-title");
    let unit = one_line(&comparison.unit);
    markup! {
        article.curve id=(anchor) aria-labelledby=(title) {
            header {
                h3 id=(title) { (name) }
                p.verdict { (columns::answer(comparison)) span.basis { (words::basis(comparison, &UNICODE)) } }
                p.about { (unit) ", " (comparison.direction.word()) " is better; n " (words::units(comparison)) }
            }
            @if let Some(by_cpu_time) = words::by_cpu_time(details, &UNICODE) { p.about { (by_cpu_time) } }
            (figures(&name, &words::answer(comparison, &UNICODE), details))
            @for (letter, failures) in ["A", "B"].iter().zip(&details.failures).filter(|(_, some)| !some.is_empty()) {
                p.shortfall {
                    b { (letter) ": " } (failures.len()) " left out as failed: "
                    (crate::run::words::counted(failures, &UNICODE).join("; "))
                }
            }
            (counter_table(&name, &details.counters))
            details {
                summary { "All figures of " (name) }
                (sides(comparison, details, &unit, &name))
                (test(comparison))
                (values(details, &unit, &name))
            }
        }
    }
}

fn figures(name: &str, answer: &str, details: &Details) -> Markup {
    let [a, b] = details.values.each_ref().map(Vec::len);
    markup! {
        @if a + b > 0 {
            div.figures {
                figure.distribution {
                    (chart("", None, &format!("Values of {name}: {a} on A, {b} on B: {answer}")))
                    figcaption {
                        "Every value (A: circles, B: diamonds), and above them the share of values up to each place \
                         (A: dashed)"
                    }
                }
                figure.order {
                    (chart("", None, &format!("Values of {name} in the order of their measurement")))
                    figcaption { "Values in the order of their measurement, each side on its own; lines are the medians" }
                }
            }
        } @else {
            p.nothing.failed { "There are no single values." }
        }
    }
}

fn counter_table(name: &str, all: &[CounterDifference]) -> Markup {
    let (table, left_out) = columns::counters(all, COUNTERS);
    let caption = format!("{name}: kernel counters that differ, medians per operation, most significant first");
    markup! {
        @if !all.is_empty() {
            (table.html(&caption))
            @if left_out > 0 { p.hint { (left_out) " more are in the JSON only." } }
        }
    }
}

/// Sample sizes, median, mean and system time of each side.
fn sides(comparison: &WorkloadComparison, details: &Details, unit: &str, name: &str) -> Markup {
    type Row<'a> = (&'static str, &'a Side, Option<Estimate>, &'a str);
    let columns = vec![
        Column::<Row<'_>>::left("side", |(letter, ..), _| (*letter).to_owned()).row_heading(),
        Column::page_right("boots", |(_, side, ..): &Row<'_>| element::count(side.boots)),
        Column::page_right("runs", |(_, side, ..): &Row<'_>| element::count(side.runs)),
        Column::page_right("intervals", |(_, side, ..): &Row<'_>| element::count(side.intervals)),
        Column::page_right("values", |(_, side, ..): &Row<'_>| element::count(side.units)),
        Column::page_right("median", |(_, side, _, unit): &Row<'_>| element::quantity(side.median, unit)),
        Column::page_right("mean", |(_, side, _, unit): &Row<'_>| element::quantity(side.mean, unit)),
        Column::page_right("system", |(_, _, share, _): &Row<'_>| element::share(*share)),
        Column::page("interval", |(_, _, share, _): &Row<'_>| element::share_interval(*share)),
    ];
    let [a, b] = details.system_share;
    let rows = [("A", &comparison.a, a, unit), ("B", &comparison.b, b, unit)];
    ResultTable::new(columns, rows)
        .row_attributes(|(letter, ..)| Attributes::default().with("data-side", letter))
        .html(&format!("{name}: both sides"))
}

/// The test with its results.
fn test(comparison: &WorkloadComparison) -> Markup {
    let unit = one_line(&comparison.unit);
    let method = match comparison.method {
        Method::SignedRanks => "Wilcoxon signed-rank test of the differences within blocks",
        Method::Ranks => "Mann–Whitney–Wilcoxon rank-sum test",
        Method::Welch => "Welch's t-test of logarithms",
        Method::None => "none: too few values",
    };
    let bounded = |bounded: &Bounded, words: &dyn Fn(f64) -> String| {
        let [value, low, high] = [bounded.value, bounded.low, bounded.high].map(words);
        format!("{value} ({low} … {high} at {})", level(bounded.level))
    };
    let plain = |value: f64| figure::plain(value);
    let quantity = |value: f64| figure::quantity(value, &unit, &UNICODE);
    let mut rows = vec![("test", method.to_owned())];
    rows.extend(comparison.p.map(|p| ("p", chance(p))));
    rows.extend(comparison.p_corrected.map(|p| ("p, corrected for all workloads", chance(p))));
    rows.push(("margin of equality", words::margin(comparison, &UNICODE)));
    if comparison.inconclusive.is_none_or(Inconclusive::has_estimate) {
        rows.extend(comparison.ratio.as_ref().map(|ratio| ("ratio B/A", bounded(ratio, &plain))));
        rows.extend(comparison.shift.as_ref().map(|shift| ("shift B − A", bounded(shift, &quantity))));
        let medians = comparison.ratio_of_medians.as_ref();
        rows.extend(medians.map(|ratio| ("ratio of the medians, bootstrap", bounded(ratio, &plain))));
        let least = words::detectable(comparison).unwrap_or_else(|| "unknown".to_owned());
        rows.push(("smallest detectable change (80 % power)", least));
    }
    markup! { dl.notes { @for (term, text) in rows { dt { (term) } dd { (text) } } } }
}

fn values(details: &Details, unit: &str, name: &str) -> Markup {
    type Row<'a> = (usize, [Option<f64>; 2], &'a str);
    fn value(value: Option<f64>, unit: &str) -> Markup {
        value.map_or_else(none, |exact| element::quantity(exact, unit))
    }
    let most = details.values.iter().map(Vec::len).max().unwrap_or(0);
    let columns = vec![
        Column::<Row<'_>>::right("in order", |(order, ..), _| order.to_string()).row_heading(),
        Column::page_right("A", |(_, [a, _], unit): &Row<'_>| value(*a, unit)),
        Column::page_right("B", |(_, [_, b], unit): &Row<'_>| value(*b, unit)),
    ];
    let rows = (0..most).map(|index| (index + 1, details.values.each_ref().map(|side| side.get(index).copied()), unit));
    let table =
        ResultTable::new(columns, rows).row_attributes(|(order, ..)| Attributes::default().with("data-value", order));
    markup! { @if most > 0 { (table.html(&format!("{name}: every value"))) } }
}

/// The comparisons of one workload at several numbers of tasks, in the script's order.
struct Curves<'a> {
    name: &'a str,
    /// By number of tasks, each with the anchor of its card.
    points: Vec<CurvePoint<'a>>,
}

type CurvePoint<'a> = (u32, &'a ComparedWorkload, &'a str);

impl<'a> Curves<'a> {
    /// The curves of all workloads with several numbers of tasks.
    fn all(compared: &'a Comparison, anchors: &'a [String]) -> Vec<Self> {
        let mut all: Vec<Curves<'a>> = Vec::new();
        for (workload, anchor) in compared.workloads.iter().zip(anchors) {
            let Some(tasks) = workload.details.tasks else { continue };
            let (name, point) = (workload.comparison.name.as_str(), (tasks, workload, anchor.as_str()));
            match all.iter_mut().find(|curves| curves.name == name) {
                Some(curves) => curves.points.push(point),
                None => all.push(Curves { name, points: vec![point] }),
            }
        }
        all.iter_mut().for_each(|curves| curves.points.sort_by_key(|(tasks, ..)| *tasks));
        all.retain(|curves| curves.points.windows(2).any(|pair| pair[0].0 != pair[1].0));
        all
    }
}

/// True if [`scaling`] shows anything.
pub(super) fn curves_are_there(compared: &Comparison) -> bool {
    let anchors = element::workload_anchors(&compared.workloads);
    !compared.scaling.is_empty() || !Curves::all(compared, &anchors).is_empty()
}

/// The scaling of both sides: a chart and a table per workload, and the laws.
pub(super) fn scaling(compared: &Comparison, anchors: &[String]) -> Markup {
    let all = Curves::all(compared, anchors);
    let is_drawn = |case: &&ScaledCase| all.iter().any(|curves| curves.name == case.name);
    let content = markup! {
        @for curves in &all {
            h3 { (one_line(curves.name)) }
            (curve(curves))
            @for case in compared.scaling.iter().filter(|case| case.name == curves.name) { (law(case)) }
        }
        @for case in compared.scaling.iter().filter(|case| !is_drawn(case)) {
            h3 { (one_line(&case.name)) }
            (law(case))
        }
    };
    markup! { @if curves_are_there(compared) { (section("scaling", "Scaling", content)) } }
}

fn law(case: &ScaledCase) -> Markup {
    markup! {
        p.about { (laws::title(case)) ":" }
        ul.law { @for (tone, sentence) in laws::sentences(case, &UNICODE) { li.(tone_class(tone)) { (sentence) } } }
    }
}

fn curve(curves: &Curves<'_>) -> Markup {
    fn medians((_, ComparedWorkload { comparison, .. }, _): &CurvePoint<'_>) -> [String; 2] {
        words::medians(comparison, &one_line(&comparison.unit), &UNICODE)
    }
    let columns = vec![
        Column::page_right("tasks", |(tasks, _, anchor): &CurvePoint<'_>| {
            markup! { a href={ "#" (anchor) } { (element::count(*tasks)) } }
        })
        .row_heading(),
        Column::right("A", |point: &CurvePoint<'_>, _| medians(point)[0].clone())
            .exact(|(_, workload, _)| Some(workload.comparison.a.median)),
        Column::right("B", |point: &CurvePoint<'_>, _| medians(point)[1].clone())
            .exact(|(_, workload, _)| Some(workload.comparison.b.median)),
        Column::left("n", |(_, workload, _): &CurvePoint<'_>, _| words::units(&workload.comparison)),
        Column::page("answer", |(_, workload, _): &CurvePoint<'_>| columns::answer(&workload.comparison)),
    ];
    let name = one_line(curves.name);
    let tasks: Vec<String> = curves.points.iter().map(|(tasks, ..)| tasks.to_string()).collect();
    markup! {
        figure.both {
            (chart("", None, &format!("Scaling of {name} on A and B, at {} tasks", tasks.join(", "))))
            figcaption {
                "Medians by number of tasks (A: circles, dashed; B: diamonds), and every value (faint, A to the left, B to \
                 the right)"
            }
        }
        (ResultTable::new(columns, curves.points.iter().copied()).html(&format!("{name} by number of tasks")))
    }
}
