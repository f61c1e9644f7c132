//! Writes asv's results: one machine, one environment, a file per commit.

use super::*;
use crate::error::WriteError;
use crate::format::Written;
use crate::json::{self, Members};
use crate::reduction::Reduction;
use crate::text::{on_one_line, with_only};
use faultline_record::dataset::{DataPoint, Measured, Series, Summed};
use faultline_record::facts::{FactValue, Facts};
use faultline_record::time::UnixMillis;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A file of results in asv's order.
#[derive(Serialize)]
struct Results<'a> {
    commit_hash: &'a str,
    env_name: &'a str,
    date: Option<i64>,
    params: Members<Value>,
    python: &'a str,
    requirements: Members<()>,
    env_vars: Members<()>,
    result_columns: [&'static str; COLUMNS.len()],
    results: Members<Vec<Value>>,
    durations: Members<()>,
    version: u64,
}

/// A file's position in the history.
type Commit = (Option<UnixMillis>, Option<String>);

fn commit(point: &DataPoint) -> Commit {
    (point.time, point.commit.clone())
}

fn kept_fact(key: &str, value: &FactValue) -> bool {
    let known = MACHINE_FACTS.iter().any(|(_, known)| *known == key) || key == ENVIRONMENT || key == PYTHON;
    known
        && match value {
            FactValue::Count(_) => key == CPUS,
            FactValue::Text(text) => key != CPUS && text != UNKNOWN && !text.is_empty() && on_one_line(text) == *text,
            _ => false,
        }
}

pub(super) fn write(whole: Reduction) -> Result<Written, WriteError> {
    let reduced = whole
        .facts(kept_fact)
        .no_boots()
        .no_empty()
        .commits(|commit| Some(on_one_line(commit)).filter(|commit| !commit.is_empty()));
    let mut points = reduced.dataset.series.iter().flat_map(|series| &series.points);
    if points.any(|point| point.commit.is_none() || point.time.is_none()) {
        return Err(WriteError::new(
            "asv keeps results by commit and the commit's time, and there is a run without one",
            "for runs that are not of a history, `hyperfine`, `bencher` or `faultline` can hold the values",
        ));
    }
    // asv has no interpreter without an environment.
    let environment = reduced.dataset.facts.get_text(ENVIRONMENT).is_some();
    let reduced = reduced
        .facts(|key, _| key != PYTHON || environment)
        .fold_tasks()
        .fold_measures(' ')
        .names(|name| if name == VERSION_KEY { format!("{name}_") } else { with_only(name, |c| !c.is_control(), '_') })
        .reasons(|why| if why == SKIPPED { SKIPPED.to_owned() } else { FAILED.to_owned() })
        .merged(commit, "which values of a commit were of one run")
        .summed(|summed| Summed { deviation: None, ..summed }, "deviations")
        .summaries(|summed| summed.low.is_some() || summed.high.is_some() || summed.n.is_some())
        .directions(|series| direction(&series.unit));
    let groups = Groups::of(&reduced.dataset.series);
    let started = started(&groups, &reduced.dataset.series);
    let reduced = reduced
        .each_series(|series| start_together(&groups, &started, series), "the order in which runs were made")
        .arranged(|dataset| arrange(&groups, &mut dataset.series))
        .ready(FORMAT.name)?;
    let files = files(&groups, &reduced.dataset.series, &reduced.dataset.facts);
    Ok(Written { files, held: reduced.dataset, losses: reduced.losses })
}

/// Start times per benchmark and commit: asv has one for all combinations of parameters.
fn started(groups: &Groups, series: &[Series]) -> HashMap<(String, Commit), Option<u64>> {
    let mut started = HashMap::new();
    for series in series {
        for point in &series.points {
            started.entry((groups.split(&series.name).0.to_owned(), commit(point))).or_insert(point.order);
        }
    }
    started
}

fn start_together(groups: &Groups, started: &HashMap<(String, Commit), Option<u64>>, series: &mut Series) -> bool {
    let benchmark = groups.split(&series.name).0.to_owned();
    let mut changed = false;
    for point in &mut series.points {
        let order = started[&(benchmark.clone(), commit(point))];
        changed |= point.order != order;
        point.order = order;
    }
    changed
}

/// Sorts benchmarks and runs as in asv's files: by commit, then by benchmark.
fn arrange(groups: &Groups, series: &mut [Series]) {
    for series in series.iter_mut() {
        series.points.sort_by_cached_key(commit);
    }
    let mut benchmarks: HashMap<String, (Commit, usize)> = HashMap::new();
    for series in series.iter() {
        let (first, next) = (commit(&series.points[0]), benchmarks.len());
        let benchmark = groups.split(&series.name).0.to_owned();
        let benchmark = benchmarks.entry(benchmark).or_insert((first.clone(), next));
        benchmark.0 = first.min(std::mem::take(&mut benchmark.0));
    }
    series.sort_by_cached_key(|series| (commit(&series.points[0]), benchmarks[groups.split(&series.name).0].clone()));
}

fn files(groups: &Groups, series: &[Series], facts: &Facts) -> Vec<(String, String)> {
    let machine = facts.get_text(HOST).unwrap_or(UNKNOWN);
    let environment = facts.get_text(ENVIRONMENT).unwrap_or(UNKNOWN);
    let directory = file_name(machine);
    let mut commits: BTreeMap<Commit, Vec<(&Series, &DataPoint)>> = BTreeMap::new();
    for series in series {
        for point in &series.points {
            commits.entry(commit(point)).or_default().push((series, point));
        }
    }
    let mut files = vec![
        (BENCHMARKS.to_owned(), json::text(&benchmarks(groups, series))),
        (format!("{directory}/{MACHINE}"), json::text(&described(facts))),
    ];
    let mut taken: HashMap<String, u32> = HashMap::new();
    for ((time, commit), runs) in commits {
        let hash = commit.unwrap_or_default();
        let short = file_name(&hash.chars().take(8).collect::<String>()).replace('-', "_");
        let times = taken.entry(short.to_lowercase()).or_default();
        *times += 1;
        let number = if *times > 1 { format!("-{times}") } else { String::new() };
        let path = format!("{directory}/{short}-{}{number}.json", file_name(environment));
        let results = results(groups, &runs);
        let file = Results {
            commit_hash: &hash,
            env_name: environment,
            date: time.map(|time| time.0),
            params: machine_as_asv_has_it(facts),
            python: facts.get_text(PYTHON).unwrap_or_default(),
            requirements: Members::default(),
            env_vars: Members::default(),
            result_columns: COLUMNS,
            results,
            durations: Members::default(),
            version: VERSION,
        };
        let text = json::compact(&file);
        files.push((path, with_nan(&text)));
    }
    files
}

/// The rows of one commit, in the order of each benchmark's first run.
fn results(groups: &Groups, runs: &[(&Series, &DataPoint)]) -> Members<Vec<Value>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut benchmarks: Vec<(&str, Vec<_>)> = Vec::new();
    for (series, point) in runs {
        let (benchmark, parameter) = groups.split(&series.name);
        let place = *places.entry(benchmark).or_insert_with(|| {
            benchmarks.push((benchmark, Vec::new()));
            benchmarks.len() - 1
        });
        benchmarks[place].1.push((parameter, *point));
    }
    Members(benchmarks.into_iter().map(|(name, runs)| (name.to_owned(), row(&runs))).collect())
}

/// A name that is a single path component.
fn file_name(name: &str) -> String {
    let name = with_only(name, |c| c.is_alphanumeric() || "-_+=@. ".contains(c), '_');
    let name: String = name.chars().take(40).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

fn machine_as_asv_has_it(facts: &Facts) -> Members<Value> {
    let mut known = Vec::new();
    for (name, key) in MACHINE_FACTS {
        match facts.0.get(key) {
            Some(value) => known.push((name.to_owned(), json!(value.to_string()))),
            None if key == HOST => known.push((name.to_owned(), json!(UNKNOWN))),
            None => {}
        }
    }
    Members(known)
}

fn described(facts: &Facts) -> Members<Value> {
    let mut machine = machine_as_asv_has_it(facts);
    machine.0.push((VERSION_KEY.to_owned(), json!(1)));
    machine
}

fn benchmarks(groups: &Groups, series: &[Series]) -> Members<Value> {
    let mut parameters: BTreeMap<&str, (&str, Vec<&str>)> = BTreeMap::new();
    for series in series {
        let (benchmark, parameter) = groups.split(&series.name);
        parameters.entry(benchmark).or_insert((&series.unit, Vec::new())).1.extend(parameter);
    }
    let described = |(name, (unit, parameters)): (&str, (&str, Vec<&str>))| {
        let kind = if unit == TIME_UNIT { "time" } else { "track" };
        let (names, parameters) =
            if parameters.is_empty() { (vec![], vec![]) } else { (vec!["parameters"], vec![parameters]) };
        let benchmark = json!({
            "code": "", "name": name, "param_names": names, "params": parameters, "type": kind, "unit": unit, "version": "1",
        });
        (name.to_owned(), benchmark)
    };
    let mut benchmarks: Vec<_> = parameters.into_iter().map(described).collect();
    benchmarks.push((VERSION_KEY.to_owned(), json!(VERSION)));
    Members(benchmarks)
}

/// Placeholder for asv's `NaN` of a skipped benchmark, which JSON cannot hold. It occurs nowhere
/// else.
const NOT_A_NUMBER: &str = "\u{1}NaN";
const NOT_A_NUMBER_IN_JSON: &str = r#""\u0001NaN""#;

/// Replaces the placeholders in JSON by asv's `NaN`.
fn with_nan(json: &str) -> String {
    json.replace(NOT_A_NUMBER_IN_JSON, "NaN")
}

/// The row of one benchmark's runs with their parameters, without null columns at its end, as in
/// asv.
fn row(runs: &[(Option<&str>, &DataPoint)]) -> Vec<Value> {
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
        (RESULT, Measured::Values(values)) => json!(values::median(values)),
        (SAMPLES, Measured::Values(values)) if values.len() > 1 => json!(values),
        (RESULT, Measured::Summary(summed)) => json!(summed.value),
        (LOW, Measured::Summary(summed)) => json!(summed.low),
        (HIGH, Measured::Summary(summed)) => json!(summed.high),
        (REPEAT, Measured::Summary(summed)) => json!(summed.n),
        _ => Value::Null,
    }
}

/// Limit of combined series: asv shows all combinations on one page.
const MOST: usize = 1000;

/// The benchmarks with parameters: `name(p1)` and `name(p2)` are `name` in asv. Everything in the
/// brackets is written as one parameter, so that reading it returns the same name.
#[derive(Debug, Default)]
struct Groups(HashSet<String>);

impl Groups {
    /// Finds these benchmarks. All series of one must have the same unit, and no series without
    /// brackets its name.
    fn of(series: &[Series]) -> Self {
        let plain: HashSet<&str> =
            series.iter().map(|series| series.name.as_str()).filter(|name| parts(name).is_none()).collect();
        let mut members: HashMap<&str, Vec<&Series>> = HashMap::new();
        for series in series {
            if let Some((benchmark, _)) = parts(&series.name) {
                members.entry(benchmark).or_default().push(series);
            }
        }
        let together = |benchmark: &str, members: &[&Series]| {
            benchmark != VERSION_KEY
                && !plain.contains(benchmark)
                && members.len() <= MOST
                && members.iter().all(|series| series.unit == members[0].unit && series.name.len() <= MOST)
        };
        let kept = members.into_iter().filter(|(benchmark, members)| together(benchmark, members));
        Groups(kept.map(|(benchmark, _)| benchmark.to_owned()).collect())
    }

    /// The benchmark of a series and its parameter.
    fn split<'a>(&self, name: &'a str) -> (&'a str, Option<&'a str>) {
        match parts(name) {
            Some((benchmark, parameter)) if self.0.contains(benchmark) => (benchmark, Some(parameter)),
            _ => (name, None),
        }
    }
}

fn parts(name: &str) -> Option<(&str, &str)> {
    let (benchmark, rest) = name.split_once('(')?;
    let parameter = rest.strip_suffix(')')?;
    (!benchmark.is_empty()).then_some((benchmark, parameter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, unit: &str) -> Series {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Series { name, tasks: None, measure: None, unit, direction: None, points: vec![] }
    }

    #[test]
    fn what_stands_in_brackets_is_the_parameter() {
        let groups =
            Groups::of(&["a(1, 'x')", "a(2, (3))", "b(1)", "b", "version(1)", "(1)"].map(|name| series(name, "s")));
        assert_eq!(groups.split("a(1, 'x')"), ("a", Some("1, 'x'")));
        assert_eq!(groups.split("a(2, (3))"), ("a", Some("2, (3)")));
        for name in ["b(1)", "b", "version(1)", "(1)", "a"] {
            assert_eq!(groups.split(name), (name, None));
        }
        let groups = Groups::of(&[series("a(1)", "s"), series("a(2)", "ms")]);
        assert_eq!(groups.split("a(1)"), ("a(1)", None));
    }
}
