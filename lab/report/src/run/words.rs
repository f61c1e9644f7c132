//! What is said of a run, a curve and a point in words, the same in the table, in Markdown and on the page.

use crate::figure;
use crate::moment;
use crate::runs::state;
use crate::style::{Signs, Tone};
use faultline_model::cell::{Cell, TaskMode};
use faultline_model::summary::{Curve, Point, Progress, RunSummary, Verdict};
use faultline_model::warning::WarningCode;

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
    let mut text = format!("{} of {} planned executions ended well", progress.done, progress.planned);
    if progress.failed > 0 {
        text.push_str(&format!(", {} failed", progress.failed));
    }
    if progress.unsupported > 0 {
        text.push_str(&format!(", {} unsupported here", progress.unsupported));
    }
    if progress.skipped > 0 {
        text.push_str(&format!(", {} left out for lack of time", progress.skipped));
    }
    let open =
        progress.planned.saturating_sub(progress.done + progress.failed + progress.unsupported + progress.skipped);
    if open > 0 {
        text.push_str(&format!(", {open} still to run"));
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

/// The point that a verdict rests on: the greatest number of tasks with a figure that has CPUs of its own.
pub(crate) fn verdict_point<'a>(summary: &RunSummary, curve: &'a Curve) -> Option<&'a Point> {
    let crowded = |point: &Point| {
        let cell = Cell { case: curve.case.clone(), tasks: point.tasks };
        summary
            .warnings
            .iter()
            .any(|warning| warning.code == WarningCode::Oversubscribed && warning.cells.contains(&cell))
    };
    curve.points.iter().rev().find(|point| point.value.is_some() && !crowded(point))
}

/// The verdict, and the efficiency that it rests on: `scales in part: efficiency 71.2 % (70.1 … 72.3 %) at 4 tasks`.
pub(crate) fn verdict(summary: &RunSummary, curve: &Curve, signs: &Signs) -> String {
    let words = curve.verdict.words();
    if curve.verdict == Verdict::NotMeasured {
        return format!("{words}: fewer than two numbers of tasks have a figure");
    }
    match verdict_point(summary, curve).and_then(|point| point.efficiency.map(|efficiency| (point, efficiency))) {
        Some((point, efficiency)) => format!(
            "{words}: efficiency {} ({}) at {} tasks, n {}",
            figure::percent(efficiency.median),
            figure::percent_span(&efficiency, signs),
            point.tasks,
            efficiency.n
        ),
        None => words.to_owned(),
    }
}

/// Whether a verdict is good news.
pub(crate) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Scales => Tone::Good,
        Verdict::Partly => Tone::Middling,
        Verdict::DoesNotScale => Tone::Bad,
        Verdict::Undecided | Verdict::NotMeasured => Tone::Quiet,
    }
}

/// Why a point has no figure, or none from some attempts: equal failures counted. None when nothing failed and there is one.
pub(crate) fn shortfall(point: &Point, signs: &Signs) -> Option<String> {
    let failures = counted(&point.failures, signs).join("; ");
    match (point.value.is_some(), failures.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("{} left out as failed: {failures}", attempts(point.failures.len()))),
        (false, true) => Some("no figure: not run".to_owned()),
        (false, false) => Some(format!("no figure: {failures}")),
    }
}

fn attempts(count: usize) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

/// Failures, equal ones once with their count, in the order in which they first came.
pub(crate) fn counted(failures: &[String], signs: &Signs) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for failure in failures {
        match counted.iter_mut().find(|(text, _)| text == failure) {
            Some((_, count)) => *count += 1,
            None => counted.push((failure, 1)),
        }
    }
    counted
        .into_iter()
        .map(|(text, count)| match count {
            1 => one_line(text),
            _ => format!("{} ({count}{})", one_line(text), signs.times),
        })
        .collect()
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

/// Text without control characters: what comes from outside never breaks a line or speaks to the terminal.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
