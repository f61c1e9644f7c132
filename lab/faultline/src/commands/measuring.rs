//! Shared parts of commands that measure: paths, requests, progress, and the conclusion.

use super::result::{self, Detail};
use crate::arguments::around::Around as AroundArguments;
use crate::arguments::lens::Model;
use crate::arguments::measure::Measuring;
use crate::arguments::values::Warmup;
use crate::arguments::{Conduct, Global, WorkloadsPlace};
use crate::failure::{self, Failure};
use crate::output;
use crate::progress::Shown;
use faultline_experiment::{AppliedGate, Around, Conclusion, Consent, Error, Lab, LocalMachines, Measured, Places};
use faultline_report::Format;
use faultline_runner::{Request, SystemClock};
use std::process::ExitCode;
use std::time::Duration;

/// The default paths with the given database and consent. Fails if a default path cannot be
/// determined.
pub(super) fn places(global: &Global) -> Result<Places, Failure> {
    let places = Places::find()?;
    let consent = Consent { is_given: global.trust, ..places.consent };
    Ok(Places { database: global.db.clone().or(places.database), consent, ..places })
}

/// As [`places`], with the given programs.
pub(super) fn places_with_programs(place: &WorkloadsPlace, global: &Global) -> Result<Places, Failure> {
    let places = places(global)?;
    Ok(Places {
        workloads: place.workloads.clone().or(places.workloads),
        guest: place.guest.clone().or(places.guest),
        emulator: place.qemu.clone().or(places.emulator),
        ..places
    })
}

/// As [`places`], for measuring.
pub(super) fn places_to_measure(conduct: &Conduct, global: &Global) -> Result<Places, Failure> {
    let places = places_with_programs(&conduct.place, global)?;
    Ok(Places { scratch: conduct.scratch.clone().unwrap_or(places.scratch), ..places })
}

/// As [`places`], for counting under the lens.
pub(super) fn places_to_count(conduct: &Conduct, model: &Model, global: &Global) -> Result<Places, Failure> {
    let places = places_to_measure(conduct, global)?;
    Ok(Places { plugin: model.plugin.clone().or(places.plugin), ..places })
}

/// The request, for every kind of measurement. Fails if numbers of copies differ.
pub(super) fn request(measuring: &Measuring, conduct: &Conduct) -> Result<Request, Failure> {
    let tasks = measuring.tasks.as_deref().unwrap_or_default();
    let copies = tasks.first().and_then(|tasks| tasks.copies);
    if tasks.iter().any(|other| other.copies != copies) {
        return Err(Failure::usage(
            "`--tasks` has different numbers of copies",
            "measure one number of copies in each run, for example `--tasks 2x1,2x4`",
        ));
    }
    Ok(Request {
        suite: measuring.suite.map(Into::into),
        cpus: measuring.tasks.as_ref().map(|tasks| tasks.iter().map(|tasks| tasks.tasks).collect()),
        repeats: measuring.repeats,
        budget_ms: measuring.time.map(millis),
        limit_ms: conduct.limit_ms(),
        warmup_ms: measuring.warmup.and_then(|warmup| match warmup {
            Warmup::Time(length) => Some(millis(length)),
            Warmup::Executions(_) => None,
        }),
        window_ms: measuring.window.map(millis),
        interval_ms: measuring.interval.map(millis),
        pin: measuring.pin.map(Into::into),
        mode: measuring.mode.map(Into::into),
        oversubscribe: measuring.oversubscribe,
        size: measuring.size,
        copies: copies.unwrap_or(1),
        ..Request::default()
    })
}

/// Set-up, preparation and warm-up of commands. Fails for the warm-up of a workload.
pub(super) fn around(arguments: &AroundArguments, measuring: &Measuring) -> Result<Around, Failure> {
    let warmup = match measuring.warmup {
        None => 0,
        Some(Warmup::Executions(executions)) => executions,
        Some(Warmup::Time(_)) => {
            return Err(Failure::usage(
                "the warm-up of a command is a number of executions",
                "for example `--warmup 3`",
            ));
        }
    };
    let AroundArguments { shell, prepare, setup } = arguments;
    Ok(Around { shell: *shell, prepare: prepare.clone(), set_up: setup.clone(), warmup })
}

/// Fails for options of commands, because workloads are measured.
pub(super) fn refuse_around(arguments: &AroundArguments, measuring: &Measuring) -> Result<(), Failure> {
    if let Some(Warmup::Executions(number)) = measuring.warmup {
        return Err(Failure::usage(
            format!("the warm-up of a workload is a time, and {number} has no unit"),
            "for example `--warmup 100ms`",
        ));
    }
    let time_only = Measuring { warmup: None, ..Measuring::default() };
    match around(arguments, &time_only)?.given() {
        None => Ok(()),
        Some(option) => Err(only_for_commands(option)),
    }
}

/// Refuses an option of commands for workloads.
pub(super) fn only_for_commands(option: &str) -> Failure {
    Failure::usage(
        format!("{option} belongs to a command, and workloads are measured"),
        "name a command: `faultline run -- ./prog`, or `faultline compare './old' './new'`",
    )
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// Runs an experiment with its progress, and shows its conclusion; `None` if it was stopped. Fails
/// if the experiment fails, or its output cannot be written.
pub(super) fn conduct(
    conduct: &Conduct,
    places: &Places,
    experiment: impl FnOnce(&mut Lab<'_>) -> Result<Measured, Error>,
) -> Result<Option<Conclusion>, Failure> {
    let measured = with_lab(conduct, places, |lab| Ok(experiment(lab)?))?;
    conclude(measured, conduct)
}

/// Runs `body`, which measures, with its progress. Fails if `body` does, or if database or output
/// cannot be written.
pub(super) fn with_lab<T>(
    conduct: &Conduct,
    places: &Places,
    body: impl FnOnce(&mut Lab<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(path) = &conduct.output {
        result::form_of_file(path)?;
        output::check_file(path)?;
    }
    faultline_experiment::check_writable(places)?;
    observed(Shown::new(conduct.quiet), places, body)
}

/// Runs `body`, which measures nothing and may be stopped. Fails if `body` does.
pub(super) fn looking<T>(places: &Places, body: impl FnOnce(&mut Lab<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    observed(Shown::of_looking(), places, body)
}

fn observed<T>(
    mut shown: Shown,
    places: &Places,
    body: impl FnOnce(&mut Lab<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let stop = output::stop_flag()?;
    let clock = SystemClock::default();
    let mut lab = Lab { places, machines: &LocalMachines, clock: &clock, stop: &stop, observer: &mut shown };
    body(&mut lab)
}

/// Shows the conclusion of an experiment; `None` if it was stopped, which is reported. Fails if the
/// output cannot be written.
pub(super) fn conclude(measured: Measured, conduct: &Conduct) -> Result<Option<Conclusion>, Failure> {
    conclude_in(Detail::Whole, measured, conduct)
}

/// As [`conclude`], with this detail.
pub(super) fn conclude_in(
    detail: Detail,
    measured: Measured,
    conduct: &Conduct,
) -> Result<Option<Conclusion>, Failure> {
    match measured {
        Measured::Concluded(conclusion) => {
            show(&conclusion, detail, conduct)?;
            Ok(Some(*conclusion))
        }
        Measured::Stopped { run } => {
            failure::warn(&format!("stopped; everything measured is saved as run {run}"));
            failure::warn(&format!("hint: `faultline resume {run}` continues"));
            Ok(None)
        }
    }
}

/// Shows the result, its place in the database, and the gates.
fn show(conclusion: &Conclusion, detail: Detail, conduct: &Conduct) -> Result<(), Failure> {
    // The file comes first, and its failure last: a full standard output must not prevent the file,
    // nor the reverse.
    let file = conduct.output.as_deref().map_or(Ok(()), |path| result::write(conclusion, path, None));
    output::print(&result::detailed(conclusion, conduct.format, detail, &output::style()))?;
    if !conduct.quiet {
        failure::warn(&format!("saved as run {} in {}", conclusion.run(), conclusion.database));
    }
    // Gates go to standard error: standard output holds the run's figures.
    for report in &conclusion.gates {
        failure::warn(&faultline_report::budget_table(report, Format::Table, &output::style()).trim_end());
    }
    match conclusion.gate() {
        Some(AppliedGate::Comparison(gate)) => {
            failure::warn(&faultline_report::comparison_gate(&gate, &output::style()).trim_end());
        }
        Some(AppliedGate::Search { gate, search }) => {
            failure::warn(&faultline_report::bisect_gate(&gate, search, &output::style()).trim_end());
        }
        None => {}
    }
    file
}

/// The exit status of a run: stopped, something failed, or success.
pub(super) fn status(conclusion: Option<&Conclusion>) -> ExitCode {
    match conclusion {
        None => failure::stopped(),
        Some(conclusion) if !conclusion.is_well() => failure::some_failed(),
        Some(_) => ExitCode::SUCCESS,
    }
}
