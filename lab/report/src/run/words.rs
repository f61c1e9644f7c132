//! Words about runs, curves and points, equal in text, Markdown and on pages.

use crate::escape::one_line;
use crate::sheet::Sheet;
use crate::style::{Signs, Tone, UNICODE};
use crate::{figure, names, sentences};
use faultline_record::failure::Failure;
use faultline_stats::estimate::Estimate;
use faultline_stats::said::Said;
use faultline_stats::summary::{Curve, Point, RunSummary};
use faultline_stats::verdict::Verdict;

/// The separator of role and name in a figure's name: `receiver:dropped` (docs/FORMATS.md §3).
const ROLE_END: char = ':';

/// The name of the end that is no partner.
const MEASURED: &str = "measured";

/// Title, machine, state and progress of a run.
pub(crate) fn head(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    let signs = sheet.style.signs();
    let title = format!("{} {} {}", names::title(summary, signs), signs.dash, one_line(&summary.machine));
    sheet.paragraph(Some(Tone::Title), "", &title);
    sheet.paragraph(None, "", &names::standing(summary, signs));
}

/// The answer of a run in one sentence: the curve with the lowest efficiency, and how many scale.
pub(crate) fn answer(summary: &RunSummary) -> (Tone, String) {
    let judged = |curve: &&Curve| !matches!(curve.verdict.verdict, Verdict::Inconclusive | Verdict::NotMeasured);
    let efficiency = |curve: &Curve| curve.verdict.rests_on.map_or(f64::INFINITY, |basis| basis.efficiency.median);
    let all = summary.curves.len();
    let judged: Vec<&Curve> = summary.curves.iter().filter(judged).collect();
    let Some(worst) = judged.iter().min_by(|a, b| efficiency(a).total_cmp(&efficiency(b))) else {
        return (Tone::Quiet, without_verdict(summary));
    };
    let of = |curve: &Curve| {
        let at = curve.verdict.rests_on.map_or_else(String::new, |basis| {
            format!(" reaches {} of the ideal rate at {} tasks", figure::percent(basis.efficiency.median), basis.tasks)
        });
        format!("{} ({}){at}", curve.case, names::tasks_are(curve.case.mode))
    };
    let scale = judged.iter().filter(|curve| curve.verdict.verdict == Verdict::Scales).count();
    let sentence = match (all, scale) {
        (1, 1) => format!("It scales: {}.", of(worst)),
        (1, _) => format!("It {}: {}.", worst.verdict.verdict.words(), of(worst)),
        (_, _) if scale == all => format!("All {all} curves scale; the worst, {}.", of(worst)),
        _ => format!(
            "{scale} of {all} curves {}; the worst, {}.",
            if scale == 1 { "scales" } else { "scale" },
            of(worst)
        ),
    };
    (verdict_tone(worst.verdict.verdict), one_line(&sentence))
}

/// The sentence for a run without a verdict.
fn without_verdict(summary: &RunSummary) -> String {
    let measured: Vec<(&Curve, &Point, Estimate)> = summary
        .curves
        .iter()
        .filter_map(|curve| curve.points.iter().rev().find_map(|point| Some((curve, point, point.value?))))
        .collect();
    match (measured.as_slice(), summary.curves.len()) {
        ([], 0) => "There are no figures yet.".to_owned(),
        ([], _) => "No execution gave a figure.".to_owned(),
        ([(curve, point, value)], 1) => format!(
            "{}: {} at {}.",
            one_line(&curve.case.to_string()),
            with_interval(value, &curve.unit, &UNICODE),
            names::counted(point.tasks, "task")
        ),
        (_, all) => format!("The figures decide about none of {all} curves."),
    }
}

/// The warnings of a run.
pub(crate) fn warnings(sheet: &mut Sheet<'_>, summary: &RunSummary) {
    for warning in &summary.warnings {
        sheet.warning(warning.code().word(), &sentences::warning(warning), names::cells(&warning.cells).as_deref());
    }
}

/// A verdict with its basis: `scales in part: efficiency 71.2 % (70.1 … 72.3 %) at 4 tasks, n 6`.
pub(crate) fn verdict(curve: &Curve, signs: &Signs) -> String {
    format!("{}: {}", curve.verdict.verdict.words(), verdict_basis(curve, signs))
}

/// The basis of a verdict: `efficiency 71.2 % (70.1 … 72.3 %) at 4 tasks, n 6`.
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

/// The reason for an inconclusive verdict.
pub(crate) fn verdict_reason(curve: &Curve, signs: &Signs) -> Option<String> {
    curve.verdict.reason.as_ref().map(|reason| sentences::inconclusive(reason, signs))
}

/// The tone of a verdict.
pub(crate) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Scales => Tone::Good,
        Verdict::Partly => Tone::Middling,
        Verdict::DoesNotScale => Tone::Bad,
        Verdict::Inconclusive => Tone::Middling,
        Verdict::NotMeasured => Tone::Quiet,
    }
}

/// The failures of a point, equal ones counted; `None` for a point with a figure and no failure.
pub(crate) fn shortfall(point: &Point, signs: &Signs) -> Option<String> {
    let failures = counted(&point.failures, signs).join("; ");
    match (point.value.is_some(), failures.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("{} failed, not counted: {failures}", attempts(point.failures.len()))),
        (false, true) => Some("no figure: not run".to_owned()),
        (false, false) => Some(format!("no figure: {failures}")),
    }
}

/// Figures of a point's ends with intervals, a line per end:
/// `receiver: machine_cpus_busy 1.012 CPUs (0.998 … 1.031), dropped 0 packet/s (0 … 2)`.
///
/// The measured end has the figures that partners have too. Empty without partners.
pub(crate) fn ends(point: &Point, signs: &Signs) -> Vec<String> {
    let mut ends: Vec<(&str, Vec<String>)> = Vec::new();
    let of_partners = || point.side.iter().filter_map(|figure| Some((figure.name.split_once(ROLE_END)?, figure)));
    let is_shared = |name: &str| of_partners().any(|((_, own), _)| own == name);
    let own =
        point.side.iter().filter(|figure| is_shared(&figure.name)).map(|figure| ((MEASURED, &*figure.name), figure));
    for ((role, name), figure) in own.chain(of_partners()) {
        let words = format!("{name} {}", with_interval(&figure.estimate, &figure.unit, signs));
        match ends.iter_mut().find(|(known, _)| *known == role) {
            Some((_, all)) => all.push(words),
            None => ends.push((role, vec![words])),
        }
    }
    ends.into_iter().map(|(role, all)| one_line(&format!("{role}: {}", all.join(", ")))).collect()
}

/// A figure with its interval: `1.012 CPUs (0.998 … 1.031)`. A single value has none.
fn with_interval(estimate: &Estimate, unit: &str, signs: &Signs) -> String {
    let scale = figure::Scale::of(estimate.median, unit, signs);
    let interval = || format!(" ({})", scale.span(estimate.low, estimate.high, signs));
    format!("{}{}", scale.quantity(estimate.median), if estimate.n > 1 { interval() } else { String::new() })
}

fn attempts(count: usize) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

/// Failures in order of first occurrence; those of one cause once, with their count instead of
/// their repeats.
pub(crate) fn counted(failures: &[Said<Failure>], signs: &Signs) -> Vec<String> {
    let mut counted: Vec<(String, &Failure, usize)> = Vec::new();
    for failure in failures.iter().map(|failure| &**failure) {
        let cause = sentences::cause(&failure.cause);
        match counted.iter_mut().find(|(known, ..)| *known == cause) {
            Some((.., count)) => *count += 1,
            None => counted.push((cause, failure, 1)),
        }
    }
    counted
        .into_iter()
        .map(|(cause, first, count)| match count {
            1 => one_line(&sentences::failure(first)),
            _ => format!("{} ({count}{})", one_line(&cause), signs.times),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::failure::FailureCause;
    use faultline_record::outcome::Outcome;

    #[test]
    fn failures_of_one_cause_are_counted_and_a_single_one_has_its_repeat() {
        let exited = |block, status| {
            let outcome = Outcome::Exited { status, stderr: String::new() };
            Said::from(Failure { block: Some(block), cause: FailureCause::Ended { outcome } })
        };
        let failures = [exited(0, 3), exited(1, 4), exited(4, 3)];
        assert_eq!(counted(&failures, &UNICODE), ["exit status 3 (2×)", "repeat 2: exit status 4"]);
    }

    #[test]
    fn figures_of_ends_have_intervals_if_there_are_several_values() {
        let estimate = Estimate { median: 1234.0, low: 1100.0, high: 1300.0, coverage: 0.97, n: 6 };
        assert_eq!(with_interval(&estimate, "packet/s", &UNICODE), "1.234 k packet/s (1.100 … 1.300 k)");
        assert_eq!(with_interval(&Estimate { n: 1, ..estimate }, "packet/s", &UNICODE), "1.234 k packet/s");
    }
}
