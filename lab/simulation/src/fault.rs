//! What can happen to an execution, and what must then be recorded.

use crate::script::{Expected, Line, Script};
use faultline_model::outcome::{GuestFailure, Outcome};
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
    /// It ends in the middle with a status.
    Status,
    /// It reports a system call that failed.
    SystemCall,
    /// It reports that this machine does not support what was asked for.
    Unsupported,
    /// It hangs until its limit.
    Hang,
    /// It prints a line that is not in the format.
    Rubbish,
    /// Its output is cut off, and its status reports success.
    CutOff,
    /// It leaves out an interval.
    ShortWindow,
    /// It takes several times as long as normal until it is ready.
    Slow,
    /// It never starts.
    NotStarted,
    /// A system setting cannot be restored after it.
    LeftChanged,
    /// The guest in which it runs fails.
    Guest(GuestFailure),
}

impl Fault {
    /// The faults that need no guest.
    const WITHOUT_GUEST: [Fault; 11] = [
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
    ];

    /// Any fault. The one that leaves the system changed, after which no item ends, only if `may_leave_changed`.
    pub(crate) fn any(may_leave_changed: bool, random: &mut ChaCha8Rng) -> Self {
        let of_guests = GuestFailure::ALL.iter().copied().map(Fault::Guest);
        let all: Vec<Fault> = Self::WITHOUT_GUEST.into_iter().chain(of_guests).collect();
        match all.choose(random) {
            Some(Fault::LeftChanged) if !may_leave_changed => Fault::Signal,
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
                let (signal, told) = (11, stderr.clone());
                ended(cut(script), Ending::Signalled { signal, stderr }, Outcome::Crashed { signal, stderr: told })
            }
            Fault::Status => {
                let (status, told) = (3, stderr.clone());
                ended(cut(script), Ending::Exited { status, stderr }, Outcome::Exited { status, stderr: told })
            }
            Fault::SystemCall => {
                let outcome = Outcome::Failed { step: "mmap".to_owned(), errno: 12, text: "no memory".to_owned() };
                let ending = Ending::Exited { status: 71, stderr };
                ended(told(cut(script), "failure os mmap 12 no memory"), ending, outcome)
            }
            Fault::Unsupported => {
                let outcome = Outcome::Unsupported { step: "mmap".to_owned(), text: "no huge pages".to_owned() };
                let ending = Ending::Exited { status: 69, stderr };
                ended(told(cut(script), "failure unsupported mmap 0 no huge pages"), ending, outcome)
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
            Fault::Guest(failure) => {
                let (console, told) = ("end of the console".to_owned(), text.clone());
                let outcome = Outcome::GuestFailed { how: failure, text, console: console.clone() };
                ended(cut(script), Ending::GuestFailed { failure, text: told, console }, outcome)
            }
        }
    }
}

/// Ends with this line.
fn told(mut script: Script, line: &str) -> Script {
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
