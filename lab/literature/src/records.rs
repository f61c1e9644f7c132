//! The literature's figures as CSV.

use super::claims::Agreement;
use super::improvement::{Improvement, Measured};
use super::raw::SingleFigure;
use super::select::Selection;
use faultline_report::grid::csv;

/// One record per side of a comparison and per single figure.
pub(crate) fn records(selection: &Selection) -> String {
    let sides = selection.comparisons.iter().flat_map(|comparison| {
        [&comparison.before, &comparison.after].into_iter().flatten().map(move |side| side_record(comparison, side))
    });
    csv(
        [
            "source",
            "test",
            "machine",
            "tasks",
            "load",
            "note",
            "metric",
            "release",
            "unit",
            "mean",
            "lowest",
            "highest",
            "n_repeats",
            "gain_percent",
            "saved_percent",
            "claimed_percent",
            "claimed_as",
            "agreement",
            "remark",
        ],
        sides.chain(selection.figures.iter().map(figure_record)),
    )
}

/// A side; improvement and claim stand in the record of the new one.
fn side_record(comparison: &Improvement, side: &Measured) -> [String; 19] {
    let subject = &comparison.subject;
    let new = comparison.after.as_ref() == Some(side) && comparison.before.is_some();
    let number = |value: Option<f64>| value.filter(|_| new).map(|value| value.to_string()).unwrap_or_default();
    let claim = comparison.claim.as_ref().filter(|_| new);
    [
        subject.source.to_owned(),
        subject.test.clone(),
        subject.machine.clone(),
        subject.tasks.to_string(),
        subject.load.clone(),
        subject.note.clone(),
        comparison.metric.word().to_owned(),
        side.release.clone(),
        comparison.unit.clone(),
        side.mean.to_string(),
        side.lowest.to_string(),
        side.highest.to_string(),
        side.n.to_string(),
        number(comparison.gain_percent),
        number(comparison.saved_percent),
        claim.map(|claim| claim.percent.clone()).unwrap_or_default(),
        claim.map(|claim| claim.definition.word().to_owned()).unwrap_or_default(),
        comparison.agreement.filter(|_| new).map(Agreement::word).unwrap_or_default().to_owned(),
        comparison.remark.filter(|_| new).unwrap_or_default().to_owned(),
    ]
}

fn figure_record(figure: &SingleFigure) -> [String; 19] {
    let mut record: [String; 19] = Default::default();
    let value = figure.value.to_string();
    for (place, text) in [
        (0, figure.source.as_str()),
        (1, &figure.test),
        (2, &figure.machine),
        (5, &figure.note),
        (6, "single"),
        (8, &figure.unit),
        (9, &value),
        (10, &value),
        (11, &value),
    ] {
        record[place] = text.to_owned();
    }
    record
}
