//! What asv saves of one benchmark at one commit: a row of columns, each with one part for every combination of parameters.

use super::*;
use crate::figures;
use faultline_model::dataset::{DataPoint, Measured};
use serde_json::{Value, json};

/// JSON has no representation for what asv writes for a skipped benchmark. This text, which occurs nowhere else, replaces it.
const NOT_A_NUMBER: &str = "\u{1}NaN";
const NOT_A_NUMBER_IN_JSON: &str = r#""\u0001NaN""#;

/// JSON that contains rows, in asv's form.
pub(super) fn with_nan(json: &str) -> String {
    json.replace(NOT_A_NUMBER_IN_JSON, "NaN")
}

/// The row of one benchmark's runs with their parameters. Null columns at its end are left out, as in asv.
pub(super) fn row(runs: &[(Option<&str>, &DataPoint)]) -> Vec<Value> {
    let parameters: Vec<&str> = runs.iter().filter_map(|(parameter, _)| *parameter).collect();
    let mut row: Vec<Value> = COLUMNS
        .iter()
        .map(|column| match *column {
            PARAMETERS if parameters.is_empty() => json!([]),
            PARAMETERS => json!([parameters]),
            STARTED => json!(runs[0].1.order),
            column => {
                let parts: Vec<Value> = runs.iter().map(|(_, point)| part(column, &point.measured)).collect();
                if parts.iter().all(Value::is_null) { Value::Null } else { parts.into() }
            }
        })
        .collect();
    while row.last().is_some_and(Value::is_null) {
        row.pop();
    }
    row
}

fn part(column: &str, measured: &Measured) -> Value {
    match (column, measured) {
        (RESULT, Measured::Missing(why)) if why == SKIPPED => json!(NOT_A_NUMBER),
        (RESULT, Measured::Values(values)) => json!(figures::median(values)),
        (SAMPLES, Measured::Values(values)) if values.len() > 1 => json!(values),
        (RESULT, Measured::Summary(summed)) => json!(summed.value),
        (LOW, Measured::Summary(summed)) => json!(summed.low),
        (HIGH, Measured::Summary(summed)) => json!(summed.high),
        (REPEAT, Measured::Summary(summed)) => json!(summed.n),
        _ => Value::Null,
    }
}
