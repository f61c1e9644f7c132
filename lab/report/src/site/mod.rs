//! Pages of a database, from a server or as files. They share components with the page of a run.

mod bisect;
mod changes;
mod jobs;
mod lens_comparison;
mod machines;
mod marks;
mod overview;
mod points;
mod runs;
pub(crate) mod steps;
mod timeline;

pub use crate::page::delivery::{Site, file_of_execution, pinned};
pub use bisect::{bisect_html, bisect_page};
pub use changes::{ChangeRow, ChangesPage, FeedEntry, changes_feed, changes_page};
pub use jobs::{JobRow, JobsPage, jobs_page};
pub use lens_comparison::lens_comparison_page;
pub use machines::machines_page;
pub use marks::{Executed, commit_mark, history_name, quirk_marks, step_mark};
pub use overview::{HistoryRow, Overview, overview_page};
pub use points::{PointSide, PointsPage, Searched, StepDiffers, points_page, searches};
pub use runs::{Further, SamplesPage, execution_page, executions_page, raw_executions_page, runs_page};
pub use steps::{REMARK_LETTERS, TimelineFiles};
pub use timeline::{OFFERED_THRESHOLDS, TimelinePage, timeline_page};

use crate::names::{asked, state};
use crate::page::delivery::Delivery;
use crate::page::document::{document, embedded_json, preformatted};
use crate::page::{comparison_page, delivery as assets, element, run_page};
use crate::style::UNICODE;
use faultline_record::record::RunHead;
use faultline_stats::comparison::Comparison;
use faultline_stats::summary::RunSummary;
use maud::{Markup, html as markup};
use serde::Serialize;

/// A file that the pages of a site share.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Name in the directory `assets`. It changes with the content.
    pub name: &'static str,
    /// Content.
    pub text: &'static str,
    /// Media type.
    pub media_type: &'static str,
}

/// Script and style of a site.
pub const ASSETS: [Asset; 2] = [
    Asset { name: assets::SCRIPT_NAME, text: assets::SCRIPT, media_type: "text/javascript; charset=utf-8" },
    Asset { name: assets::STYLE_NAME, text: assets::STYLE, media_type: "text/css; charset=utf-8" },
];

/// A script that passes an answer to a page stored as a file.
pub fn answer_script(answer: &impl Serialize) -> String {
    // A text within the script, not an expression, so the answer stays data whatever names it
    // contains.
    format!("faultlineAnswer({});\n", embedded_json(&embedded_json(answer)))
}

/// The page of a run in a site.
pub fn run_of_site(summary: &RunSummary, head: &RunHead, site: &Site) -> String {
    run_page(summary, head, &Delivery::Site(site))
}

/// The page of a comparison in a site.
pub fn comparison_of_site(compared: &Comparison, site: &Site) -> String {
    comparison_page(compared, &Delivery::Site(site))
}

/// The page of one run of a history.
///
/// `history`: identifier of the run's history. `further`: address of the next commits, if any.
pub fn text_page(head: &RunHead, text: &str, history: Option<&str>, further: Option<&str>, site: &Site) -> String {
    let about = markup! {
        p.standing { (run_words(head)) }
        nav aria-label="Related pages" {
            @if let Some(id) = history { a href=(site.history(id)) { "The whole history" } }
            a href=(site.executions(head.id)) { "Executions" }
        }
    };
    let parts = markup! { section { (preformatted("Results", text)) (further_link(further, "Further commits")) } };
    page(site, &asked(head, &UNICODE), about, parts)
}

/// Number, state and start of a run.
fn run_words(head: &RunHead) -> Markup {
    let dot = UNICODE.dot;
    markup! { "run " (head.id) " " (dot) " " (state(head.state)) " " (dot) " began " (element::time(head.started())) }
}

/// The page for a request that failed: one line with the problem, and a hint.
pub fn problem_page(status: u16, problem: &str, hint: Option<&str>, site: &Site) -> String {
    problem_page_with_ways(status, problem, hint, &[], site)
}

/// [`problem_page`] with links: words and addresses.
pub fn problem_page_with_ways(
    status: u16,
    problem: &str,
    hint: Option<&str>,
    ways: &[(String, String)],
    site: &Site,
) -> String {
    let parts = markup! {
        section {
            p.nothing { (problem) }
            @if let Some(hint) = hint { p.hint { "Hint: " (hint) } }
            @if !ways.is_empty() { ul { @for (words, address) in ways { li { a href=(address) { (words) } } } } }
        }
    };
    page(site, &format!("Error {status}"), markup! {}, parts)
}

/// A page without data for the script.
fn page(site: &Site, title: &str, about: Markup, parts: Markup) -> String {
    page_with(site, title, about, parts, None::<&()>)
}

/// A page. `about`: the content below its title. `data`: input of the script.
fn page_with<T: Serialize>(site: &Site, title: &str, about: Markup, parts: Markup, data: Option<&T>) -> String {
    page_in(&Delivery::Site(site), title, about, parts, data)
}

/// As [`page_with`], of a site or alone.
fn page_in<T: Serialize>(
    delivery: &Delivery<'_>,
    title: &str,
    about: Markup,
    parts: Markup,
    data: Option<&T>,
) -> String {
    let masthead = markup! {
        header.masthead {
            (delivery.brand())
            h1 { (title) }
            (about)
        }
    };
    let parts = markup! { div #content tabindex="-1" { (parts) } };
    document(delivery, title, ("#content", "Skip to the content"), masthead, parts, data)
}

/// The status line of a page that updates itself; nothing on pages stored as files.
///
/// While no run is open (`goes_on` is false), the line is hidden and the script polls less often
/// for a new run.
fn live_line(goes_on: bool, site: &Site) -> Markup {
    let state = if goes_on { "on" } else { "off" };
    markup! {
        @if site.is_live() {
            p #live.hint role="status" data-live=(state) {
                @if goes_on { "A run is not finished. " span.live-state { "Reload the page for newer results." } }
            }
        }
    }
}

/// A link to the rest of a list, if there is any.
fn further_link(address: Option<&str>, words: &str) -> Markup {
    markup! { @if let Some(address) = address { p { a href=(address) { (words) } } } }
}
