//! iperf3's JSON (`--json`): one test between two machines, as seen by the client.
//!
//! The test is one run. Its values are the bits per second of all streams in each interval, without
//! omitted ones; the name has protocol, direction and bytes per write. Bits received over the whole
//! test, retransmits, lost packets, jitter and the CPU time of both ends are measures.
//!
//! Samples: iperf3 3.12, Debian 12; between two processes of one machine: `tcp.json`: `-t 3 -i 1 -P
//! 2 -J`; `udp.json`: `-u -b 200M -t 3 -i 1 -J`; `both.json`: `--bidir -O 1 -t 2 -i 1 -J`; system
//! and cookie were made neutral.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::Gather;
use crate::json;
use crate::recognition::FormatMatch;
use crate::text::quoted;
use faultline_record::dataset::{DataPoint, Dataset, Measured};
use faultline_record::direction::Direction;
use faultline_record::time::UnixMillis;
use serde::Deserialize;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "iperf3",
    description: "iperf3's JSON (--json)",
    reads: "a test as one run with intervals as values, in bit/s of all streams; streams as tasks; received, retransmits, lost, jitter, CPU of both ends as measures; both directions with --bidir",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.json_has(&["start", "connected", "version", "intervals"])),
    content: Content::Values { read: Read::File(read), write: None },
};

const WHAT: &str = "iperf3's JSON";
const RATE: &str = "bit/s";

#[derive(Deserialize)]
struct Test {
    start: Start,
    #[serde(default)]
    intervals: Vec<Interval>,
    #[serde(default)]
    end: End,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Start {
    timestamp: Option<Timestamp>,
    test_start: Option<Settings>,
}

#[derive(Deserialize)]
struct Timestamp {
    timesecs: i64,
}

#[derive(Deserialize)]
struct Settings {
    protocol: String,
    num_streams: u32,
    blksize: u64,
    #[serde(default)]
    reverse: u8,
}

#[derive(Deserialize)]
struct Interval {
    sum: Sum,
    /// The reverse direction with `--bidir`.
    sum_bidir_reverse: Option<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    bits_per_second: f64,
    retransmits: Option<f64>,
    lost_percent: Option<f64>,
    jitter_ms: Option<f64>,
    #[serde(default)]
    omitted: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct End {
    sum: Option<Sum>,
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum_received_bidir_reverse: Option<Sum>,
    cpu_utilization_percent: Option<Cpu>,
}

#[derive(Deserialize)]
struct Cpu {
    host_total: f64,
    remote_total: f64,
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let test: Test = json::parse(file, WHAT)?;
    if let Some(error) = &test.error {
        return Err(ReadError::new(
            file.name,
            None,
            format!("iperf3's error {}", quoted(error)),
            "a test that succeeded",
        ));
    }
    let settings = test.start.test_start.as_ref();
    let settings = settings.ok_or_else(|| ReadError::new(file.name, None, "no `test_start`", WHAT))?;
    let mut gather = Gather::default();
    let mut add = |way: &str, measure: Option<&str>, unit: &str, direction: Direction, values: Vec<f64>| {
        if values.is_empty() {
            return;
        }
        let name = format!("{} {way} ({} B)", settings.protocol, settings.blksize);
        let series = gather.series(&name, Some(settings.num_streams), measure, unit);
        series.direction = Some(direction);
        let time = test.start.timestamp.as_ref().map(|at| UnixMillis(at.timesecs.saturating_mul(1000)));
        series.points.push(DataPoint { time, ..DataPoint::of(Measured::Values(values)) });
    };
    let way = if settings.reverse != 0 { "receive" } else { "send" };
    let kept = || test.intervals.iter().filter(|interval| !interval.sum.omitted);
    let end = &test.end;
    let rate = |sum: &Option<Sum>| sum.iter().map(|sum| sum.bits_per_second).collect();
    let one = |value: Option<f64>| value.into_iter().collect();
    add(way, None, RATE, Direction::Higher, kept().map(|interval| interval.sum.bits_per_second).collect());
    add(way, Some("received"), RATE, Direction::Higher, rate(&end.sum_received));
    add(way, Some("retransmits"), "", Direction::Lower, one(end.sum_sent.as_ref().and_then(|sum| sum.retransmits)));
    add(way, Some("lost"), "%", Direction::Lower, one(end.sum.as_ref().and_then(|sum| sum.lost_percent)));
    add(way, Some("jitter"), "ms", Direction::Lower, one(end.sum.as_ref().and_then(|sum| sum.jitter_ms)));
    let cpu = end.cpu_utilization_percent.as_ref();
    add(way, Some("cpu of this end"), "%", Direction::Lower, one(cpu.map(|cpu| cpu.host_total)));
    add(way, Some("cpu of the other end"), "%", Direction::Lower, one(cpu.map(|cpu| cpu.remote_total)));
    let back = kept().filter_map(|interval| interval.sum_bidir_reverse.as_ref());
    add("receive", None, RATE, Direction::Higher, back.map(|sum| sum.bits_per_second).collect());
    add("receive", Some("received"), RATE, Direction::Higher, rate(&end.sum_received_bidir_reverse));
    gather.dataset(file.name, "intervals of iperf3")
}
