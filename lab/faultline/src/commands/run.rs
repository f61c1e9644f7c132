//! `faultline run`: from arguments to a plan that is saved and run.

use super::measure;
use crate::arguments::measuring::Measuring;
use crate::arguments::{Conduct, Run};
use crate::failure::Failure;
use crate::places;
use faultline_model::machine::Machine;
use faultline_model::plan::{GivenTree, PinPolicy};
use faultline_model::subject::Subject;
use faultline_runner::{Request, plan};
use faultline_store::{MeasuringLock, NewRun, Store};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub(crate) fn run(arguments: &Run, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let request = request(arguments)?;
    check_tree(arguments)?;
    let stop = measure::stop_on_signals()?;
    measure::put_back_leftovers()?;
    let place = places::place(&arguments.machine, &conduct.place, conduct.scratch.as_deref(), &stop)?;
    let target = place.target.as_ref();
    let workloads = target.workloads()?;
    let seed = arguments.measuring.seed.unwrap_or_else(measure::any_seed);
    let boot_ms = millis(target.overhead());
    let request = Request { boot_ms, ..request };
    let plan = plan(&request, &workloads, target.cpus().len() as u32, seed)?;

    let path = places::database(db)?;
    let mut store = Store::open_or_create(&path)?;
    let _lock = MeasuringLock::take(&path)?;
    let session = measure::session(&[target]);
    let subjects = [Subject::as_is(place.machine)];
    let new = NewRun {
        label: arguments.label.as_deref(),
        settings: &plan.settings,
        subjects: &subjects,
        workloads: &workloads,
        plan: &plan.items,
        session: &session,
    };
    let run = store.begin_run(&new)?;
    measure::measure(&mut store, run, target, conduct, &stop, None)
}

fn request(arguments: &Run) -> Result<Request, Failure> {
    Ok(Request {
        workloads: arguments.workloads_chosen.clone(),
        copies: arguments.copies,
        tree: tree(arguments)?,
        ..measuring(&arguments.measuring, &arguments.conduct)
    })
}

/// What is asked of measuring, whatever is measured.
pub(super) fn measuring(measuring: &Measuring, conduct: &Conduct) -> Request {
    Request {
        suite: measuring.suite.map(Into::into),
        cpus: measuring.cpus.clone(),
        repeats: measuring.repeats,
        budget_ms: measuring.time.map(millis),
        limit_ms: conduct.limit_ms(),
        warmup_ms: measuring.warmup.map(millis),
        window_ms: measuring.window.map(millis),
        interval_ms: measuring.interval.map(millis),
        pin: Some(measuring.pin.map_or(default_pin(), Into::into)),
        mode: measuring.mode.map(Into::into),
        oversubscribe: measuring.oversubscribe,
        size: measuring.size,
        ..Request::default()
    }
}

/// A tree of the user's is on this host alone.
fn check_tree(arguments: &Run) -> Result<(), Failure> {
    match (&arguments.tree, &arguments.machine.on) {
        (Some(directory), Some(Machine::Qemu(_))) => Err(Failure::usage(
            format!("the tree {} is not in a guest", directory.display()),
            "build it on this host, without `--on`",
        )),
        _ => Ok(()),
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// OpenBSD has no way to bind a task to a CPU.
fn default_pin() -> PinPolicy {
    if cfg!(target_os = "openbsd") { PinPolicy::None } else { PinPolicy::Each }
}

fn tree(arguments: &Run) -> Result<Option<GivenTree>, Failure> {
    let (Some(directory), Some(command)) = (&arguments.tree, &arguments.command) else { return Ok(None) };
    let directory = directory.canonicalize().map_err(|error| {
        Failure::usage(
            format!("cannot use the tree {}: {error}", directory.display()),
            "`--tree` takes a directory with sources",
        )
    })?;
    let Some(directory) = directory.to_str() else {
        return Err(Failure::usage(
            format!("the tree's name {} is not UTF-8 text", directory.display()),
            "give it another name: it is saved with the run, as text",
        ));
    };
    let words = shell_words::split(command).map_err(|error| {
        Failure::usage(format!("cannot split the command '{command}' into words: {error}"), "quote it as for a shell")
    })?;
    if words.is_empty() {
        return Err(Failure::usage("the command is empty", "for example `--command 'make -j{jobs}'`"));
    }
    Ok(Some(GivenTree { directory: directory.to_owned(), command: words }))
}
