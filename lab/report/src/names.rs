//! Names of runs, states, cells and measured quantities, equal in text, Markdown and on pages.

use crate::escape::one_line;
use crate::figure::date_time;
use crate::style::Signs;
use faultline_record::cell::{Cell, TaskMode};
use faultline_record::commit::{CommitInfo, CommitLine, short_name};
use faultline_record::record::RunState;
use faultline_stats::summary::{Progress, RunSummary};

/// The title of a run: `Run 12 “label”`.
pub(crate) fn title(summary: &RunSummary, signs: &Signs) -> String {
    match &summary.label {
        Some(label) => format!("Run {} {}{}{}", summary.run, signs.quotes.0, one_line(label), signs.quotes.1),
        None => format!("Run {}", summary.run),
    }
}

/// State, start and progress of a run in one line.
pub(crate) fn standing(summary: &RunSummary, signs: &Signs) -> String {
    let dot = signs.dot;
    format!("{} {dot} began {} {dot} {}", state(summary.state), date_time(summary.started), progress(&summary.progress))
}

/// Progress through the plan.
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

/// The kind of a curve's tasks.
pub(crate) fn tasks_are(mode: TaskMode) -> &'static str {
    match mode {
        TaskMode::Process => "processes",
        TaskMode::Thread => "threads",
    }
}

/// The state of a run.
pub(crate) fn state(state: RunState) -> &'static str {
    match state {
        RunState::Open => "open",
        RunState::Finished => "finished",
    }
}

/// The cells of a warning: the first few by name, the others counted.
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

/// A cell: `path_stat:shared-dir at 2`.
fn cell(cell: &Cell) -> String {
    one_line(&format!("{} at {}", cell.case, cell.tasks))
}

/// The commit at a position of a line.
pub(crate) fn commit_at(line: &CommitLine, position: u32) -> Option<&CommitInfo> {
    line.commits.get(position as usize)
}

/// The short name of the commit at a position of a line.
pub(crate) fn short_commit(line: &CommitLine, position: u32) -> String {
    commit_at(line, position).map_or_else(String::new, |commit| short_name(&commit.id).to_owned())
}
