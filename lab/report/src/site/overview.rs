//! The overview: each history with its line, its last step and what is known of it; runs under way, and the newest ones.

use super::badge;
use super::frame::page;
use super::live;
use super::machines;
use super::runs::rows;
use super::sparkline::sparkline;
use crate::fact_words;
use crate::history::words;
use crate::moment;
use crate::page::delivery::{Site, pinned};
use crate::page::document::table;
use crate::page::value;
use crate::quantity::Quantity;
use crate::style::UNICODE;
use faultline_model::changes::ChangeCaution;
use faultline_model::commit::short_name;
use faultline_model::history::{HistorySeries, PointResult, StepBasis};
use faultline_model::machine_facts::KnownMachine;
use faultline_model::record::{RunId, RunLine, RunState};
use faultline_model::time::UnixMillis;
use faultline_model::timeline::Bucket;
use maud::{Markup, html as markup};

/// Machines that are shown. The page of machines has all.
const MACHINES: usize = 6;

/// Runs that are named.
const NAMED: usize = 50;

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
    /// Histories, in their order.
    pub histories: Vec<HistoryRow<'a>>,
    /// Number of all histories.
    pub total: usize,
    /// The address with those that follow, if there are any.
    pub further: Option<String>,
    /// Runs under way or stopped, and the newest ones.
    pub runs: Vec<RunLine>,
    /// The machines of the newest runs.
    pub machines: &'a [KnownMachine],
    /// Runs of histories that cannot be read.
    pub unreadable: &'a [RunId],
}

/// The overview.
pub fn overview_page(overview: &Overview<'_>, site: &Site) -> String {
    let parts = markup! {
        (live::line(overview.runs.iter().any(|run| run.state == RunState::Open), site))
        section #histories aria-labelledby="histories-title" {
            h2 #histories-title { "Histories" }
            @if overview.total == 0 {
                p.nothing { "No history was measured yet: " code { "faultline history run" } " measures one." }
            } @else { (histories(&overview.histories, site)) }
            @if overview.histories.len() < overview.total { p.hint { (overview.histories.len()) " of " (overview.total) " histories." } }
            @if let Some(further) = &overview.further { p { a href=(further) { "Further histories" } } }
            @if !overview.unreadable.is_empty() {
                p.failed.nothing {
                    "Runs that cannot be read, because they are damaged or another version saved them: "
                    (overview.unreadable.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", "))
                    @if overview.unreadable.len() > NAMED { " and " (overview.unreadable.len() - NAMED) " more" }
                    "."
                }
            }
        }
        (runs("open", "Not finished", overview.runs.iter().filter(|run| run.state == RunState::Open), site))
        (known_machines(overview.machines, site))
        (runs("recent", "Newest runs", overview.runs.iter().filter(|run| run.state == RunState::Finished), site))
    };
    page(site, "Histories and runs", markup! {}, parts)
}

fn runs<'a>(id: &str, title: &str, runs: impl Iterator<Item = &'a RunLine>, site: &Site) -> Markup {
    let runs: Vec<RunLine> = runs.cloned().collect();
    markup! {
        // A run that begins later has its place here.
        section id=(id) aria-labelledby={ (id) "-title" } hidden[runs.is_empty()] {
            h2 id={ (id) "-title" } { (title) }
            @if !runs.is_empty() { (rows(&runs, site)) }
        }
    }
}

/// What a reader asks first of a machine, by the keys of facts.
const FACTS: [&str; 4] = ["cpu.model", "cpu.logical", "memory.total_bytes", "kernel.release"];

/// Machines of the newest runs, with their main facts as last recorded.
fn known_machines(all: &[KnownMachine], site: &Site) -> Markup {
    let head = markup! {
        th scope="col" { "machine" }
        @for key in FACTS { th scope="col" { (fact_words::name(key)) } }
        th scope="col" { "last measured" }
        th.number scope="col" { "changes" }
    };
    let body = markup! {
        @for machine in all.iter().take(MACHINES) {
            tr {
                th scope="row" { a href=(site.machines()) { (machines::name(machine)) } }
                @for key in FACTS {
                    td.fact { @match machine.newest.facts.0.get(key) { Some(fact) => (fact_words::value(key, fact, &UNICODE)), None => (value::none()) } }
                }
                td {
                    time datetime=(moment::iso(machine.newest.started)) { (moment::words(machine.newest.started)) } ", "
                    a href=(site.run(machine.newest.run)) { "run " (machine.newest.run) }
                }
                td.number { (machine.changes.len()) }
            }
        }
    };
    markup! {
        @if !all.is_empty() {
            section #machines aria-labelledby="machines-title" {
                h2 #machines-title { "Machines" }
                (table("Machines of the newest runs, with the number of times that lasting facts changed", false, head, body))
            }
        }
    }
}

/// The histories. What a reader looks for first is at the left, where a narrow screen has it.
fn histories(all: &[HistoryRow<'_>], site: &Site) -> Markup {
    let head = markup! {
        th scope="col" { "subject" }
        th scope="col" { "last step" }
        th scope="col" { "change" }
        th scope="col" { "state" }
        th scope="col" { "course" }
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
    let by = step.and_then(|step| series.commit(step.by)).map_or("", |commit| commit.id.as_str());
    markup! {
        // The script compares these with those of the last visit.
        tr data-history=(one.id) data-step=(by) data-measured=(measured) {
            th scope="row" {
                a href=(site.history(one.id)) { (value::name(&series.subject)) }
                div.about {
                    (Quantity::counted(series.counted).name()) ", " (words::tasks(series, series.tasks))
                    @if let Some(host) = &series.host { ", on " (value::name(host)) }
                }
            }
            td { @if let Some(step) = step { (badge::kind(step)) } @else { (without_step(series)) } }
            td { @if let Some(step) = step { (words::change(step, &UNICODE)) } @else { (value::none()) } }
            td { @if let Some(step) = step { (badge::state(step)) } @else { (value::none()) } }
            td { (sparkline(&one.buckets, &series.steps.steps)) }
            td {
                @if let Some(commit) = step.and_then(|step| series.commit(step.by)) {
                    a href=(pinned(&site.history(one.id), &commit.id)) { code { (short_name(&commit.id)) } }
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

/// Why a history has no step: only a search that could find some says that there is none.
fn without_step(series: &HistorySeries) -> Markup {
    match &series.steps.basis {
        StepBasis::TooShort { .. } => badge::badge("quiet", "–", "too few commits"),
        StepBasis::Noisy { cautions, .. } if cautions.iter().any(ChangeCaution::withholds) => {
            badge::badge("partly", "?", "inconclusive: the noise hides steps")
        }
        StepBasis::Noisy { .. } | StepBasis::Exact | StepBasis::Seeds { .. } => badge::badge("quiet", "=", "no step"),
    }
}
