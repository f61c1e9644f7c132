//! One line of a workload's output: the parser of `faultline-workload 1` (docs/FORMATS.md §1).
//!
//! Each line is parsed separately here; `transcript` checks the order of lines.

use crate::cell::TaskMode;
use crate::direction::Direction;
use crate::role::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First line of the format, up to the workload's name.
const MAGIC: &str = "faultline-workload 1 ";

/// Maximum length of a line in bytes, without its end: enough for 4,096 tasks.
pub const LONGEST_LINE_BYTES: usize = 65_536;

/// Operations counted between two points in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Start of the interval, in nanoseconds since the workload started.
    pub from_ns: u64,
    /// End of the interval; greater than `from_ns`.
    pub to_ns: u64,
    /// Number of operations that each task completed; one entry per task.
    pub operations: Vec<u64>,
}

impl Interval {
    /// Length of the interval in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    /// Number of operations of all tasks.
    pub fn total(&self) -> u128 {
        self.operations.iter().map(|&count| u128::from(count)).sum()
    }

    /// Operations of all tasks per second.
    pub fn rate(&self) -> f64 {
        self.total() as f64 / (self.length_ns() as f64 / 1e9)
    }
}

/// Part of a task's life that a usage covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageScope {
    /// The region of interest alone.
    Window,
    /// The whole life, including set-up and warm-up.
    Life,
}

/// Resources that the tasks used, summed over tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The part of the tasks' lives that the usage covers.
    pub scope: UsageScope,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Context switches because a task waited.
    pub voluntary_switches: u64,
    /// Context switches because the scheduler took the CPU away.
    pub involuntary_switches: u64,
}

/// A figure that is not a rate of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// The figure's name.
    pub name: String,
    /// The figure's unit.
    pub unit: String,
    /// Better direction.
    pub direction: Direction,
    /// The figure; finite.
    pub value: f64,
}

/// Reason why a workload could not continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A system call failed.
    Os,
    /// This system does not support the request.
    Unsupported,
}

/// One line after parsing.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// First line: the workload's name.
    Hello(String),
    /// The variant that runs.
    Variant(String),
    /// One operation, as a noun.
    Operation(String),
    /// Unit of the rate, or of the first measure.
    Unit(String),
    /// Better direction.
    Direction(Direction),
    /// Kind of task.
    Mode(TaskMode),
    /// Number of tasks; at least 1.
    Tasks(u32),
    /// Number of bytes that one operation touches.
    BytesPerOperation(u64),
    /// A fact about this execution: key, text.
    Note(String, String),
    /// All tasks wait at the barrier; time in nanoseconds.
    Ready(u64),
    /// An interval of the warm-up.
    Warmup(Interval),
    /// Begin of the region of interest; time in nanoseconds.
    Begin(u64),
    /// An interval of the region of interest.
    Window(Interval),
    /// End of the region of interest; time in nanoseconds.
    End(u64),
    /// Resources used.
    Usage(Usage),
    /// A kernel counter's name and difference.
    Counter(String, i64),
    /// A figure.
    Measure(Measure),
    /// The workload cannot continue: kind, step, errno, text.
    Failure(FailureKind, String, i64, String),
    /// The workload succeeded.
    Done,
}

impl Event {
    /// The part of a partner's output that is saved in the attempt of the measured execution:
    /// figures, counters and notes, each with the role before its name (`receiver:dropped`). The
    /// CPU time of the partner's tasks is saved as counters. Empty for all other events.
    pub fn of_role(&self, role: &Role) -> Vec<Event> {
        let named = |name: &str| format!("{role}:{name}");
        match self {
            Event::Counter(name, delta) => vec![Event::Counter(named(name), *delta)],
            Event::Measure(measure) => vec![Event::Measure(Measure { name: named(&measure.name), ..measure.clone() })],
            Event::Note(key, text) => vec![Event::Note(named(key), text.clone())],
            Event::Usage(usage) => [("tasks.user_ns", usage.user_ns), ("tasks.system_ns", usage.system_ns)]
                .map(|(name, ns)| Event::Counter(named(name), i64::try_from(ns).unwrap_or(i64::MAX)))
                .to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Parses one line, without its line end. Fails if the line is not in the format; the error
/// describes the problem, as a fragment of a sentence.
pub fn parse(line: &[u8]) -> Result<Event, String> {
    if line.len() > LONGEST_LINE_BYTES {
        return Err(format!("longer than {LONGEST_LINE_BYTES} bytes"));
    }
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8 text".to_owned())?;
    if let Some(control) = text.chars().find(|c| c.is_control()) {
        return Err(format!("control character {:#04x}", u32::from(control)));
    }
    if let Some(name) = text.strip_prefix(MAGIC) {
        return Ok(Event::Hello(word(name)?.to_owned()));
    }
    let (key, rest) = text.split_once(' ').unwrap_or((text, ""));
    match key {
        "variant" => Ok(Event::Variant(word(rest)?.to_owned())),
        "operation" => Ok(Event::Operation(word(rest)?.to_owned())),
        "unit" => Ok(Event::Unit(word(rest)?.to_owned())),
        "direction" => Ok(Event::Direction(direction(rest)?)),
        "mode" => TaskMode::from_word(rest).map(Event::Mode).ok_or_else(|| unexpected("a task mode", rest)),
        "tasks" => tasks(rest),
        "bytes_per_operation" => Ok(Event::BytesPerOperation(number(rest)?)),
        "note" => note(rest),
        "ready" => Ok(Event::Ready(number(rest)?)),
        "warmup" => Ok(Event::Warmup(interval(rest)?)),
        "begin" => Ok(Event::Begin(number(rest)?)),
        "interval" => Ok(Event::Window(interval(rest)?)),
        "end" => Ok(Event::End(number(rest)?)),
        "usage" => usage(rest),
        "counter" => counter(rest),
        "measure" => measure(rest),
        "failure" => failure(rest),
        "done" if rest.is_empty() && text == "done" => Ok(Event::Done),
        _ => Err(unexpected("a line of the format", text)),
    }
}

fn unexpected(wanted: &str, got: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    let shown: String = got.chars().take(SHOWN_CHARS).collect();
    let dots = if shown.len() < got.len() { "…" } else { "" };
    format!("expected {wanted}, got '{shown}{dots}'")
}

/// A word: not empty, without blanks.
fn word(text: &str) -> Result<&str, String> {
    if text.is_empty() || text.contains(' ') {
        return Err(unexpected("one word", text));
    }
    Ok(text)
}

/// A number that also fits into a signed 64-bit integer, the only kind that databases have.
fn number(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unexpected("a number", text));
    }
    match text.parse() {
        Ok(value) if value <= i64::MAX as u64 => Ok(value),
        _ => Err(unexpected("a number below 2^63", text)),
    }
}

fn direction(text: &str) -> Result<Direction, String> {
    Direction::from_word(text).ok_or_else(|| unexpected("a direction", text))
}

fn tasks(rest: &str) -> Result<Event, String> {
    match u32::try_from(number(rest)?) {
        Ok(count) if count > 0 => Ok(Event::Tasks(count)),
        _ => Err(unexpected("a number of tasks", rest)),
    }
}

fn note(rest: &str) -> Result<Event, String> {
    let (key, text) = rest.split_once(' ').ok_or_else(|| unexpected("a key and a text", rest))?;
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.';
    if key.is_empty() || !key.chars().all(legal) {
        return Err(unexpected("a key of [a-z0-9_.]", key));
    }
    Ok(Event::Note(key.to_owned(), text.to_owned()))
}

fn interval(rest: &str) -> Result<Interval, String> {
    let mut words = rest.split(' ');
    let mut next = || number(words.next().unwrap_or(""));
    let (from_ns, to_ns) = (next()?, next()?);
    if to_ns <= from_ns {
        return Err(format!("an interval that ends at {to_ns}, not after its begin at {from_ns}"));
    }
    let operations = words.map(number).collect::<Result<Vec<_>, _>>()?;
    if operations.is_empty() {
        return Err("an interval without a count".to_owned());
    }
    Ok(Interval { from_ns, to_ns, operations })
}

fn usage(rest: &str) -> Result<Event, String> {
    let mut words = rest.split(' ');
    let scope = match words.next() {
        Some("window") => UsageScope::Window,
        Some("life") => UsageScope::Life,
        other => return Err(unexpected("'window' or 'life'", other.unwrap_or(""))),
    };
    let mut field = |name: &str| -> Result<u64, String> {
        let text = words.next().unwrap_or("");
        let value = text.strip_prefix(name).and_then(|tail| tail.strip_prefix('='));
        number(value.ok_or_else(|| unexpected(&format!("{name}=N"), text))?)
    };
    let usage = Usage {
        scope,
        user_ns: field("user_ns")?,
        system_ns: field("system_ns")?,
        minor_faults: field("minor_faults")?,
        major_faults: field("major_faults")?,
        voluntary_switches: field("voluntary_switches")?,
        involuntary_switches: field("involuntary_switches")?,
    };
    match words.next() {
        None => Ok(Event::Usage(usage)),
        Some(extra) => Err(unexpected("the end of the line", extra)),
    }
}

fn counter(rest: &str) -> Result<Event, String> {
    let (name, value) = rest.split_once(' ').ok_or_else(|| unexpected("a counter's name and value", rest))?;
    let legal = |c: char| c.is_ascii_alphanumeric() || "_.:/()-".contains(c);
    if name.is_empty() || !name.chars().all(legal) {
        return Err(unexpected("a counter's name", name));
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unexpected("a signed number", value));
    }
    let value = value.parse().map_err(|_| unexpected("a signed number of 64 bits", value))?;
    Ok(Event::Counter(name.to_owned(), value))
}

fn measure(rest: &str) -> Result<Event, String> {
    let words: Vec<&str> = rest.split(' ').collect();
    let [name, unit, way, value] = words[..] else {
        return Err(unexpected("name, unit, direction and value", rest));
    };
    let (name, unit) = (word(name)?.to_owned(), word(unit)?.to_owned());
    let direction = direction(way)?;
    match value.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Event::Measure(Measure { name, unit, direction, value })),
        _ => Err(unexpected("a finite number", value)),
    }
}

fn failure(rest: &str) -> Result<Event, String> {
    let mut words = rest.splitn(4, ' ');
    let kind = match words.next() {
        Some("os") => FailureKind::Os,
        Some("unsupported") => FailureKind::Unsupported,
        other => return Err(unexpected("'os' or 'unsupported'", other.unwrap_or(""))),
    };
    let step = word(words.next().unwrap_or(""))?.to_owned();
    let errno = i64::try_from(number(words.next().unwrap_or(""))?).map_err(|_| "an errno too large".to_owned())?;
    Ok(Event::Failure(kind, step, errno, words.next().unwrap_or("").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_line_is_read() {
        let read = |line: &str| parse(line.as_bytes()).unwrap();
        assert_eq!(read("faultline-workload 1 zero_fill"), Event::Hello("zero_fill".into()));
        assert_eq!(read("tasks 2"), Event::Tasks(2));
        assert_eq!(read("note compiler gcc 12.2.0"), Event::Note("compiler".into(), "gcc 12.2.0".into()));
        let interval = Interval { from_ns: 5, to_ns: 10, operations: vec![3, 4] };
        assert_eq!(interval.rate(), 1.4e9);
        assert_eq!(read("interval 5 10 3 4"), Event::Window(interval.clone()));
        assert_eq!(read("warmup 5 10 3 4"), Event::Warmup(interval));
        assert_eq!(read("counter vmstat.pgfault -7"), Event::Counter("vmstat.pgfault".into(), -7));
        assert_eq!(
            read("failure os mmap 12 Cannot allocate memory"),
            Event::Failure(FailureKind::Os, "mmap".into(), 12, "Cannot allocate memory".into())
        );
        assert_eq!(read("done"), Event::Done);
        let Event::Usage(usage) = read(
            "usage window user_ns=1 system_ns=2 minor_faults=3 major_faults=4 voluntary_switches=5 involuntary_switches=6",
        ) else {
            panic!("not a usage")
        };
        assert_eq!((usage.scope, usage.system_ns, usage.involuntary_switches), (UsageScope::Window, 2, 6));
        let Event::Measure(measure) = read("measure real_s s lower 1.5") else { panic!("not a measure") };
        assert_eq!((measure.value, measure.direction), (1.5, Direction::Lower));
    }

    #[test]
    fn rubbish_is_refused_with_a_reason() {
        for (line, reason) in [
            ("", "expected a line of the format, got ''"),
            ("done ", "expected a line of the format, got 'done '"),
            ("tasks 0", "expected a number of tasks, got '0'"),
            ("tasks -1", "expected a number, got '-1'"),
            ("interval 10 10 1", "an interval that ends at 10, not after its begin at 10"),
            ("interval 1 2", "an interval without a count"),
            ("interval 1 2 3 ", "expected a number, got ''"),
            ("interval 1 2 99999999999999999999", "expected a number below 2^63, got '99999999999999999999'"),
            ("measure a s lower nan", "expected a finite number, got 'nan'"),
            ("measure a s sideways 1", "expected a direction, got 'sideways'"),
            ("ready\t1", "control character 0x09"),
        ] {
            assert_eq!(parse(line.as_bytes()), Err(reason.to_owned()), "{line:?}");
        }
        assert_eq!(parse(b"\xff\xfe"), Err("not UTF-8 text".to_owned()));
        assert!(parse(&vec![b'a'; LONGEST_LINE_BYTES + 1]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&line);
        }

        #[test]
        fn an_interval_reads_back(from in 0u64..1 << 61, length in 1u64..1 << 61, operations in proptest::collection::vec(0..=i64::MAX as u64, 1..70)) {
            let counts: Vec<String> = operations.iter().map(u64::to_string).collect();
            let line = format!("interval {from} {} {}", from + length, counts.join(" "));
            let expected = Interval { from_ns: from, to_ns: from + length, operations };
            prop_assert_eq!(parse(line.as_bytes()), Ok(Event::Window(expected)));
        }
    }
}
