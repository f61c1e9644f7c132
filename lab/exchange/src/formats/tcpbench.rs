//! The text of OpenBSD's tcpbench: one end of a test.
//!
//! The file is one run. Its values are the bits per second of all connections in each interval, by
//! number of connections; for UDP also packets. A server prints intervals without packets before
//! and after the test; these are left out, except between other intervals. Newer versions end with
//! the bytes and duration of the whole test.
//!
//! Samples: tcpbench 1.01, Debian 12; between two processes of one machine: `client.txt`: `-n 3 -t
//! 3`; `server.txt`: `-s`; `udp-client.txt`: `-u -t 3`; `udp-server.txt`: `-s -u`; `newer.txt`:
//! **by hand**, after OpenBSD's `usr.bin/tcpbench/tcpbench.c`.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::Gather;
use crate::recognition::FormatMatch;
use crate::text::{self, lines, quoted};
use faultline_record::dataset::{DataPoint, Dataset, Measured};
use faultline_record::direction::Direction;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "tcpbench",
    description: "tcpbench's text",
    reads: "one end as one run with intervals as values; TCP, UDP send, UDP receive; connections as tasks; packets and whole test as measures",
    writes: "",
    is_directory: false,
    recognise: |glance| FormatMatch::Shape.when(glance.has_line(|line| interval_values(line).is_some())),
    content: Content::Values { read: Read::File(read), write: None },
};

const WHAT: &str = "an interval of tcpbench";
const RATE: &str = "bit/s";
const TCP: &str = "TCP";
const RECEIVE: &str = "UDP receive";

/// The values in a line for an interval of all connections.
enum IntervalValues<'a> {
    Tcp { connections: &'a str, mbps: &'a str },
    Udp { end: &'a str, mbps: &'a str, packets: &'a str },
}

fn interval_values(line: &str) -> Option<IntervalValues<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["Conn:", connections, "Mbps:", mbps, "Peak", "Mbps:", _, "Avg", "Mbps:", _] => {
            Some(IntervalValues::Tcp { connections, mbps })
        }
        ["Elapsed:", _, "Mbps:", mbps, "Peak", "Mbps:", _, end, "PPS:", packets] => {
            Some(IntervalValues::Udp { end, mbps, packets })
        }
        _ => None,
    }
}

/// Bytes and seconds of a whole test, if the line has them.
fn whole_test(line: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [bytes, "bytes", "sent" | "received", "over", seconds, "seconds"] => Some((bytes, seconds)),
        _ => None,
    }
}

/// Bits from Mbps: tcpbench rounds to thousands of bits.
fn bits(mbps: f64) -> f64 {
    (mbps * 1e6).round()
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let mut tests = Tests::default();
    for (line, text) in lines(file.text) {
        let figure = |word: &str| {
            let found = text::finite(file.name, line, word, WHAT)?;
            let expected =
                || ReadError::new(file.name, line, quoted(word), format!("{WHAT}: a number that is not below zero"));
            if found < 0.0 { Err(expected()) } else { Ok(found) }
        };
        let number = |word: &str| {
            word.parse::<u32>()
                .map_err(|_| ReadError::new(file.name, line, quoted(word), format!("{WHAT}: a number of connections")))
        };
        match interval_values(text) {
            Some(IntervalValues::Tcp { connections, mbps }) => tests.tcp(number(connections)?, bits(figure(mbps)?)),
            Some(IntervalValues::Udp { end, mbps, packets }) => tests.udp(end, bits(figure(mbps)?), figure(packets)?),
            None => {}
        }
        if let Some((bytes, seconds)) = whole_test(text) {
            tests.whole.extend(Some(figure(bytes)? * 8.0 / figure(seconds)?).filter(|rate| rate.is_finite()));
        }
    }
    tests.dataset(file.name)
}

/// The intervals read so far.
#[derive(Default)]
struct Tests {
    /// By number of connections, in order of appearance.
    tcp: Vec<(u32, Vec<f64>)>,
    udp: Vec<(&'static str, Packets)>,
    whole: Vec<f64>,
}

#[derive(Default)]
struct Packets {
    bits: Vec<f64>,
    packets: Vec<f64>,
}

impl Tests {
    fn tcp(&mut self, connections: u32, rate: f64) {
        if connections == 0 {
            return;
        }
        match self.tcp.iter_mut().find(|(number, _)| *number == connections) {
            Some((_, rates)) => rates.push(rate),
            None => self.tcp.push((connections, vec![rate])),
        }
    }

    fn udp(&mut self, end: &str, bits: f64, packets: f64) {
        let name = if end == "Rx" { RECEIVE } else { "UDP send" };
        let at = self.udp.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.udp.push((name, Packets::default()));
            self.udp.len() - 1
        });
        let of_end = &mut self.udp[at].1;
        // Skip a receiver's intervals before the first packet.
        if end != "Rx" || packets > 0.0 || !of_end.packets.is_empty() {
            of_end.bits.push(bits);
            of_end.packets.push(packets);
        }
    }

    fn dataset(self, file: &str) -> Result<Dataset, ReadError> {
        let mut gather = Gather::default();
        let mut add = |name: &str, tasks: Option<u32>, measure: Option<&str>, unit: &str, values: Vec<f64>| {
            if values.is_empty() {
                return;
            }
            let series = gather.series(name, tasks, measure, unit);
            series.direction = Some(Direction::Higher);
            series.points.push(DataPoint::of(Measured::Values(values)));
        };
        let name_of_whole = self.udp.first().map_or(TCP, |(name, _)| name);
        let tasks_of_whole = match self.tcp[..] {
            [(connections, _)] => Some(connections),
            _ => None,
        };
        for (connections, rates) in self.tcp {
            add(TCP, Some(connections), None, RATE, rates);
        }
        for (name, Packets { bits, packets }) in self.udp {
            // Skip a receiver's intervals after the last packet.
            let last = packets.iter().rposition(|packets| *packets > 0.0).map_or(0, |last| last + 1);
            let last = if name == RECEIVE { last } else { packets.len() };
            add(name, None, None, RATE, bits[..last].to_vec());
            add(name, None, Some("packets"), "packet/s", packets[..last].to_vec());
        }
        add(name_of_whole, tasks_of_whole, Some("whole test"), RATE, self.whole);
        gather.dataset(file, "intervals of tcpbench")
    }
}
