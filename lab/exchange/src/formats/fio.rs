//! fio's JSON (`--output-format=json`): operations, bytes and latencies of each job's reads, writes
//! and trims.
//!
//! Jobs of the same name and group are clones (`numjobs`) that ran at the same time: one run with
//! the sums of operations and bytes, and their number as tasks. Latencies are completion latencies
//! (`clat_ns`) if present, otherwise total ones (`lat_ns`). Means of clones are weighted by
//! operations; their percentiles and deviations cannot be combined and are left out.
//!
//! Samples: fio 3.33, Debian 12; `clones.json`: `--name=append --rw=write --bs=4k --size=4m
//! --numjobs=2 --output-format=json --percentile_list=50:99.9`; `group.json`: `--name=mixed
//! --rw=randrw` and `--group_reporting`; the directory was made neutral.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::{Gather, missing, value};
use crate::json::{self, Members};
use crate::recognition::FormatMatch;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Summed};
use faultline_record::direction::Direction;
use serde::Deserialize;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "fio",
    description: "fio's JSON (--output-format=json)",
    reads: "reads, writes and trims of a job: operations and bytes per second, completion latency with deviation and percentiles; clones (numjobs) as one run with their sums",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.json_has(&["fio version", "jobs"])),
    content: Content::Values { read: Read::File(read), write: None },
};

#[derive(Deserialize)]
struct Results {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    #[serde(default, rename = "job options")]
    options: Options,
    read: Option<Work>,
    write: Option<Work>,
    trim: Option<Work>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    numjobs: Option<String>,
}

/// A job's work of one kind.
#[derive(Deserialize)]
struct Work {
    #[serde(default)]
    total_ios: u64,
    #[serde(default)]
    iops: f64,
    /// Bytes per second.
    #[serde(default)]
    bw_bytes: f64,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    min: f64,
    max: f64,
    mean: f64,
    #[serde(default)]
    stddev: f64,
    #[serde(default, rename = "N")]
    n: u64,
    #[serde(default = "no_percentiles")]
    percentile: Members<f64>,
}

fn no_percentiles() -> Members<f64> {
    Members(Vec::new())
}

/// Selects a job's work of one kind.
type Pick = fn(&Job) -> Option<&Work>;

const KINDS: [(&str, Pick); 3] =
    [("read", |job| job.read.as_ref()), ("write", |job| job.write.as_ref()), ("trim", |job| job.trim.as_ref())];

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let Results { jobs } = json::parse(file, "fio's JSON")?;
    let mut gather = Gather::default();
    for clones in jobs.chunk_by(|a, b| a.jobname == b.jobname && a.groupid == b.groupid) {
        add_job(&mut gather, clones);
    }
    gather.dataset(file.name, "jobs of fio")
}

/// The number of tasks; `None` if unknown. With `group_reporting` all clones are one entry.
fn tasks(clones: &[Job]) -> Option<u32> {
    match clones {
        [one] => one.options.numjobs.as_ref().and_then(|numjobs| numjobs.parse().ok()),
        entries => u32::try_from(entries.len()).ok(),
    }
}

fn add_job(gather: &mut Gather, clones: &[Job]) {
    let name = &clones[0].jobname;
    let tasks = tasks(clones);
    if let Some(error) = clones.iter().map(|job| job.error).find(|error| *error != 0) {
        gather.series(name, tasks, None, "op/s").points.push(missing(format!("fio's error {error}")));
        return;
    }
    for (kind, work) in KINDS {
        let works: Vec<&Work> = clones.iter().filter_map(work).filter(|work| work.total_ios > 0).collect();
        if !works.is_empty() {
            add_works(gather, &format!("{name} {kind}"), tasks, &works);
        }
    }
}

fn add_works(gather: &mut Gather, name: &str, tasks: Option<u32>, works: &[&Work]) {
    let sum = |figure: fn(&Work) -> f64| works.iter().map(|work| figure(work)).sum();
    gather.series(name, tasks, None, "op/s").points.push(value(sum(|work| work.iops)));
    gather.series(name, tasks, Some("bytes"), "B/s").points.push(value(sum(|work| work.bw_bytes)));
    let latencies: Vec<&Latency> = works.iter().filter_map(|work| completion(work)).collect();
    if let Some(summed) = summed(&latencies) {
        let point = DataPoint::of(Measured::Summary(summed));
        gather.series(name, tasks, Some("latency"), "ns").points.push(point);
    }
    if let [latency] = latencies[..] {
        for (percentile, nanoseconds) in &latency.percentile.0 {
            let measure = format!("latency p{}", short(percentile));
            let series = gather.series(name, tasks, Some(&measure), "ns");
            series.direction = Some(Direction::Lower);
            series.points.push(value(*nanoseconds));
        }
    }
}

/// Completion latencies, or total ones if the engine has none.
fn completion(work: &Work) -> Option<&Latency> {
    [&work.clat_ns, &work.lat_ns].into_iter().flatten().find(|latency| latency.n > 0)
}

fn summed(latencies: &[&Latency]) -> Option<Summed> {
    let n: u64 = latencies.iter().map(|latency| latency.n).sum();
    let total: f64 = latencies.iter().map(|latency| latency.mean * latency.n as f64).sum();
    (n > 0).then(|| Summed {
        value: total / n as f64,
        low: latencies.iter().map(|latency| latency.min).reduce(f64::min),
        high: latencies.iter().map(|latency| latency.max).reduce(f64::max),
        deviation: if let [latency] = latencies { Some(latency.stddev) } else { None },
        n: u32::try_from(n).ok(),
    })
}

/// Shortens `99.000000` and `99.900000` to `99` and `99.9`.
fn short(percentile: &str) -> &str {
    if percentile.contains('.') { percentile.trim_end_matches('0').trim_end_matches('.') } else { percentile }
}
