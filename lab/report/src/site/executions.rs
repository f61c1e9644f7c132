//! The executions of a run, and the raw samples of one.

use super::frame::page;
use crate::moment;
use crate::one_line::one_line;
use crate::page::delivery::Site;
use crate::page::document::table;
use crate::page::value;
use crate::sentences::outcome;
use faultline_model::execution::{ExecutionLine, Phase, Samples};
use faultline_model::outcome::Outcome;
use faultline_model::record::RunId;
use maud::{Markup, html as markup};
use std::collections::BTreeSet;

/// Where the executions are that follow those of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Further {
    /// At this address.
    At(String),
    /// Only in the database.
    InDatabase,
}

/// The executions. `further`: where those are that follow, if there are any. The first one of each subject can be linked to.
pub fn executions_page(run: RunId, executions: &[ExecutionLine], further: Option<Further>, site: &Site) -> String {
    let head = markup! {
        th.number scope="col" { "execution" }
        th scope="col" { "workload" }
        th.number scope="col" { "tasks" }
        th scope="col" { "subject" }
        th.number scope="col" { "repeat" }
        th scope="col" { "started" }
        th scope="col" { "outcome" }
    };
    let mut seen = BTreeSet::new();
    let firsts: Vec<bool> = executions.iter().map(|one| seen.insert(one.subject)).collect();
    let body = markup! {
        @for (one, is_first) in executions.iter().zip(firsts) {
            tr id=[is_first.then(|| format!("subject-{}", one.subject.0))] {
                th.number scope="row" { a href=(site.execution(run, one.id.0)) { (one.id.0) } }
                td { (value::name(&one.cell.case.to_string())) }
                td.number { (value::count(one.cell.tasks)) }
                td { (one.subject) }
                td.number { (value::count(one.block + 1)) }
                td { time datetime=(moment::iso(one.started)) { (moment::words(one.started)) } }
                td { (one.outcome.as_ref().map_or_else(|| "running, or killed with the run".to_owned(), |ended| one_line(&outcome(ended)))) }
            }
        }
    };
    let parts = markup! {
        section {
            @if executions.is_empty() { p.nothing { "Nothing was executed." } }
            @else { (table(&format!("Executions of run {run}"), false, head, body)) }
            @match further {
                None => {},
                Some(Further::At(address)) => p { a href=(address) { "Further executions" } },
                Some(Further::InDatabase) => p.hint { "These are the first " (executions.len()) "; the database has more." },
            }
        }
    };
    page(site, &format!("Executions of run {run}"), above(run, false, site), parts)
}

/// What leads back.
fn above(run: RunId, is_below_list: bool, site: &Site) -> Markup {
    markup! {
        nav aria-label="Belongs to this run" {
            a href=(site.run(run)) { "Run " (run) }
            @if is_below_list { a href=(site.executions(run)) { "Its executions" } }
        }
    }
}

/// A range of the samples of an execution.
#[derive(Debug, Clone)]
pub struct SamplesPage<'a> {
    /// The run.
    pub run: RunId,
    /// The execution's number.
    pub execution: i64,
    /// Which part of it.
    pub phase: Phase,
    /// How it ended; `None` while it is running, or if it was killed with the run.
    pub outcome: Option<&'a Outcome>,
    /// The last output of the console of the machine that was booted for it, if there is any.
    pub console: Option<&'a str>,
    /// The samples.
    pub samples: &'a Samples,
    /// The address with those that follow, if there are any.
    pub further: Option<String>,
}

/// The raw samples of an execution.
pub fn execution_page(shown: &SamplesPage<'_>, site: &Site) -> String {
    let samples = shown.samples;
    let other = match shown.phase {
        Phase::Warmup => Phase::Window,
        Phase::Window => Phase::Warmup,
    };
    let last_output = shown.outcome.and_then(Outcome::last_output);
    let ended =
        shown.outcome.map_or_else(|| "running, or killed with the run".to_owned(), |ended| one_line(&outcome(ended)));
    let parts = markup! {
        section #outcome aria-labelledby="outcome-title" {
            h2 #outcome-title { "Outcome" }
            p { (ended) }
            @if let Some(output) = last_output {
                div.scroll tabindex="0" role="region" aria-label="Last output" { pre.text { (output) } }
            }
        }
        // A guest that failed has its console in its outcome.
        @if let Some(console) = shown.console.filter(|console| last_output != Some(*console)) {
            section #console aria-labelledby="console-title" {
                h2 #console-title { "Console" }
                p.hint { "The last lines that the machine's kernel and the emulator printed, 16 KiB at most." }
                div.scroll tabindex="0" role="region" aria-label="Console" { pre.text { (console) } }
            }
        }
        @if !samples.measures.is_empty() {
            section #measures aria-labelledby="measures-title" {
                h2 #measures-title { "Figures" }
                (measures(samples))
            }
        }
        section #samples aria-labelledby="samples-title" {
            h2 #samples-title { "Samples of the " (words(shown.phase)) }
            @if samples.intervals.is_empty() { p.nothing { "There are none here, of " (samples.total) "." } }
            @else { (intervals(samples)) }
            @if let Some(further) = &shown.further { p { a href=(further) { "Further samples" } } }
            @if site.is_live() { p { a href={ "?phase=" (other.word()) } { "Samples of the " (words(other)) } } }
            @else if samples.intervals.len() < samples.total as usize { p.hint { "The database has more, and those of the " (words(other)) "." } }
        }
    };
    page(site, &format!("Execution {} of run {}", shown.execution, shown.run), above(shown.run, true, site), parts)
}

fn words(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warm-up",
        Phase::Window => "window",
    }
}

fn measures(samples: &Samples) -> Markup {
    let head = markup! { th scope="col" { "figure" } th.number scope="col" { "value" } th scope="col" { "unit" } th scope="col" { "better" } };
    let body = markup! {
        @for measure in &samples.measures {
            tr {
                th scope="row" { (one_line(&measure.name)) }
                td.number { (measure.value) }
                td { (one_line(&measure.unit)) }
                td { (measure.direction.word()) }
            }
        }
    };
    table("Figures that are not rates", false, head, body)
}

/// Each interval as it was saved: times in nanoseconds since the workload began.
fn intervals(samples: &Samples) -> Markup {
    let head = markup! {
        th.number scope="col" { "number" }
        th.number scope="col" { "from, ns" }
        th.number scope="col" { "to, ns" }
        th.number scope="col" { "operations of all tasks" }
        th.number scope="col" { "operations per second" }
        th scope="col" { "operations of each task" }
    };
    let body = markup! {
        @for (number, interval) in (samples.from..).zip(&samples.intervals) {
            tr {
                th.number scope="row" { (number) }
                td.number { (interval.from_ns) }
                td.number { (interval.to_ns) }
                td.number { (interval.total()) }
                td.number { (format!("{:.1}", interval.rate())) }
                td { (interval.operations.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")) }
            }
        }
    };
    table(&format!("{} of {} samples", samples.intervals.len(), samples.total), true, head, body)
}
