//! `faultline bisect`

mod kernel;

use super::lens::under::modelled;
use super::{building, measuring, present};
use crate::arguments::bisect::{Bisect, Measure};
use crate::failure::Failure;
use crate::places;
use faultline_experiment::lens::BuildsRequest;
use faultline_experiment::{Places, hosts};
use faultline_history::bisect::BisectRequest;
use faultline_history::measure::{MeasureRequest, Wanted};
use faultline_model::artefact::Artefact;
use faultline_model::count::Count;
use faultline_model::line_host::LineHost;
use faultline_model::machine::Machine;
use faultline_model::plan::PinPolicy;
use faultline_model::relink::LayoutKind;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn bisect(arguments: &Bisect, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    if conduct.output.is_some() {
        return Err(present::no_page());
    }
    let places = places::for_lens(conduct, &arguments.model, db)?;
    let request = BisectRequest { on: host(arguments, &places)?, ..request(arguments)? };
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_history::bisect::bisect(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

fn request(arguments: &Bisect) -> Result<BisectRequest, Failure> {
    let (artefact, measure) = match kernel::artefact(arguments)? {
        Some(kernel) => (kernel, kernel::measure(arguments)?),
        None => (Artefact::Command(arguments.command.clone()), measure(arguments)?),
    };
    let wanted = Wanted {
        level: arguments.level,
        least: arguments.least,
        thorough: arguments.thorough,
        layouts: arguments.layouts.unwrap_or(0),
    };
    Ok(BisectRequest {
        repository: arguments.building.repository.clone(),
        work: arguments.building.work.clone(),
        releases: Vec::new(),
        old: arguments.old.clone(),
        new: arguments.new.clone(),
        recipe: kernel::kept(building::recipe(&arguments.building)?, &artefact),
        artefact,
        on: None,
        search: measure.search(wanted, arguments.repeats.or(arguments.seeds)),
        layouts: layout_kind(arguments)?,
        measure,
        limit_ms: arguments.conduct.limit_ms(),
        seed: arguments.seed,
        label: arguments.label.clone(),
        gate: arguments.gate.then(|| arguments.inconclusive.into()),
        revert: arguments.revert,
    })
}

/// The host over SSH on which time is measured, if one is named. Fails if it is none, if something else than the time of a program is measured, or if
/// faultline.toml declares something impossible.
fn host(arguments: &Bisect, places: &Places) -> Result<Option<LineHost>, Failure> {
    let named = match &arguments.on {
        None | Some(Machine::Host) => return Ok(None),
        Some(Machine::Ssh(named)) => named,
        Some(Machine::Qemu(_) | Machine::Netns | Machine::Image(_) | Machine::Gvisor(_)) => {
            return Err(Failure::usage(
                "--on takes a host over SSH, for example `ssh:lab`",
                "`--measure transfers` and `--measure instructions` count in guests; a kernel is `--image`",
            ));
        }
    };
    if arguments.measure != Measure::Time || arguments.kernel.image.is_some() {
        return Err(Failure::usage(
            "--on applies only to the time of programs",
            "the lens counts in guests on this machine; kernels are installed on a host by `faultline history`",
        ));
    }
    Ok(Some(hosts::of_search(named, places)?))
}

/// How random layouts are drawn. Fails if nothing about them is random.
fn layout_kind(arguments: &Bisect) -> Result<LayoutKind, Failure> {
    let kind = LayoutKind { order: arguments.layout_order.into(), spacing: arguments.layout_spacing.into() };
    if kind.is_random() {
        return Ok(kind);
    }
    Err(Failure::usage(
        format!(
            "layouts with the order '{}' and the spacing '{}' are all the same",
            kind.order.word(),
            kind.spacing.word()
        ),
        "add `--layout-order random` or `--layout-spacing gap`",
    ))
}

/// What is measured. Fails if options are given that do not apply to it.
fn measure(arguments: &Bisect) -> Result<MeasureRequest, Failure> {
    let builds = builds(arguments);
    let (what, word) = match arguments.measure {
        Measure::Time if builds != BuildsRequest::default() => {
            return Err(Failure::usage(
                "options of guests and of the modelled machine do not apply to time",
                "`--measure transfers` or `--measure instructions` counts in guests",
            ));
        }
        Measure::Time if arguments.seeds.is_some() => {
            return Err(Failure::usage(
                "--seeds does not apply to time",
                "`--repeats` takes the maximum number of executions of a commit",
            ));
        }
        Measure::Time => {
            let pin = arguments.pin.map_or(PinPolicy::Each, Into::into);
            return Ok(MeasureRequest::Time { pin, tasks: arguments.tasks.unwrap_or(1) });
        }
        Measure::Instructions => (Count::Instructions, "instructions"),
        Measure::Transfers => (Count::Transfers, "transfers"),
    };
    let only_for_time = [
        ("--repeats", arguments.repeats.is_some(), "`--seeds` takes the number of executions, each with another seed"),
        ("--tasks", arguments.tasks.is_some(), "`--threads` takes the number of threads"),
        ("--pin", arguments.pin.is_some(), "a guest has a CPU for each thread"),
    ];
    match only_for_time.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, why)) => Err(Failure::usage(format!("{option} does not apply to {word}"), why)),
        None => Ok(MeasureRequest::Count { what, request: Box::new(builds) }),
    }
}

fn builds(arguments: &Bisect) -> BuildsRequest {
    let guest = &arguments.guest;
    BuildsRequest {
        threads: guest.threads,
        whole: guest.whole,
        with: guest.with.clone(),
        environment: guest.env.clone(),
        kernel_too: guest.kernel_too,
        kernel: guest.kernel.clone(),
        memory_mib: guest.memory,
        model: modelled(&arguments.model),
    }
}
