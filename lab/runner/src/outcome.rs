//! The outcome of an execution, from its ending and its output.

use faultline_record::outcome::Outcome;
use faultline_record::protocol::FailureKind;
use faultline_record::transcript::Transcript;
use faultline_targets::Ending;
use std::time::Duration;

/// Outcome of an attempt, and its value.
pub(crate) struct Attempted {
    pub(crate) outcome: Outcome,
    /// Rate over the window, or the first measure.
    pub(crate) value: Option<f64>,
    /// The outcome of a failure of the lab that may be the program's own: it is, if the same
    /// execution fails like this twice.
    pub(crate) own: Option<Outcome>,
}

impl Attempted {
    /// An attempt without a value.
    pub(crate) fn without_value(outcome: Outcome) -> Self {
        Attempted { outcome, value: None, own: None }
    }

    /// A failure of the lab that may be the program's own.
    pub(crate) fn after_lack(text: String, own: Outcome) -> Self {
        Attempted { own: Some(own), ..Self::without_value(Outcome::LabFailed { text }) }
    }

    /// The second attempt at an execution whose first was [`Attempted::after_lack`].
    pub(crate) fn second(self) -> Self {
        match self.own {
            Some(own) => Self::without_value(own),
            None => self,
        }
    }
}

/// The outcome of an ending alone, without the output.
pub(crate) fn outcome_of(ending: Ending, limit: Duration) -> Outcome {
    match ending {
        Ending::Exited { status: 0, .. } => Outcome::Done,
        Ending::Exited { status, stderr } => Outcome::Exited { status, stderr },
        Ending::Signalled { signal, stderr } => Outcome::Crashed { signal, stderr },
        Ending::TimedOut => Outcome::TimedOut { limit_ms: limit.as_millis() as u64 },
        Ending::NotStarted { text } => Outcome::NotStarted { text },
        Ending::LabFailed { text } | Ending::AfterLack { text, .. } => Outcome::LabFailed { text },
        Ending::LeftChanged { text } => Outcome::LeftChanged { text },
        Ending::ConnectionLost { text } => Outcome::ConnectionLost { text },
        Ending::Refused => Outcome::Rubbish { line: 0, problem: "its output was refused".to_owned() },
        Ending::GuestFailed { failure, text, console } => Outcome::GuestFailed { how: failure, text, console },
        Ending::Stopped => Outcome::Interrupted,
    }
}

/// The outcome of a workload that ended by itself. A failure that it reported takes precedence over
/// its exit status.
pub(crate) fn exited(transcript: Transcript, status: i32, stderr: String) -> Outcome {
    match transcript.finish() {
        Ok(Some(failure)) => match failure.kind {
            FailureKind::Os => Outcome::Failed { step: failure.step, errno: failure.errno, text: failure.text },
            FailureKind::Unsupported => Outcome::Unsupported { step: failure.step, text: failure.text },
        },
        _ if status != 0 => Outcome::Exited { status, stderr },
        Err(error) => Outcome::Rubbish { line: error.line, problem: error.problem },
        Ok(None) => Outcome::Done,
    }
}

/// Refuses an incomplete window, which would look like a shorter one.
pub(crate) fn complete(intervals: u64, planned: u64) -> Outcome {
    if intervals == planned {
        return Outcome::Done;
    }
    Outcome::Rubbish { line: 0, problem: format!("{intervals} intervals where {planned} were planned") }
}
