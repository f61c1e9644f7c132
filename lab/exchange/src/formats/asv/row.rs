//! What asv keeps of one benchmark at one commit: a row of columns, each with a part for every combination of parameters.

use super::*;
use crate::figures;
use faultline_model::dataset::{DataPoint, Measured};
use serde_json::{Value, json};

/// JSON has no word for what asv writes of a skipped benchmark. A text that nothing else is stands for it.
const NOT_A_NUMBER: &str = "\u{1}NaN";
const NOT_A_NUMBER_IN_JSON: &str = r#""\u0001NaN""#;

/// JSON with rows in it, as asv writes it.
pub(super) fn with_nan(json: &str) -> String {
    json.replace(NOT_A_NUMBER_IN_JSON, "NaN")
}

/// The row of one benchmark's runs with their parameters; columns at its end that are null are left out, as asv does.
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
