//! What belongs to a step: the commits of the history's line that it lies between, with their authors; its range; what was said of it.

use crate::history::words;
use crate::one_line::{cut, one_line};
use crate::page::delivery::pinned;
use crate::style::UNICODE;
use faultline_model::commit::{CommitInfo, short_name};
use faultline_model::history::{HistorySeries, HistoryStep};
use maud::{Markup, html as markup};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Commits that are listed.
const LISTED: usize = 10;
/// Authors that are named.
const NAMED: usize = 3;
/// Letters of a commit's subject, and of a name.
const LETTERS: usize = 72;

/// Number of the commits after the old level, up to the first with the new one, and their authors, with the list below, the newest first. `history`: the address of
/// the history's page.
pub(super) fn between(series: &HistorySeries, step: &HistoryStep, history: &str) -> Markup {
    let commits = commits(series, [step.after, step.by]);
    markup! {
        details.between {
            summary { (counted(&commits)) }
            (listed(&commits, LISTED, history))
        }
    }
}

/// The commits after one position, up to another one, as a list of up to `most`, the newest first.
pub(super) fn commits_between(series: &HistorySeries, positions: [u32; 2], most: usize, history: &str) -> Markup {
    let commits = commits(series, positions);
    markup! {
        p { (counted(&commits)) }
        (listed(&commits, most, history))
    }
}

fn commits(series: &HistorySeries, [after, by]: [u32; 2]) -> Vec<&CommitInfo> {
    (after + 1..=by).rev().filter_map(|position| series.commit(position)).collect()
}

fn counted(commits: &[&CommitInfo]) -> String {
    let noun = if commits.len() == 1 { "commit" } else { "commits" };
    format!("{} {noun} of the history by {}", commits.len(), authors(commits))
}

fn listed(commits: &[&CommitInfo], most: usize, history: &str) -> Markup {
    let more = commits.len().saturating_sub(most);
    markup! {
            ul {
                @for commit in commits.iter().take(most) {
                    li {
                        a href=(pinned(history, &commit.id)) { code { (short_name(&commit.id)) } }
                        " " (cut(&one_line(&commit.subject), LETTERS)) " (" (cut(&one_line(&commit.author), LETTERS)) ")"
                    }
                }
                @if more > 0 { li { "and " (more) " more" } }
            }
    }
}

/// The authors, those with most commits first.
fn authors(commits: &[&CommitInfo]) -> String {
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for commit in commits {
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

/// The 95 % range of a step, if it is not exact.
pub(super) fn range(series: &HistorySeries, step: &HistoryStep) -> Markup {
    let name = |position| series.commit(position).map_or("", |commit| short_name(&commit.id));
    markup! {
        @if series.counted.is_none() { code { (name(step.earliest)) } " … " code { (name(step.latest)) } }
        @else { "exact" }
    }
}

/// What was said of a step, and which parts quirks and commits have.
pub(super) fn said(series: &HistorySeries, step: &HistoryStep) -> Markup {
    let lines = words::log(series, step, &UNICODE);
    markup! { @if !lines.is_empty() { ul.said { @for line in &lines { li { (line) } } } } }
}
