//! The page of a run or a comparison: one file that loads nothing else.
//!
//! Rust writes all tables. The script (`page/src`) adds charts and controls; its input is the
//! summary in the page.

mod comparison;
mod curve;
pub(crate) mod delivery;
pub(crate) mod document;
pub(crate) mod element;
mod environment;
mod lens;
mod workload;

pub use comparison::comparison_html;
pub(crate) use comparison::{comparison_page, comparison_parts};
pub(crate) use environment::fact_list;

use self::delivery::Delivery;
use self::document::{chart_keys, reading, section};
use self::element::none;
use crate::escape::one_line;
use crate::lens::answer::answer as lens_answer;
use crate::run;
use crate::sentences::worded_run;
use crate::style::{Tone, UNICODE};
use crate::table::{Column, ResultTable};
use crate::{figure, names};
use faultline_record::record::RunHead;
use faultline_stats::estimate::Estimate;
use faultline_stats::summary::{Curve, Point, RunSummary};
use maud::{Markup, html as markup};
use std::collections::BTreeMap;

/// The page of a run as HTML, with figures from `summary`, settings and facts from `head`.
///
/// The page loads nothing from elsewhere; its content security policy forbids it.
pub fn html(summary: &RunSummary, head: &RunHead) -> String {
    run_page(summary, head, &Delivery::Alone)
}

/// The page of a run, alone or in a site.
pub(crate) fn run_page(summary: &RunSummary, head: &RunHead, delivery: &Delivery<'_>) -> String {
    let title = title(summary, head);
    let parts = markup! {
        @match &summary.lens {
            Some(lens) => {
                (lens::overview(lens))
                (environment::warnings(summary))
                (lens::cases(summary, lens))
                (lens::explanation(lens))
            }
            None => {
                (overview(summary))
                (environment::warnings(summary))
                (curves(summary))
                (explanation(summary))
            }
        }
        (environment::facts(head))
        (environment::settings(summary, head))
    };
    let skip = if summary.lens.is_some() { "Skip to the cases" } else { "Skip to the curves" };
    let masthead = masthead(summary, &title, delivery);
    document::document(delivery, &title, ("#curves", skip), masthead, parts, Some(&worded_run(summary)))
}

/// The title: what was asked, and the label.
fn title(summary: &RunSummary, head: &RunHead) -> String {
    let asked = names::asked(head, &UNICODE);
    let (open, close) = UNICODE.quotes;
    summary.label.as_ref().map_or_else(|| asked.clone(), |label| format!("{asked} {open}{}{close}", one_line(label)))
}

fn masthead(summary: &RunSummary, title: &str, delivery: &Delivery<'_>) -> Markup {
    markup! {
        header.masthead {
            (delivery.brand())
            h1 { (title) }
            (element::answer(answer(summary)))
            p.machine { (one_line(&summary.machine)) }
            p.standing {
                "run " (summary.run) " " (UNICODE.dot) " "
                time datetime=(figure::iso_time(summary.started)) { (names::standing(summary, &UNICODE)) }
            }
            nav aria-label="Sections of this page" {
                a href="#overview" { "Overview" }
                @if !summary.warnings.is_empty() { a href="#warnings" { "Warnings (" (summary.warnings.len()) ")" } }
                a href="#curves" { @if summary.lens.is_some() { "Cases" } @else { "Curves" } }
                a href="#reading" { "How to read this" }
                a href="#facts" { "Facts" }
                a href="#settings" { "Settings" }
                @if let Delivery::Site(site) = delivery { a href=(site.executions(summary.run)) { "Executions" } }
                a #download hidden { "Download as JSON" }
            }
        }
    }
}

/// The answer in one sentence.
fn answer(summary: &RunSummary) -> (Tone, String) {
    summary.lens.as_ref().map_or_else(|| run::words::answer(summary), lens_answer)
}

/// The verdicts: how many curves have each, and a row per curve.
fn overview(summary: &RunSummary) -> Markup {
    let mut counts = BTreeMap::new();
    for curve in &summary.curves {
        *counts.entry(curve.verdict.verdict).or_insert(0) += 1;
    }
    let table = ResultTable::new(overview_columns(), summary.curves.iter().map(OverviewRow::of)).sortable();
    let content = markup! {
        @if summary.curves.is_empty() {
            p.nothing { "There are no figures yet." }
        } @else {
            p.tally { @for (verdict, count) in &counts { span { b { (count) } " " (curve::verdict(*verdict)) } } }
            (table.html_below_heading("Overview of all curves"))
        }
    };
    section("overview", "Does it scale?", content)
}

/// A curve with the point that its verdict rests on; without a verdict, with the base.
struct OverviewRow<'a> {
    curve: &'a Curve,
    point: Option<&'a Point>,
    is_base: bool,
}

impl<'a> OverviewRow<'a> {
    fn of(curve: &'a Curve) -> Self {
        let tasks = curve.verdict.rests_on.map(|basis| basis.tasks).or(curve.base_tasks);
        let point = tasks.and_then(|tasks| curve.point(tasks));
        OverviewRow { curve, point, is_base: point.is_some_and(|point| curve.base_tasks == Some(point.tasks)) }
    }

    fn value(&self) -> Option<Estimate> {
        self.point?.value
    }

    /// A figure relative to the base. The base has none.
    fn derived(&self, figure: fn(&Point) -> Option<Estimate>) -> Option<Estimate> {
        self.point.filter(|_| !self.is_base).and_then(figure)
    }

    fn efficiency(&self) -> Option<Estimate> {
        self.derived(|point| point.efficiency)
    }
}

/// The answer comes first, because a narrow screen shows the first columns only.
fn overview_columns<'a>() -> Vec<Column<OverviewRow<'a>>> {
    type Row<'a> = OverviewRow<'a>;
    vec![
        Column::page("curve", |row: &Row<'_>| {
            markup! {
                a href={ "#" (element::case_anchor(&row.curve.case)) } { (element::name(&row.curve.case.to_string())) }
                " " span.mode { (names::tasks_are(row.curve.case.mode)) }
            }
        })
        .row_heading(),
        Column::page("verdict", |row: &Row<'_>| curve::verdict(row.curve.verdict.verdict)),
        Column::page_right("efficiency", |row: &Row<'_>| element::share(row.efficiency())),
        Column::page("interval", |row: &Row<'_>| {
            let efficiency = row.efficiency();
            markup! { span.with-gauge { span { (element::share_interval(efficiency)) } (gauge(efficiency)) } }
        }),
        Column::page_right("at tasks", |row: &Row<'_>| {
            row.point.map_or_else(none, |point| element::count(point.tasks))
        }),
        Column::page_right("rate or time", |row: &Row<'_>| element::median(row.value(), &row.curve.unit)),
        Column::page("interval", |row: &Row<'_>| element::interval(row.value(), &row.curve.unit)),
        Column::page_right("speed-up", |row: &Row<'_>| element::median(row.derived(|point| point.speedup), "")),
        Column::page_right("n", |row: &Row<'_>| element::n(row.value())),
    ]
}

/// Efficiency from 0 to 110 % as a small bar with its interval. The numbers are beside it.
fn gauge(efficiency: Option<Estimate>) -> Markup {
    let place = |share: f64| (share * 100.0).clamp(0.0, 110.0) / 1.1;
    markup! {
        @if let Some(e) = efficiency {
            @let [low, width] = [place(e.low), (place(e.high) - place(e.low)).max(0.5)];
            span.gauge aria-hidden="true" {
                span.gauge-fill style={ "width:" (format!("{:.2}", place(e.median))) "%" } {}
                span.gauge-interval style=(format!("left:{low:.2}%;width:{width:.2}%")) {}
            }
        }
    }
}

fn curves(summary: &RunSummary) -> Markup {
    let content = markup! {
        @if summary.curves.is_empty() {
            p.nothing { "No workload has been run." }
        } @else {
            div #toolbar.toolbar role="group" aria-label="Display" hidden {}
            (chart_keys())
        }
        (curve::cards(summary))
    };
    section("curves", "Curves", content)
}

fn explanation(summary: &RunSummary) -> Markup {
    let of_page = [
        "Charts: dot = median, bar = interval, faint dots = repeats. The dashed line is ideal scaling from the base: \
         each added task adds as much as the base's tasks do.",
        "scales: high efficiency, including its interval. scales in part: faster with more tasks, but below that. \
         does not scale: most of the added tasks are lost. inconclusive: the figures do not decide; the card gives the \
         reason.",
    ];
    reading(run::legend(summary).into_iter().chain(of_page.map(str::to_owned)))
}
