//! The list of runs, as text, Markdown, CSV, JSON and on pages.

use crate::escape::one_line;
use crate::figure;
use crate::format::Format;
use crate::names::{bisect_of, list, state};
use crate::page::delivery::Site;
use crate::page::element;
use crate::quantity::QuantityWords;
use crate::style::{Signs, Style};
use crate::table::{self, Form, ResultTable};
use faultline_record::commit::short_name;
use faultline_record::plan::KindOfRun;
use faultline_record::record::{RunLine, RunState};
use faultline_record::run_of_history::{HistoryStage, RunOfHistory};
use faultline_record::subject::KindOfSubject;
use maud::{Markup, html as markup};

/// The list of runs. JSON is an array of the lines.
pub fn runs(lines: &[RunLine], format: Format, style: &Style) -> String {
    let table = ResultTable::new(columns(false), lines.iter().map(|line| Row { line, site: None }));
    match format {
        Format::Table if lines.is_empty() => "There are no runs.\n".to_owned(),
        _ => table.in_format(format, style, lines),
    }
}

/// The list of runs on a page.
pub(crate) fn page_table<'a>(lines: impl IntoIterator<Item = &'a RunLine>, site: &'a Site) -> ResultTable<Row<'a>> {
    ResultTable::new(columns(site.is_live()), lines.into_iter().map(|line| Row { line, site: Some(site) }))
}

/// A run in a list, of a site if it is on a page.
pub(crate) struct Row<'a> {
    line: &'a RunLine,
    site: Option<&'a Site>,
}

type Column<'a> = table::Column<Row<'a>>;

/// `is_live`: a server compares two runs that the reader chooses.
fn columns<'a>(is_live: bool) -> Vec<Column<'a>> {
    vec![
        Column::right("run", |row, _| row.line.id.to_string()).csv_as_shown("run").leading(0).row_heading().html(
            |row| {
                let id = row.line.id;
                markup! { @match row.site { Some(site) => a href=(site.run(id)) { (id) }, None => (id) } }
            },
        ),
        // Right-aligned columns are never wrapped.
        Column::right("started", |row, _| figure::date_time(row.line.started))
            .csv("started_utc", |row| figure::iso_time(row.line.started))
            .html(|row| element::time(row.line.started)),
        Column::left("state", |row, _| state(row.line.state).to_owned())
            .csv_as_shown("state")
            .html(|row| markup! { (state(row.line.state)) (progress(row.line)) }),
        Column::left("what", |row, signs| what(row.line, signs))
            .csv("suite", |row| row.line.suite.clone().unwrap_or_default())
            .leading(1)
            .class("name"),
        Column::csv_only("workloads", |row| row.line.workloads.join(";")),
        Column::left("tasks", |row, _| counts(&row.line.cpus, ","))
            .on(&[Form::Wide, Form::Medium, Form::Markdown])
            .csv("tasks", |row| counts(&row.line.cpus, ";"))
            .leading(2),
        Column::csv_only("planned", |row| row.line.planned.to_string()),
        Column::right("ended", |row, _| ended(row.line)).csv("ended", |row| row.line.ended.to_string()),
        Column::right("failed", |row, _| row.line.failed.to_string())
            .csv_as_shown("failed")
            .exact(|row| Some(row.line.failed.into())),
        Column::right("skipped", |row, _| row.line.skipped.to_string())
            .on(&[Form::Wide, Form::Medium, Form::Markdown])
            .csv_as_shown("skipped"),
        Column::left("machine", |row, _| row.line.machine.clone())
            .on(Form::ROOMY)
            .csv_as_shown("machine")
            .class("name"),
        Column::left("label", |row, _| row.line.label.clone().unwrap_or_default())
            .csv_as_shown("label")
            .leading(3)
            .class("name"),
        Column::csv_only("sides", |row| row.line.sides.join("; ")),
        Column::csv_only("lens", |row| under_lens(row.line).unwrap_or_default().to_owned()),
        Column::csv_only("kind", |row| row.line.kind.word().to_owned()),
        Column::csv_option("whole", |row| row.line.whole),
        Column::csv_only("subject", |row| of_history(row.line, |history| &history.subject)),
        Column::csv_only("measured", |row| of_history(row.line, |history| &history.measured)),
        Column::page("A", |row: &Row<'_>| choice(row.line, "a")).when(is_live),
        Column::page("B", |row: &Row<'_>| choice(row.line, "b")).when(is_live),
    ]
}

/// Progress and stage of an open run, on a page.
pub(crate) fn progress(run: &RunLine) -> Markup {
    let whole = run.whole.filter(|whole| run.state == RunState::Open && *whole > 0);
    markup! {
        @if let Some(whole) = whole {
            " " progress max=(whole) value=(run.ended + run.skipped) aria-label={ "Progress of run " (run.id) } {}
        }
        @if let Some(stage) = stage(run) { div.about { (one_line(&stage)) } }
    }
}

/// A radio button that chooses a run as a side of a comparison. Runs with figures of many commits
/// cannot be chosen.
fn choice(run: &RunLine, side: &str) -> Markup {
    markup! {
        @if !run.kind.measures_commits() {
            input type="radio" name=(side) value=(run.id) required
                aria-label={ "Run " (run.id) " as " (side.to_uppercase()) };
        }
    }
}

/// A text about the history of a run; empty for other runs.
fn of_history(line: &RunLine, text: impl Fn(&RunOfHistory) -> &str) -> String {
    line.history.as_ref().map_or_else(String::new, |history| text(history).to_owned())
}

/// The kind of run: command, suite or workloads, subject under the lens, sides of a comparison, or
/// history.
fn what(line: &RunLine, signs: &Signs) -> String {
    match line.kind {
        KindOfRun::Comparison => format!("comparison: {}", line.sides.join(" | ")),
        KindOfRun::Lens => format!("lens, {}", under_lens(line).unwrap_or(signs.none)),
        KindOfRun::Bisect => bisect_of(&line.sides),
        KindOfRun::History => line.history.as_ref().map_or_else(|| "history of commits".to_owned(), measured),
        KindOfRun::Timed => match &line.sides[..] {
            [command] => one_line(command),
            _ => line.suite.clone().unwrap_or_else(|| chosen(&line.workloads, signs)),
        },
    }
}

/// Subject and measure of a history.
fn measured(history: &RunOfHistory) -> String {
    let quantity = history.quantity.heading();
    format!("history of {}: {}, {quantity}", history.subject, history.measured)
}

/// Number of ended items, and their total if known.
pub(crate) fn ended(line: &RunLine) -> String {
    match line.whole {
        Some(whole) => format!("{} of {whole}", line.ended),
        None => line.ended.to_string(),
    }
}

/// The stage of an open run of a history; `None` for other runs.
fn stage(line: &RunLine) -> Option<String> {
    let history = line.history.as_ref()?;
    Some(match history.stage.as_ref()? {
        HistoryStage::Build { commit, number } => {
            format!("building {}, {number} of {} commits", short_name(commit), history.commits)
        }
        HistoryStage::Link => "linking builds in random layouts".to_owned(),
        HistoryStage::Boot => "booting the next kernel".to_owned(),
        HistoryStage::Measure => "executing".to_owned(),
    })
}

/// The subject under the lens; `None` for other runs.
fn under_lens(line: &RunLine) -> Option<&'static str> {
    let subject = line.subject.filter(|_| line.kind == KindOfRun::Lens)?;
    Some(match subject {
        KindOfSubject::Program => "program",
        // Workloads are counted together with the kernel that runs them.
        KindOfSubject::System | KindOfSubject::Kernel => "kernel",
        KindOfSubject::Machine => "machine",
    })
}

fn chosen(workloads: &[String], signs: &Signs) -> String {
    match workloads {
        [] => signs.none.to_owned(),
        _ => list(&workloads.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

fn counts(counts: &[u32], between: &str) -> String {
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(between)
}
