//! Workloads as data: how they describe themselves, how fast they are, and what they print
//! (docs/FORMATS.md §1). The output of one execution, how long each line takes, and how it ends.

use faultline_record::cell::TaskMode;
use faultline_record::describe::{Style, VariantInfo, WorkloadInfo};
use faultline_record::direction::Direction;
use faultline_record::outcome::Outcome;
use faultline_record::protocol::Interval;
use faultline_targets::{Ending, Execution};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// The environment variable that makes a subject faster: a factor of its rates.
pub(crate) const SPEED: &str = "FAULTLINE_SIMULATED_SPEED";

/// The note that identifies an execution among the saved ones.
pub(crate) const EXECUTION: &str = "execution";

/// Operations per second of one task.
const RATE: f64 = 1e6;

/// Relative standard deviation of a workload's rate between executions, and between intervals.
const NOISE: f64 = 0.01;

/// Time from the program's start until its tasks wait.
const SET_UP: Duration = Duration::from_millis(20);

/// Duration of a workload that runs once, in seconds.
const ONCE_S: f64 = 0.5;

/// The workloads: two loops, one that runs once, and the one that runs a given command.
pub(crate) fn all() -> Vec<WorkloadInfo> {
    let variant = |name: &str, modes: &[TaskMode]| VariantInfo {
        name: name.to_owned(),
        modes: modes.to_vec(),
        text: "simulated".to_owned(),
        lens_operations: None,
    };
    let looping = |name: &str, variants| WorkloadInfo {
        name: name.to_owned(),
        summary: "simulated".to_owned(),
        operation: "turn".to_owned(),
        unit: "turn/s".to_owned(),
        direction: Direction::Higher,
        style: Style::Loop,
        window_ms: 100,
        size: None,
        size_ranges: Vec::new(),
        variants,
        lens_operations: None,
        suites: Vec::new(),
        roles: Vec::new(),
        optional_roles: Vec::new(),
    };
    let both = [TaskMode::Process, TaskMode::Thread];
    let once = WorkloadInfo {
        operation: "build".to_owned(),
        unit: "s".to_owned(),
        direction: Direction::Lower,
        style: Style::Once,
        window_ms: 0,
        ..looping("assemble", vec![variant("plain", &both)])
    };
    let given = WorkloadInfo { name: "program".to_owned(), variants: vec![variant("given", &both)], ..once.clone() };
    vec![
        once,
        given,
        looping("shuffle", vec![variant("near", &both), variant("far", &[TaskMode::Thread])]),
        looping("spin", vec![variant("plain", &both)]),
    ]
}

/// The parsed arguments of a workload's program (docs/FORMATS.md §3).
struct Call<'a> {
    execution: &'a Execution,
    tasks: usize,
}

impl<'a> Call<'a> {
    fn new(execution: &'a Execution) -> Self {
        let mut call = Call { execution, tasks: 1 };
        call.tasks = call.number("--tasks").unwrap_or(1) as usize;
        call
    }

    fn option(&self, name: &str) -> Option<&'a str> {
        let arguments = &self.execution.arguments;
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.option(name)?.parse().ok()
    }

    /// Factor of the rate from the environment.
    fn speed(&self) -> f64 {
        let set = self.execution.environment.iter().find(|(name, _)| name == SPEED);
        set.and_then(|(_, value)| value.parse().ok()).unwrap_or(1.0)
    }
}

/// A successful execution. `number` identifies it, `speed` is a factor of its rate.
pub(crate) fn script(
    info: &WorkloadInfo,
    execution: &Execution,
    (number, speed): (u64, f64),
    random: &mut ChaCha8Rng,
) -> Script {
    let call = Call::new(execution);
    let rate = RATE * speed * call.speed() * noisy(random);
    let mut lines = header(info, &call, number);
    let mut at = SET_UP;
    lines.push(Line { takes: SET_UP, ..Line::new(format!("ready {}", at.as_nanos())) });
    match info.style {
        Style::Loop if call.number("--ops").is_some() => counted(&call, rate, &mut at, &mut lines),
        Style::Loop => intervals(&call, rate, &mut at, &mut lines, random),
        Style::Once => once(rate, &mut at, &mut lines),
    }
    lines.push(Line::new("done"));
    Script {
        lines,
        ending: Ending::Exited { status: 0, stderr: String::new() },
        hangs: false,
        expected: Expected::Exactly(Outcome::Done),
    }
}

fn header(info: &WorkloadInfo, call: &Call<'_>, number: u64) -> Vec<Line> {
    let word = |name| call.option(name).unwrap_or_default();
    [
        format!("faultline-workload 1 {}", info.name),
        format!("note {EXECUTION} {number}"),
        format!("variant {}", word("--variant")),
        format!("operation {}", info.operation),
        format!("unit {}", info.unit),
        format!("direction {}", info.direction.word()),
        format!("mode {}", word("--mode")),
        format!("tasks {}", call.tasks),
    ]
    .map(Line::new)
    .into()
}

fn intervals(call: &Call<'_>, rate: f64, at: &mut Duration, lines: &mut Vec<Line>, random: &mut ChaCha8Rng) {
    let phase = |name| Duration::from_millis(call.number(name).unwrap_or_default());
    let length = phase("--interval-ms");
    let mut stretch = |word: &str, phase: Duration, at: &mut Duration, lines: &mut Vec<Line>| {
        for _ in 0..phase.as_nanos() / length.as_nanos().max(1) {
            let mut count = || (rate * length.as_secs_f64() * noisy(random)) as u64;
            let operations: Vec<u64> = (0..call.tasks).map(|_| count()).collect();
            let (from_ns, to_ns) = (at.as_nanos() as u64, (*at + length).as_nanos() as u64);
            let counts: Vec<String> = operations.iter().map(u64::to_string).collect();
            let text = format!("{word} {from_ns} {to_ns} {}", counts.join(" "));
            let interval = Some(Interval { from_ns, to_ns, operations });
            lines.push(Line { takes: length, interval, ..Line::new(text) });
            *at += length;
        }
    };
    stretch("warmup", phase("--warmup-ms"), at, lines);
    lines.push(Line::new(format!("begin {}", at.as_nanos())));
    stretch("interval", phase("--window-ms"), at, lines);
    lines.push(Line::new(format!("end {}", at.as_nanos())));
    lines.push(Line::new(
        "usage window user_ns=1000 system_ns=9000 minor_faults=10 major_faults=0 voluntary_switches=1 involuntary_switches=2",
    ));
    lines.push(Line::new(format!("counter vmstat.pgfault {}", random.random_range(1..1000))));
}

/// A given number of operations of each task, in one interval.
fn counted(call: &Call<'_>, rate: f64, at: &mut Duration, lines: &mut Vec<Line>) {
    let operations = vec![call.number("--ops").unwrap_or_default(); call.tasks];
    let takes = Duration::from_secs_f64(operations[0] as f64 / rate);
    let (from_ns, to_ns) = (at.as_nanos() as u64, (*at + takes).as_nanos() as u64);
    let counts: Vec<String> = operations.iter().map(u64::to_string).collect();
    lines.push(Line::new(format!("begin {from_ns}")));
    let text = format!("interval {from_ns} {to_ns} {}", counts.join(" "));
    lines.push(Line { takes, interval: Some(Interval { from_ns, to_ns, operations }), ..Line::new(text) });
    *at += takes;
    lines.push(Line::new(format!("end {to_ns}")));
}

fn once(rate: f64, at: &mut Duration, lines: &mut Vec<Line>) {
    lines.push(Line::new(format!("begin {}", at.as_nanos())));
    let takes = Duration::from_secs_f64(ONCE_S * RATE / rate);
    *at += takes;
    lines.push(Line { takes, ..Line::new(format!("end {}", at.as_nanos())) });
    lines.push(Line::new(format!("measure real_s s lower {}", takes.as_secs_f64())));
}

/// A random number around 1. The sum of three uniform numbers is nearly normal, with a standard
/// deviation of a half.
fn noisy(random: &mut ChaCha8Rng) -> f64 {
    let sum: f64 = (0..3).map(|_| random.random::<f64>()).sum();
    1.0 + 2.0 * NOISE * (sum - 1.5)
}

/// One line of output.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// The output, without its line end.
    pub(crate) text: Vec<u8>,
    /// Time that passes before it.
    pub(crate) takes: Duration,
    /// The interval that it holds, of the warm-up or of the window.
    pub(crate) interval: Option<Interval>,
}

impl Line {
    /// A line that comes at once.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Line { text: text.into().into_bytes(), takes: Duration::ZERO, interval: None }
    }
}

/// An execution from its first line to its end.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// The end after them.
    pub(crate) ending: Ending,
    /// True if it does not end by itself after the lines.
    pub(crate) hangs: bool,
    /// The outcome to record, unless it is stopped or killed.
    pub(crate) expected: Expected,
}

/// The outcome that must be recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    /// This outcome.
    Exactly(Outcome),
    /// Unreadable output, from this line on; the text of the outcome may be anything.
    Rubbish {
        /// From 1; 0 if no line is wrong.
        line: u64,
    },
}

impl Expected {
    /// True if `outcome` is the expected one.
    pub(crate) fn is_met_by(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Expected::Exactly(expected), outcome) => expected == outcome,
            (Expected::Rubbish { line }, Outcome::Rubbish { line: told, .. }) => line == told,
            (Expected::Rubbish { .. }, _) => false,
        }
    }
}
