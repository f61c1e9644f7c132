//! What is said of a curve and a point in words, the same in the table, in Markdown and on the page.

use crate::figure;
use crate::one_line::one_line;
use crate::sentences;
use crate::style::{Signs, Tone};
use faultline_model::failure::Failure;
use faultline_model::said::Said;
use faultline_model::summary::{Curve, Point};
use faultline_model::verdict::Verdict;

/// The verdict, and what it rests on: `scales in part: efficiency 71.2 % (70.1 … 72.3 %) at 4 tasks, n 6`.
pub(crate) fn verdict(curve: &Curve, signs: &Signs) -> String {
    format!("{}: {}", curve.verdict.verdict.words(), verdict_basis(curve, signs))
}

/// What a verdict rests on: `efficiency 71.2 % (70.1 … 72.3 %) at 4 tasks, n 6`.
pub(crate) fn verdict_basis(curve: &Curve, signs: &Signs) -> String {
    match curve.verdict.rests_on {
        Some(basis) => format!(
            "efficiency {} ({}) at {} tasks, n {}",
            figure::percent(basis.efficiency.median),
            figure::percent_span(&basis.efficiency, signs),
            basis.tasks,
            basis.efficiency.n
        ),
        None => "fewer than two numbers of tasks have a figure".to_owned(),
    }
}

/// Why a verdict is inconclusive, in sentences.
pub(crate) fn verdict_reason(curve: &Curve, signs: &Signs) -> Option<String> {
    curve.verdict.reason.as_ref().map(|reason| sentences::inconclusive(reason, signs))
}

/// Whether a verdict is good news.
pub(crate) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Scales => Tone::Good,
        Verdict::Partly => Tone::Middling,
        Verdict::DoesNotScale => Tone::Bad,
        Verdict::Inconclusive => Tone::Middling,
        Verdict::NotMeasured => Tone::Quiet,
    }
}

/// Why a point has no figure, or none from some attempts: equal failures counted. None when nothing failed and there is one.
pub(crate) fn shortfall(point: &Point, signs: &Signs) -> Option<String> {
    let failures = counted(&point.failures, signs).join("; ");
    match (point.value.is_some(), failures.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("{} failed, not counted: {failures}", attempts(point.failures.len()))),
        (false, true) => Some("no figure: not run".to_owned()),
        (false, false) => Some(format!("no figure: {failures}")),
    }
}

fn attempts(count: usize) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

/// Failures, equal ones once with their count, in the order in which they first came.
pub(crate) fn counted(failures: &[Said<Failure>], signs: &Signs) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for failure in failures.iter().map(|failure| sentences::failure(failure)) {
        match counted.iter_mut().find(|(text, _)| *text == failure) {
            Some((_, count)) => *count += 1,
            None => counted.push((failure, 1)),
        }
    }
    counted
        .into_iter()
        .map(|(text, count)| match count {
            1 => one_line(&text),
            _ => format!("{} ({count}{})", one_line(&text), signs.times),
        })
        .collect()
}
