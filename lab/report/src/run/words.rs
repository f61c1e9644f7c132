//! What is said of a curve and a point in words, the same in the table, in Markdown and on the page.

use crate::figure;
use crate::one_line::one_line;
use crate::style::{Signs, Tone};
use faultline_model::cell::Cell;
use faultline_model::summary::{Curve, Point, RunSummary, Verdict};
use faultline_model::warning::WarningCode;

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
