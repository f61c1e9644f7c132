//! Reads a single file of criterion: `sample.json`, `estimates.json`, or the `raw.csv` of the
//! feature `csv_output`.
//!
//! `raw.csv` names its benchmark. For the others the name comes from the path: the part before
//! `new/` or another results directory, and after `criterion/` if present.

use super::{Named, Sample, UNIT, estimated, iteration_times};
use crate::error::ReadError;
use crate::files::File;
use crate::gather::{Gather, check_parts};
use crate::quotes::check_quotes;
use crate::recognition::Glance;
use crate::text::{self, quoted};
use crate::{json, values};
use csv::{ReaderBuilder, StringRecord};
use faultline_record::dataset::{DataPoint, Dataset, Measured};
use serde_json::Value;
use std::collections::BTreeMap;

/// Header of `raw.csv`.
const RAW: &str = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count";
/// Columns of `raw.csv`.
const NAME: std::ops::Range<usize> = 0..3;
const TIME: usize = 5;
const TIME_UNIT: usize = 6;
const ITERATIONS: usize = 7;

/// Name of the directory with criterion's benchmarks.
const ROOT: &str = "criterion";

/// True if the only file is one of criterion's.
pub(super) fn fits(glance: &Glance<'_>) -> bool {
    let sample = glance.json_has(&["iters", "times"]);
    let estimates = glance.json_has(&["mean", "std_dev", "confidence_interval"]);
    let description = glance.json_has(&["group_id", "full_id", "directory_name"]);
    sample || estimates || description || glance.text_begins(|text| text.starts_with(RAW))
}

/// Reads the file by the kind of its content.
pub(super) fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    if file.text.starts_with(RAW) {
        return read_raw(file);
    }
    let members: BTreeMap<String, Value> = json::parse(file, "criterion's JSON")?;
    let measured = if members.contains_key("iters") {
        Measured::Values(iteration_times(json::parse::<Sample>(file, "criterion's sample.json")?, file.name)?)
    } else if members.contains_key("full_id") {
        let Named { full_id } = json::parse(file, "criterion's benchmark.json")?;
        let found = format!("the description of {} without figures", quoted(&full_id));
        return Err(ReadError::new(file.name, None, found, "`sample.json` or `estimates.json`, or their directory"));
    } else {
        estimated(file)?
    };
    let mut gather = Gather::default();
    gather.series(&name(file.name), None, None, UNIT).points.push(DataPoint::of(measured));
    gather.dataset(file.name, "criterion's samples")
}

/// The benchmark of the file at a path.
fn name(path: &str) -> String {
    let mut parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    let file = parts.pop().unwrap_or_default();
    parts.pop();
    let below = parts.iter().rposition(|part| *part == ROOT).map_or(parts.len().saturating_sub(1), |root| root + 1);
    match parts[below.min(parts.len())..].join("/") {
        name if name.is_empty() => file.to_owned(),
        name => name,
    }
}

/// Reads `raw.csv`: a row is a sample, the time of some iterations. All samples of a benchmark are
/// values of one run.
fn read_raw(file: File<'_>) -> Result<Dataset, ReadError> {
    check_parts(file)?;
    check_quotes(file, b',')?;
    let mut reader = ReaderBuilder::new().from_reader(file.text.as_bytes());
    let mut gather = Gather::default();
    for row in reader.records() {
        let row = row.map_err(|error| text::csv_error(file.name, &error))?;
        let value = sample(file, &row)?;
        let name: Vec<&str> = NAME.map(|column| &row[column]).filter(|part| !part.is_empty()).collect();
        let series = gather.series(&name.join("/"), None, None, &row[TIME_UNIT]);
        series.direction = values::direction_of_unit(&row[TIME_UNIT]);
        match series.points.first_mut().map(|run| &mut run.measured) {
            Some(Measured::Values(values)) => values.push(value),
            _ => series.points.push(DataPoint::of(Measured::Values(vec![value]))),
        }
    }
    gather.dataset(file.name, "rows with a sample each")
}

fn sample(file: File<'_>, row: &StringRecord) -> Result<f64, ReadError> {
    let line = row.position().map_or(1, csv::Position::line);
    let time = text::finite(file.name, line, &row[TIME], "sample_measured_value")?;
    let iterations = text::finite(file.name, line, &row[ITERATIONS], "iteration_count")?;
    Some(time / iterations).filter(|value| value.is_finite()).ok_or_else(|| {
        ReadError::new(file.name, line, quoted(&row[ITERATIONS]), "at least one iteration in each sample")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Dataset, ReadError> {
        super::read(File { name: "target/criterion/sum/loop/new/given", text })
    }

    #[test]
    fn the_path_names_the_benchmark() {
        for (path, expected) in [
            ("target/criterion/sum/loop/16/new/sample.json", "sum/loop/16"),
            ("./criterion/add/base/estimates.json", "add"),
            ("loop/new/sample.json", "loop"),
            ("sample.json", "sample.json"),
            ("new/sample.json", "sample.json"),
            ("/a/b/loop/new/sample.json", "loop"),
        ] {
            assert_eq!(name(path), expected, "{path}");
        }
    }

    #[test]
    fn rows_of_raw_csv_are_values_of_one_run_by_benchmark() {
        let rows = "sum,loop,16,,,100,ns,10\nsum,loop,16,,,240,ns,20\nadd,,,,,7,ns,1\n";
        let dataset = read(&format!("{RAW}\n{rows}")).unwrap();
        let named: Vec<_> = dataset.series.iter().map(|series| (series.name.as_str(), series.points.len())).collect();
        assert_eq!(named, [("sum/loop/16", 1), ("add", 1)]);
        assert_eq!(dataset.series[0].points[0].measured.values(), [10.0, 12.0]);
        let error = read(&format!("{RAW}\nadd,,,,,7,ns,0\n")).unwrap_err().to_string();
        assert!(error.ends_with("given:2: found '0', expected at least one iteration in each sample"), "{error}");
        let error = read(&format!("{RAW}\nadd,,,,7\n")).unwrap_err().to_string();
        assert!(error.ends_with("given:2: found 5 columns, expected 8, as in the header"), "{error}");
    }

    #[test]
    fn a_description_alone_holds_no_figures() {
        let error = read(r#"{"group_id": "a", "full_id": "a/b", "directory_name": "a/b"}"#).unwrap_err().to_string();
        assert!(error.contains("found the description of 'a/b' without figures"), "{error}");
    }
}
