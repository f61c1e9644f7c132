//! What is written for programs, with its words: JSON, and the data in the page.

use super::advice::AdviceWords;
use super::{
    advice, cause, caution, failure, inconclusive, key, no_figure, problem, series_left_out, unmatched, warning,
    withheld,
};
use crate::style::UNICODE;
use faultline_model::advice::Advice;
use faultline_model::changes::ChangesFound;
use faultline_model::comparison::{Comparison, Fit, Fitness};
use faultline_model::dataset::{Dataset, Measured};
use faultline_model::lens::comparison::{Difference, LensComparison};
use faultline_model::lens::gate::{GateReport, Standing};
use faultline_model::said::Said;
use faultline_model::summary::RunSummary;
use faultline_model::workload_comparison::Caution;
use serde::Serialize;

/// A run's summary with its words.
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

/// A comparison with its words.
pub(crate) fn worded_comparison(compared: &Comparison) -> Comparison {
    let mut worded = compared.clone();
    for workload in &mut worded.workloads {
        each(&mut workload.comparison.cautions, caution);
        workload.details.failures.iter_mut().for_each(|side| each(side, failure));
    }
    each(&mut worded.unmatched, unmatched);
    worded
}

/// What a gate found with its words.
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

/// A comparison of two lens runs with its words.
pub(crate) fn worded_lens_comparison(compared: &LensComparison) -> LensComparison {
    let mut worded = compared.clone();
    worded.cells.iter_mut().flat_map(|cell| cell.data.iter_mut().chain(&mut cell.code)).for_each(word_difference);
    worded
}

fn word_difference(difference: &mut Difference) {
    let Difference { of, beside_a, beside_b, .. } = difference;
    [std::slice::from_mut(of), beside_a, beside_b].into_iter().for_each(|keys| each(keys, key));
}

/// Steps of series with their words.
pub(crate) fn worded_changes(found: &ChangesFound) -> ChangesFound {
    let mut worded = found.clone();
    each(&mut worded.left_out, series_left_out);
    worded
}

/// A run's values for other tools: what failed has its reason in words.
pub fn worded_dataset(mut dataset: Dataset) -> Dataset {
    for point in dataset.series.iter_mut().flat_map(|series| &mut series.points) {
        if let Measured::Failed(reason) = &point.measured {
            point.measured = Measured::Missing(failure(reason));
        }
    }
    dataset
}

/// Cautions with their words.
pub fn worded_cautions(mut cautions: Vec<Said<Caution>>) -> Vec<Said<Caution>> {
    each(&mut cautions, caution);
    cautions
}

/// The answer about a machine with its words.
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

/// The answer about a machine with its words.
pub(crate) fn worded_fitness(fitness: &Fitness) -> WordedFitness<'_> {
    let worded = |what| WordedAdvice { advice: what, words: advice(what) };
    WordedFitness {
        format: &fitness.format,
        fit: fitness.fit,
        compared: worded_comparison(&fitness.compared),
        advice: fitness.advice.iter().map(worded).collect(),
    }
}

/// Writes the words of each statement beside it.
fn each<T>(said: &mut [Said<T>], words: impl Fn(&T) -> String) {
    for one in said {
        one.text = Some(words(&one.what));
    }
}
