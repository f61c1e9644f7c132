//! The pages of a run and of a comparison: one file each that needs nothing else and asks nobody. All tables are written here; charts and
//! controls are added by the script (`page/src`), which reads the run's summary, or the comparison, from the page.

mod anchor;
pub(crate) mod assets;
mod comparison;
mod curve;
pub(crate) mod delivery;
pub(crate) mod document;
mod lens;
mod lens_callers;
mod lens_types;
mod overview;
mod shares;
mod surroundings;
pub(crate) mod value;

pub use comparison::comparison_html;
pub(crate) use comparison::{comparison_page, comparison_parts};

pub(crate) use surroundings::fact_list;

use self::delivery::Delivery;
use crate::introduction;
use crate::moment;
use crate::one_line::one_line;
use crate::run::legend;
use crate::sentences::worded_run;
use crate::style::UNICODE;
use faultline_model::record::RunHead;
use faultline_model::summary::RunSummary;
use maud::{Markup, html as markup};

/// The page of a run as HTML: its figures from `summary`, settings and facts from `head`. Nothing in it is loaded from elsewhere, and its
/// content security policy forbids to.
pub fn html(summary: &RunSummary, head: &RunHead) -> String {
    run_page(summary, head, &Delivery::Alone)
}

/// The page of a run, delivered so.
pub(crate) fn run_page(summary: &RunSummary, head: &RunHead, delivery: &Delivery<'_>) -> String {
    let title = introduction::title(summary, &UNICODE);
    let parts = markup! {
        @match &summary.lens {
            Some(lens) => {
                (lens::overview(lens))
                (surroundings::warnings(summary))
                (lens::cases(lens))
                (lens::reading(lens))
            }
            None => {
                (overview::section(summary))
                (surroundings::warnings(summary))
                (curves(summary))
                (reading(summary))
            }
        }
        (surroundings::facts(head))
        (surroundings::settings(summary, head))
    };
    let skip = if summary.lens.is_some() { "Skip to the cases" } else { "Skip to the curves" };
    let masthead = masthead(summary, &title, delivery);
    document::document(delivery, &title, ("#curves", skip), masthead, parts, Some(&worded_run(summary)))
}

fn masthead(summary: &RunSummary, title: &str, delivery: &Delivery<'_>) -> Markup {
    markup! {
        header.masthead {
            (delivery.brand())
            h1 { (title) }
            p.machine { (one_line(&summary.machine)) }
            p.standing { time datetime=(moment::iso(summary.started)) { (introduction::standing(summary, &UNICODE)) } }
            nav aria-label="Parts of this page" {
                a href="#overview" { "Overview" }
                @if !summary.warnings.is_empty() { a href="#warnings" { "Warnings (" (summary.warnings.len()) ")" } }
                a href="#curves" { @if summary.lens.is_some() { "Cases" } @else { "Curves" } }
                a href="#reading" { "How to read this" }
                a href="#facts" { "Facts" }
                a href="#settings" { "Settings" }
                @if let Delivery::Site(site) = delivery {
                    a href=(site.executions(summary.run)) { "Executions" }
                }
                a #download hidden { "Download as JSON" }
            }
        }
    }
}

fn curves(summary: &RunSummary) -> Markup {
    markup! {
        section #curves aria-labelledby="curves-title" {
            h2 #curves-title { "Curves" }
            @if summary.curves.is_empty() {
                p.nothing { "No workload has been run." }
            } @else {
                div #toolbar.toolbar role="group" aria-label="What the charts show" hidden {}
                p #chart-keys.hint {
                    "In a chart: arrow keys move between points, Enter pins the figures of one, Escape closes them."
                }
            }
            (curve::cards(&summary.curves))
        }
    }
}

fn reading(summary: &RunSummary) -> Markup {
    markup! {
        section #reading aria-labelledby="reading-title" {
            h2 #reading-title { "How to read this" }
            ul {
                @for sentence in legend::sentences(summary) { li { (sentence) } }
                li {
                    "In the charts a dot is the median, its bar the interval, the faint dots beside it are the repeats; the dashed line is what the base would \
                     become if every added task counted fully."
                }
                li {
                    "scales: high efficiency, interval included; scales in part: faster with more tasks, but short of that; does not scale: \
                     tasks added are mostly lost; inconclusive: the figures do not decide; the reason stands with the curve."
                }
            }
        }
    }
}
