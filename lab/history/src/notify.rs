//! Tells a command or a web hook of the user's about confirmed changes, once about each.

use crate::commands::runner;
use crate::declared::{Notify, Whom};
use faultline_experiment::{Error, Lab, place_of, stored};
use faultline_model::history::change::ChangeState;
use faultline_model::history::notice::ChangeNotice;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_targets::Ending;
use faultline_targets::host::command::{Errors, HostCommand};
use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// A notification that failed. It is tried again the next time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotNotified {
    /// What failed, in words.
    pub problem: String,
}

/// Tells about the confirmed changes of a series of which nobody was told yet. Returns what failed. Fails on a stop, if the database cannot be read or written, or if
/// there is no scratch directory.
pub fn notify(series: &HistorySeries, whom: &Notify, lab: &Lab<'_>) -> Result<Vec<NotNotified>, Error> {
    let name = series.name();
    let told = stored::notified(&name, lab.places)?;
    let told: Vec<usize> = told.iter().filter_map(|place| series.step_meant(place)).collect();
    let mut failed = Vec::new();
    for (number, step) in series.steps.steps.iter().enumerate() {
        if step.state.now != ChangeState::Confirmed || told.contains(&number) {
            continue;
        }
        match tell(series, step, whom, lab)? {
            None => {
                let place = place_of(series, step)?;
                stored::save_notified(&name, &place, lab.places)?;
            }
            Some(problem) => failed.push(NotNotified { problem }),
        }
    }
    Ok(failed)
}

/// Tells about a step. Returns how that failed, if it did.
fn tell(series: &HistorySeries, step: &HistoryStep, whom: &Notify, lab: &Lab<'_>) -> Result<Option<String>, Error> {
    let Some(notice) = ChangeNotice::of(series, step) else { return Ok(None) };
    let mut text = serde_json::to_vec(&notice).map_err(|error| {
        Error::failed(format!("a notice cannot be written: {error}"), "this is a fault of faultline")
    })?;
    text.push(b'\n');
    match &whom.whom {
        Whom::Command { words, directory } => run(words, directory, whom.limit, &text, lab),
        Whom::WebHook(hook) => Ok(hook.post(&text, whom.limit).err().map(|how| format!("{hook}: {how}"))),
    }
}

/// Runs a command with a text on standard input. Returns how it failed, if it did.
fn run(
    words: &[String],
    directory: &Path,
    limit: Duration,
    text: &[u8],
    lab: &Lab<'_>,
) -> Result<Option<String>, Error> {
    let unwritable = |error: std::io::Error| {
        Error::failed(format!("a notice cannot be written: {error}"), "`--scratch DIR` names a directory with room")
    };
    let mut file = tempfile::NamedTempFile::new_in(lab.places.usable_scratch()?).map_err(unwritable)?;
    file.write_all(text).map_err(unwritable)?;
    let input = std::path::absolute(file.path()).map_err(unwritable)?;
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    let command =
        HostCommand { argv: &argv, directory, environment: &[], limit, errors: Errors::Apart, input: Some(&input) };
    let how = match runner(lab)?.run(&command, &mut |_| ControlFlow::Continue(()), lab.stop) {
        Ending::Exited { status: 0, .. } => return Ok(None),
        Ending::Stopped => return Err(Error::stopped()),
        Ending::Exited { status, stderr } => {
            let last = stderr.lines().last().map_or_else(String::new, |line| format!(": {line}"));
            format!("it ends with status {status}{last}")
        }
        Ending::Signalled { signal, .. } => format!("signal {signal} ends it"),
        Ending::TimedOut => format!("it has not ended after {} s", limit.as_secs_f64()),
        Ending::NotStarted { text } | Ending::LeftChanged { text } => text,
        Ending::Refused | Ending::ConnectionLost { .. } | Ending::GuestFailed { .. } => "it was cut off".to_owned(),
    };
    Ok(Some(format!("`{}`: {how}", words.join(" "))))
}
