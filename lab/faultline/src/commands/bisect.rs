//! `faultline bisect` and `try`: builds of commits, compared.

use super::building::{given_of_builds, recipe};
use super::compare;
use super::history::steps::{notify, numbered, only, with_steps};
use super::history::{limited, settings, trusted};
use super::lens::modelled;
use super::measuring::{self, places_to_count, places_to_measure};
use crate::arguments::Global;
use crate::arguments::bisect::{Bisect, Guest, Try};
use crate::arguments::measure::Measuring;
use crate::arguments::values::Tasks;
use crate::failure::Failure;
use faultline_experiment::lens::{BuildsRequest, KernelsRequest, ModelRequest};
use faultline_experiment::{Places, USUAL_LEVEL, hosts};
use faultline_history::bisect::{BisectRequest, StepSearch, bisect_step};
use faultline_history::request::{LineRequest, MeasureRequest, Wanted};
use faultline_history::try_patches::TryRequest;
use faultline_history::two_builds::TwoBuilds;
use faultline_record::artefact::{Artefact, BuiltKernel};
use faultline_record::direction::Effect;
use faultline_record::machine::{Accelerator, ControlledHost};
use faultline_record::plan::{PinPolicy, USUAL_MARGIN};
use faultline_record::quantity::Quantity;
use faultline_record::recipe::{Recipe, is_within_build};
use faultline_record::relink::LayoutKind;
use faultline_record::setup::Setup;
use faultline_stats::history::{HistorySeries, HistoryStep};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Default number of tasks of a kernel.
const USUAL_TASKS: u32 = 1;

pub(crate) fn bisect(arguments: &Bisect, global: &Global) -> Result<ExitCode, Failure> {
    let conduct = &arguments.conduct;
    let Some((old, new)) = ends(arguments)? else { return of_subject(arguments, global) };
    let sandboxing = arguments.building.sandbox.choice();
    let places = Places { sandboxing, ..places_to_count(conduct, &arguments.model, global)? };
    let mut request = request(arguments, old, new)?;
    request.line.on = host(arguments, &places)?;
    let concluded = measuring::conduct(conduct, &places, |lab| faultline_history::bisect::bisect(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

/// The old and the new commit; `None` for a subject. Fails for one commit, and for a range without
/// anything to measure.
fn ends(arguments: &Bisect) -> Result<Option<(&str, &str)>, Failure> {
    let old = arguments.old.as_str();
    let is_measured = !arguments.command.is_empty() || arguments.kernel.image.is_some();
    let range = old.split_once("..").filter(|(from, to)| !from.is_empty() && !to.starts_with('.'));
    let hint = "for example `faultline bisect v1.4 HEAD --build make -- ./prog`";
    match (&arguments.new, range) {
        (Some(new), _) => Ok(Some((old, new.as_str()))),
        (None, Some((from, to))) if is_measured => Ok(Some((from, if to.is_empty() { "HEAD" } else { to }))),
        (None, Some(_)) => Err(Failure::usage("there is no command to measure", hint)),
        (None, None) if is_measured => Err(Failure::usage("a search needs an old and a new commit", hint)),
        (None, None) => Ok(None),
    }
}

fn request(arguments: &Bisect, old: &str, new: &str) -> Result<BisectRequest, Failure> {
    let (artefact, measure) = match kernel(arguments)? {
        Some(kernel) => (kernel, count_on_kernel(arguments)?),
        None => (Artefact::Command(arguments.command.clone()), measure(arguments)?),
    };
    let wanted = Wanted {
        level: arguments.level,
        least: arguments.least,
        thorough: arguments.thorough,
        layouts: arguments.layouts.unwrap_or(0),
    };
    Ok(BisectRequest {
        line: LineRequest {
            repository: arguments.building.repository.clone(),
            work: arguments.building.work.clone(),
            releases: Vec::new(),
            recipe: kept(recipe(&arguments.building)?, &artefact),
            artefact,
            on: None,
            release_file: None,
            layout_kind: layout_kind(arguments)?,
            limit_ms: arguments.conduct.limit_ms(),
            seed: arguments.seed,
        },
        old: old.to_owned(),
        new: new.to_owned(),
        search: measure.search(wanted, arguments.repeats.or(arguments.seeds)),
        also: Vec::new(),
        measure,
        label: arguments.label.clone(),
        time: arguments.time,
        gate: arguments.gate.when_inconclusive(),
        revert: arguments.revert,
    })
}

/// The SSH host for measuring time, if one is given. Fails for other machines, for other measures
/// than the time of a program, or for an invalid faultline.toml.
fn host(arguments: &Bisect, places: &Places) -> Result<Option<ControlledHost>, Failure> {
    let Some(on) = arguments.on.as_ref().filter(|on| !on.is_host()) else { return Ok(None) };
    let named = on.ssh_host().ok_or_else(|| {
        Failure::usage(
            "--on takes a host over SSH, for example `ssh:lab`",
            "`--by transfers` and `--by instructions` count in guests; a kernel is `--image`",
        )
    })?;
    if arguments.by.is_some_and(Quantity::is_counted) || arguments.kernel.image.is_some() {
        return Err(Failure::usage(
            "--on applies only to executions of programs",
            "the lens counts in guests on this machine; kernels are installed on a host by `faultline history`",
        ));
    }
    Ok(Some(hosts::of_search(named, places)?))
}

/// The random choice of layouts. Fails if nothing about them is random.
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

/// The measure of a command. Fails for options that do not apply to it.
fn measure(arguments: &Bisect) -> Result<MeasureRequest, Failure> {
    let builds = builds(&arguments.guest, arguments.tasks, modelled(&arguments.model));
    let what = arguments.by.unwrap_or_default();
    let word = what.word();
    if !what.is_counted() {
        if (BuildsRequest { threads: None, ..builds.clone() }) != BuildsRequest::default() {
            return Err(Failure::usage(
                format!("options of guests and of the modelled machine do not apply to {word}"),
                "`--by transfers` or `--by instructions` counts in guests",
            ));
        }
        if arguments.seeds.is_some() {
            return Err(Failure::usage(
                format!("--seeds does not apply to {word}"),
                "`--repeats` takes the maximum number of executions of a commit",
            ));
        }
        let pin = arguments.pin.map_or(PinPolicy::Each, Into::into);
        return Ok(MeasureRequest::Executions { quantity: arguments.by, pin, tasks: arguments.tasks.unwrap_or(1) });
    }
    let only_for_time = [
        ("--repeats", arguments.repeats.is_some(), "`--seeds` takes the number of executions, each with another seed"),
        ("--pin", arguments.pin.is_some(), "a guest has a CPU for each task"),
    ];
    match only_for_time.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((option, _, why)) => Err(Failure::usage(format!("{option} does not apply to {word}"), why)),
        None => Ok(MeasureRequest::Count { what, request: Box::new(builds) }),
    }
}

/// The settings of the lens for programs of commits.
pub(super) fn builds(guest: &Guest, threads: Option<u32>, model: ModelRequest) -> BuildsRequest {
    BuildsRequest {
        threads,
        whole: guest.whole,
        with: guest.with.clone(),
        environment: guest.env.clone(),
        kernel_too: guest.kernel_too,
        kernel: guest.kernel.clone(),
        memory_mib: guest.memory,
        model,
    }
}

/// The kernel; `None` if a command is measured. Fails if a path leaves the build.
fn kernel(arguments: &Bisect) -> Result<Option<Artefact>, Failure> {
    let kernel = &arguments.kernel;
    let (Some(image), Some(workload)) = (&kernel.image, &kernel.workload) else { return Ok(None) };
    if let Some(path) = kernel.vmlinux.iter().chain([image]).find(|path| !is_within_build(path)) {
        return Err(Failure::usage(
            format!("'{}' is not a path below the top of a build", path.escape_debug()),
            "write it like arch/x86/boot/bzImage",
        ));
    }
    Ok(Some(Artefact::Kernel(Box::new(BuiltKernel {
        accelerator: Accelerator::default(),
        image: image.clone(),
        vmlinux: kernel.vmlinux.clone(),
        workload: workload.clone(),
        mode: kernel.mode.map(Into::into),
    }))))
}

/// The recipe, which also keeps the files of a kernel.
fn kept(recipe: Recipe, artefact: &Artefact) -> Recipe {
    let booted = artefact.kernel().into_iter().flat_map(|kernel| kernel.vmlinux.iter().chain([&kernel.image]));
    let booted: Vec<String> = booted.filter(|path| !recipe.kept.contains(path)).cloned().collect();
    Recipe { kept: [recipe.kept, booted].concat(), ..recipe }
}

/// The measure of a kernel. Fails for options of programs.
fn count_on_kernel(arguments: &Bisect) -> Result<MeasureRequest, Failure> {
    let what = arguments.by.unwrap_or_default();
    if !what.is_counted() {
        return Err(Failure::usage(
            "the time of kernels is not measured here",
            "add `--by transfers` or `--by instructions`; a subject of faultline.toml with `measure = \"time\"` boots them and measures time",
        ));
    }
    let guest = &arguments.guest;
    let of_programs = [
        ("--whole", guest.whole),
        ("--kernel-too", guest.kernel_too),
        ("--with", !guest.with.is_empty()),
        ("--env", !guest.env.is_empty()),
        ("--kernel", guest.kernel.is_some()),
        ("--repeats", arguments.repeats.is_some()),
        ("--pin", arguments.pin.is_some()),
    ];
    if let Some((option, _)) = of_programs.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(
            format!("{option} does not apply to kernels"),
            "a workload runs on the kernel: `--workload`, `--tasks`, `--mode` and `--ops` describe it",
        ));
    }
    let request = KernelsRequest {
        cpus: arguments.tasks.unwrap_or(USUAL_TASKS),
        operations: arguments.kernel.ops,
        memory_mib: guest.memory,
        model: modelled(&arguments.model),
    };
    Ok(MeasureRequest::CountOnKernel { what, request: Box::new(request) })
}

/// Searches the commits of a step in a declared history.
fn of_subject(arguments: &Bisect, global: &Global) -> Result<ExitCode, Failure> {
    refuse_options_of_commits(arguments)?;
    let conduct = &arguments.conduct;
    let of = &arguments.subject;
    let sandboxing = arguments.building.sandbox.choice();
    let places = Places { sandboxing, ..places_to_measure(conduct, global)? };
    let declared = trusted(&of.config, &places)?;
    let subject = declared.one(&arguments.old)?;
    let mut subject = limited(subject, conduct);
    subject.line.seed = arguments.seed.or(subject.line.seed);
    let mut found = with_steps(&subject, arguments.tasks, &of.steps, &places)?;
    let (over, series) = if of.step.is_some() { only(found)? } else { found.swap_remove(0) };
    let Bisect { level, least, thorough, revert, .. } = *arguments;
    let search = StepSearch {
        over,
        series: &series,
        step: step(&series, of.step)?,
        wanted: Wanted { level, least, thorough, layouts: arguments.layouts.unwrap_or(subject.layouts) },
        time: arguments.time,
        revert,
        gate: arguments.gate.when_inconclusive(),
        label: arguments.label.clone(),
    };
    measuring::with_lab(conduct, &places, |lab| {
        let measured = bisect_step(&search, lab)?;
        let concluded = measuring::conclude(measured, conduct)?;
        if concluded.is_some() {
            notify(&declared, &over, &settings(&of.steps), lab)?;
        }
        Ok(measuring::status(concluded.as_ref()))
    })
}

/// The step of that number; by default the newest for the worse, otherwise the newest. Fails if
/// there are fewer.
fn step(series: &HistorySeries, number: Option<u32>) -> Result<&HistoryStep, Failure> {
    let steps = &series.steps.steps;
    let newest = || steps.iter().rfind(|step| step.effect == Effect::Worse).or(steps.last());
    match (number, newest()) {
        (None, Some(step)) => Ok(step),
        (number, _) => numbered(series, number.unwrap_or(1)),
    }
}

/// Fails if an option is given that faultline.toml decides for a subject.
fn refuse_options_of_commits(arguments: &Bisect) -> Result<(), Failure> {
    let options = [
        ("--by", arguments.by.is_some()),
        ("--on", arguments.on.is_some()),
        ("--repeats", arguments.repeats.is_some()),
        ("--seeds", arguments.seeds.is_some()),
        ("--pin", arguments.pin.is_some()),
        ("--mode", arguments.kernel.mode.is_some()),
        ("--ops", arguments.kernel.ops.is_some()),
    ];
    let of_builds = given_of_builds(&arguments.building, &arguments.guest);
    match options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option).or(of_builds) {
        None => Ok(()),
        Some(option) => Err(Failure::usage(
            format!("{option} does not apply to the subject '{}'", arguments.old),
            "faultline.toml describes how a subject is built and measured; two commits take options: `faultline bisect OLD NEW`",
        )),
    }
}

pub(crate) fn try_patches(arguments: &Try, global: &Global) -> Result<ExitCode, Failure> {
    let request = try_request(arguments)?;
    let sandboxing = arguments.building.sandbox.choice();
    let places = Places { sandboxing, ..places_to_measure(&arguments.conduct, global)? };
    let concluded = measuring::conduct(&arguments.conduct, &places, |lab| {
        faultline_history::try_patches::try_patches(&request, lab)
    })?;
    Ok(measuring::status(concluded.as_ref()))
}

/// The file of a patch; standard input for `-`.
fn file_of(patch: &Path) -> PathBuf {
    if patch == Path::new("-") { PathBuf::from("/dev/stdin") } else { patch.to_owned() }
}

fn try_request(arguments: &Try) -> Result<TryRequest, Failure> {
    let measuring = Measuring {
        tasks: Some(vec![Tasks { copies: None, tasks: arguments.tasks }]),
        repeats: arguments.repeats,
        time: arguments.time,
        pin: arguments.pin,
        ..Measuring::default()
    };
    let builds = TwoBuilds {
        repository: arguments.building.repository.clone(),
        work: arguments.building.work.clone(),
        recipe: recipe(&arguments.building)?,
        setup: Setup { command: arguments.command.clone(), ..Setup::default() },
        quantity: arguments.by,
        level: arguments.certainty.level.unwrap_or(USUAL_LEVEL),
        margin: arguments.certainty.margin.unwrap_or(USUAL_MARGIN),
        once: arguments.certainty.once,
        purpose: compare::purpose(&arguments.gate),
        measuring: measuring::request(&measuring, &arguments.conduct)?,
        seed: arguments.seed,
        label: arguments.label.clone(),
    };
    Ok(TryRequest {
        builds,
        on: arguments.on.clone(),
        patches: arguments.patches.iter().map(|file| file_of(file)).collect(),
    })
}
