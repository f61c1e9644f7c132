//! Faults of executions, and the outcomes that must be recorded.

use crate::workload::{Expected, Line, Script};
use faultline_record::outcome::{GuestFailure, Outcome};
use faultline_targets::Ending;
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// A fault of one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A signal ends it in the middle.
    Signal,
    /// Ends in the middle with a status.
    Status,
    /// Reports a failed system call.
    SystemCall,
    /// Reports that this machine does not support the request.
    Unsupported,
    /// Hangs until its limit.
    Hang,
    /// Prints a line that is not in the format.
    Rubbish,
    /// Its output is cut off, and its status reports success.
    CutOff,
    /// Leaves out an interval.
    ShortWindow,
    /// Takes several times the normal time until it is ready.
    Slow,
    /// Never starts.
    NotStarted,
    /// A system setting cannot be restored after it.
    LeftChanged,
    /// The lab fails during it.
    LabFailed,
    /// The guest in which it runs fails.
    Guest(GuestFailure),
}

impl Fault {
    /// The faults that need no guest.
    const WITHOUT_GUEST: [Fault; 12] = [
        Fault::Signal,
        Fault::Status,
        Fault::SystemCall,
        Fault::Unsupported,
        Fault::Hang,
        Fault::Rubbish,
        Fault::CutOff,
        Fault::ShortWindow,
        Fault::Slow,
        Fault::NotStarted,
        Fault::LeftChanged,
        Fault::LabFailed,
    ];

    /// Any fault. Those after which the run ends and the item stays open only if
    /// `may_leave_changed`.
    pub(crate) fn any(may_leave_changed: bool, random: &mut ChaCha8Rng) -> Self {
        let of_guests = GuestFailure::ALL.iter().copied().map(Fault::Guest);
        let all: Vec<Fault> = Self::WITHOUT_GUEST.into_iter().chain(of_guests).collect();
        match all.choose(random) {
            Some(Fault::LeftChanged | Fault::LabFailed) if !may_leave_changed => Fault::Signal,
            Some(fault) => *fault,
            None => Fault::Signal,
        }
    }

    /// Changes the script of a successful execution. `limit`: the execution's.
    pub(crate) fn bend(self, script: Script, limit: Duration, random: &mut ChaCha8Rng) -> Script {
        let stderr = "it was to be".to_owned();
        let text = "it was to be".to_owned();
        let at = random.random_range(1..script.lines.len());
        let cut = |script: Script| Script { lines: script.lines[..at].to_vec(), ..script };
        let ended = |script: Script, ending, outcome| Script { ending, expected: Expected::Exactly(outcome), ..script };
        match self {
            Fault::Signal => {
                let (signal, reported) = (11, stderr.clone());
                ended(cut(script), Ending::Signalled { signal, stderr }, Outcome::Crashed { signal, stderr: reported })
            }
            Fault::Status => {
                let (status, reported) = (3, stderr.clone());
                ended(cut(script), Ending::Exited { status, stderr }, Outcome::Exited { status, stderr: reported })
            }
            Fault::SystemCall => {
                let outcome = Outcome::Failed { step: "mmap".to_owned(), errno: 12, text: "no memory".to_owned() };
                let ending = Ending::Exited { status: 71, stderr };
                ended(ended_with(cut(script), "failure os mmap 12 no memory"), ending, outcome)
            }
            Fault::Unsupported => {
                let outcome = Outcome::Unsupported { step: "mmap".to_owned(), text: "no huge pages".to_owned() };
                let ending = Ending::Exited { status: 69, stderr };
                ended(ended_with(cut(script), "failure unsupported mmap 0 no huge pages"), ending, outcome)
            }
            Fault::Hang => {
                let outcome = Outcome::TimedOut { limit_ms: limit.as_millis() as u64 };
                Script { hangs: true, ..ended(cut(script), Ending::TimedOut, outcome) }
            }
            Fault::Rubbish => rubbish(script, at, random),
            Fault::CutOff => Script { expected: Expected::Rubbish { line: at as u64 + 1 }, ..cut(script) },
            Fault::ShortWindow => short_window(script),
            Fault::Slow => slow(script, limit),
            Fault::NotStarted => {
                let (ending, outcome) = (Ending::NotStarted { text: text.clone() }, Outcome::NotStarted { text });
                Script { lines: Vec::new(), ..ended(script, ending, outcome) }
            }
            Fault::LeftChanged => {
                ended(script, Ending::LeftChanged { text: text.clone() }, Outcome::LeftChanged { text })
            }
            Fault::LabFailed => {
                ended(cut(script), Ending::LabFailed { text: text.clone() }, Outcome::LabFailed { text })
            }
            Fault::Guest(failure) => {
                let (console, reported) = ("end of the console".to_owned(), text.clone());
                let outcome = Outcome::GuestFailed { how: failure, text, console: console.clone() };
                ended(cut(script), Ending::GuestFailed { failure, text: reported, console }, outcome)
            }
        }
    }
}

/// Ends a script with this line.
fn ended_with(mut script: Script, line: &str) -> Script {
    script.lines.push(Line::new(line));
    script
}

/// Prints a line that is not in the format, or is in the wrong place, as line `at`, counted from 0.
fn rubbish(mut script: Script, at: usize, random: &mut ChaCha8Rng) -> Script {
    let kinds: [&[u8]; 5] = [b"", b"\xff\xfe", b"interval 7", b"faultline-workload 1 another", b"ready\t1"];
    let text = kinds.choose(random).map_or_else(Vec::new, |text| text.to_vec());
    script.lines.insert(at, Line { text, ..Line::new("") });
    Script { expected: Expected::Rubbish { line: at as u64 + 1 }, ..script }
}

/// Leaves out the last interval of the window; for a workload that runs once, its measure.
fn short_window(mut script: Script) -> Script {
    let is_figure = |line: &Line| line.interval.is_some() || line.text.starts_with(b"measure ");
    let Some(last) = script.lines.iter().rposition(is_figure) else { return script };
    let is_once = script.lines.remove(last).interval.is_none();
    let line = if is_once { script.lines.len() as u64 } else { 0 };
    Script { expected: Expected::Rubbish { line }, ..script }
}

/// Half of its limit passes before it prints anything.
fn slow(mut script: Script, limit: Duration) -> Script {
    if let Some(first) = script.lines.first_mut() {
        first.takes = limit / 2;
    }
    script
}
