//! One workload of a comparison: its answer, place for the charts of its values, counters that differ, and below them every figure.

use super::{badge, noscript};
use crate::comparison::change::{chance, level};
use crate::comparison::words;
use crate::figure;
use crate::one_line::one_line;
use crate::page::document::table;
use crate::page::value;
use crate::style::{Tone, UNICODE};
use faultline_model::comparison::{ComparedWorkload, CounterDifference, Details};
use faultline_model::workload_comparison::{Bounded, Inconclusive, Method, Side, WorkloadComparison};
use maud::{Markup, html as markup};

/// How many counters are shown.
const COUNTERS: usize = 12;

/// The workload's card.
pub(super) fn card(workload: &ComparedWorkload, anchor: &str) -> Markup {
    let ComparedWorkload { comparison, details } = workload;
    let name = words::name(workload);
    let title = format!("{anchor}-title");
    let answer = words::answer(comparison, &UNICODE);
    markup! {
        article.curve id=(anchor) aria-labelledby=(title) {
            header {
                h3 id=(title) { (name) }
                p.verdict { (badge(comparison)) span.basis { (words::basis(comparison, &UNICODE)) } }
                p.about { (one_line(&comparison.unit)) ", " (comparison.direction.word()) " is better; n " (words::units(comparison)) }
            }
            (figures(&name, &answer, details))
            @for (letter, failures) in failures(details) {
                p.shortfall { b { (letter) ": " } (failures) }
            }
            (counters(&name, &details.counters))
            details {
                summary { "All figures of " (name) }
                (sides(comparison, details, &name))
                (test(comparison))
                (values(comparison, details, &name))
            }
        }
    }
}

fn failures(details: &Details) -> Vec<(&'static str, String)> {
    let sides = ["A", "B"].into_iter().zip(&details.failures);
    sides
        .filter(|(_, failures)| !failures.is_empty())
        .map(|(letter, failures)| {
            let told = crate::run::words::counted(failures, &UNICODE).join("; ");
            (letter, format!("{} left out as failed: {told}", failures.len()))
        })
        .collect()
}

fn figures(name: &str, answer: &str, details: &Details) -> Markup {
    let [a, b] = details.values.each_ref().map(Vec::len);
    markup! {
        @if a + b > 0 {
            div.figures {
                figure.distribution {
                    div.chart aria-label={ "Values of " (name) ": " (a) " on A, " (b) " on B: " (answer) } aria-describedby="chart-keys" { (noscript()) }
                    figcaption { "Every value (A: circles, B: diamonds), and above them the share of values up to each place (A: dashed)" }
                }
                figure.order {
                    div.chart aria-label={ "Values of " (name) " in the order of their measurement" } aria-describedby="chart-keys" { (noscript()) }
                    figcaption { "Values in the order of their measurement, each side counted for itself; lines are the medians" }
                }
            }
        } @else {
            p.nothing.failed { "There are no single values." }
        }
    }
}

fn counters(name: &str, counters: &[CounterDifference]) -> Markup {
    let head = markup! {
        th scope="col" { "counter" }
        th.number scope="col" { "A" }
        th.number scope="col" { "B" }
        th.number scope="col" { "B/A" }
        th.number scope="col" { "p" }
    };
    let body = markup! {
        @for counter in counters.iter().take(COUNTERS) {
            tr data-counter=(one_line(&counter.name)) {
                th scope="row" { code { (one_line(&counter.name)) } }
                td.number { (value::number(counter.a)) }
                td.number { (value::number(counter.b)) }
                td.number { (words::counter_ratio(counter).map_or_else(value::none, value::plain)) }
                td.number { (value::data(counter.p_corrected, &chance(counter.p_corrected))) }
            }
        }
    };
    let left_out = counters.len().saturating_sub(COUNTERS);
    markup! {
        @if !counters.is_empty() {
            (table(&format!("{name}: kernel counters that differ, medians per operation, the most telling first"), true, head, body))
            @if left_out > 0 { p.hint { (left_out) " more are in the JSON only." } }
        }
    }
}

/// What each side consists of.
fn sides(comparison: &WorkloadComparison, details: &Details, name: &str) -> Markup {
    let head = markup! {
        th scope="col" { "side" }
        @for column in ["boots", "runs", "intervals", "values", "median", "mean", "system"] { th.number scope="col" { (column) } }
        th scope="col" { "interval" }
    };
    let unit = one_line(&comparison.unit);
    let row = |index: usize, letter: &str, side: &Side| {
        let share = details.system_share[index];
        markup! {
            tr data-side=(letter) {
                th scope="row" { (letter) }
                @for count in [side.boots, side.runs, side.intervals, side.units] { td.number { (value::count(count)) } }
                td.number { (value::quantity(side.median, &unit)) }
                td.number { (value::quantity(side.mean, &unit)) }
                td.number { (value::share(share)) }
                td { (value::share_interval(share)) }
            }
        }
    };
    let body = markup! { (row(0, "A", &comparison.a)) (row(1, "B", &comparison.b)) };
    table(&format!("{name}: both sides"), false, head, body)
}

/// What was tested, and what came of it.
fn test(comparison: &WorkloadComparison) -> Markup {
    let unit = one_line(&comparison.unit);
    let method = match comparison.method {
        Method::SignedRanks => "Wilcoxon's test of signed ranks, of the differences within blocks",
        Method::Ranks => "Wilcoxon, Mann and Whitney's test of ranks",
        Method::Welch => "Welch's test on logarithms",
        Method::None => "none: there are too few values",
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
        let least = words::detectable(comparison).unwrap_or_else(|| "can't be told".to_owned());
        rows.push(("smallest change detected with 80 % power", least));
    }
    markup! { dl.notes { @for (term, text) in rows { dt { (term) } dd { (text) } } } }
}

fn values(comparison: &WorkloadComparison, details: &Details, name: &str) -> Markup {
    let most = details.values.iter().map(Vec::len).max().unwrap_or(0);
    if most == 0 {
        return markup! {};
    }
    let unit = one_line(&comparison.unit);
    let head = markup! {
        th.number scope="col" { "in order" }
        th.number scope="col" { "A" }
        th.number scope="col" { "B" }
    };
    let body = markup! {
        @for index in 0..most {
            tr data-value=(index + 1) {
                th.number scope="row" { (index + 1) }
                @for side in &details.values {
                    td.number { (side.get(index).map_or_else(value::none, |exact| value::quantity(*exact, &unit))) }
                }
            }
        }
    };
    table(&format!("{name}: every value"), false, head, body)
}

/// The class of a tone.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Middling => "partly",
        Tone::Title | Tone::Quiet => "quiet",
    }
}
