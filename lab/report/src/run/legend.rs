//! What the columns of a run's table mean, in sentences, with the exact coverages of its intervals.

use faultline_model::estimate::Estimate;
use faultline_model::summary::{Point, RunSummary};
use std::collections::BTreeSet;

/// The sentences of the legend, for the run's own numbers of repeats.
pub(crate) fn sentences(summary: &RunSummary) -> Vec<String> {
    let mut sentences = vec!["rate (or time): median over n repeats; each repeat is a separate execution.".to_owned()];
    sentences.extend(coverage(summary));
    sentences.push(
        "speed-up: relative to the base, the curve's smallest number of tasks; efficiency: speed-up divided by the increase in tasks, 100 % is ideal; system: share of the tasks' own CPU time that was spent in the kernel, ± the longer side of its confidence interval."
            .to_owned(),
    );
    sentences
}

/// The coverage of the intervals: `interval: …; it covers the true median with a probability of 93.8 % (n 5)`.
fn coverage(summary: &RunSummary) -> Option<String> {
    let points = || summary.curves.iter().flat_map(|curve| &curve.points);
    let values = coverages(points().filter_map(|point| point.value));
    if values.is_empty() {
        return None;
    }
    let derived =
        coverages(points().filter(|point| point.speedup != base_estimate(point)).filter_map(|p| p.efficiency));
    let mut sentence = format!("interval: confidence interval of the median, with a coverage of {}", list(&values));
    if !derived.is_empty() && derived != values {
        sentence.push_str(&format!("; for speed-up and efficiency of {}", list(&derived)));
    }
    Some(sentence + ".")
}

/// The speed-up of a base is 1 by definition, so its coverage is left out.
fn base_estimate(point: &Point) -> Option<Estimate> {
    point.speedup.filter(|speedup| speedup.low == speedup.high && speedup.median == 1.0)
}

/// Numbers of repeats and coverages in tenths of a percent; each pair once.
fn coverages(estimates: impl Iterator<Item = Estimate>) -> BTreeSet<(u32, u32)> {
    estimates.map(|estimate| (estimate.n, (estimate.coverage * 1000.0).round() as u32)).collect()
}

fn list(pairs: &BTreeSet<(u32, u32)>) -> String {
    let words: Vec<String> =
        pairs.iter().map(|(n, tenths)| format!("{}.{} % (n={n})", tenths / 10, tenths % 10)).collect();
    words.join(", ")
}
