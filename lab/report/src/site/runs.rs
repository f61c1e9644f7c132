//! The list of runs, the executions of a run, and the raw samples of an execution.

use super::{further_link, live_line, page};
use crate::escape::one_line;
use crate::page::delivery::Site;
use crate::page::document::{preformatted, section};
use crate::page::element;
use crate::runs;
use crate::sentences::outcome;
use crate::table::{Attributes, Column, ResultTable};
use faultline_record::execution::{ExecutionLine, Phase, Samples};
use faultline_record::outcome::Outcome;
use faultline_record::protocol::{Interval, Measure};
use faultline_record::record::{RunId, RunLine, RunState};
use maud::{Markup, html as markup};
use std::collections::BTreeSet;

/// The list of runs. `older`: address of the next runs, if any. A server also compares two of them.
pub fn runs_page(runs: &[RunLine], older: Option<&str>, site: &Site) -> String {
    let list = markup! {
        @if runs.is_empty() { p.nothing { "There are no runs." } }
        @else { (runs::page_table(runs, site).html("Runs, newest first")) }
        (further_link(older, "Older runs"))
    };
    let parts = markup! {
        (live_line(runs.iter().any(|run| run.state == RunState::Open), site))
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

/// The rest of a list of executions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Further {
    /// At this address.
    At(String),
    /// In the database only.
    InDatabase,
}

/// The executions of a run. `further`: the rest of them, if any. The first one of each subject has
/// an anchor.
pub fn executions_page(run: RunId, executions: &[ExecutionLine], further: Option<Further>, site: &Site) -> String {
    type Row<'a> = (&'a ExecutionLine, bool, RunId, &'a Site);
    let columns = vec![
        Column::page_right("execution", |(one, _, run, site): &Row<'_>| {
            markup! { a href=(site.execution(*run, one.id.0)) { (one.id.0) } }
        })
        .row_heading(),
        Column::page("workload", |(one, ..): &Row<'_>| element::name(&one.cell.case.to_string())),
        Column::page_right("tasks", |(one, ..): &Row<'_>| element::count(one.cell.tasks)),
        Column::left("subject", |(one, ..): &Row<'_>, _| one.subject.to_string()),
        Column::page_right("repeat", |(one, ..): &Row<'_>| element::count(one.block + 1)),
        Column::page("started", |(one, ..): &Row<'_>| element::time(one.started)),
        Column::left("outcome", |(one, ..): &Row<'_>, _| ended(one.outcome.as_ref())),
    ];
    let mut seen = BTreeSet::new();
    let rows: Vec<Row<'_>> = executions.iter().map(|one| (one, seen.insert(one.subject), run, site)).collect();
    let table = ResultTable::new(columns, rows).row_attributes(|(one, is_first, ..)| match is_first {
        true => Attributes::default().with("id", format!("subject-{}", one.subject.0)),
        false => Attributes::default(),
    });
    let parts = markup! {
        section {
            @if executions.is_empty() { p.nothing { "Nothing was executed." } }
            @else { (table.html(&format!("Executions of run {run}"))) }
            @match &further {
                Some(Further::InDatabase) => p.hint { "The first " (executions.len()) "; the database has more." },
                Some(Further::At(address)) => (further_link(Some(address), "Further executions")),
                None => {}
            }
        }
    };
    page(site, &format!("Executions of run {run}"), above(run, false, site), parts)
}

fn ended(outcome_: Option<&Outcome>) -> String {
    outcome_.map_or_else(|| "running, or killed with the run".to_owned(), |ended| one_line(&outcome(ended)))
}

/// Links to the pages above.
fn above(run: RunId, is_below_list: bool, site: &Site) -> Markup {
    markup! {
        nav aria-label="Related pages" {
            a href=(site.run(run)) { "Run " (run) }
            @if is_below_list { a href=(site.executions(run)) { "Its executions" } }
        }
    }
}

/// A range of an execution's samples.
#[derive(Debug, Clone)]
pub struct SamplesPage<'a> {
    /// The run.
    pub run: RunId,
    /// The execution's number.
    pub execution: i64,
    /// The phase of the samples.
    pub phase: Phase,
    /// The outcome; `None` while it is running, or if it was killed with the run.
    pub outcome: Option<&'a Outcome>,
    /// The last output on the console of the machine booted for it, if any.
    pub console: Option<&'a str>,
    /// The samples.
    pub samples: &'a Samples,
    /// Address of the next samples, if any.
    pub further: Option<String>,
}

/// The raw samples of an execution, on a server.
pub fn execution_page(shown: &SamplesPage<'_>, site: &Site) -> String {
    let samples = shown.samples;
    let other = match shown.phase {
        Phase::Warmup => Phase::Window,
        Phase::Window => Phase::Warmup,
    };
    let list = markup! {
        @if samples.intervals.is_empty() { p.nothing { "There are none here, of " (samples.total) "." } }
        @else { (intervals(samples)) }
        (further_link(shown.further.as_deref(), "Further samples"))
        p { a href={ "?phase=" (other.word()) } { "Samples of the " (phase(other)) } }
    };
    let parts = markup! {
        (section("outcome", "Outcome", result(shown)))
        @if let Some(console) = shown.separate_console() { (section("console", "Console", console_of(console))) }
        @if !samples.measures.is_empty() { (section("measures", "Figures", measures(samples))) }
        (section("samples", &format!("Samples of the {}", phase(shown.phase)), list))
    };
    page(site, &format!("Execution {} of run {}", shown.execution, shown.run), above(shown.run, true, site), parts)
}

/// The raw samples of several executions of a run, as a file.
///
/// Figures and samples are preformatted text. As tables on pages of their own they take six times
/// as many bytes.
pub fn raw_executions_page(run: RunId, executions: &[SamplesPage<'_>], site: &Site) -> String {
    let parts = markup! {
        @for shown in executions {
            @let number = shown.execution;
            (section(&format!("execution-{number}"), &format!("Execution {number}"), markup! {
                (result(shown))
                @if let Some(console) = shown.separate_console() { details { summary { "Console" } (console_of(console)) } }
                (preformatted(&format!("Figures and samples of execution {number}"), &raw(shown)))
                @if shown.samples.intervals.len() < shown.samples.total as usize {
                    p.hint { "The database has more." }
                }
            }))
        }
    };
    page(site, &format!("Raw executions of run {run}"), above(run, true, site), parts)
}

impl SamplesPage<'_> {
    /// The console, unless the outcome contains it, as that of a failed guest does.
    fn separate_console(&self) -> Option<&str> {
        let last_output = self.outcome.and_then(Outcome::last_output);
        self.console.filter(|console| last_output != Some(*console))
    }
}

/// The outcome with its output.
fn result(shown: &SamplesPage<'_>) -> Markup {
    markup! {
        p { (ended(shown.outcome)) }
        @if let Some(output) = shown.outcome.and_then(Outcome::last_output) { (preformatted("Last output", output)) }
    }
}

fn console_of(console: &str) -> Markup {
    markup! {
        p.hint { "The last lines printed by the machine's kernel and the emulator, at most 16 KiB." }
        (preformatted("Console", console))
    }
}

/// Figures other than rates, then each interval as saved, with tabs between columns.
fn raw(shown: &SamplesPage<'_>) -> String {
    let SamplesPage { samples, .. } = shown;
    let mut text = String::new();
    for Measure { name, value, unit, direction } in &samples.measures {
        text += &format!("{name}\t{value} {unit}\t{} is better\n", direction.word());
    }
    text += &format!("{} of {} samples of the {}\n", samples.intervals.len(), samples.total, phase(shown.phase));
    if !samples.intervals.is_empty() {
        text += "from, ns\tto, ns\toperations of each task\n";
    }
    for interval in &samples.intervals {
        let operations: Vec<String> = interval.operations.iter().map(u64::to_string).collect();
        text += &format!("{}\t{}\t{}\n", interval.from_ns, interval.to_ns, operations.join(" "));
    }
    text
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warm-up",
        Phase::Window => "window",
    }
}

fn measures(samples: &Samples) -> Markup {
    type Row<'a> = &'a Measure;
    let columns = vec![
        Column::<Row<'_>>::left("figure", |measure, _| measure.name.clone()).row_heading(),
        Column::right("value", |measure: &Row<'_>, _| measure.value.to_string()),
        Column::left("unit", |measure: &Row<'_>, _| measure.unit.clone()),
        Column::left("better", |measure: &Row<'_>, _| measure.direction.word().to_owned()),
    ];
    ResultTable::new(columns, &samples.measures).html("Figures other than rates")
}

/// Each interval as saved, with times in nanoseconds since the workload began.
fn intervals(samples: &Samples) -> Markup {
    type Row<'a> = (u32, &'a Interval);
    let columns = vec![
        Column::<Row<'_>>::right("number", |(number, _), _| number.to_string()).row_heading(),
        Column::right("from, ns", |(_, interval): &Row<'_>, _| interval.from_ns.to_string()),
        Column::right("to, ns", |(_, interval): &Row<'_>, _| interval.to_ns.to_string()),
        Column::right("operations of all tasks", |(_, interval): &Row<'_>, _| interval.total().to_string()),
        Column::right("operations per second", |(_, interval): &Row<'_>, _| format!("{:.1}", interval.rate())),
        Column::left("operations of each task", |(_, interval): &Row<'_>, _| {
            interval.operations.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
        }),
    ];
    let caption = format!("{} of {} samples", samples.intervals.len(), samples.total);
    ResultTable::new(columns, (samples.from..).zip(&samples.intervals)).sortable().html(&caption)
}
