//! The requested machine, ready to run workloads, or to count under the lens.

use crate::error::Error;
use crate::hosts;
use crate::places::Places;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::machine::{DiskImage, Guest, Gvisor, LoginAt, Machine, MachineShape, SshHost};
use faultline_targets::counting::{CountableGuest, CountingMachine, Lens};
use faultline_targets::host::{Host, HostPaths};
use faultline_targets::network::{Hosts, Loopback, Namespaces, Network, Wires};
use faultline_targets::qemu::{
    BareMachine, BareRequest, Emulator, KernelImage, MachineRequest, Named, QemuMachine, check_network_drivers,
};
use faultline_targets::ssh::{GvisorMachine, ImageMachine, SshMachine};
use faultline_targets::{StopFlag, Target};
use std::path::PathBuf;

/// Makes machines ready for every kind of run.
pub trait Machines {
    /// The requested machine; a guest is booted. Fails if it is not available or does not boot.
    fn ready(&self, machine: &Machine, places: &Places, stop: &StopFlag) -> Result<ReadyTarget, Error>;

    /// The same for a partner, which runs on its own thread.
    fn ready_partner(
        &self,
        machine: &Machine,
        places: &Places,
        stop: &StopFlag,
    ) -> Result<ReadyTarget<dyn Target + Sync>, Error>;

    /// What joins a measured machine and those of its partners; `None` if nothing has to be made for that. Fails if they cannot be joined.
    fn network(
        &self,
        measured: &Machine,
        partners: &[&Machine],
        places: &Places,
        stop: &StopFlag,
    ) -> Result<Option<Box<dyn Network>>, Error>;

    /// The version of the emulator for machines under the lens, as the emulator prints it. Nothing is booted. Fails if there is no emulator, or none that
    /// suits the lens.
    fn lens_emulator(&self, places: &Places) -> Result<String, Error>;

    /// A guest for runs under the lens, which is booted. Fails if it is not available or does not boot.
    fn ready_guest(
        &self,
        guest: MachineRequest,
        runs: GuestRuns,
        places: &Places,
        stop: &StopFlag,
    ) -> Result<Box<dyn CountableGuest>, Error>;

    /// A machine that starts by itself, as it is and in each of these further shapes, under the lens. Fails if it is not available.
    fn ready_bare(
        &self,
        machine: BareRequest,
        further: &[MachineShape],
        lens: Lens,
        places: &Places,
    ) -> Result<Box<dyn Target>, Error>;
}

/// What a guest under the lens runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestRuns {
    /// The workloads.
    Workloads,
    /// Users' programs.
    Programs,
}

/// A machine that is ready.
pub struct ReadyTarget<T: ?Sized = dyn Target> {
    /// The machine.
    pub target: Box<T>,
    /// The machine with all defaults filled in, so that the same machine can be created again.
    pub machine: Machine,
}

/// This host, guests and disk images in an emulator on it, gVisor on it, and hosts that it reaches over SSH.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalMachines;

impl Machines for LocalMachines {
    fn ready(&self, machine: &Machine, places: &Places, stop: &StopFlag) -> Result<ReadyTarget, Error> {
        let ReadyTarget { target, machine } = self.ready_partner(machine, places, stop)?;
        Ok(ReadyTarget { target, machine })
    }

    fn ready_partner(
        &self,
        machine: &Machine,
        places: &Places,
        stop: &StopFlag,
    ) -> Result<ReadyTarget<dyn Target + Sync>, Error> {
        match machine {
            Machine::Host | Machine::Netns => {
                Ok(ReadyTarget { target: Box::new(places.host()?), machine: machine.clone() })
            }
            Machine::Qemu(guest) => qemu(guest, places, stop),
            Machine::Ssh(host) => ssh(host, places, stop),
            Machine::Image(asked) => image(asked, places, stop),
            Machine::Gvisor(asked) => gvisor(asked, places, stop),
        }
    }

    fn network(
        &self,
        measured: &Machine,
        partners: &[&Machine],
        places: &Places,
        stop: &StopFlag,
    ) -> Result<Option<Box<dyn Network>>, Error> {
        match measured {
            _ if partners.iter().any(|partner| !are_joinable(measured, partner)) => Err(Error::usage(
                format!("no network joins {measured} and its partners' machines"),
                "put all ends on `netns`, all on guests (`qemu`), or all on `host` and hosts over SSH",
            )),
            Machine::Netns => {
                let made = Namespaces::new(places.paths_for_facts()?, stop);
                Ok(Some(Box::new(made.map_err(|error| or_stopped_usage(error, stop))?)))
            }
            Machine::Host | Machine::Ssh(_)
                if [measured].into_iter().chain(partners.iter().copied()).any(|end| matches!(end, Machine::Ssh(_))) =>
            {
                Ok((!partners.is_empty()).then(|| Box::new(Hosts) as Box<dyn Network>))
            }
            Machine::Host if !partners.is_empty() => Ok(Some(Box::new(Loopback))),
            Machine::Qemu(_) if !partners.is_empty() => {
                for guest in [measured].into_iter().chain(partners.iter().copied()).filter_map(Machine::guest) {
                    check_network_drivers(&kernel_of(guest, places)?).map_err(Error::target_as_usage)?;
                }
                Ok(Some(Box::new(Wires { scratch: places.paths_for_facts()?.scratch })))
            }
            Machine::Host | Machine::Qemu(_) | Machine::Ssh(_) | Machine::Image(_) | Machine::Gvisor(_) => Ok(None),
        }
    }

    fn lens_emulator(&self, places: &Places) -> Result<String, Error> {
        Ok(lens_emulator(places)?.version().to_owned())
    }

    fn ready_guest(
        &self,
        guest: MachineRequest,
        runs: GuestRuns,
        places: &Places,
        stop: &StopFlag,
    ) -> Result<Box<dyn CountableGuest>, Error> {
        let emulator = lens_emulator(places)?;
        let paths = places.guest_paths()?;
        let booted = match runs {
            GuestRuns::Workloads => QemuMachine::start(guest, paths, emulator, stop),
            GuestRuns::Programs => QemuMachine::start_for_programs(guest, paths, emulator, stop),
        };
        Ok(Box::new(booted.map_err(|error| or_stopped(error, stop))?))
    }

    fn ready_bare(
        &self,
        machine: BareRequest,
        further: &[MachineShape],
        lens: Lens,
        places: &Places,
    ) -> Result<Box<dyn Target>, Error> {
        let first = BareMachine::new(machine, places.paths_for_facts()?, lens_emulator(places)?);
        Ok(Box::new(CountingMachine::new(first, further, lens)))
    }
}

/// An emulator for machines under the lens. Fails if there is none.
fn lens_emulator(places: &Places) -> Result<Emulator, Error> {
    let emulator = Emulator::find(places.emulator.as_deref()).map_err(Error::target_as_usage)?;
    emulator.must_suit_the_lens().map_err(Error::target_as_usage)?;
    Ok(emulator)
}

/// Facts about a machine; a guest is booted for this. Fails if the machine is not available.
pub fn facts(machine: &Machine, machines: &dyn Machines, places: &Places) -> Result<Facts, Error> {
    Ok(machines.ready(machine, places, &StopFlag::default())?.target.facts())
}

/// The workloads of a machine, as they describe themselves. Fails if the machine is not available, or has none.
pub fn workloads(machine: &Machine, machines: &dyn Machines, places: &Places) -> Result<Vec<WorkloadInfo>, Error> {
    let ready = machines.ready(machine, places, &StopFlag::default())?;
    ready.target.workloads().map_err(Error::target_as_usage)
}

/// The workloads of guests, as they describe themselves on this host: they are the same programs, and need no library of a guest. Fails if the guest's parts are
/// missing, or if a workload does not describe itself.
pub(crate) fn guest_workloads(places: &Places) -> Result<Vec<WorkloadInfo>, Error> {
    let paths = places.guest_paths()?;
    let host = Host::new(HostPaths { workloads: paths.guest.join("workloads"), ..paths.host });
    host.workloads().map_err(|error| Error::usage(error.problem, "`make guest` builds the workloads of guests"))
}

/// The memory of a machine, if it is known.
pub(crate) fn memory_bytes(target: &dyn Target) -> Option<u64> {
    target.facts().get_count("memory.total_bytes").and_then(|bytes| u64::try_from(bytes).ok())
}

/// The version of the emulator of guests, as it prints it. Fails if there is none.
pub(crate) fn emulator_version(places: &Places) -> Result<String, Error> {
    let emulator = Emulator::find(places.emulator.as_deref()).map_err(Error::target_as_usage)?;
    Ok(emulator.version().to_owned())
}

/// The kernel that a guest boots: its own, or the default.
fn kernel_of(guest: &Guest, places: &Places) -> Result<KernelImage, Error> {
    let default = || KernelImage::of_this_machine(places.kernel.as_deref());
    guest.kernel.as_deref().map_or_else(default, KernelImage::open).map_err(Error::target_as_usage)
}

/// A guest; its kernel's path is saved in full.
fn qemu(guest: &Guest, places: &Places, stop: &StopFlag) -> Result<ReadyTarget<dyn Target + Sync>, Error> {
    let emulator = Emulator::find(places.emulator.as_deref()).map_err(Error::target_as_usage)?;
    let kernel = kernel_of(guest, places)?;
    let machine = Machine::Qemu(Guest { kernel: Some(kernel.path.clone()), ..guest.clone() });
    let paths = places.guest_paths()?;
    let request = MachineRequest {
        shape: guest.shape,
        kernel,
        accelerator: guest.accelerator,
        boot_limit: guest.boot_limit,
        parameters: guest.parameters.clone(),
        named: Named::InOn,
    };
    let target = QemuMachine::start(request, paths, emulator, stop).map_err(|error| or_stopped(error, stop))?;
    Ok(ReadyTarget { target: Box::new(target), machine })
}

/// A host over SSH, which may be declared. What is wrong with it is found out before anything is measured; files are saved with their full paths.
fn ssh(host: &SshHost, places: &Places, stop: &StopFlag) -> Result<ReadyTarget<dyn Target + Sync>, Error> {
    let host = with_full_paths(&hosts::resolved(host, places)?)?;
    let target =
        SshMachine::connect(host.clone(), &places.ssh_paths()?, stop).map_err(|error| or_stopped_usage(error, stop))?;
    Ok(ReadyTarget { target: Box::new(target), machine: Machine::Ssh(host) })
}

/// A disk image; paths are saved in full.
fn image(asked: &DiskImage, places: &Places, stop: &StopFlag) -> Result<ReadyTarget<dyn Target + Sync>, Error> {
    let emulator = Emulator::find(places.emulator.as_deref()).map_err(Error::target_as_usage)?;
    let file = std::path::absolute(&asked.file).map_err(no_directory)?;
    let mut image = DiskImage { file, login: with_full_paths(&asked.login)?, ..asked.clone() };
    if let LoginAt::Serial { password: Some(password) } = &mut image.login_at {
        *password = std::path::absolute(&password).map_err(no_directory)?;
    }
    let target = ImageMachine::start(image.clone(), places.ssh_paths()?, emulator, stop)
        .map_err(|error| or_stopped_usage(error, stop))?;
    Ok(ReadyTarget { target: Box::new(target), machine: Machine::Image(image) })
}

/// gVisor; its program is saved with its full path.
fn gvisor(asked: &Gvisor, places: &Places, stop: &StopFlag) -> Result<ReadyTarget<dyn Target + Sync>, Error> {
    let runsc = asked.runsc.as_ref().map(std::path::absolute).transpose().map_err(no_directory)?;
    let gvisor = Gvisor { runsc, ..asked.clone() };
    let target =
        GvisorMachine::start(&gvisor, &places.ssh_paths()?, stop).map_err(|error| or_stopped_usage(error, stop))?;
    Ok(ReadyTarget { target: Box::new(target), machine: Machine::Gvisor(gvisor) })
}

fn no_directory(error: std::io::Error) -> Error {
    Error::failed(format!("there is no current directory: {error}"), "go to one")
}

fn with_full_paths(host: &SshHost) -> Result<SshHost, Error> {
    let full = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    let mut host = host.clone();
    host.identity = full(&host.identity).map_err(no_directory)?;
    host.config = full(&host.config).map_err(no_directory)?;
    Ok(host)
}

/// Whether there are networks between two such machines.
fn are_joinable(a: &Machine, b: &Machine) -> bool {
    matches!(
        (a, b),
        (Machine::Host | Machine::Ssh(_), Machine::Host | Machine::Ssh(_))
            | (Machine::Netns, Machine::Netns)
            | (Machine::Qemu(_), Machine::Qemu(_))
    )
}

/// The error of a machine that is not available, or a stop if that is its cause.
fn or_stopped_usage(error: faultline_targets::TargetError, stop: &StopFlag) -> Error {
    if stop.is_set() { Error::stopped() } else { Error::target_as_usage(error) }
}

/// The error, or a stop if that is its cause.
pub(crate) fn or_stopped(error: faultline_targets::TargetError, stop: &StopFlag) -> Error {
    if stop.is_set() { Error::stopped() } else { error.into() }
}
