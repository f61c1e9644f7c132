//! The page of a comparison: the answers as table and forest plot, a card per workload, and what
//! else differs.

use super::delivery::Delivery;
use super::document::{chart, chart_keys, document, items, listed, reading, section, warnings};
use super::element;
use super::workload::{card, curves_are_there, scaling};
use crate::comparison::{columns, legend, words};
use crate::escape::one_line;
use crate::figure;
use crate::sentences::{self, worded_comparison};
use crate::style::UNICODE;
use crate::table::{Column, Form, ResultTable};
use faultline_stats::comparison::{Comparison, Described, Look, Sequential};
use maud::{Markup, html as markup};

/// The page of a comparison as HTML. The page loads nothing from elsewhere; its content security
/// policy forbids it.
pub fn comparison_html(compared: &Comparison) -> String {
    comparison_page(compared, &Delivery::Alone)
}

/// The page of a comparison, alone or in a site.
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

/// The content of the page below its title. The script reads [`worded_comparison`] from the page's
/// data.
pub(crate) fn comparison_parts(compared: &Comparison) -> Markup {
    let anchors = element::workload_anchors(&compared.workloads);
    let untested: Vec<String> = compared.untested.iter().map(|figure| words::untested(figure, &UNICODE)).collect();
    let unmatched: Vec<String> = compared.unmatched.iter().map(|one| one_line(&sentences::unmatched(one))).collect();
    let grouped = legend::cautions(compared).into_iter().map(|one| (one.code.word(), one.text, one.names));
    let cards = markup! {
        @if compared.workloads.is_empty() { p.nothing { "No workload was compared." } }
        @for (workload, anchor) in compared.workloads.iter().zip(&anchors) { (card(workload, anchor)) }
    };
    markup! {
        (overview(compared, &anchors))
        (figures(compared))
        (listed("untested", "Not tested", &untested))
        (warnings("cautions", "Cautions", grouped))
        (section("workloads", "Workloads", cards))
        (scaling(compared, &anchors))
        @if !compared.facts.is_empty() {
            (section("facts", "Facts that differ", columns::facts(compared).html("Facts that differ between the machines")))
        }
        (listed("unmatched", "Not compared", &unmatched))
        @if let Some(sequential) = &compared.sequential { (looks(sequential)) }
        (explanation(compared))
    }
}

fn masthead(compared: &Comparison, title: &str, delivery: &Delivery<'_>) -> Markup {
    markup! {
        header.masthead {
            (delivery.brand())
            h1 { (title) }
            (element::answer(words::sentence(compared, &UNICODE)))
            div.sides {
                (side("A", &compared.a))
                (side("B", &compared.b))
            }
            @if let Some(sequential) = &compared.sequential { p.standing { (legend::sequential(sequential)) } }
            nav aria-label="Sections of this page" {
                a href="#overview" { "Overview" }
                @if !legend::cautions(compared).is_empty() { a href="#cautions" { "Cautions" } }
                a href="#workloads" { "Workloads" }
                @if curves_are_there(compared) { a href="#scaling" { "Scaling" } }
                @if !compared.facts.is_empty() { a href="#facts" { "Facts that differ" } }
                a href="#reading" { "How to read this" }
                a #download hidden { "Download as JSON" }
            }
        }
    }
}

/// A side: letter, name, set-up, machine, origin.
fn side(letter: &str, side: &Described) -> Markup {
    let machine = side.machine.as_ref().map(|machine| one_line(machine));
    markup! {
        div.side.(letter.to_lowercase()) {
            h2 { (letter) ": " (one_line(&side.name)) }
            @for text in [words::setup(side), machine].into_iter().flatten() { p { (text) } }
            @if let Some(origin) = words::origin(side) {
                p { @match side.started { Some(at) => time datetime=(figure::iso_time(at)) { (origin) }, None => (origin) } }
            }
        }
    }
}

fn overview(compared: &Comparison, anchors: &[String]) -> Markup {
    let content = markup! {
        @if compared.workloads.is_empty() {
            p.nothing { "The sides have nothing in common." }
        } @else {
            p.tally {
                @for (first, count) in words::counts(compared) { span { b { (count) } " " (columns::answer(first)) } }
            }
            @if let Some(overall) = words::overall(compared, &UNICODE) { p.overall { (overall) } }
            (chart_keys())
            figure.forest {
                (chart("", None, &format!("Change of cost from A to B: {}", words::tally(compared, &UNICODE))))
                figcaption {
                    "Change of cost from A to B, with intervals: worse is positive. Filled dots: difference detected. Band: margin of equality."
                }
            }
            (columns::page_table(compared, anchors).html("All workloads, B against A"))
        }
    };
    section("overview", "Did it change?", content)
}

/// Further figures of the workloads that have some.
fn figures(compared: &Comparison) -> Markup {
    let content = markup! {
        @for workload in compared.workloads.iter().filter(|workload| !workload.details.figures.is_empty()) {
            h3 { (words::name(workload)) }
            (items(&words::figures(&workload.details, &UNICODE)))
        }
    };
    markup! { @if words::has_figures(compared) { (section("figures", "Further figures", content)) } }
}

/// The planned interim looks, and which of them were taken.
fn looks(sequential: &Sequential) -> Markup {
    type Row<'a> = (usize, &'a Look, &'a Sequential);
    let columns = vec![
        Column::<Row<'_>>::right("look", |(number, ..), _| number.to_string()).row_heading(),
        Column::right("blocks before it", |(_, look, _): &Row<'_>, _| look.blocks.to_string())
            .exact(|(_, look, _)| Some(look.blocks.into())),
        Column::right("level of its test", |(_, look, _): &Row<'_>, _| format!("{:.3} %", look.alpha * 100.0))
            .exact(|(_, look, _)| Some(look.alpha)),
        Column::left("taken", |(number, _, sequential): &Row<'_>, _| {
            if *number <= sequential.taken as usize { "yes" } else { "no" }.to_owned()
        }),
    ];
    let rows = (1..).zip(&sequential.looks).map(|(number, look)| (number, look, sequential));
    let content = markup! {
        p { (legend::sequential(sequential)) }
        (ResultTable::new(columns, rows).html("Planned interim looks"))
    };
    section("looks", "End of the comparison", content)
}

fn explanation(compared: &Comparison) -> Markup {
    let of_page = [
        "First chart: dot = estimate, bar = interval, line in the middle = no change. The axis is one of ratios: twice \
         as fast and half as fast are equally far from the line.",
        "Charts of a workload: each dot is one independent value. The steps show the share of values up to each place. \
         If one side's steps lie beside the other's everywhere, the whole distribution has moved.",
        "Chart of scaling: a line joins the medians of a side. The law is below the chart if it fits both sides.",
        "Values that rise or fall in the order of their measurement show that the machine changed during the run.",
    ];
    reading(legend::sentences(compared, Form::Wide, &UNICODE).into_iter().chain(of_page.map(str::to_owned)))
}
