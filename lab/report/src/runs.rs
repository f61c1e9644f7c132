//! The list of runs in a store.

use crate::format::Format;
use crate::introduction::state;
use crate::json::json;
use crate::moment;
use crate::quantity::Quantity;
use crate::style::{Signs, Style};
use crate::table::{self, Form, Table};
use faultline_model::commit::short_name;
use faultline_model::plan::KindOfRun;
use faultline_model::record::RunLine;
use faultline_model::run_of_history::{HistoryStage, RunOfHistory};
use faultline_model::subject::KindOfSubject;

/// The list of runs. JSON is the lines as they are.
pub fn runs(lines: &[RunLine], format: Format, style: &Style) -> String {
    let table = Table::new(columns(), lines);
    match format {
        Format::Table if lines.is_empty() => "no runs yet\n".to_owned(),
        Format::Table => table.text(style),
        Format::Markdown => table.markdown(style.signs()),
        Format::Json => json(lines),
        Format::Csv => table.csv(),
    }
}

type Column<'a> = table::Column<&'a RunLine>;

fn columns<'a>() -> Vec<Column<'a>> {
    const ROOMY: &[Form] = &[Form::Wide, Form::Medium, Form::Markdown];
    const ROOMIEST: &[Form] = &[Form::Wide, Form::Markdown];
    vec![
        Column::right("run", |line, _| line.id.to_string()).csv("run", |line| line.id.to_string()),
        Column::csv_only("label", |line| line.label.clone().unwrap_or_default()),
        // As a number, which stays whole.
        Column::right("started", |line, _| moment::words(line.started))
            .csv("started_utc", |line| moment::iso(line.started)),
        Column::left("state", |line, _| state(line.state).to_owned()).csv("state", |line| state(line.state).to_owned()),
        Column::left("what", |line, signs| what(line, signs))
            .csv("suite", |line| line.suite.clone().unwrap_or_default()),
        Column::csv_only("workloads", |line| line.workloads.join(";")),
        Column::left("tasks", |line, _| counts(&line.cpus, ",")).csv("tasks", |line| counts(&line.cpus, ";")),
        Column::csv_only("planned", |line| line.planned.to_string()),
        Column::right("ended", |line, _| ended(line)).csv("ended", |line| line.ended.to_string()),
        Column::right("failed", |line, _| line.failed.to_string()).csv("failed", |line| line.failed.to_string()),
        Column::right("skipped", |line, _| line.skipped.to_string())
            .on(ROOMY)
            .csv("skipped", |line| line.skipped.to_string()),
        Column::left("machine", |line, _| line.machine.clone())
            .on(ROOMIEST)
            .csv("machine", |line| line.machine.clone()),
        Column::left("label", |line, _| line.label.clone().unwrap_or_default()),
        Column::csv_only("sides", |line| line.sides.join("; ")),
        Column::csv_only("lens", |line| under_lens(line).unwrap_or_default().to_owned()),
        Column::csv_only("kind", |line| line.kind.word().to_owned()),
        Column::csv_only("whole", |line| line.whole.map_or_else(String::new, |whole| whole.to_string())),
        Column::csv_only("subject", |line| of_history(line, |history| &history.subject)),
        Column::csv_only("measured", |line| of_history(line, |history| &history.measured)),
    ]
}

/// A text of a run of a history; none of any other run.
fn of_history(line: &RunLine, text: impl Fn(&RunOfHistory) -> &str) -> String {
    line.history.as_ref().map_or_else(String::new, |history| text(history).to_owned())
}

/// How many workloads are named; the others are counted.
const NAMED: usize = 2;

/// The suite or the workloads that were chosen, what ran under the lens, the sides of a comparison, or that commits are searched.
pub(crate) fn what(line: &RunLine, signs: &Signs) -> String {
    match line.kind {
        KindOfRun::Comparison => format!("comparison: {}", line.sides.join(" | ")),
        KindOfRun::Lens => format!("lens, {}", under_lens(line).unwrap_or(signs.none)),
        KindOfRun::Drill => "search along commits".to_owned(),
        KindOfRun::History => line.history.as_ref().map_or_else(|| "history of commits".to_owned(), measured),
        KindOfRun::Timed => line.suite.clone().unwrap_or_else(|| chosen(&line.workloads, signs)),
    }
}

/// The subject of a history, and what is measured of it.
fn measured(history: &RunOfHistory) -> String {
    let quantity = Quantity::counted(history.counted).heading();
    format!("history of {}: {}, {quantity}", history.subject, history.measured)
}

/// How many items have ended, of how many if that is known.
pub(crate) fn ended(line: &RunLine) -> String {
    match line.whole {
        Some(whole) => format!("{} of {whole}", line.ended),
        None => line.ended.to_string(),
    }
}

/// What a run of a history is at; `None` of any other run, and of one that is finished.
pub(crate) fn stage(line: &RunLine) -> Option<String> {
    let history = line.history.as_ref()?;
    Some(match history.stage.as_ref()? {
        HistoryStage::Build { commit, number } => {
            format!("at the build of {}, {number} of {} commits", short_name(commit), history.commits)
        }
        HistoryStage::Link => "at linking builds in random layouts".to_owned(),
        HistoryStage::Boot => "at the boot of the next kernel".to_owned(),
        HistoryStage::Measure => "at executions".to_owned(),
    })
}

/// What ran under the lens; `None` for any other run.
fn under_lens(line: &RunLine) -> Option<&'static str> {
    let subject = line.subject.filter(|_| line.kind == KindOfRun::Lens)?;
    Some(match subject {
        KindOfSubject::Program => "program",
        // Workloads are counted with the kernel that runs them.
        KindOfSubject::System | KindOfSubject::Kernel => "kernel",
        KindOfSubject::Machine => "machine",
    })
}

fn chosen(workloads: &[String], signs: &Signs) -> String {
    match workloads.len() {
        0 => signs.none.to_owned(),
        1..=NAMED => workloads.join(", "),
        more => format!("{} and {} more", workloads[..NAMED].join(", "), more - NAMED),
    }
}

pub(crate) fn counts(counts: &[u32], between: &str) -> String {
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(between)
}
