//! The changes of all histories as a work list, the newest first. The script filters it by state.

use super::badge;
use super::between::{between, range, said};
use super::frame::page;
use super::mark_form::mark_form;
use crate::history::words;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::page::delivery::{Site, pinned};
use crate::page::document::table;
use crate::page::value;
use crate::quantity::Quantity;
use crate::style::UNICODE;
use faultline_model::commit::short_name;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::time::UnixMillis;
use maud::{Markup, html as markup};

/// Letters of a commit's subject.
const LETTERS: usize = 72;

/// A change, with its history.
#[derive(Debug, Clone, Copy)]
pub struct ChangeRow<'a> {
    /// Identifier of the history.
    pub id: &'a str,
    /// The history.
    pub series: &'a HistorySeries,
    /// The change.
    pub step: &'a HistoryStep,
}

/// What the page of changes shows.
#[derive(Debug, Clone)]
pub struct ChangesPage<'a> {
    /// The changes, in their order.
    pub changes: Vec<ChangeRow<'a>>,
    /// The address with those that follow, if there are any.
    pub further: Option<String>,
    /// Whether the reader may set states.
    pub may_mark: bool,
}

/// The page.
pub fn changes_page(shown: &ChangesPage<'_>, site: &Site) -> String {
    let about = markup! {
        p.standing { "The steps of all histories, the newest first. " a href=(site.feed()) { "Atom feed" } @if site.is_live() { " · " a href=(site.jobs()) { "Jobs" } } }
    };
    let parts = markup! {
        section #changes {
            div #toolbar.toolbar role="group" aria-label="Which changes are listed" hidden {}
            @if shown.changes.is_empty() { p.nothing { "No change was found." } } @else { (list(shown, site)) }
            @if let Some(further) = &shown.further { p { a href=(further) { "Older changes" } } }
        }
        section #reading aria-labelledby="reading-title" {
            h2 #reading-title { "How to read this" }
            ul {
                li { "provisional: more measured commits may show that there is no step. between runs, or code or quirk: the program or the surroundings changed; the values do not tell which. quirk: the surroundings changed, not the program." }
                li { "found: nobody said anything of it yet. confirmed: a search measured both sides together and found it again, or a person says so. ignored: a person says that it does not matter. fixed: a later step took most of it back, or a person says so." }
                li { "Open are changes that are neither ignored, fixed, quirks nor of the layout alone." }
                li { "The commits are those of the history's line; `faultline history changes` also lists merged commits and the files that differ." }
            }
        }
    };
    page(site, "Changes", about, parts)
}

fn list(shown: &ChangesPage<'_>, site: &Site) -> Markup {
    let head = markup! {
        th scope="col" { "history" }
        th.number scope="col" { "change" }
        th scope="col" { "how sure" }
        th scope="col" { "state" }
        th scope="col" { "first commit" }
        th scope="col" { "date" }
        th scope="col" { "commits between" }
    };
    let body = markup! { @for change in &shown.changes { (row(change, shown.may_mark, site)) } };
    table("Changes, the newest first", false, head, body)
}

fn row(change: &ChangeRow<'_>, may_mark: bool, site: &Site) -> Markup {
    let ChangeRow { id, series, step } = *change;
    let history = site.history(id);
    let commit = series.commit(step.by);
    markup! {
        tr data-state=(step.state.now.word()) data-open[!step.is_settled()] {
            th scope="row" {
                a href=(history) { (value::name(&series.subject)) }
                div.about { (Quantity::counted(series.counted).name()) ", " (words::tasks(series, series.tasks)) }
            }
            td.number {
                (words::change(step, &UNICODE))
                div.about {
                    (value::data(step.from, &words::quantity(series, step.from, &UNICODE))) " → "
                    (value::data(step.to, &words::quantity(series, step.to, &UNICODE)))
                }
            }
            td {
                (badge::kind(step))
                div.about { @if series.counted.is_none() { "95 % range: " } (range(series, step)) }
            }
            td {
                (badge::state(step))
                (said(series, step))
                @if may_mark { (mark_form(id, series, step, site)) }
            }
            td {
                @if let Some(commit) = commit {
                    a href=(pinned(&history, &commit.id)) { code { (short_name(&commit.id)) } }
                    div.about { (cut(&one_line(&commit.subject), LETTERS)) " (" (cut(&one_line(&commit.author), LETTERS)) ")" }
                }
            }
            td { @if let Some(commit) = commit { (moment::day(UnixMillis(commit.committed_s.saturating_mul(1000)))) } }
            td { (between(series, step, &history)) }
        }
    }
}
