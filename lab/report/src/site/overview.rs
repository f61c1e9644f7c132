//! The overview: each history with its line, its last step and what is known of it; runs under way, and the newest ones.

use super::frame::page;
use super::runs::rows;
use super::sparkline::sparkline;
use crate::history::words;
use crate::moment;
use crate::one_line::one_line;
use crate::page::delivery::Site;
use crate::page::document::table;
use crate::page::value;
use crate::quantity::Quantity;
use crate::style::UNICODE;
use faultline_model::changes::{ChangeCaution, Effect, Status};
use faultline_model::commit::short_name;
use faultline_model::history::{Blame, HistorySeries, HistoryStep, PointResult, StepBasis};
use faultline_model::record::{RunId, RunLine, RunState};
use faultline_model::time::UnixMillis;
use faultline_model::timeline::Bucket;
use maud::{Markup, html as markup};

/// A history in the overview.
#[derive(Debug, Clone)]
pub struct HistoryRow<'a> {
    /// Names it in addresses.
    pub id: &'a str,
    /// Its commits and steps.
    pub series: &'a HistorySeries,
    /// Its commits in few buckets.
    pub buckets: Vec<Bucket>,
}

/// What the overview shows.
#[derive(Debug, Clone)]
pub struct Overview<'a> {
    /// All histories.
    pub histories: Vec<HistoryRow<'a>>,
    /// Runs under way or stopped, and the newest ones.
    pub runs: Vec<RunLine>,
    /// Runs of histories that cannot be read.
    pub unreadable: &'a [RunId],
}

/// The overview.
pub fn overview_page(overview: &Overview<'_>, site: &Site) -> String {
    let parts = markup! {
        section #histories aria-labelledby="histories-title" {
            h2 #histories-title { "Histories" }
            @if overview.histories.is_empty() {
                p.nothing { "No history was measured yet: " code { "faultline history run" } " measures one." }
            } @else { (histories(&overview.histories, site)) }
            @if !overview.unreadable.is_empty() {
                p.failed.nothing {
                    "Runs that cannot be read, because they are damaged or another version saved them: "
                    (overview.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")) "."
                }
            }
        }
        (runs("open", "Not finished", overview.runs.iter().filter(|run| run.state == RunState::Open), site))
        (runs("recent", "Newest runs", overview.runs.iter().filter(|run| run.state == RunState::Finished), site))
    };
    page(site, "Histories and runs", markup! {}, parts)
}

fn runs<'a>(id: &str, title: &str, runs: impl Iterator<Item = &'a RunLine>, site: &Site) -> Markup {
    let runs: Vec<RunLine> = runs.cloned().collect();
    markup! {
        @if !runs.is_empty() {
            section id=(id) aria-labelledby={ (id) "-title" } {
                h2 id={ (id) "-title" } { (title) }
                (rows(&runs, site))
            }
        }
    }
}

fn histories(all: &[HistoryRow<'_>], site: &Site) -> Markup {
    let head = markup! {
        th scope="col" { "subject" }
        th scope="col" { "measure" }
        th.number scope="col" { "tasks" }
        th scope="col" { "course" }
        th scope="col" { "state" }
        th scope="col" { "last step" }
        th scope="col" { "commit" }
        th scope="col" { "date" }
        th.number scope="col" { "newest value" }
        th.number scope="col" { "commits" }
    };
    let body = markup! { @for one in all { (row(one, site)) } };
    table("Histories, each with its last step", true, head, body)
}

fn row(one: &HistoryRow<'_>, site: &Site) -> Markup {
    let series = one.series;
    let step = series.steps.steps.last();
    let newest = series.points.iter().rev().find_map(|point| point.value());
    let measured = series.points.iter().filter(|point| matches!(point.result, PointResult::Measured { .. })).count();
    let steps: Vec<u32> = series.steps.steps.iter().map(|step| step.by).collect();
    markup! {
        tr {
            th scope="row" { a href=(site.history(one.id)) { (value::name(&series.subject)) } }
            td { (Quantity::counted(series.counted).name()) }
            td.number { (value::count(series.tasks)) }
            td { (sparkline(&one.buckets, &steps)) }
            td { (state(series, step)) }
            td { @if let Some(step) = step { (words::change(step, &UNICODE)) } @else { (value::none()) } }
            td {
                @if let Some(commit) = step.and_then(|step| series.commit(step.by)) {
                    a href={ (site.history(one.id)) "#at=" (commit.id) } { code { (short_name(&commit.id)) } }
                } @else { (value::none()) }
            }
            td {
                @if let Some(commit) = step.and_then(|step| series.commit(step.by)) {
                    (moment::day(UnixMillis(commit.committed_s.saturating_mul(1000))))
                } @else { (value::none()) }
            }
            td.number { @if let Some(newest) = newest { (value::data(newest, &words::quantity(series, newest, &UNICODE))) } @else { (value::none()) } }
            td.number { (measured) " of " (series.points.len()) }
        }
    }
}

/// What is known of the last step, with a sign that needs no colour.
fn state(series: &HistorySeries, step: Option<&HistoryStep>) -> Markup {
    let (class, sign, text) = match (step, &series.steps.basis) {
        (None, StepBasis::TooShort { .. }) => ("quiet", "–", "too few commits".to_owned()),
        (None, StepBasis::Noisy { cautions, .. }) if cautions.iter().any(ChangeCaution::withholds) => {
            ("partly", "?", "inconclusive: the noise hides steps".to_owned())
        }
        (None, _) => ("quiet", "=", "no step".to_owned()),
        (Some(step), _) => match (step.effect, is_uncertain(step)) {
            (Effect::Worse, false) => ("bad", "▼", words::kind(step)),
            (Effect::Better, false) => ("good", "▲", words::kind(step)),
            (_, true) => ("partly", "?", words::kind(step)),
        },
    };
    markup! { span.badge.(class) { span.sign aria-hidden="true" { (sign) } " " (one_line(&text)) } }
}

/// Whether a step may be none, or may be one of the surroundings.
fn is_uncertain(step: &HistoryStep) -> bool {
    step.status == Some(Status::Provisional) || step.between_runs || step.blame() != Blame::Program
}
