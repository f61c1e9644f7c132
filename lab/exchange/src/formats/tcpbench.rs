//! The text of OpenBSD's tcpbench: what one end of a test saw.
//!
//! The file is one run. Its values are the bits per second of all connections together in each interval, by number of connections; of
//! UDP also the packets. A server says every second that nothing came, before a test and after it: that is left out, but for a second
//! without packets between others. Newer versions end with the bytes and the time of the whole test. It is only read.

use crate::decimal;
use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read};
use crate::gather::Gather;
use crate::recognition::Evidence;
use crate::text::{lines, quoted};
use faultline_model::dataset::{DataPoint, Dataset, Measured};
use faultline_model::direction::Direction;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "tcpbench",
    description: "the text of OpenBSD's tcpbench",
    is_directory: false,
    recognise: |glance| Evidence::Shape.when(glance.has_line(|line| words_of_interval(line).is_some())),
    content: Content::Values { read: Read::File(read), write: None },
};

const WHAT: &str = "an interval of tcpbench";
const RATE: &str = "bit/s";
const TCP: &str = "TCP";
const RECEIVE: &str = "UDP receive";

/// The words of a line that has an interval of all connections, without those that name them.
enum Words<'a> {
    Tcp { connections: &'a str, mbps: &'a str },
    Udp { end: &'a str, mbps: &'a str, packets: &'a str },
}

fn words_of_interval(line: &str) -> Option<Words<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["Conn:", connections, "Mbps:", mbps, "Peak", "Mbps:", _, "Avg", "Mbps:", _] => {
            Some(Words::Tcp { connections, mbps })
        }
        ["Elapsed:", _, "Mbps:", mbps, "Peak", "Mbps:", _, end, "PPS:", packets] => {
            Some(Words::Udp { end, mbps, packets })
        }
        _ => None,
    }
}

/// Bits per second over a whole test, if the line says its bytes and its time.
fn whole_test(line: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        [bytes, "bytes", "sent" | "received", "over", seconds, "seconds"] => Some((bytes, seconds)),
        _ => None,
    }
}

/// tcpbench rounds to thousands of bits.
fn bits(mbps: f64) -> f64 {
    (mbps * 1e6).round()
}

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    let mut tests = Tests::default();
    for (line, text) in lines(file.text) {
        let figure = |word: &str| {
            let found = decimal::finite(file.name, line, word, WHAT)?;
            let expected =
                || ReadError::new(file.name, line, quoted(word), format!("{WHAT}: a number that is not below zero"));
            if found < 0.0 { Err(expected()) } else { Ok(found) }
        };
        let number = |word: &str| {
            word.parse::<u32>()
                .map_err(|_| ReadError::new(file.name, line, quoted(word), format!("{WHAT}: a number of connections")))
        };
        match words_of_interval(text) {
            Some(Words::Tcp { connections, mbps }) => tests.tcp(number(connections)?, bits(figure(mbps)?)),
            Some(Words::Udp { end, mbps, packets }) => tests.udp(end, bits(figure(mbps)?), figure(packets)?),
            None => {}
        }
        if let Some((bytes, seconds)) = whole_test(text) {
            tests.whole.extend(Some(figure(bytes)? * 8.0 / figure(seconds)?).filter(|rate| rate.is_finite()));
        }
    }
    tests.dataset(file.name)
}

/// What the lines have so far.
#[derive(Default)]
struct Tests {
    /// By number of connections, in the order in which they come.
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
        // Nothing came yet; who sends counts from its beginning.
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
            // To who receives nothing comes any more.
            let last = packets.iter().rposition(|packets| *packets > 0.0).map_or(0, |last| last + 1);
            let last = if name == RECEIVE { last } else { packets.len() };
            add(name, None, None, RATE, bits[..last].to_vec());
            add(name, None, Some("packets"), "packet/s", packets[..last].to_vec());
        }
        add(name_of_whole, tasks_of_whole, Some("whole test"), RATE, self.whole);
        gather.dataset(file, "intervals of tcpbench")
    }
}
