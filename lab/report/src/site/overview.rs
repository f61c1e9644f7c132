//! The overview: each history with its sparkline and last step, the machines, unfinished runs and
//! the newest ones.

use super::{further_link, live_line, machines, page, steps};
use crate::facts;
use crate::history::words;
use crate::names::{counted, list};
use crate::page::delivery::{Site, pinned};
use crate::page::document::section;
use crate::page::element::{self, badge, none};
use crate::quantity::QuantityWords;
use crate::runs::page_table;
use crate::style::{Tone, UNICODE};
use crate::table::{Attributes, Column, ResultTable};
use faultline_record::direction::Effect;
use faultline_record::record::{RunId, RunLine, RunState};
use faultline_stats::history::{Certainty, HistorySeries, HistoryStep, PointResult};
use faultline_stats::machine_facts::KnownMachine;
use faultline_stats::timeline::{Bucket, BucketLevel};
use maud::{Markup, html as markup};

/// Machines shown. The page of machines has all.
const MACHINES: usize = 6;

/// Unreadable runs named.
const NAMED: usize = 50;

/// Main facts of a machine, by key.
const FACTS: [&str; 4] = ["cpu.model", "cpu.logical", "memory.total_bytes", "kernel.release"];

/// Width of a sparkline in pixels.
const WIDTH: f64 = 160.0;
/// Height of a sparkline in pixels.
const HEIGHT: f64 = 28.0;
/// Room for the thickness of lines.
const EDGE: f64 = 2.0;

/// A history in the overview.
#[derive(Debug, Clone)]
pub struct HistoryRow<'a> {
    /// Identifier in addresses.
    pub id: &'a str,
    /// The history with commits and steps.
    pub series: &'a HistorySeries,
    /// The commits in a few buckets, for the sparkline.
    pub buckets: Vec<Bucket>,
}

/// Content of the overview.
#[derive(Debug, Clone)]
pub struct Overview<'a> {
    /// Histories, in order.
    pub histories: Vec<HistoryRow<'a>>,
    /// Number of all histories.
    pub total: usize,
    /// Address of the next histories, if any.
    pub further: Option<String>,
    /// Unfinished runs, and the newest finished ones.
    pub runs: Vec<RunLine>,
    /// The machines of the newest runs.
    pub machines: &'a [KnownMachine],
    /// Unreadable runs of histories.
    pub unreadable: &'a [RunId],
}

/// The overview.
pub fn overview_page(overview: &Overview<'_>, site: &Site) -> String {
    let rows = overview.histories.iter().map(|history| (history, site));
    let table = ResultTable::new(history_columns(), rows).sortable().row_attributes(history_attributes);
    let named: Vec<String> = overview.unreadable.iter().take(NAMED).map(ToString::to_string).collect();
    let histories = markup! {
        @if overview.total == 0 {
            p.nothing { "No history was measured yet: " code { "faultline history run" } " measures one." }
        } @else { (table.html("Histories, each with its last step")) }
        @if overview.histories.len() < overview.total {
            p.hint { (overview.histories.len()) " of " (counted(overview.total as u64, "history")) "." }
        }
        (further_link(overview.further.as_deref(), "Further histories"))
        @if !named.is_empty() {
            p.failed.nothing {
                "Unreadable runs, damaged or saved by another version: " (named.join(", "))
                @if overview.unreadable.len() > NAMED { " and " (overview.unreadable.len() - NAMED) " more" } "."
            }
        }
    };
    let in_state = |state| overview.runs.iter().filter(move |run| run.state == state);
    let parts = markup! {
        (live_line(in_state(RunState::Open).next().is_some(), site))
        (section("histories", "Histories", histories))
        (runs("open", "Not finished", in_state(RunState::Open), site))
        (known_machines(overview.machines, site))
        (runs("recent", "Newest runs", in_state(RunState::Finished), site))
    };
    let about = markup! { @if !overview.histories.is_empty() { (element::answer(answer(&overview.histories))) } };
    page(site, "Histories and runs", about, parts)
}

/// The answer in one sentence: histories whose last step is for the worse, and open.
fn answer(histories: &[HistoryRow<'_>]) -> (Tone, String) {
    let is_open = |step: &&HistoryStep| step.effect == Effect::Worse && !step.is_settled();
    let last = |history: &HistoryRow<'_>| history.series.steps.steps.last().filter(is_open).is_some();
    let worse = histories.iter().filter(|history| last(history));
    let (number, mut names): (usize, Vec<&str>) =
        (worse.clone().count(), worse.map(|history| history.series.subject.as_str()).collect());
    names.dedup();
    let all = counted(histories.len() as u64, "history");
    match number {
        0 => (Tone::Good, format!("No open change for the worse in {all}.")),
        _ => (Tone::Bad, format!("{number} of {all} became worse: {}.", list(&names))),
    }
}

/// A list of runs. An empty one is hidden: the script fills it when a run begins.
fn runs<'a>(id: &str, title: &str, runs: impl Iterator<Item = &'a RunLine>, site: &Site) -> Markup {
    let runs: Vec<&RunLine> = runs.collect();
    markup! {
        section id=(id) aria-labelledby={ (id) "-title" } hidden[runs.is_empty()] {
            h2 id={ (id) "-title" } { (title) }
            @if !runs.is_empty() { (page_table(runs, site).html("Runs, newest first")) }
        }
    }
}

/// The machines of the newest runs, with main facts as last recorded.
fn known_machines(all: &[KnownMachine], site: &Site) -> Markup {
    type Row<'a> = (&'a KnownMachine, &'a Site);
    let mut columns = vec![
        Column::page("machine", |(machine, site): &Row<'_>| {
            markup! { a href=(site.machines()) { (machines::name(machine)) } }
        })
        .row_heading(),
    ];
    columns.extend(FACTS.map(|key| {
        Column::page(facts::name(key), move |(machine, _): &Row<'_>| {
            element::fact(key, machine.newest.facts.0.get(key))
        })
        .class("fact")
    }));
    columns.push(Column::page("last measured", |(machine, site): &Row<'_>| {
        let newest = &machine.newest;
        markup! { (element::time(newest.started)) ", " a href=(site.run(newest.run)) { "run " (newest.run) } }
    }));
    columns.push(Column::right("changes", |(machine, _): &Row<'_>, _| machine.changes.len().to_string()));
    let table = ResultTable::new(columns, all.iter().take(MACHINES).map(|machine| (machine, site)));
    let table = table.html("Machines of the newest runs, with the number of changes of lasting facts");
    markup! { @if !all.is_empty() { (section("machines", "Machines", table)) } }
}

type Row<'a> = (&'a HistoryRow<'a>, &'a Site);

fn last_step<'a>((history, _): &Row<'a>) -> Option<&'a HistoryStep> {
    history.series.steps.steps.last()
}

fn measured((history, _): &Row<'_>) -> usize {
    history.series.points.iter().filter(|point| matches!(point.result, PointResult::Measured { .. })).count()
}

/// The script compares these with the last visit.
fn history_attributes(row: &Row<'_>) -> Attributes {
    let commit = last_step(row).and_then(|step| row.0.series.commit(step.by));
    Attributes::default()
        .with("data-history", row.0.id)
        .with("data-step", commit.map_or("", |commit| commit.id.as_str()))
        .with("data-measured", measured(row))
}

/// The most important columns come first: a narrow screen shows no others.
fn history_columns<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        Column::page("subject", |(HistoryRow { id, series, .. }, site): &Row<'_>| {
            markup! {
                a href=(site.history(id)) { (element::name(&series.subject)) }
                div.about {
                    (series.quantity.name()) ", " (words::tasks(series, series.tasks))
                    @if let Some(host) = &series.host { ", on " (element::name(host)) }
                }
            }
        })
        .row_heading(),
        Column::page("last step", |row: &Row<'_>| {
            last_step(row).map_or_else(|| no_step(row.0.series), steps::kind_and_state)
        }),
        Column::left("change", |row: &Row<'_>, signs| {
            last_step(row).map_or_else(|| signs.none.to_owned(), |step| words::change(step, signs))
        }),
        Column::page("state", |row: &Row<'_>| last_step(row).map_or_else(none, steps::state)),
        Column::page("course", |(history, _): &Row<'_>| sparkline(&history.buckets, &history.series.steps.steps)),
        Column::page("commit", |row: &Row<'_>| {
            let commit = last_step(row).and_then(|step| row.0.series.commit(step.by));
            commit
                .map_or_else(none, |commit| element::commit(&pinned(&row.1.history(row.0.id), &commit.id), &commit.id))
        }),
        Column::left("date", |row: &Row<'_>, signs| {
            let commit = last_step(row).and_then(|step| row.0.series.commit(step.by));
            commit.map_or_else(|| signs.none.to_owned(), element::day)
        }),
        Column::page_right("newest value", |(HistoryRow { series, .. }, _): &Row<'_>| {
            let newest = series.points.iter().rev().find_map(|point| point.value());
            newest.map_or_else(none, |value| element::data(value, &words::quantity(series, value, &UNICODE)))
        }),
        Column::right("commits", |row: &Row<'_>, _| format!("{} of {}", measured(row), row.0.series.points.len())),
    ]
}

fn no_step(series: &HistorySeries) -> Markup {
    let (text, _) = steps::without_step(series);
    let (class, sign) = match text {
        "no step" => ("quiet", "="),
        "too few commits" => ("quiet", "–"),
        _ => ("partly", "?"),
    };
    badge(class, sign, text)
}

/// A history at the height of a text line: medians, range of values, steps, and ticks for unusable
/// commits.
///
/// The figures are beside it, so screen readers skip it.
fn sparkline(buckets: &[Bucket], steps: &[HistoryStep]) -> Markup {
    let levels: Vec<(&Bucket, &BucketLevel)> =
        buckets.iter().filter_map(|bucket| Some((bucket, bucket.level.as_ref()?))).collect();
    let low = levels.iter().map(|(_, level)| level.low).fold(f64::INFINITY, f64::min);
    let high = levels.iter().map(|(_, level)| level.high).fold(f64::NEG_INFINITY, f64::max);
    let last = buckets.last().map_or(1, |bucket| bucket.last.max(1));
    let x = |position: u32| EDGE + (WIDTH - 2.0 * EDGE) * f64::from(position) / f64::from(last);
    let y = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        HEIGHT - EDGE - (HEIGHT - 2.0 * EDGE) * share
    };
    let middle = |bucket: &Bucket| x(bucket.first).midpoint(x(bucket.last));
    let point = |x: f64, y: f64| format!("{x:.1},{y:.1} ");
    let line: String = levels.iter().map(|(bucket, level)| point(middle(bucket), y(level.median))).collect();
    let upper = levels.iter().map(|(bucket, level)| point(middle(bucket), y(level.high)));
    let lower = levels.iter().rev().map(|(bucket, level)| point(middle(bucket), y(level.low)));
    let range: String = upper.chain(lower).collect();
    let upright = |class: &str, x: f64, top: f64| {
        let x = format!("{x:.1}");
        markup! { line class=(class) x1=(x) x2=(x) y1=(top) y2=(HEIGHT) {} }
    };
    markup! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) aria-hidden="true"
            focusable="false" {
            @if !levels.is_empty() {
                polygon.range points=(range) {}
                @for step in steps { (upright(step_class(step), x(step.by), 0.0)) }
                polyline.median points=(line) {}
            }
            @for bucket in buckets.iter().filter(|bucket| bucket.unusable > 0) {
                (upright("unusable", middle(bucket), HEIGHT - 5.0))
            }
        }
    }
}

/// The style of a step's line, equal to that in the strip above the plot of a history.
fn step_class(step: &HistoryStep) -> &'static str {
    match (step.certainty(), step.effect) {
        (Certainty::Certain, Effect::Worse) => "worse",
        (Certainty::Certain, Effect::Better) => "better",
        (Certainty::Provisional | Certainty::Inconclusive, _) => "open",
        (Certainty::Layout | Certainty::Quirk, _) => "quirk",
    }
}
