//! The page of a comparison: what changed and how surely, as a table and a forest plot; for each workload its values; and what else differs.

mod curves;
mod surroundings;
mod workload;

use super::anchor;
use super::delivery::Delivery;
use super::document::{document, table};
use super::value;
use crate::comparison::change::{Change, level};
use crate::comparison::{cautions, legend, sequential, words};
use crate::moment;
use crate::one_line::one_line;
use crate::sentences::worded_comparison;
use crate::style::UNICODE;
use crate::table::Form;
use faultline_model::comparison::{ComparedWorkload, Comparison, Described};
use faultline_model::workload_comparison::{Answer, WorkloadComparison};
use maud::{Markup, html as markup};

/// The page of a comparison as HTML. Nothing in it is loaded from elsewhere, and its content security policy forbids to.
pub fn comparison_html(compared: &Comparison) -> String {
    comparison_page(compared, &Delivery::Alone)
}

/// The page of a comparison, delivered so.
pub(crate) fn comparison_page(compared: &Comparison, delivery: &Delivery<'_>) -> String {
    let title = words::title(compared, &UNICODE);
    document(
        delivery,
        &title,
        ("#workloads", "Skip to the workloads"),
        masthead(compared, &title, delivery),
        comparison_parts(compared),
        Some(&worded_comparison(compared)),
    )
}

/// All that a page says of a comparison, below its title. The script needs [`worded_comparison`] as the page's data.
pub(crate) fn comparison_parts(compared: &Comparison) -> Markup {
    markup! {
        (overview(compared))
        (surroundings::figures(compared))
        (surroundings::untested(compared))
        (surroundings::cautions(compared))
        (workloads(compared))
        (curves::scaling(compared))
        (surroundings::facts(compared))
        (surroundings::unmatched(compared))
        (surroundings::looks(compared))
        (reading(compared))
    }
}

fn masthead(compared: &Comparison, title: &str, delivery: &Delivery<'_>) -> Markup {
    markup! {
        header.masthead {
            (delivery.brand())
            h1 { (title) }
            div.sides {
                (side("A", &compared.a))
                (side("B", &compared.b))
            }
            @if let Some(sequential) = &compared.sequential { p.standing { (sequential::words(sequential)) } }
            nav aria-label="Parts of this page" {
                a href="#overview" { "Overview" }
                @if !cautions::grouped(compared).is_empty() { a href="#cautions" { "Cautions" } }
                a href="#workloads" { "Workloads" }
                @if curves::are_there(compared) { a href="#scaling" { "Scaling" } }
                @if !compared.facts.is_empty() { a href="#facts" { "Facts that differ" } }
                a href="#reading" { "How to read this" }
                a #download hidden { "Download as JSON" }
            }
        }
    }
}

/// Who a side is: its letter, and what is known of it.
fn side(letter: &str, side: &Described) -> Markup {
    markup! {
        div.side.(letter.to_lowercase()) {
            h2 { (letter) ": " (one_line(&side.name)) }
            @for text in [words::setup(side), side.machine.as_ref().map(|machine| one_line(machine))].into_iter().flatten() {
                p { (text) }
            }
            @if let Some(origin) = words::origin(side) {
                p { @match side.started { Some(at) => time datetime=(moment::iso(at)) { (origin) }, None => (origin) } }
            }
        }
    }
}

fn overview(compared: &Comparison) -> Markup {
    markup! {
        section #overview aria-labelledby="overview-title" {
            h2 #overview-title { "Did it change?" }
            @if compared.workloads.is_empty() {
                p.nothing { "There is nothing that both sides have." }
            } @else {
                p.tally {
                    @for (first, count) in words::counts(compared) { span { b { (count) } " " (badge(first)) } }
                }
                @if let Some(overall) = words::overall(compared, &UNICODE) { p.overall { (overall) } }
                p #chart-keys.hint {
                    "In a chart: arrow keys move between points, Enter pins the figures of one, Escape closes them."
                }
                figure.forest {
                    div.chart aria-label={ "How much better B is: " (words::tally(compared, &UNICODE)) } aria-describedby="chart-keys" { (noscript()) }
                    figcaption {
                        "How much better B is, with intervals; dots are filled where a difference was detected; the band is the margin of equality"
                    }
                }
                (rows(compared))
            }
        }
    }
}

fn noscript() -> Markup {
    markup! { noscript { p.nothing { "The chart needs JavaScript. The tables hold the same figures." } } }
}

/// A row for each workload. The answer comes first, so that it is in sight where a table must be scrolled.
fn rows(compared: &Comparison) -> Markup {
    let leveled = legend::levels_differ(compared);
    let head = markup! {
        th scope="col" { "workload" }
        th scope="col" { "answer" }
        th.number scope="col" { "change" }
        th scope="col" { "interval" }
        @if leveled { th.number scope="col" { "level" } }
        th.number scope="col" { "tasks" }
        th.number scope="col" { "A" }
        th.number scope="col" { "B" }
        th scope="col" { "n" }
        th.number scope="col" { "system A" }
        th.number scope="col" { "system B" }
    };
    let body = markup! {
        @for (workload, anchor) in compared.workloads.iter().zip(anchor::of_workloads(&compared.workloads)) { (row(workload, &anchor, leveled)) }
    };
    table("All workloads, B against A", true, head, body)
}

fn row(ComparedWorkload { comparison, details }: &ComparedWorkload, anchor: &str, leveled: bool) -> Markup {
    let change = Change::of(comparison);
    let medians = words::medians(comparison, &one_line(&comparison.unit), &UNICODE);
    let share = |side: usize| details.system_share[side];
    markup! {
        tr {
            th scope="row" { a href={ "#" (anchor) } { (value::name(&comparison.name)) } }
            td { (badge(comparison)) }
            td.number { (change.map_or_else(value::none, |change| value::data(change.value, &change.words(&UNICODE)))) }
            td { (change.map_or_else(value::none, |change| value::data(change.low, &change.span(&UNICODE)))) }
            @if leveled { td.number { (change.map_or_else(value::none, |change| value::data(change.level, &level(change.level)))) } }
            td.number { (details.tasks.map_or_else(value::none, value::count)) }
            td.number { (value::data(comparison.a.median, &medians[0])) }
            td.number { (value::data(comparison.b.median, &medians[1])) }
            td { (words::units(comparison)) }
            td.number { (value::share(share(0))) }
            td.number { (value::share(share(1))) }
        }
    }
}

/// The answer with a sign that doesn't need colour.
fn badge(comparison: &WorkloadComparison) -> Markup {
    let (class, sign) = match comparison.answer {
        Answer::Faster => ("good", "▲"),
        Answer::Slower => ("bad", "▼"),
        Answer::Equal => ("quiet", "="),
        Answer::Inconclusive => ("partly", "?"),
    };
    markup! { span.badge.(class) { span.sign aria-hidden="true" { (sign) } " " (words::answer_words(comparison, &UNICODE)) } }
}

fn workloads(compared: &Comparison) -> Markup {
    markup! {
        section #workloads aria-labelledby="workloads-title" {
            h2 #workloads-title { "Workloads" }
            @if compared.workloads.is_empty() { p.nothing { "No workload was compared." } }
            @for (workload, anchor) in compared.workloads.iter().zip(anchor::of_workloads(&compared.workloads)) { (workload::card(workload, &anchor)) }
        }
    }
}

fn reading(compared: &Comparison) -> Markup {
    markup! {
        section #reading aria-labelledby="reading-title" {
            h2 #reading-title { "How to read this" }
            ul {
                @for sentence in legend::sentences(compared, Form::Wide, &UNICODE) { li { (sentence) } }
                li {
                    "In the first chart a dot is the estimate, its bar the interval; the line in the middle is no change, and distances are those of \
                     ratios: twice and half as fast lie equally far from it."
                }
                li {
                    "In the charts of a workload a dot is one independent value. The steps show the share of values up to each place: where one side's \
                     lie beside the other's all along, the whole distribution has moved."
                }
                li { "In the chart of scaling the line of a side joins its medians; a law, where one could be fitted to both sides, is told below it." }
                li { "Values in the order of their measurement that rise or fall tell of a machine that changed meanwhile." }
            }
        }
    }
}
