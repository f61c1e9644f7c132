//! Reads asv's results.

use super::*;
use crate::error::ReadError;
use crate::files::{File, Files};
use crate::gather::{Gather, missing};
use crate::json::{self, Members};
use crate::text::quoted;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Summed};
use faultline_record::facts::Facts;
use faultline_record::time::UnixMillis;
use serde::Deserialize;
use serde_json::{Number, Value};
use std::collections::{BTreeSet, HashMap};

/// Limits of a benchmark's parameter combinations, and of the total length of their names.
const MOST_COMBINATIONS: usize = 100_000;
const MOST_NAME_BYTES: usize = 64 << 20;

#[derive(Deserialize)]
struct Results {
    version: u64,
    commit_hash: String,
    /// Milliseconds since 1970.
    date: Option<Number>,
    env_name: Option<String>,
    python: Option<String>,
    #[serde(default)]
    params: Members<Value>,
    result_columns: Vec<String>,
    results: Members<Option<Vec<Value>>>,
}

/// A file of results, with its machine and environment.
struct Measurements<'a> {
    file: &'a str,
    machine: String,
    environment: String,
    results: Results,
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn holds_results(path: &str) -> bool {
    path.ends_with(".json") && ![BENCHMARKS, MACHINE].contains(&last_part(path))
}

pub(super) fn fits(files: &Files) -> bool {
    files.paths().any(|path| last_part(path) == BENCHMARKS || last_part(path) == MACHINE)
        && files.paths().any(holds_results)
}

pub(super) fn read(files: &Files) -> Result<Dataset, ReadError> {
    let units = units(files)?;
    let mut all = files
        .chosen(|path| holds_results(path) || !files.is_directory())
        .map(|file| measurements(file?))
        .collect::<Result<Vec<_>, _>>()?;
    let date = |measurements: &Measurements<'_>| milliseconds(measurements).map_or(i64::MIN, |at| at.0);
    all.sort_by_cached_key(|one| (date(one), one.results.commit_hash.clone()));
    let machines: BTreeSet<_> = all.iter().map(|one| one.machine.clone()).collect();
    let environments: BTreeSet<_> = all.iter().map(|one| one.environment.clone()).collect();
    let several = (machines.len() > 1, environments.len() > 1);
    let mut facts = Facts::default();
    if let Some(machine) = machines.first().filter(|_| !several.0) {
        machine_facts(&mut facts, files, machine, &all[0].results)?;
    }
    if let Some(environment) = environments.first().filter(|name| !several.1 && **name != UNKNOWN) {
        facts.text(ENVIRONMENT, environment);
        facts.text(PYTHON, all[0].results.python.clone().unwrap_or_default());
    }
    let mut gather = Gather::default();
    for measurements in &all {
        let where_measured = match several {
            (false, false) => String::new(),
            (true, false) => format!(" [{}]", measurements.machine),
            (false, true) => format!(" [{}]", measurements.environment),
            (true, true) => format!(" [{}, {}]", measurements.machine, measurements.environment),
        };
        read_results(&mut gather, measurements, &where_measured, &units)?;
    }
    let mut dataset = gather.dataset(files.given(), "results of asv")?;
    dataset.facts = facts;
    Ok(dataset)
}

fn measurements(file: File<'_>) -> Result<Measurements<'_>, ReadError> {
    let results: Results = json::parse_with_nan(file, "asv's results")?;
    if results.version != VERSION {
        let found = format!("version {}", results.version);
        return Err(ReadError::new(file.name, None, found, format!("version {VERSION} of asv's results")));
    }
    let parameter = results.params.0.iter().find(|(name, _)| name == "machine").and_then(|(_, value)| value.as_str());
    let directory = file.name.rsplit('/').nth(1);
    let machine = parameter.or(directory).unwrap_or(UNKNOWN).to_owned();
    let environment = results.env_name.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    Ok(Measurements { file: file.name, machine, environment, results })
}

fn milliseconds(measurements: &Measurements<'_>) -> Option<UnixMillis> {
    let date = measurements.results.date.as_ref()?;
    Some(UnixMillis(date.as_i64().or_else(|| date.as_f64().map(|date| date as i64))?))
}

/// Units by benchmark, from all `benchmarks.json`.
fn units(files: &Files) -> Result<HashMap<String, String>, ReadError> {
    let mut units = HashMap::new();
    for file in files.chosen(|path| files.is_directory() && last_part(path) == BENCHMARKS) {
        // The file also has a version.
        let benchmarks: Members<Value> = json::parse_with_nan(file?, "asv's benchmarks.json")?;
        for (name, benchmark) in benchmarks.0 {
            if let Some(unit) = benchmark.get("unit").and_then(Value::as_str) {
                units.insert(name, unit.to_owned());
            }
        }
    }
    Ok(units)
}

fn machine_facts(facts: &mut Facts, files: &Files, machine: &str, results: &Results) -> Result<(), ReadError> {
    let mut known: HashMap<String, Value> = results.params.0.iter().cloned().collect();
    for file in files.chosen(|path| files.is_directory() && last_part(path) == MACHINE) {
        let described: Members<Value> = json::parse_with_nan(file?, "asv's machine.json")?;
        if described.0.iter().any(|(name, value)| name == "machine" && value.as_str() == Some(machine)) {
            known.extend(described.0);
        }
    }
    for (name, key) in MACHINE_FACTS {
        match known.get(name) {
            Some(Value::String(text)) if key == CPUS => text.parse().into_iter().for_each(|n| facts.count(key, n)),
            Some(Value::String(text)) if key != HOST || text != UNKNOWN => facts.text(key, text),
            _ => {}
        }
    }
    Ok(())
}

fn read_results(
    gather: &mut Gather,
    measurements: &Measurements<'_>,
    where_measured: &str,
    units: &HashMap<String, String>,
) -> Result<(), ReadError> {
    let results = &measurements.results;
    let columns: HashMap<&str, usize> = results.result_columns.iter().map(String::as_str).zip(0..).collect();
    for (name, row) in &results.results.0 {
        let row = ResultRow {
            file: measurements.file,
            benchmark: name,
            cells: row.as_deref().unwrap_or_default(),
            columns: &columns,
        };
        let names = row.names()?;
        let unit = units.get(name).map_or_else(|| unit_by_name(name), String::as_str);
        for (place, parameters) in names.iter().enumerate() {
            let point = DataPoint {
                commit: Some(results.commit_hash.clone()),
                time: milliseconds(measurements),
                boot: None,
                order: row.cell(STARTED).and_then(Value::as_u64),
                measured: row.measured(place)?,
            };
            let series = gather.series(&format!("{name}{parameters}{where_measured}"), None, None, unit);
            series.direction = direction(unit);
            series.points.push(point);
        }
    }
    Ok(())
}

/// The row of one benchmark at one commit.
struct ResultRow<'a> {
    file: &'a str,
    benchmark: &'a str,
    cells: &'a [Value],
    columns: &'a HashMap<&'a str, usize>,
}

impl<'a> ResultRow<'a> {
    fn error(&self, found: impl Into<String>, expected: &str) -> ReadError {
        ReadError::new(self.file, None, found, format!("{expected} of {}", quoted(self.benchmark)))
    }

    /// A column; `None` if missing or null.
    fn cell(&self, column: &str) -> Option<&'a Value> {
        self.cells.get(*self.columns.get(column)?).filter(|value| !value.is_null())
    }

    /// The part of a column for one combination of parameters.
    fn part(&self, column: &str, place: usize) -> Option<&'a Value> {
        self.cell(column)?.get(place).filter(|value| !value.is_null())
    }

    /// The combinations of parameters as in names; the last parameter changes fastest.
    fn names(&self) -> Result<Vec<String>, ReadError> {
        let lists = match self.cell(PARAMETERS) {
            None => Vec::new(),
            Some(lists) => Vec::<Vec<String>>::deserialize(lists)
                .map_err(|_| self.error(quoted(&lists.to_string()), "lists of parameters"))?,
        };
        let combinations = lists.iter().try_fold(1usize, |n, list| n.checked_mul(list.len()));
        let combinations = combinations.filter(|n| *n <= MOST_COMBINATIONS);
        let longest: usize = lists.iter().flat_map(|list| list.iter().map(|text| text.len() + 2).max()).sum();
        let fits = combinations.filter(|n| n.saturating_mul(longest) <= MOST_NAME_BYTES);
        let n = fits.ok_or_else(|| self.error("too many parameters", "at most 100,000 combinations of parameters"))?;
        if let Some(results) = self.cell(RESULT).and_then(Value::as_array).filter(|results| results.len() != n) {
            return Err(self.error(format!("{} results", results.len()), &format!("{n} results")));
        }
        Ok((0..n).map(|place| combination(&lists, place)).collect())
    }

    fn measured(&self, place: usize) -> Result<Measured, ReadError> {
        let result = match self.cell(RESULT) {
            Some(Value::Array(_)) => self.part(RESULT, place),
            single => single,
        };
        let Some(result) = result else {
            return Ok(missing(FAILED).measured);
        };
        if result.as_str() == Some("NaN") {
            return Ok(missing(SKIPPED).measured);
        }
        if let Some(samples) = self.part(SAMPLES, place).and_then(Value::as_array).filter(|samples| !samples.is_empty())
        {
            let values: Option<Vec<f64>> = samples.iter().map(Value::as_f64).collect();
            return values.map(Measured::Values).ok_or_else(|| self.error("samples that are not numbers", "samples"));
        }
        let value = result.as_f64().ok_or_else(|| self.error(quoted(&result.to_string()), "a finite result"))?;
        let figure = |column: &str| self.part(column, place).and_then(Value::as_f64);
        let n = self.part(REPEAT, place).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        Ok(match (figure(LOW), figure(HIGH), n) {
            (None, None, None) => Measured::Values(vec![value]),
            (low, high, n) => Measured::Summary(Summed { value, low, high, deviation: None, n }),
        })
    }
}

/// `(p1, p2)`; empty without parameters.
fn combination(lists: &[Vec<String>], place: usize) -> String {
    let mut rest = place;
    let mut chosen: Vec<&str> = Vec::with_capacity(lists.len());
    for list in lists.iter().rev() {
        chosen.push(&list[rest % list.len()]);
        rest /= list.len();
    }
    chosen.reverse();
    if chosen.is_empty() { String::new() } else { format!("({})", chosen.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_parameter_changes_fastest() {
        let lists = [vec!["1".to_owned(), "2".to_owned()], vec!["'a'".to_owned(), "'b'".to_owned()]];
        let names: Vec<_> = (0..4).map(|place| combination(&lists, place)).collect();
        assert_eq!(names, ["(1, 'a')", "(1, 'b')", "(2, 'a')", "(2, 'b')"]);
        assert_eq!(combination(&[], 0), "");
    }

    #[test]
    fn more_combinations_than_anyone_has_are_refused() {
        let lists = vec![vec![1; 100]; 20];
        let text = serde_json::json!({
            "version": 2, "commit_hash": "a", "date": 1, "result_columns": ["result", "params"],
            "results": {"x": [null, lists]},
        });
        let text = text.to_string().replace('1', "\"1\"").replace("\"date\":\"1\"", "\"date\":1");
        let files = Files::one("a.json", text.into_bytes());
        let error = read(&files).unwrap_err().to_string();
        assert_eq!(
            error,
            "a.json: found too many parameters, expected at most 100,000 combinations of parameters of 'x'"
        );
    }
}
