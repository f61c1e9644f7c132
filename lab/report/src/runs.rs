//! The list of runs in a store.

use crate::format::Format;
use crate::grid::{Grid, Side, csv};
use crate::moment;
use crate::style::{Signs, Style};
use faultline_model::record::{RunLine, RunState};

/// The list of runs. JSON is the lines as they are.
pub fn runs(lines: &[RunLine], format: Format, style: &Style) -> String {
    match format {
        Format::Table if lines.is_empty() => "no runs yet\n".to_owned(),
        Format::Table => grid(lines, style.signs()).text(style),
        Format::Markdown => grid(lines, style.signs()).markdown(),
        Format::Json => crate::run::json(lines),
        Format::Csv => csv(
            [
                "run",
                "label",
                "started_utc",
                "state",
                "suite",
                "tasks",
                "planned",
                "ended",
                "failed",
                "skipped",
                "machine",
                "lens",
            ],
            lines.iter().map(record),
        ),
    }
}

fn grid(lines: &[RunLine], signs: &Signs) -> Grid {
    let mut grid = Grid::new(&[
        ("run", Side::Right),
        ("started", Side::Left),
        ("state", Side::Left),
        ("what", Side::Left),
        ("tasks", Side::Left),
        ("ended", Side::Right),
        ("failed", Side::Right),
        ("skipped", Side::Right),
        ("machine", Side::Left),
        ("label", Side::Left),
    ]);
    for line in lines {
        grid.row(vec![
            line.id.to_string(),
            moment::words(line.started),
            state(line.state).to_owned(),
            what(line, signs),
            counts(&line.cpus, ","),
            format!("{} of {}", line.ended, line.planned),
            line.failed.to_string(),
            line.skipped.to_string(),
            line.machine.clone(),
            line.label.clone().unwrap_or_default(),
        ]);
    }
    grid
}

/// The suite, or what ran under the lens.
fn what(line: &RunLine, signs: &Signs) -> String {
    match (line.lens, &line.suite) {
        (Some(lens), _) => format!("lens, {}", lens.word()),
        (None, Some(suite)) => suite.clone(),
        (None, None) => signs.none.to_owned(),
    }
}

fn record(line: &RunLine) -> [String; 12] {
    [
        line.id.to_string(),
        line.label.clone().unwrap_or_default(),
        moment::iso(line.started),
        state(line.state).to_owned(),
        line.suite.clone().unwrap_or_default(),
        counts(&line.cpus, ";"),
        line.planned.to_string(),
        line.ended.to_string(),
        line.failed.to_string(),
        line.skipped.to_string(),
        line.machine.clone(),
        line.lens.map_or_else(String::new, |lens| lens.word().to_owned()),
    ]
}

/// A run's state in a word.
pub(crate) fn state(state: RunState) -> &'static str {
    match state {
        RunState::Open => "open",
        RunState::Finished => "finished",
    }
}

fn counts(counts: &[u32], between: &str) -> String {
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(between)
}
