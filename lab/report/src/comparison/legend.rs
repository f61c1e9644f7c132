//! What the columns of a comparison mean, in sentences; with the levels that its intervals have.

use super::change::{Change, level};
use super::words;
use crate::style::Signs;
use crate::table::Form;
use faultline_model::comparison::{ComparedWorkload, Comparison};
use faultline_model::direction::Direction;
use faultline_model::workload_comparison::{Answer, Inconclusive, Unit};

/// The sentences of the legend to a table in that form; those that say nothing about this comparison are left out.
pub(crate) fn sentences(compared: &Comparison, form: Form, signs: &Signs) -> Vec<String> {
    let mut sentences = Vec::new();
    if compared.workloads.is_empty() {
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
    sentences.extend(equality(compared, signs));
    if has(compared, Answer::Inconclusive) {
        sentences.push("inconclusive: neither a difference nor equality was shown.".to_owned());
    }
    if compared.workloads.iter().any(|workload| workload.comparison.inconclusive == Some(Inconclusive::NotInterleaved))
    {
        sentences.push(
            "not interleaved: compare live (`faultline compare './old' './new'`), or add `--assume-quiet` if nothing else ran on the machine."
                .to_owned(),
        );
    }
    if compared.workloads.iter().any(|workload| workload.comparison.inconclusive == Some(Inconclusive::TooNoisy)) {
        sentences.push("too noisy: `faultline check` shows what disturbs the machine.".to_owned());
    }
    if words::has_figures(compared) {
        sentences.push(format!(
            "Further figures: change of the value, B/A {minus} 1. They are corrected among themselves and change no answer and no gate.",
            minus = signs.minus
        ));
    }
    if compared.workloads.iter().any(|workload| words::system(&workload.details, signs).is_some()) {
        sentences.push("system: kernel's share of the tasks' own CPU time, median on A and on B.".to_owned());
    }
    sentences
}

/// What counts as equal.
fn equality(compared: &Comparison, signs: &Signs) -> Option<String> {
    let first = compared.workloads.first().filter(|_| has(compared, Answer::Equal))?;
    let margin = words::margin(&first.comparison, signs);
    Some(format!("equal within {margin}: the interval lies within that margin."))
}

fn has(compared: &Comparison, answer: Answer) -> bool {
    compared.workloads.iter().any(|workload| workload.comparison.answer == answer)
}

fn medians(compared: &Comparison) -> String {
    let is = |unit| compared.workloads.iter().any(|workload| workload.comparison.independent == unit);
    if !is(Unit::Boot) && !is(Unit::Run) {
        return "A, B: medians over n summaries, each another tool's figure for several runs.".to_owned();
    }
    let unit = match (is(Unit::Boot), is(Unit::Run)) {
        (true, false) => "a boot's value being the median of its runs",
        (false, _) => "a run's value being the median of its intervals",
        (true, true) => "a run's value being the median of its intervals, a boot's that of its runs",
    };
    format!("A, B: medians over n runs or boots, {unit}.")
}

/// Which way is better.
fn better(compared: &Comparison) -> String {
    let is_lower = |workload: &&ComparedWorkload| workload.comparison.direction == Direction::Lower;
    let lower: Vec<String> = compared.workloads.iter().filter(is_lower).map(words::name).collect();
    match lower.len() {
        0 => "Higher is better everywhere.".to_owned(),
        all if all == compared.workloads.len() => "Lower is better everywhere.".to_owned(),
        _ => format!("Lower is better for {}, higher for the rest.", words::list(&lower)),
    }
}

/// The changes of all workloads that have one.
fn changes(compared: &Comparison) -> impl Iterator<Item = Change> {
    compared.workloads.iter().filter_map(|workload| Change::of(&workload.comparison))
}

/// The level of all intervals, where they share one.
pub(crate) fn shared_level(compared: &Comparison) -> Option<f64> {
    let mut levels = changes(compared).map(|change| change.level);
    let first = levels.next()?;
    levels.all(|other| (other - first).abs() < 1e-9).then_some(first)
}

/// Whether there are intervals, and they don't share a level.
pub(crate) fn levels_differ(compared: &Comparison) -> bool {
    shared_level(compared).is_none() && changes(compared).next().is_some()
}

/// What the intervals cover; `level` is a column where they differ.
fn intervals(compared: &Comparison, form: Form) -> Option<String> {
    changes(compared).next()?;
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
    let workloads = compared.workloads.len();
    (workloads > 1).then(|| {
        format!(
            "Answers are corrected for {workloads} workloads: {} familywise confidence level, for differences and for equalities each.",
            level(compared.level)
        )
    })
}
