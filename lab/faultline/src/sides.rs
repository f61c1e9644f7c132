//! The machines on which the sides of a live comparison run, with programs, kernels and compilers of their own where they ask for them.

use crate::arguments::{Conduct, OnMachine, WorkloadsPlace};
use crate::failure::Failure;
use crate::places::{self, Place};
use faultline_model::machine::{Guest, Machine};
use faultline_model::setup::{LiveComparison, Setup, SideName};
use faultline_runner::Targets;
use faultline_targets::host::build::{BuildRequest, build_workloads};
use faultline_targets::{StopFlag, Target};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Both sides, ready to run.
pub(crate) struct Sides {
    first: Place,
    second: Option<Place>,
    /// The machine of sides that name none, as it is saved.
    on: Option<String>,
    /// Files of this machine's settings that the sides change.
    host_settings: Vec<String>,
    /// Programs that were built for a side; gone with us.
    _built: Vec<TempDir>,
}

impl Sides {
    /// Where items run.
    pub(crate) fn targets(&self) -> Targets<'_> {
        Targets { first: self.first.target.as_ref(), second: self.second.as_ref().map(|place| place.target.as_ref()) }
    }

    /// A side's machine.
    pub(crate) fn target(&self, side: SideName) -> &dyn Target {
        match (side, &self.second) {
            (SideName::B, Some(second)) => second.target.as_ref(),
            _ => self.first.target.as_ref(),
        }
    }

    /// The machine of sides that name none, as it is saved with a run; none for this host.
    pub(crate) fn on(&self) -> Option<String> {
        self.on.clone()
    }

    /// Files of this machine's settings that the sides change, each once.
    pub(crate) fn host_settings(&self) -> &[String] {
        &self.host_settings
    }

    /// Whether the second side has a machine of its own.
    pub(crate) fn are_two(&self) -> bool {
        self.second.is_some()
    }
}

/// What preparing sides takes beside their setups.
pub(crate) struct Preparing<'a> {
    /// The machine of sides that name none.
    pub(crate) machine: &'a OnMachine,
    /// Where things are.
    pub(crate) conduct: &'a Conduct,
    /// Sources of the workloads, where they were named.
    pub(crate) sources: Option<&'a Path>,
    /// Ends it.
    pub(crate) stop: &'a StopFlag,
}

/// Prepares the machines of both sides. The setups keep what leads to the same machines again.
pub(crate) fn prepare(comparison: &mut LiveComparison, preparing: &Preparing<'_>) -> Result<Sides, Failure> {
    let mut built = Vec::new();
    let mut on = preparing.machine.on.as_ref().filter(|machine| **machine != Machine::Host).map(Machine::to_string);
    let alike = places_alike(&comparison.a.setup, &comparison.b.setup);
    // What no side can be is found out before any is booted or built.
    let machines = [
        checked_machine(&mut comparison.a.setup, preparing.machine)?,
        checked_machine(&mut comparison.b.setup, preparing.machine)?,
    ];
    let host_settings = host_settings(comparison, &machines);
    let mut prepared = |setup: &mut Setup, machine: Option<Machine>| {
        let place = side(setup, machine, preparing, &mut built)?;
        // Found once, the kernel that was meant is named in full.
        match (&setup.on, &setup.kernel) {
            (Some(_), _) => setup.on = Some(place.on.clone().unwrap_or_else(|| Machine::Host.to_string())),
            (None, None) => on.clone_from(&place.on),
            (None, Some(_)) => {}
        }
        Ok::<_, Failure>(place)
    };
    let [machine_a, machine_b] = machines;
    let first = prepared(&mut comparison.a.setup, machine_a)?;
    let second = if alike {
        comparison.b.setup.on.clone_from(&comparison.a.setup.on);
        None
    } else {
        Some(prepared(&mut comparison.b.setup, machine_b)?)
    };
    Ok(Sides { first, second, on, host_settings, _built: built })
}

/// Whether the same machine with the same programs does for both.
fn places_alike(a: &Setup, b: &Setup) -> bool {
    a.on == b.on
        && a.kernel == b.kernel
        && a.programs == b.programs
        && a.compiler == b.compiler
        && a.sources == b.sources
}

fn host_settings(comparison: &LiveComparison, machines: &[Option<Machine>; 2]) -> Vec<String> {
    let on_host = SideName::BOTH.into_iter().zip(machines).filter(|(_, machine)| !is_guest(machine));
    let files = on_host.flat_map(|(side, _)| comparison.side(side).setup.system_files()).map(|(path, _)| path);
    files.collect::<BTreeSet<String>>().into_iter().collect()
}

/// A side's machine; refuses what can't be done there.
fn checked_machine(setup: &mut Setup, usual: &OnMachine) -> Result<Option<Machine>, Failure> {
    let machine = machine(setup, usual)?;
    check(setup, is_guest(&machine))?;
    Ok(machine)
}

fn is_guest(machine: &Option<Machine>) -> bool {
    matches!(machine, Some(Machine::Qemu(_)))
}

fn side(
    setup: &mut Setup,
    machine: Option<Machine>,
    preparing: &Preparing<'_>,
    built: &mut Vec<TempDir>,
) -> Result<Place, Failure> {
    let conduct = preparing.conduct;
    let is_guest = is_guest(&machine);
    let mut place = WorkloadsPlace { workloads: conduct.place.workloads.clone(), guest: conduct.place.guest.clone() };
    if let Some(programs) = &mut setup.programs {
        let directory = absolute(programs, "programs")?;
        *programs = directory.to_string_lossy().into_owned();
        if is_guest { place.guest = Some(directory) } else { place.workloads = Some(directory) }
    }
    if let Some(compiler) = setup.compiler.clone() {
        let directory = build(&compiler, setup, preparing)?;
        place.workloads = Some(directory.path().to_owned());
        built.push(directory);
    }
    places::place(&OnMachine { on: machine }, &place, conduct.scratch.as_deref(), preparing.stop)
}

/// The machine a side asks for, with its kernel; else the one of all.
fn machine(setup: &mut Setup, usual: &OnMachine) -> Result<Option<Machine>, Failure> {
    let mut machine = match &setup.on {
        Some(text) => Some(text.parse::<Machine>().map_err(|problem| {
            Failure::usage(format!("on={text}: {problem}"), "for example `on=qemu:cpus=2,append=mitigations=off`")
        })?),
        None => usual.on.clone(),
    };
    let Some(kernel) = &mut setup.kernel else { return Ok(machine) };
    let path = absolute(kernel, "kernel")?;
    *kernel = path.to_string_lossy().into_owned();
    let guest: Guest = match machine.take() {
        Some(Machine::Qemu(guest)) => Guest { kernel: Some(path), ..guest },
        Some(Machine::Host) | None => {
            return Err(Failure::usage(
                "a kernel image runs in a guest, and this side is on the host",
                "add `on=qemu`, or `--on qemu` for both sides",
            ));
        }
    };
    Ok(Some(Machine::Qemu(guest)))
}

/// Refuses variables that no environment can hold.
fn check_environment(setup: &Setup) -> Result<(), Failure> {
    match setup.environment.iter().find(|(name, _)| name.is_empty() || name.contains(['=', '\0'])) {
        Some((name, _)) => Err(Failure::usage(
            format!("'{name}' is no name for a variable of the environment"),
            "for example `env.MALLOC_ARENA_MAX=1`",
        )),
        None => Ok(()),
    }
}

/// Refuses what can't be together.
fn check(setup: &Setup, is_guest: bool) -> Result<(), Failure> {
    if setup.compiler.is_some() && setup.programs.is_some() {
        return Err(Failure::usage(
            "a side has both programs and a compiler to build them with",
            "give it one of the two",
        ));
    }
    if is_guest && setup.compiler.is_some() {
        return Err(Failure::usage(
            "programs for a guest are not built here",
            "build them (`make -C workloads guest`) and name them: `programs=DIR`",
        ));
    }
    check_environment(setup)?;
    if !is_guest {
        check_settings(setup)?;
    }
    if setup.workload.is_some() && !setup.command.is_empty() {
        return Err(Failure::usage("a side has both a workload and a command", "give it one of the two"));
    }
    if is_guest && !setup.command.is_empty() {
        return Err(Failure::usage("a guest has none of this host's commands", "compare commands on this host"));
    }
    Ok(())
}

/// Refuses settings that this host doesn't have, before anything is measured.
fn check_settings(setup: &Setup) -> Result<(), Failure> {
    let is_setting = |path: &str| {
        let path = Path::new(path);
        let is_below = path.starts_with("/proc/sys") || path.starts_with("/sys");
        is_below && path.is_file() && !path.components().any(|part| part == Component::ParentDir)
    };
    let missing = setup.system_files().find(|(path, _)| !is_setting(path));
    match missing {
        Some((path, _)) => Err(Failure::usage(
            format!("this host has no setting {path}"),
            "`sysctl -a` lists those of the kernel; below /sys there are the files themselves",
        )),
        None => Ok(()),
    }
}

fn absolute(path: &str, what: &str) -> Result<PathBuf, Failure> {
    Path::new(path).canonicalize().map_err(|error| {
        Failure::usage(format!("cannot use {path} for {what}: {error}"), "a variant's paths have to be there")
    })
}

fn build(compiler: &str, setup: &mut Setup, preparing: &Preparing<'_>) -> Result<TempDir, Failure> {
    let sources = match (&setup.sources, preparing.sources) {
        (Some(sources), _) => absolute(sources, "sources")?,
        (None, Some(sources)) => absolute(&sources.to_string_lossy(), "sources")?,
        (None, None) => places::workload_sources().ok_or_else(|| {
            Failure::new(
                "the workloads' sources are not beside the command",
                "`--sources DIR` names the directory `workloads` of Faultline's sources",
            )
        })?,
    };
    // A resume builds from the same.
    setup.sources = Some(sources.to_string_lossy().into_owned());
    let directory = tempfile::Builder::new().prefix("faultline-built-").tempdir().map_err(|error| {
        Failure::new(format!("no directory to build in: {error}"), "set TMPDIR to a directory that you can write")
    })?;
    crate::failure::warn(&format!("building the workloads with {compiler}"));
    let host = places::keeper_and_scratch(preparing.conduct.scratch.as_deref())?;
    let request =
        BuildRequest { sources: &sources, compiler, directory: directory.path(), keeper: &host.0, scratch: &host.1 };
    build_workloads(&request, preparing.stop).map_err(|error| {
        if preparing.stop.is_set() { Failure::stopped() } else { Failure::from_target_as_usage(error) }
    })?;
    Ok(directory)
}
