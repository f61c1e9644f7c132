//! Where things are: the database, the workloads' programs, scratch space.

use crate::arguments::{Conduct, OnMachine, WorkloadsPlace};
use crate::failure::Failure;
use etcetera::BaseStrategy;
use faultline_model::machine::{Guest, Machine};
use faultline_store::Store;
use faultline_targets::host::{Host, HostPaths};
use faultline_targets::qemu::{Emulator, GuestPaths, KernelImage, MachineRequest, QemuMachine};
use faultline_targets::{StopFlag, Target};
use std::path::{Path, PathBuf};

/// The database: the one named, or `faultline/faultline.sqlite` in the user's data directory.
pub(crate) fn database(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let directory = data_directory()
        .map_err(|_| Failure::new("there is no home directory for the database", "`--db FILE` names one"))?;
    Ok(directory.join("faultline.sqlite"))
}

/// Where what is measured is kept.
pub(crate) fn data_directory() -> Result<PathBuf, Failure> {
    let strategy = etcetera::choose_base_strategy()
        .map_err(|_| Failure::new("there is no home directory for data", "set HOME, or XDG_DATA_HOME"))?;
    Ok(strategy.data_dir().join("faultline"))
}

/// A directory of ours, beside the command.
pub(crate) fn own_part(name: &str) -> Option<PathBuf> {
    beside(&own_program().ok()?, name)
}

/// This host as far as programs under the lens need it: no workloads.
pub(crate) struct LensHost {
    /// For its facts.
    pub(crate) target: Host,
    /// Our own program.
    pub(crate) keeper: PathBuf,
    /// For scratch files.
    pub(crate) scratch: PathBuf,
}

/// This host for a program under the lens.
pub(crate) fn host_for_lens(conduct: &Conduct) -> Result<LensHost, Failure> {
    let keeper = own_program()?;
    let scratch = usable_scratch(conduct.scratch.as_deref())?;
    let workloads = own_part("workloads").unwrap_or_default();
    let target = Host::new(HostPaths { workloads, scratch: scratch.clone(), keeper: keeper.clone() });
    Ok(LensHost { target, keeper, scratch })
}

/// This host, nothing of which is to be run.
pub(crate) fn bare_host() -> Result<Host, Failure> {
    Ok(Host::new(HostPaths { workloads: PathBuf::new(), scratch: std::env::temp_dir(), keeper: own_program()? }))
}

/// Opens the database, which has to be there.
pub(crate) fn existing_store(named: Option<&Path>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&database(named)?)?)
}

/// A machine with what is needed to use it, and how it is saved with a run.
pub(crate) struct Place {
    /// The machine.
    pub(crate) target: Box<dyn Target>,
    /// What it is, with all that was left open filled in: it leads to the same machine again.
    pub(crate) machine: Machine,
}

/// The machine asked for, booted if it is a guest.
pub(crate) fn place(
    machine: &OnMachine,
    place: &WorkloadsPlace,
    scratch: Option<&Path>,
    stop: &StopFlag,
) -> Result<Place, Failure> {
    match &machine.on {
        None | Some(Machine::Host) => Ok(Place { target: Box::new(host(place, scratch)?), machine: Machine::Host }),
        Some(Machine::Qemu(guest)) => qemu(guest, place, scratch, stop),
    }
}

/// A guest; its kernel's path is saved in full.
fn qemu(guest: &Guest, place: &WorkloadsPlace, scratch: Option<&Path>, stop: &StopFlag) -> Result<Place, Failure> {
    let emulator = Emulator::find().map_err(Failure::from_target_as_usage)?;
    let kernel = KernelImage::open(guest.kernel.as_deref())?;
    let machine = Machine::Qemu(Guest { kernel: Some(kernel.path.clone()), ..guest.clone() });
    // What is saved has to lead to the same machine.
    if machine.to_string().parse() != Ok(machine.clone()) {
        return Err(Failure::usage(
            format!("the name of the kernel image {} can't be written in `--on`", kernel.path.display()),
            "give it a name without commas, in UTF-8",
        ));
    }
    let paths = guest_paths(place, scratch)?;
    let request = MachineRequest {
        shape: guest.shape,
        kernel,
        accelerator: guest.accelerator,
        boot_limit: guest.boot_limit,
        parameters: guest.parameters.clone(),
    };
    let target = QemuMachine::start(request, paths, emulator, stop).map_err(|error| match stop.is_set() {
        true => Failure::stopped(),
        false => error.into(),
    })?;
    Ok(Place { target: Box::new(target), machine })
}

/// Our own program, and the directory for scratch files.
pub(crate) fn keeper_and_scratch(scratch: Option<&Path>) -> Result<(PathBuf, PathBuf), Failure> {
    Ok((own_program()?, usable_scratch(scratch)?))
}

/// The workloads' sources, where the command stands in the tree it was built in: `target/debug/faultline` beside `workloads`.
pub(crate) fn workload_sources() -> Option<PathBuf> {
    let program = own_program().ok()?;
    let sources =
        program.ancestors().map(|above| above.join("workloads")).find(|there| there.join("Makefile").is_file())?;
    sources.join("harness").is_dir().then_some(sources)
}

/// Where a guest's parts are on this host.
pub(crate) fn guest_paths(place: &WorkloadsPlace, scratch: Option<&Path>) -> Result<GuestPaths, Failure> {
    let keeper = own_program()?;
    let guest = match &place.guest {
        Some(directory) => directory.to_owned(),
        None => beside(&keeper, "guest").ok_or_else(|| {
            Failure::new(
                "what guests are made of is not beside the command",
                "`make guest` builds it; `--guest DIR` says where it is",
            )
        })?,
    };
    let strategy = etcetera::choose_base_strategy()
        .map_err(|_| Failure::new("there is no home directory for caches", "set HOME, or XDG_CACHE_HOME"))?;
    let cache = strategy.cache_dir().join("faultline");
    // Of the host there are facts to be read; its own workloads may be missing.
    let workloads = place.workloads.clone().or_else(|| beside(&keeper, "workloads")).unwrap_or_default();
    Ok(GuestPaths { guest, host: HostPaths { workloads, scratch: usable_scratch(scratch)?, keeper }, cache })
}

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find our own program: {error}"), "call it by its full path"))
}

/// This host, with the workloads named, or those beside the command: `../workloads` in a build tree,
/// `../libexec/faultline/workloads` once installed.
pub(crate) fn host(place: &WorkloadsPlace, scratch: Option<&Path>) -> Result<Host, Failure> {
    let keeper = own_program()?;
    let workloads = match &place.workloads {
        Some(directory) => directory.to_owned(),
        None => beside(&keeper, "workloads").ok_or_else(|| {
            Failure::new(
                "the workloads' programs are not beside the command",
                "`make build` builds them; `--workloads DIR` says where they are",
            )
        })?,
    };
    Ok(Host::new(HostPaths { workloads, scratch: usable_scratch(scratch)?, keeper }))
}

/// The directory for scratch files, which can be written.
fn usable_scratch(scratch: Option<&Path>) -> Result<PathBuf, Failure> {
    let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_owned);
    if !scratch.is_dir() {
        return Err(Failure::usage(
            format!("there is no directory {} for scratch files", scratch.display()),
            "`--scratch DIR` takes a directory that is there, with room for copies of programs",
        ));
    }
    // Every execution would fail for it, and each would be final.
    tempfile::tempdir_in(&scratch).map_err(|error| {
        let reason = error.raw_os_error().map_or(error, std::io::Error::from_raw_os_error);
        Failure::new(
            format!("cannot make scratch files in {}: {reason}", scratch.display()),
            "`--scratch DIR` takes a directory that you can write, with room for copies of programs",
        )
    })?;
    Ok(scratch)
}

fn beside(program: &Path, name: &str) -> Option<PathBuf> {
    let above = program.parent()?.parent()?;
    let candidates = [above.join(name), above.join("libexec/faultline").join(name)];
    candidates.into_iter().find(|candidate| candidate.is_dir())
}
