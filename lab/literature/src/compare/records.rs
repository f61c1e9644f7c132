//! The comparison as CSV.

use super::row::{Row, rows};
use super::table::{Judged, Table};
use crate::claims::Agreement;
use crate::improvement::Measured;
use faultline_model::workload_comparison::CautionCode;
use faultline_report::grid::csv;
use serde::Serialize;
use std::collections::BTreeSet;

/// One record per comparison.
pub(super) fn records(tables: &[(Table, Option<Judged>)]) -> String {
    csv(
        [
            "source",
            "test",
            "machine",
            "tasks",
            "load",
            "note",
            "metric",
            "unit",
            "release_before",
            "release_after",
            "n_before",
            "n_after",
            "mean_before",
            "mean_after",
            "improvement_as",
            "improvement_percent",
            "claimed_percent",
            "agreement",
            "remark",
            "interval_low_percent",
            "interval_high_percent",
            "interval_level_ratio",
            "interval_method",
            "no_interval",
            "answer",
            "answer_alone",
            "p",
            "p_corrected",
            "suite_tests",
            "suite_level_ratio",
            "cautions",
        ],
        tables.iter().flat_map(|(table, judged)| {
            rows(table, judged.as_ref()).into_iter().map(|row| record(&row, judged.as_ref())).collect::<Vec<_>>()
        }),
    )
}

fn record(row: &Row<'_>, judged: Option<&Judged>) -> [String; 31] {
    let comparison = row.comparison;
    let subject = &comparison.subject;
    let [before, after] = [&comparison.before, &comparison.after].map(Option::as_ref);
    let (interval, judgement) = (row.interval.as_ref(), row.judgement.as_ref());
    let suite = judged.filter(|_| judgement.is_some()).map(|judged| &judged.suite);
    let codes: BTreeSet<CautionCode> = row.cautions.iter().map(|caution| caution.code).collect();
    let codes: Vec<&str> = codes.into_iter().map(CautionCode::word).collect();
    [
        subject.source.to_owned(),
        subject.test.clone(),
        subject.machine.clone(),
        subject.tasks.to_string(),
        subject.load.clone(),
        subject.note.clone(),
        comparison.metric.word().to_owned(),
        comparison.unit.clone(),
        text(before.map(|side| &side.release)),
        text(after.map(|side| &side.release)),
        text(before.map(|side: &Measured| side.n)),
        text(after.map(|side: &Measured| side.n)),
        text(before.map(|side| side.mean)),
        text(after.map(|side| side.mean)),
        text(Some(row.improvement_as.word())),
        text(row.improvement_percent),
        text(comparison.claim.as_ref().map(|claim| &claim.percent)),
        text(comparison.agreement.map(Agreement::word)),
        text(comparison.remark),
        text(interval.map(|interval| interval.low_percent)),
        text(interval.map(|interval| interval.high_percent)),
        text(interval.map(|interval| interval.level_ratio)),
        word(interval.map(|interval| interval.method)),
        text(row.no_interval.as_ref()),
        word(judgement.map(|judgement| judgement.answer)),
        word(judgement.and_then(|judgement| judgement.answer_alone)),
        text(judgement.and_then(|judgement| judgement.p)),
        text(judgement.and_then(|judgement| judgement.p_corrected)),
        text(suite.map(|suite| suite.workloads.len())),
        text(suite.map(|suite| suite.level)),
        codes.join(" "),
    ]
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// An answer or method as JSON has it: `no-difference`.
fn word(value: Option<impl Serialize>) -> String {
    let value = value.map(|value| serde_json::to_value(value).expect("a word"));
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
