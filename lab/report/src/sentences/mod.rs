//! Sentences about results, one file per kind of statement in `stats`, and the JSON with its
//! sentences.
//!
//! Text, Markdown, pages and JSON take their sentences from here.

mod advice;
mod caution;
mod outcome;
mod warning;

pub(crate) use advice::advice;
pub use caution::{caution, unmatched};
pub(crate) use caution::{change_caution, series_left_out};
pub use outcome::outcome;
pub(crate) use outcome::{cause, failure, key, no_figure, no_names, problem, unmatched_by_lens, withheld};
pub(crate) use warning::{inconclusive, warning};

use crate::facts;
use crate::style::UNICODE;
use advice::AdviceWords;
use faultline_record::dataset::{Dataset, Measured};
use faultline_stats::advice::Advice;
use faultline_stats::changes::ChangesFound;
use faultline_stats::comparison::{Comparison, Fit, Fitness};
use faultline_stats::lens::comparison::{Difference, LensComparison};
use faultline_stats::lens::gate::{GateReport, Standing};
use faultline_stats::said::Said;
use faultline_stats::summary::RunSummary;
use faultline_stats::workload_comparison::Caution;
use serde::Serialize;

/// A run's summary with its sentences.
pub(crate) fn worded_run(summary: &RunSummary) -> RunSummary {
    let mut worded = summary.clone();
    each(&mut worded.warnings, warning);
    for reason in worded.curves.iter_mut().filter_map(|curve| curve.verdict.reason.as_mut()) {
        each(std::slice::from_mut(reason), |reason| inconclusive(reason, &UNICODE));
    }
    for point in worded.curves.iter_mut().flat_map(|curve| &mut curve.points) {
        each(&mut point.failures, failure);
    }
    for point in worded.lens.iter_mut().flat_map(|lens| &mut lens.curves).flat_map(|curve| &mut curve.points) {
        each(&mut point.failures, |failure| cause(&failure.cause));
        each(&mut point.problems, problem);
        each(point.withheld.as_mut_slice(), withheld);
    }
    worded
}

/// A comparison with its sentences.
pub(crate) fn worded_comparison(compared: &Comparison) -> Comparison {
    let mut worded = compared.clone();
    for workload in &mut worded.workloads {
        each(&mut workload.comparison.cautions, caution);
        workload.details.failures.iter_mut().for_each(|side| each(side, failure));
    }
    each(&mut worded.unmatched, unmatched);
    worded
}

/// The result of a gate with its sentences.
pub(crate) fn worded_gate(report: &GateReport) -> GateReport {
    let mut worded = report.clone();
    for check in &mut worded.checks {
        if let Standing::NoFigure(reason) = &mut check.standing {
            each(std::slice::from_mut(reason), no_figure);
        }
        check.differences.iter_mut().for_each(word_difference);
    }
    worded
}

/// A comparison of two lens runs with its sentences.
pub(crate) fn worded_lens_comparison(compared: &LensComparison) -> LensComparison {
    let mut worded = compared.clone();
    worded.cells.iter_mut().flat_map(|cell| cell.data.iter_mut().chain(&mut cell.code)).for_each(word_difference);
    worded
}

fn word_difference(difference: &mut Difference) {
    let Difference { of, beside_a, beside_b, .. } = difference;
    [std::slice::from_mut(of), beside_a, beside_b].into_iter().for_each(|keys| each(keys, key));
}

/// Steps of series with their sentences.
pub(crate) fn worded_changes(found: &ChangesFound) -> ChangesFound {
    let mut worded = found.clone();
    each(&mut worded.left_out, series_left_out);
    worded
}

/// A run's values for other tools, with the reasons for failures in words.
pub fn worded_dataset(mut dataset: Dataset) -> Dataset {
    for point in dataset.series.iter_mut().flat_map(|series| &mut series.points) {
        if let Measured::Failed(reason) = &point.measured {
            point.measured = Measured::Missing(failure(reason));
        }
    }
    dataset
}

/// Cautions with their sentences.
pub fn worded_cautions(mut cautions: Vec<Said<Caution>>) -> Vec<Said<Caution>> {
    each(&mut cautions, caution);
    cautions
}

/// The fitness of a machine with its sentences.
#[derive(Serialize)]
pub(crate) struct WordedFitness<'a> {
    format: &'a str,
    fit: Fit,
    compared: Comparison,
    advice: Vec<WordedAdvice<'a>>,
}

#[derive(Serialize)]
struct WordedAdvice<'a> {
    #[serde(flatten)]
    advice: &'a Advice,
    #[serde(flatten)]
    words: AdviceWords,
}

/// The fitness of a machine with its sentences.
pub(crate) fn worded_fitness(fitness: &Fitness) -> WordedFitness<'_> {
    let worded = |what| WordedAdvice { advice: what, words: advice(what) };
    WordedFitness {
        format: &fitness.format,
        fit: fitness.fit,
        compared: worded_comparison(&fitness.compared),
        advice: fitness.advice.iter().map(worded).collect(),
    }
}

/// Adds its sentence to each statement.
fn each<T>(said: &mut [Said<T>], words: impl Fn(&T) -> String) {
    for one in said {
        one.text = Some(words(&one.what));
    }
}

/// A count with its noun: `1 cell`, `2 cells`.
fn number(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A share as a percentage with one decimal: `3.2 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The first few facts by name, and the number of others.
fn named(keys: &[String]) -> (String, usize) {
    first_few(keys, facts::name)
}

/// The first few by name, and the number of others.
fn first_few(all: &[String], name: impl Fn(&str) -> String) -> (String, usize) {
    const NAMED: usize = 6;
    let (named, rest) = all.split_at(all.len().min(NAMED));
    (named.iter().map(|one| name(one)).collect::<Vec<_>>().join(", "), rest.len())
}
