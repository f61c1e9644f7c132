//! What the columns of a comparison mean, in sentences; with the levels that its intervals have.

use super::change::{Change, level};
use super::words;
use crate::style::Signs;
use crate::table::Form;
use faultline_model::comparison::Comparison;
use faultline_model::direction::Direction;
use faultline_model::workload_comparison::{Answer, Unit};

/// The sentences of the legend to a table in that form; those that say nothing about this comparison are left out.
pub(crate) fn sentences(compared: &Comparison, form: Form, signs: &Signs) -> Vec<String> {
    let mut sentences = Vec::new();
    if compared.suite.workloads.is_empty() {
        return sentences;
    }
    sentences.push(medians(compared));
    sentences.push(format!(
        "change: how much better B is, for rates B/A {minus} 1, for times A/B {minus} 1; estimated from pairs of values, so that the medians' ratio \
         may differ a little.",
        minus = signs.minus
    ));
    sentences.push(better(compared));
    sentences.extend(intervals(compared, form));
    sentences.extend(correction(compared));
    if has(compared, Answer::NoDifference) {
        sentences.push("no difference: none was detected; the change shown may be chance.".to_owned());
    }
    if has(compared, Answer::Undecided) {
        sentences.push("undecided: the data can't tell, so no change is given.".to_owned());
    }
    if words::rows(compared).any(|(_, details)| words::system(details, signs).is_some()) {
        sentences.push("system: kernel's share of the tasks' own CPU time, median on A and on B.".to_owned());
    }
    sentences
}

fn has(compared: &Comparison, answer: Answer) -> bool {
    compared.suite.workloads.iter().any(|workload| workload.answer == answer)
}

fn medians(compared: &Comparison) -> String {
    let is = |unit| compared.suite.workloads.iter().any(|workload| workload.independent == unit);
    let unit = match (is(Unit::Boot), is(Unit::Run)) {
        (true, false) => "a boot's value being the median of its runs",
        (false, _) => "a run's value being the median of its intervals",
        (true, true) => "a run's value being the median of its intervals, a boot's that of its runs",
    };
    format!("A, B: medians over n runs or boots, {unit}.")
}

/// Which way is better.
fn better(compared: &Comparison) -> String {
    let lower: Vec<String> = words::rows(compared)
        .filter(|(workload, _)| workload.direction == Direction::Lower)
        .map(|(workload, details)| words::name(workload, details))
        .collect();
    match lower.len() {
        0 => "Higher is better everywhere.".to_owned(),
        all if all == compared.suite.workloads.len() => "Lower is better everywhere.".to_owned(),
        _ => format!("Lower is better for {}, higher for the rest.", words::list(&lower)),
    }
}

/// The level of all intervals, where they share one.
pub(crate) fn shared_level(compared: &Comparison) -> Option<f64> {
    let mut levels = compared.suite.workloads.iter().filter_map(Change::of).map(|change| change.level);
    let first = levels.next()?;
    levels.all(|other| (other - first).abs() < 1e-9).then_some(first)
}

/// Whether there are intervals, and they don't share a level.
pub(crate) fn levels_differ(compared: &Comparison) -> bool {
    shared_level(compared).is_none() && compared.suite.workloads.iter().any(|workload| Change::of(workload).is_some())
}

/// What the intervals cover; `level` is a column where they differ.
fn intervals(compared: &Comparison, form: Form) -> Option<String> {
    compared.suite.workloads.iter().find_map(Change::of)?;
    let interval = match form {
        Form::Narrow => "interval: its longer side stands behind the change;",
        Form::Wide | Form::Medium | Form::Markdown => "interval:",
    };
    Some(match shared_level(compared) {
        Some(shared) => format!("{interval} covers the true change with a probability of {}.", level(shared)),
        None => format!("{interval} covers the true change with the probability in the column level."),
    })
}

/// What the answers are corrected for. None when there is one workload.
pub(crate) fn correction(compared: &Comparison) -> Option<String> {
    let workloads = compared.suite.workloads.len();
    (workloads > 1).then(|| {
        format!(
            "Answers are corrected for {workloads} workloads: with {} none of them is falsely said to differ.",
            level(compared.suite.level)
        )
    })
}
