//! Finds the steps of series, for comparisons with other programs. Input: JSON lines
//! `{"name": …, "values": […]}`, with null for missing values. Output: a line
//! `{"name": …, "steps": […]}` for each.

use faultline_record::direction::Direction;
use faultline_stats::changes::{Observation, SeriesError, Settings, changes};
use serde_json::{Value, json};
use std::io::{BufRead, stdin};

fn main() {
    for line in stdin().lock().lines() {
        let series: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let values = series["values"].as_array().expect("an array of values");
        let at = |(i, value): (usize, &Value)| Some(Observation { position: i as u64, value: value.as_f64()? });
        let observations: Vec<Observation> = values.iter().enumerate().filter_map(at).collect();
        let found = match changes(&observations, &Settings::new(Direction::Higher)) {
            Ok(found) => found.steps,
            Err(SeriesError::TooShort { .. }) => Vec::new(),
            Err(error) => panic!("{error}"),
        };
        let steps: Vec<u64> = found.iter().map(|step| step.by).collect();
        println!("{}", json!({ "name": series["name"], "steps": steps }));
    }
}
