//! What all measuring commands have in common: they request an experiment, and show its conclusion.

use super::present;
use crate::arguments::Conduct;
use crate::arguments::measuring::Measuring;
use crate::failure::{self, Failure};
use crate::progress::Shown;
use crate::{output, signals};
use faultline_experiment::{AppliedGate, Conclusion, Error, Lab, LocalMachines, Measured, Places};
use faultline_report::Format;
use faultline_runner::{Request, SystemClock};
use std::process::ExitCode;
use std::time::Duration;

/// The request, for every kind of measurement.
pub(super) fn request(measuring: &Measuring, conduct: &Conduct) -> Request {
    Request {
        suite: measuring.suite.map(Into::into),
        cpus: measuring.cpus.clone(),
        repeats: measuring.repeats,
        budget_ms: measuring.time.map(millis),
        limit_ms: conduct.limit_ms(),
        warmup_ms: measuring.warmup.map(millis),
        window_ms: measuring.window.map(millis),
        interval_ms: measuring.interval.map(millis),
        pin: measuring.pin.map(Into::into),
        mode: measuring.mode.map(Into::into),
        oversubscribe: measuring.oversubscribe,
        size: measuring.size,
        ..Request::default()
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Runs an experiment, shows its progress, and shows its conclusion; `None` if it was stopped. Fails if the experiment does, or if its output cannot
/// be written.
pub(super) fn conduct(
    conduct: &Conduct,
    places: &Places,
    experiment: impl FnOnce(&mut Lab<'_>) -> Result<Measured, Error>,
) -> Result<Option<Conclusion>, Failure> {
    let measured = with_lab(conduct, places, |lab| Ok(experiment(lab)?))?;
    told(measured, conduct)
}

/// Does something that measures, with its progress shown. Fails if it does, or if nothing could be saved or written.
pub(super) fn with_lab<T>(
    conduct: &Conduct,
    places: &Places,
    body: impl FnOnce(&mut Lab<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    conduct.output.as_deref().map_or(Ok(()), output::check_file)?;
    faultline_experiment::check_writable(places)?;
    observed(conduct.quiet, places, body)
}

/// Does something that measures nothing, and may be stopped. Fails if it does.
pub(super) fn looking<T>(places: &Places, body: impl FnOnce(&mut Lab<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    observed(true, places, body)
}

fn observed<T>(
    is_quiet: bool,
    places: &Places,
    body: impl FnOnce(&mut Lab<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let stop = signals::stop_flag()?;
    let mut shown = Shown::new(is_quiet);
    let clock = SystemClock::default();
    let mut lab = Lab { places, machines: &LocalMachines, clock: &clock, stop: &stop, observer: &mut shown };
    body(&mut lab)
}

/// Shows the conclusion of an experiment; `None` if it was stopped, which is told. Fails if the output cannot be written.
pub(super) fn told(measured: Measured, conduct: &Conduct) -> Result<Option<Conclusion>, Failure> {
    match measured {
        Measured::Concluded(conclusion) => {
            show(&conclusion, conduct)?;
            Ok(Some(*conclusion))
        }
        Measured::Stopped { run } => {
            failure::warn(&format!("stopped; everything measured is saved as run {run}"));
            failure::warn(&format!("hint: `faultline resume {run}` continues"));
            Ok(None)
        }
    }
}

/// Page, table, where it is saved, and the results of gates.
fn show(conclusion: &Conclusion, conduct: &Conduct) -> Result<(), Failure> {
    // The page comes first: if the reader of the table ends early, or standard output is full, the page must still be written. If the page cannot be
    // written, the table must still be printed.
    let page = conduct.output.as_deref().map_or(Ok(()), |path| present::write_page(&present::page(conclusion)?, path));
    output::print(&present::table(conclusion, conduct.format.format))?;
    if !conduct.quiet {
        failure::warn(&format!("saved as run {} in {}", conclusion.run(), conclusion.database));
    }
    // Standard output holds the run's figures.
    for report in &conclusion.gates {
        failure::warn(&faultline_report::budget_table(report, Format::Table, &output::style()).trim_end());
    }
    match conclusion.gate() {
        Some(AppliedGate::Comparison(gate)) => {
            failure::warn(&faultline_report::comparison_gate(&gate, &output::style()).trim_end());
        }
        Some(AppliedGate::Search { gate, search }) => {
            failure::warn(&faultline_report::drill_gate(&gate, search, &output::style()).trim_end());
        }
        None => {}
    }
    page
}

/// The exit status of a run: whether it was stopped, or anything is not as hoped for.
pub(super) fn status(conclusion: Option<&Conclusion>) -> ExitCode {
    match conclusion {
        None => failure::stopped(),
        Some(conclusion) if !conclusion.is_well() => failure::some_failed(),
        Some(_) => ExitCode::SUCCESS,
    }
}
