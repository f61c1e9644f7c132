//! How every run is introduced, timed or under the lens, the same in the table, in Markdown and on the page: its title, state and progress; its
//! cells and tasks by name.

use crate::moment;
use crate::one_line::one_line;
use crate::style::Signs;
use faultline_model::cell::{Cell, TaskMode};
use faultline_model::record::RunState;
use faultline_model::summary::{Progress, RunSummary};

/// `Run 12 “label”`.
pub(crate) fn title(summary: &RunSummary, signs: &Signs) -> String {
    match &summary.label {
        Some(label) => format!("Run {} {}{}{}", summary.run, signs.quotes.0, one_line(label), signs.quotes.1),
        None => format!("Run {}", summary.run),
    }
}

/// State, start, progress: one line.
pub(crate) fn standing(summary: &RunSummary, signs: &Signs) -> String {
    let dot = signs.dot;
    format!(
        "{} {dot} began {} {dot} {}",
        state(summary.state),
        moment::words(summary.started),
        progress(&summary.progress)
    )
}

/// How much of the plan is there.
pub(crate) fn progress(progress: &Progress) -> String {
    let mut text = format!("{} of {} executions succeeded", progress.done, progress.planned);
    if progress.failed > 0 {
        text.push_str(&format!(", {} failed", progress.failed));
    }
    if progress.unsupported > 0 {
        text.push_str(&format!(", {} unsupported here", progress.unsupported));
    }
    if progress.skipped > 0 {
        text.push_str(&format!(", {} skipped because the time was used up", progress.skipped));
    }
    let open =
        progress.planned.saturating_sub(progress.done + progress.failed + progress.unsupported + progress.skipped);
    if open > 0 {
        text.push_str(&format!(", {open} not run yet"));
    }
    text
}

/// What a curve's tasks are.
pub(crate) fn tasks_are(mode: TaskMode) -> &'static str {
    match mode {
        TaskMode::Process => "processes",
        TaskMode::Thread => "threads",
    }
}

/// A run's state in a word.
pub(crate) fn state(state: RunState) -> &'static str {
    match state {
        RunState::Open => "open",
        RunState::Finished => "finished",
    }
}

/// The cells of a warning, the first few by name.
pub(crate) fn cells(cells: &[Cell]) -> Option<String> {
    const NAMED: usize = 4;
    if cells.is_empty() {
        return None;
    }
    let mut names: Vec<String> = cells.iter().take(NAMED).map(cell).collect();
    if cells.len() > NAMED {
        names.push(format!("and {} more", cells.len() - NAMED));
    }
    Some(names.join(", "))
}

/// `path_stat:shared-dir at 2`.
fn cell(cell: &Cell) -> String {
    one_line(&format!("{} at {}", cell.case, cell.tasks))
}
