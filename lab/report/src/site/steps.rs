//! A step of a history on a page: badges, the commits that it lies between, and the forms that mark
//! or bisect it.

use crate::escape::{cut, one_line};
use crate::history::words;
use crate::names;
use crate::page::delivery::{Site, pinned};
use crate::page::element::{self, badge};
use crate::style::UNICODE;
use faultline_record::change_event::ChangeState;
use faultline_record::commit::{CommitInfo, short_name};
use faultline_record::direction::Effect;
use faultline_stats::history::{Certainty, HistorySeries, HistoryStep, StepBasis};
use maud::{Markup, html as markup};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Commits listed.
const LISTED: usize = 10;
/// Authors named.
const NAMED: usize = 3;
/// Letters of a commit's subject, and of a name.
const LETTERS: usize = 72;
/// Maximum letters of a remark.
pub const REMARK_LETTERS: usize = 1000;

const STATES: [ChangeState; 4] = [ChangeState::Found, ChangeState::Confirmed, ChangeState::Ignored, ChangeState::Fixed];

/// Files beside the page of a history, with the answers that a server would give.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelineFiles {
    /// Commits per file of commits; 0 if the page contains all of them.
    pub chunk: u32,
    /// Positions of the compared pairs of commits, older first.
    pub pairs: BTreeSet<[u32; 2]>,
}

/// The page on which a step is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepPlace<'a> {
    /// Identifier of the history.
    pub(crate) id: &'a str,
    /// The site.
    pub(crate) site: &'a Site,
    /// True if the reader may set states.
    pub(crate) may_mark: bool,
    /// Files beside the page; `None` for a server.
    pub(crate) files: Option<&'a TimelineFiles>,
}

/// Direction and certainty of a step.
pub(crate) fn kind(step: &HistoryStep) -> Markup {
    let (class, sign) = match (step.certainty(), step.effect) {
        (Certainty::Certain, Effect::Worse) => ("bad", "▼"),
        (Certainty::Certain, Effect::Better) => ("good", "▲"),
        (Certainty::Provisional | Certainty::Inconclusive, _) => ("partly", "?"),
        (Certainty::Layout | Certainty::Quirk, _) => ("quiet", "~"),
    };
    badge(class, sign, &words::kind(step))
}

/// The state of a step.
pub(crate) fn state(step: &HistoryStep) -> Markup {
    let (class, sign) = match (step.state.now, step.effect) {
        (ChangeState::Found, _) => ("quiet", "•"),
        (ChangeState::Confirmed, Effect::Worse) => ("bad", "!"),
        (ChangeState::Confirmed, Effect::Better) => ("good", "!"),
        (ChangeState::Ignored, _) => ("quiet", "–"),
        (ChangeState::Fixed, _) => ("good", "✓"),
    };
    badge(class, sign, step.state.now.word())
}

/// Direction, certainty and, where its column is out of sight, state of a step.
pub(crate) fn kind_and_state(step: &HistoryStep) -> Markup {
    markup! { (kind(step)) div.only-narrow { (state(step)) } }
}

/// The state of a step, its log, and the forms that change the state.
pub(crate) fn state_with_log(series: &HistorySeries, step: &HistoryStep, place: &StepPlace<'_>) -> Markup {
    markup! {
        (state(step))
        (log(series, step))
        @if place.may_mark { (mark_form(series, step, place)) }
    }
}

/// The reason for a history without steps: only a search that could find steps may report that
/// there are none.
pub(crate) fn without_step(series: &HistorySeries) -> (&'static str, &'static str) {
    match &series.steps.basis {
        StepBasis::TooShort { .. } => ("too few commits", "Not searched: too few commits have results."),
        StepBasis::Noisy { .. } | StepBasis::Exact | StepBasis::Seeds { .. } => ("no step", "No step was found."),
    }
}

/// The commits after the old level, up to the first with the new one, as a summary that unfolds.
/// `history`: address of the history's page.
pub(crate) fn between(series: &HistorySeries, step: &HistoryStep, history: &str) -> Markup {
    let commits = commits(series, [step.after, step.by]);
    markup! {
        details.between {
            summary { (counted(&commits)) }
            (listed(series, &commits, LISTED, history))
        }
    }
}

/// The commits after one position, up to another, newest first, at most `most` of them.
pub(crate) fn commits_between(series: &HistorySeries, positions: [u32; 2], most: usize, history: &str) -> Markup {
    let commits = commits(series, positions);
    markup! {
        p { (counted(&commits)) }
        (listed(series, &commits, most, history))
    }
}

fn commits(series: &HistorySeries, [after, by]: [u32; 2]) -> Vec<&CommitInfo> {
    (after + 1..=by).rev().filter_map(|position| series.commit(position)).collect()
}

fn counted(commits: &[&CommitInfo]) -> String {
    let authors = authors(commits);
    let by = if authors.is_empty() { "" } else { " by " };
    format!("{} of the history{by}{authors}", names::counted(commits.len() as u64, "commit"))
}

fn listed(series: &HistorySeries, commits: &[&CommitInfo], most: usize, history: &str) -> Markup {
    let more = commits.len().saturating_sub(most);
    markup! {
        ul {
            @for commit in commits.iter().take(most) {
                li {
                    (element::commit(&pinned(history, &commit.id), &commit.id)) " " (subject_and_author(commit))
                    (element::on_forge(series.forge.as_deref(), &commit.id))
                }
            }
            @if more > 0 { li { "and " (more) " more" } }
        }
    }
}

/// `subject (author)`. A release has no author.
pub(crate) fn subject_and_author(commit: &CommitInfo) -> String {
    let subject = cut(&one_line(&commit.subject), LETTERS);
    match commit.author.as_str() {
        "" => subject,
        author => format!("{subject} ({})", cut(&one_line(author), LETTERS)),
    }
}

/// The authors with the most commits; empty for releases.
fn authors(commits: &[&CommitInfo]) -> String {
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for commit in commits.iter().filter(|commit| !commit.author.is_empty()) {
        *by_name.entry(&commit.author).or_default() += 1;
    }
    let mut authors: Vec<(&str, usize)> = by_name.into_iter().collect();
    authors.sort_by_key(|(_, commits)| Reverse(*commits));
    let named =
        authors.iter().take(NAMED).map(|(name, commits)| format!("{} ({commits})", cut(&one_line(name), LETTERS)));
    let others = authors.len().saturating_sub(NAMED);
    let others = (others > 0).then(|| format!("and {others} more"));
    named.chain(others).collect::<Vec<_>>().join(", ")
}

/// The 95 % range of a step; `exact` for counts.
pub(crate) fn range(series: &HistorySeries, step: &HistoryStep) -> Markup {
    let name = |position| series.commit(position).map_or("", |commit| short_name(&commit.id));
    markup! {
        @if !series.quantity.is_counted() { code { (name(step.earliest)) } " … " code { (name(step.latest)) } }
        @else { "exact" }
    }
}

/// Remarks and search results about a step, and the shares of quirks and commits in it.
pub(crate) fn log(series: &HistorySeries, step: &HistoryStep) -> Markup {
    let lines = words::log(series, step, &UNICODE);
    markup! { @if !lines.is_empty() { ul.said { @for line in &lines { li { (line) } } } } }
}

/// A link to the comparison of the commits on both sides of a step.
pub(crate) fn compare_link(series: &HistorySeries, step: &HistoryStep, place: &StepPlace<'_>) -> Markup {
    let sides = [step.after, step.by];
    let [a, b] = sides.map(|position| series.commit(position).map_or("", |commit| commit.id.as_str()));
    let address = match place.files {
        None => Some(place.site.compare_commits(place.id, a, b)),
        Some(files) => files.pairs.contains(&sides).then(|| place.site.compared_positions(place.id, sides)),
    };
    markup! { @if let Some(address) = address { a href=(address) { "Compare both sides" } } }
}

/// The forms that set the state of a step or request a bisection. The script sends them as JSON.
fn mark_form(series: &HistorySeries, step: &HistoryStep, place: &StepPlace<'_>) -> Markup {
    let commit = series.commit(step.by).map_or("", |commit| commit.id.as_str());
    markup! {
        details.marking {
            summary { "Set state, or bisect" }
            form data-mark=(place.site.change(place.id, commit)) {
                label {
                    "State "
                    select name="state" {
                        @for state in STATES {
                            option value=(state.word()) selected[state == step.state.now] { (state.word()) }
                        }
                    }
                }
                label { "Remark " input name="reason" maxlength=(REMARK_LETTERS) autocomplete="off"; }
                button type="submit" { "Save" }
                p.hint role="status" {}
            }
            (ask_form(place.id, "bisect", commit, "Bisect its commits", place.site))
        }
    }
}

/// The form that requests work on a history. `work` and `commit`: parameters of the API.
pub(crate) fn ask_form(id: &str, work: &str, commit: &str, label: &str, site: &Site) -> Markup {
    markup! {
        form.buttons data-post=(site.jobs_of(id)) data-then=(site.jobs()) {
            input type="hidden" name="work" value=(work);
            input type="hidden" name="commit" value=(commit);
            button type="submit" { (label) }
            p.hint role="status" {}
        }
    }
}
