//! The list of runs. A server also compares two of them.

use super::frame::page;
use super::live;
use crate::introduction;
use crate::moment;
use crate::one_line::one_line;
use crate::page::delivery::Site;
use crate::page::document::table;
use crate::page::value;
use crate::runs::{counts, ended, stage, what};
use crate::style::UNICODE;
use faultline_model::plan::KindOfRun;
use faultline_model::record::{RunLine, RunState};
use maud::{Markup, html as markup};

/// The list. `older`: the address with the runs that follow, if there are any.
pub fn runs_page(runs: &[RunLine], older: Option<&str>, site: &Site) -> String {
    let list = markup! {
        @if runs.is_empty() { p.nothing { "There are no runs." } } @else { (rows(runs, site)) }
        @if let Some(older) = older { p { a href=(older) { "Older runs" } } }
    };
    let parts = markup! {
        (live::line(runs.iter().any(|run| run.state == RunState::Open), site))
        section #runs {
            @if site.is_live() && !runs.is_empty() {
                form action=(site.compare()) method="get" {
                    (list)
                    p.compare { button type="submit" { "Compare A with B" } }
                }
            } @else { (list) }
        }
    };
    page(site, "Runs", markup! {}, parts)
}

/// The list as a table.
pub(super) fn rows(runs: &[RunLine], site: &Site) -> Markup {
    let is_live = site.is_live();
    let head = markup! {
        th.number scope="col" { "run" }
        th scope="col" { "what" }
        th scope="col" { "tasks" }
        th scope="col" { "label" }
        th scope="col" { "started" }
        th scope="col" { "state" }
        th.number scope="col" { "ended" }
        th.number scope="col" { "failed" }
        th scope="col" { "machine" }
        @if is_live { th scope="col" { "A" } th scope="col" { "B" } }
    };
    let body = markup! { @for run in runs { (row(run, site)) } };
    table("Runs, the newest first", false, head, body)
}

fn row(run: &RunLine, site: &Site) -> Markup {
    let label = run.label.as_deref().map(one_line).unwrap_or_default();
    markup! {
        tr {
            th.number scope="row" { a href=(site.run(run.id)) { (run.id) } }
            td { (one_line(&what(run, &UNICODE))) }
            td { (counts(&run.cpus, ", ")) }
            td { (label) }
            td { time datetime=(moment::iso(run.started)) { (moment::words(run.started)) } }
            td { (introduction::state(run.state)) (progress(run)) }
            td.number { (ended(run)) }
            td.number { (value::count(run.failed)) }
            td { (one_line(&run.machine)) }
            @if site.is_live() { (choice(run, "a")) (choice(run, "b")) }
        }
    }
}

/// How far an open run is, and what it is at.
pub(super) fn progress(run: &RunLine) -> Markup {
    let whole = run.whole.filter(|whole| run.state == RunState::Open && *whole > 0);
    markup! {
        @if let Some(whole) = whole {
            " " progress max=(whole) value=(run.ended + run.skipped) aria-label={ "Progress of run " (run.id) } {}
        }
        @if let Some(stage) = stage(run) { div.about { (one_line(&stage)) } }
    }
}

/// The choice of a run as a side. Runs with figures of many commits cannot be one.
fn choice(run: &RunLine, side: &str) -> Markup {
    let is_one = !matches!(run.kind, KindOfRun::History | KindOfRun::Drill);
    markup! {
        td {
            @if is_one {
                input type="radio" name=(side) value=(run.id) required aria-label={ "Run " (run.id) " as " (side.to_uppercase()) };
            }
        }
    }
}
