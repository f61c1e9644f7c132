//! pytest-benchmark's JSON (`--benchmark-json`, `--benchmark-save`): times of tests in seconds.
//!
//! All rounds of a test run in one process, so they are values of one run. Without rounds
//! (`--benchmark-save` alone) the mean is read with minimum, maximum, deviation and number of
//! rounds. A run has the commit's time, otherwise the time of measurement.
//!
//! Samples: pytest-benchmark 5.3.1, Python 3.11; `rounds.json`: `pytest
//! --benchmark-json=rounds.json`; `summaries.json`: `pytest --benchmark-save=NAME`, without
//! `--benchmark-save-data`; facts about the machine were made neutral and the list of CPU flags was
//! cut.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::Gather;
use crate::json::{self, Number};
use crate::recognition::FormatMatch;
use crate::text::{self, quoted};
use faultline_record::dataset::{DataPoint, Dataset, Measured, Summed};
use faultline_record::facts::Facts;
use faultline_record::time::UnixMillis;
use serde::Deserialize;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "pytest-benchmark",
    description: "pytest-benchmark's JSON (--benchmark-json, --benchmark-save)",
    reads: "stats.data as values of one run, otherwise the mean with deviation; FILE::TEST[PARAMETERS]; commit and time",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.json_has(&["machine_info", "benchmarks"])),
    content: Content::Values { read: Read::File(read), write: None },
};

const UNIT: &str = "s";
/// The tool's text for a commit outside version control.
const NO_COMMIT: [&str; 2] = ["unversioned", "unknown"];

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    machine_info: Machine,
    #[serde(default)]
    commit_info: Commit,
    benchmarks: Vec<Benchmark>,
    datetime: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Machine {
    node: Option<String>,
    system: Option<String>,
    release: Option<String>,
    python_version: Option<String>,
    cpu: Option<Cpu>,
}

#[derive(Deserialize)]
struct Cpu {
    brand_raw: Option<String>,
    count: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Commit {
    id: Option<String>,
    time: Option<String>,
}

#[derive(Deserialize)]
struct Benchmark {
    name: String,
    fullname: Option<String>,
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    data: Option<Vec<Number>>,
    mean: Option<Number>,
    min: Option<Number>,
    max: Option<Number>,
    stddev: Option<Number>,
    rounds: Option<u32>,
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let Report { machine_info, commit_info, benchmarks, datetime } =
        json::parse_with_nan(file, "pytest-benchmark's JSON")?;
    let (commit, time) = place(commit_info, datetime.as_deref());
    let mut gather = Gather::default();
    for Benchmark { name, fullname, stats } in &benchmarks {
        let name = fullname.as_ref().unwrap_or(name);
        let measured = measured(stats).ok_or_else(|| {
            let found = format!("{} without times and mean", quoted(name));
            ReadError::new(file.name, None, found, "finite times in `stats.data`, or a finite `stats.mean`")
        })?;
        let point = DataPoint { commit: commit.clone(), time, ..DataPoint::of(measured) };
        gather.series(name, None, None, UNIT).points.push(point);
    }
    let mut dataset = gather.dataset(file.name, "`benchmarks` with their `stats`")?;
    dataset.facts = facts(machine_info);
    Ok(dataset)
}

/// Commit and time of all runs in the file.
fn place(commit: Commit, measured_at: Option<&str>) -> (Option<String>, Option<UnixMillis>) {
    let id = commit.id.filter(|id| !id.is_empty() && !NO_COMMIT.contains(&id.as_str()));
    let committed_at = commit.time.as_deref().filter(|_| id.is_some());
    let time = committed_at.and_then(text::parse_time).or_else(|| measured_at.and_then(text::parse_time));
    (id, time)
}

fn measured(stats: &Stats) -> Option<Measured> {
    let finite = |number: Option<Number>| number.and_then(Number::finite);
    if let Some(data) = stats.data.as_deref().filter(|data| !data.is_empty()) {
        return data.iter().copied().map(Number::finite).collect::<Option<_>>().map(Measured::Values);
    }
    Some(Measured::Summary(Summed {
        value: finite(stats.mean)?,
        low: finite(stats.min),
        high: finite(stats.max),
        deviation: finite(stats.stddev),
        n: stats.rounds,
    }))
}

fn facts(machine: Machine) -> Facts {
    let mut facts = Facts::default();
    let (model, count) = machine.cpu.map_or((None, None), |cpu| (cpu.brand_raw, cpu.count));
    let texts = [
        ("host.name", machine.node),
        ("kernel.name", machine.system),
        ("kernel.release", machine.release),
        ("cpu.model", model),
        ("pytest_benchmark.python", machine.python_version),
    ];
    for (key, text) in texts {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            facts.text(key, text);
        }
    }
    if let Some(cpus) = count {
        facts.count("cpu.logical", cpus);
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_its_own_time() {
        let commit = |id: &str| Commit { id: Some(id.to_owned()), time: Some("2026-01-31T12:00:00Z".to_owned()) };
        let measured_at = Some("2026-02-01T12:00:00+00:00");
        let (id, time) = place(commit("c0ffee"), measured_at);
        assert_eq!((id.as_deref(), time), (Some("c0ffee"), text::parse_time("2026-01-31T12:00:00Z")));
        let (id, time) = place(commit("unversioned"), measured_at);
        assert_eq!((id, time), (None, text::parse_time("2026-02-01T12:00:00Z")));
    }

    #[test]
    fn times_that_are_none_are_refused() {
        let text = r#"{"benchmarks": [{"name": "a", "stats": {"data": [1, Infinity], "mean": 1}}]}"#;
        let error = read(File { name: "given", text }).unwrap_err().to_string();
        assert_eq!(
            error,
            "given: found 'a' without times and mean, expected finite times in `stats.data`, or a finite `stats.mean`"
        );
    }
}
