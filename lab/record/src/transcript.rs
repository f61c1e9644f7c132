//! A workload's whole output: checks line by line that it is in order, complete, and from the
//! requested cell.
//!
//! Only the data for these checks are kept. The events go to the caller, who saves them.

use crate::cell::Cell;
use crate::describe::Style;
use crate::protocol::{self, Event, FailureKind, Interval};
use std::collections::BTreeSet;

/// Keys that the header must contain before the tasks are ready.
const NEEDED: &[&str] = &["variant", "operation", "unit", "direction", "mode", "tasks"];

/// The part of the output that has been reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Nothing,
    Header,
    Ready,
    Begun,
    Ended,
    Closed,
}

/// Error: unusable output, with the line and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TranscriptError {
    /// Line number from 1.
    pub line: u64,
    /// The problem of that line.
    pub problem: String,
}

/// A failure that the workload itself reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldFailure {
    /// Kind: a failed system call, or an unsupported request.
    pub kind: FailureKind,
    /// The step that failed.
    pub step: String,
    /// The operating system's error number, or 0.
    pub errno: i64,
    /// The error in words.
    pub text: String,
}

/// Reads a workload's output.
#[derive(Debug)]
pub struct Transcript {
    cell: Cell,
    style: Style,
    stage: Stage,
    lines: u64,
    /// Keys of the header that have been read.
    header: BTreeSet<&'static str>,
    last_ns: u64,
    /// Number of intervals of the warm-up, or of the window once that has begun.
    intervals: u64,
    measures: u64,
    failure: Option<ToldFailure>,
}

impl Transcript {
    /// A reader of the output of one execution of `cell`.
    pub fn new(cell: Cell, style: Style) -> Self {
        Transcript {
            cell,
            style,
            stage: Stage::Nothing,
            lines: 0,
            header: BTreeSet::new(),
            last_ns: 0,
            intervals: 0,
            measures: 0,
            failure: None,
        }
    }

    /// Takes the next line, without its line end. Fails if the line is not in the format, out of
    /// order, or from another cell.
    pub fn line(&mut self, line: &[u8]) -> Result<Event, TranscriptError> {
        self.lines += 1;
        let event = protocol::parse(line).and_then(|event| self.place(&event).map(|()| event));
        event.map_err(|problem| TranscriptError { line: self.lines, problem })
    }

    /// Takes the end of the output. Returns the failure that the workload reported, or `None` if it
    /// succeeded. Fails if the output ends too early.
    pub fn finish(self) -> Result<Option<ToldFailure>, TranscriptError> {
        let lines = self.lines;
        let cut_off = |problem: &str| TranscriptError { line: lines + 1, problem: problem.to_owned() };
        if self.failure.is_some() {
            return Ok(self.failure);
        }
        if self.stage != Stage::Closed {
            return Err(cut_off("the output is cut off"));
        }
        Ok(None)
    }

    /// Checks that `event` is allowed in the current stage, and advances.
    fn place(&mut self, event: &Event) -> Result<(), String> {
        match (self.stage, event) {
            (Stage::Nothing, Event::Hello(name)) => {
                same("workload", name, &self.cell.case.workload)?;
                self.stage = Stage::Header;
                Ok(())
            }
            (Stage::Nothing, _) => Err("the first line is not a workload's header".to_owned()),
            (Stage::Closed, _) => Err("a line after the last one".to_owned()),
            (_, Event::Note(..)) => Ok(()),
            (_, Event::Failure(kind, step, errno, text)) => {
                self.failure = Some(ToldFailure { kind: *kind, step: step.clone(), errno: *errno, text: text.clone() });
                self.stage = Stage::Closed;
                Ok(())
            }
            (Stage::Header, _) => self.header(event),
            (Stage::Ready, _) => self.before_begin(event),
            (Stage::Begun, _) => self.in_window(event),
            (Stage::Ended, _) => self.after_end(event),
        }
    }

    fn header(&mut self, event: &Event) -> Result<(), String> {
        let key = match event {
            Event::Variant(name) => {
                same("variant", name, &self.cell.case.variant)?;
                "variant"
            }
            Event::Mode(mode) => {
                same("mode", mode.word(), self.cell.case.mode.word())?;
                "mode"
            }
            Event::Tasks(count) => {
                same("number of tasks", &count.to_string(), &self.cell.tasks.to_string())?;
                "tasks"
            }
            Event::Operation(_) => "operation",
            Event::Unit(_) => "unit",
            Event::Direction(_) => "direction",
            Event::BytesPerOperation(_) => "bytes_per_operation",
            Event::Ready(at_ns) => return self.ready(*at_ns),
            _ => return Err("a line that is not allowed in the header".to_owned()),
        };
        if self.header.insert(key) { Ok(()) } else { Err(format!("'{key}' is given twice")) }
    }

    fn ready(&mut self, at_ns: u64) -> Result<(), String> {
        if let Some(missing) = NEEDED.iter().find(|key| !self.header.contains(*key)) {
            return Err(format!("'ready' before '{missing}'"));
        }
        self.stage = Stage::Ready;
        self.advance(at_ns)
    }

    fn before_begin(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Warmup(interval) => self.interval(interval),
            Event::Begin(at_ns) => {
                self.stage = Stage::Begun;
                self.intervals = 0;
                self.advance(*at_ns)
            }
            _ => Err("a line that is not allowed before the region of interest".to_owned()),
        }
    }

    fn in_window(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Window(interval) => self.interval(interval),
            Event::End(at_ns) => {
                self.stage = Stage::Ended;
                self.advance(*at_ns)
            }
            _ => Err("a line that is not allowed in the region of interest".to_owned()),
        }
    }

    fn after_end(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Usage(_) | Event::Counter(..) => Ok(()),
            Event::Measure(_) => {
                self.measures += 1;
                Ok(())
            }
            Event::Done => {
                self.stage = Stage::Closed;
                self.complete()
            }
            _ => Err("a line that is not allowed after the region of interest".to_owned()),
        }
    }

    /// Checks that an output that claims success contains a figure.
    fn complete(&self) -> Result<(), String> {
        match self.style {
            Style::Loop if self.intervals == 0 => Err("done without an interval".to_owned()),
            Style::Once if self.measures == 0 => Err("done without a measure".to_owned()),
            _ => Ok(()),
        }
    }

    fn interval(&mut self, interval: &Interval) -> Result<(), String> {
        if self.style == Style::Once {
            return Err("an interval of a workload that runs once".to_owned());
        }
        let tasks = self.cell.tasks as usize;
        if interval.operations.len() != tasks {
            return Err(format!("{} counts for {tasks} tasks", interval.operations.len()));
        }
        if self.intervals > 0 && interval.from_ns != self.last_ns {
            return Err(format!("an interval from {}, but the last one ended at {}", interval.from_ns, self.last_ns));
        }
        self.intervals += 1;
        self.advance(interval.from_ns)?;
        self.advance(interval.to_ns)
    }

    fn advance(&mut self, at_ns: u64) -> Result<(), String> {
        if at_ns < self.last_ns {
            return Err(format!("time goes back from {} to {at_ns}", self.last_ns));
        }
        self.last_ns = at_ns;
        Ok(())
    }
}

fn same(what: &str, got: &str, asked: &str) -> Result<(), String> {
    if got == asked { Ok(()) } else { Err(format!("{what} '{got}', but '{asked}' was asked for")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Case, TaskMode};

    const WELL: &str = "faultline-workload 1 zero_fill\nvariant base\noperation fault\nunit fault/s\ndirection higher\n\
        mode process\ntasks 2\nbytes_per_operation 4096\nready 10\nwarmup 10 20 1 1\nbegin 20\ninterval 20 30 5 6\n\
        interval 30 40 5 6\nend 40\ncounter vmstat.pgfault 22\ndone\n";

    fn cell() -> Cell {
        let case = Case { workload: "zero_fill".into(), variant: "base".into(), mode: TaskMode::Process };
        Cell { case, tasks: 2 }
    }

    fn read(text: &str) -> Result<Option<ToldFailure>, TranscriptError> {
        let mut transcript = Transcript::new(cell(), Style::Loop);
        for line in text.lines() {
            transcript.line(line.as_bytes())?;
        }
        transcript.finish()
    }

    #[test]
    fn a_good_output_ends_well() {
        assert_eq!(read(WELL), Ok(None));
    }

    #[test]
    fn leaving_out_any_needed_line_is_noticed() {
        for needed in [
            "faultline-workload",
            "variant",
            "operation",
            "unit",
            "direction",
            "mode",
            "tasks",
            "ready",
            "begin",
            "end",
            "done",
        ] {
            let cut: String = WELL
                .lines()
                .filter(|line| !(line.starts_with(needed) && line.split(' ').next() != Some("ended")))
                .map(|line| format!("{line}\n"))
                .collect();
            assert!(read(&cut).is_err(), "'{needed}' was not missed");
        }
        let silent: String =
            WELL.lines().filter(|line| !line.starts_with("interval")).map(|l| format!("{l}\n")).collect();
        assert_eq!(read(&silent).unwrap_err().problem, "done without an interval");
    }

    #[test]
    fn a_failure_may_stand_anywhere_and_is_reported() {
        for end in 1..WELL.lines().count() - 1 {
            let mut text: String = WELL.lines().take(end).map(|line| format!("{line}\n")).collect();
            text.push_str("failure os mmap 12 Cannot allocate memory\n");
            let failure = read(&text).unwrap().unwrap();
            assert_eq!((failure.step.as_str(), failure.errno), ("mmap", 12));
        }
    }

    #[test]
    fn another_cell_is_refused() {
        let error = read(&WELL.replace("variant base", "variant huge")).unwrap_err();
        assert_eq!(error.to_string(), "line 2: variant 'huge', but 'base' was asked for");
        assert_eq!(read(&WELL.replace("20 30 5 6", "20 30 5")).unwrap_err().problem, "1 counts for 2 tasks");
        let problem = |from: &str, to: &str| read(&WELL.replace(from, to)).unwrap_err().problem;
        assert_eq!(problem("30 40 5", "19 40 5"), "an interval from 19, but the last one ended at 30");
        assert_eq!(problem("30 40 5", "31 40 5"), "an interval from 31, but the last one ended at 30");
        assert_eq!(problem("begin 20", "begin 19"), "time goes back from 20 to 19");
        assert_eq!(problem("tasks 2", "tasks 2\ntasks 2"), "'tasks' is given twice");
        assert_eq!(read(&format!("{WELL}done\n")).unwrap_err().problem, "a line after the last one");
    }
}
