//! Names of runs, states, cells and measured quantities, equal in text, Markdown and on pages.

use crate::escape::one_line;
use crate::figure::date_time;
use crate::style::Signs;
use faultline_record::cell::{Cell, TaskMode};
use faultline_record::commit::{CommitInfo, CommitLine, short_name};
use faultline_record::plan::{LineSearch, RunKind};
use faultline_record::record::{RunHead, RunState};
use faultline_record::subject::SubjectKind;
use faultline_stats::summary::{Progress, RunSummary};

/// A number with its noun: `1 history`, `2 histories`.
pub fn counted(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

/// The title of a run: `Run 12 “label”`.
pub(crate) fn title(summary: &RunSummary, signs: &Signs) -> String {
    match &summary.label {
        Some(label) => format!("Run {} {}{}{}", summary.run, signs.quotes.0, one_line(label), signs.quotes.1),
        None => format!("Run {}", summary.run),
    }
}

/// A run by what was asked of it: `bisect v1.4..HEAD`, `run quick`, `lens program ./counters
/// {tasks}`. Pages have it as title.
pub(crate) fn asked(head: &RunHead, signs: &Signs) -> String {
    let subject = || head.subjects.first().map(|subject| &subject.what);
    let workloads = || {
        let names: Vec<&str> = head.workloads.iter().map(|workload| workload.name.as_str()).collect();
        list(&names)
    };
    let asked = match &head.settings.kind {
        RunKind::Timed(timed) => match (&timed.suite, subject()) {
            (Some(suite), _) => format!("run {suite}"),
            (None, Some(SubjectKind::Program { argv })) => format!("run {}", argv.join(" ")),
            (None, _) => format!("run {}", workloads()),
        },
        RunKind::Comparison(_) => match head.subjects.as_slice() {
            [a, b, ..] => format!("compare {} {} {}", a.name, signs.arrow, b.name),
            _ => "compare".to_owned(),
        },
        RunKind::Lens(_) => match subject() {
            Some(SubjectKind::Program { argv }) => format!("lens program {}", argv.join(" ")),
            Some(SubjectKind::Machine { image, .. }) => format!("lens machine {image}"),
            Some(SubjectKind::System | SubjectKind::Kernel { .. }) | None => format!("lens kernel {}", workloads()),
        },
        RunKind::Bisect(search) => bisect_of(&search_ends(search)),
        RunKind::History(history) => format!("history of {}", history.subject),
    };
    one_line(asked.trim_end())
}

/// The ends of a search as its user named them; the subject of a search in a history; otherwise the
/// commits.
fn search_ends(search: &LineSearch) -> Vec<String> {
    let ends = || [0, search.line.last()].map(|position| short_commit(&search.line, position)).to_vec();
    match (&search.asked, &search.of) {
        (Some(asked), _) => asked.to_vec(),
        (None, Some(of)) => vec![of.series.subject.clone()],
        (None, None) => ends(),
    }
}

/// A search by its ends or its subject: `bisect v1.4..HEAD`.
pub(crate) fn bisect_of(ends: &[String]) -> String {
    match ends {
        [] => "bisect".to_owned(),
        [old, new] => format!("bisect {}..{}", short_name(old), short_name(new)),
        [subject, ..] => format!("bisect {subject}"),
    }
}

/// The first few of a list, the others counted: `fork_exit, map_churn and 2 more`.
pub(crate) fn list(names: &[&str]) -> String {
    const NAMED: usize = 2;
    match names.len() {
        0..=NAMED => names.join(", "),
        more => format!("{} and {} more", names[..NAMED].join(", "), more - NAMED),
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
        // A failure may have ended the run.
        let why = if progress.failed > 0 { "" } else { " because the time was used up" };
        text.push_str(&format!(", {} skipped{why}", progress.skipped));
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
