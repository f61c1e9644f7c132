//! Ready machines: for workloads, or for counts under the lens.

use crate::error::Error;
use crate::hosts;
use crate::places::Places;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::{Joined, Machine, MachineShape, SshHost};
use faultline_targets::counting::{CountableGuest, CountingMachine, Lens};
use faultline_targets::host::{Host, HostPaths};
use faultline_targets::network::{Hosts, Loopback, Namespaces, Network, Wires};
use faultline_targets::qemu::{
    BareMachine, BareRequest, Emulator, GuestPaths, MachineRequest, QemuMachine, check_network_drivers,
};
use faultline_targets::ssh::SshPaths;
use faultline_targets::start::{self, Parts};
use faultline_targets::{StopFlag, Target, TargetError};
use std::path::Path;

/// Makes machines ready for every kind of run.
pub trait Machines {
    /// The requested machine; a guest is booted. Fails if it is not available or does not boot.
    fn ready(&self, machine: &Machine, places: &Places, stop: &StopFlag) -> Result<ReadyTarget, Error>;

    /// The machine of a partner, which runs on its own thread. Fails like [`Machines::ready`].
    fn ready_partner(
        &self,
        machine: &Machine,
        places: &Places,
        stop: &StopFlag,
    ) -> Result<ReadyTarget<dyn Target + Sync>, Error>;

    /// The network between a measured machine and its partners; `None` if none is needed. Fails if
    /// they cannot be joined.
    fn network(
        &self,
        measured: &Machine,
        partners: &[&Machine],
        places: &Places,
        stop: &StopFlag,
    ) -> Result<Option<Box<dyn Network>>, Error>;

    /// The version of the lens's emulator, as it prints it; boots nothing. Fails if there is no
    /// suitable emulator.
    fn lens_emulator(&self, places: &Places) -> Result<String, Error>;

    /// A booted guest for runs under the lens. Fails if it is not available or does not boot.
    fn ready_guest(
        &self,
        guest: MachineRequest,
        runs: GuestRuns,
        places: &Places,
        stop: &StopFlag,
    ) -> Result<Box<dyn CountableGuest>, Error>;

    /// A machine without Linux's parts under the lens, in its own and further shapes. Fails if it
    /// is not available.
    fn ready_bare(
        &self,
        machine: BareRequest,
        further: &[MachineShape],
        lens: Lens,
        places: &Places,
    ) -> Result<Box<dyn Target>, Error>;
}

/// Programs of a guest under the lens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestRuns {
    /// The workloads.
    Workloads,
    /// Users' programs.
    Programs,
}

/// A ready machine.
pub struct ReadyTarget<T: ?Sized = dyn Target> {
    /// The machine.
    pub target: Box<T>,
    /// The machine with all defaults, from which it can be created again.
    pub machine: Machine,
}

/// This host, guests and disk images in an emulator, gVisor, and hosts over SSH.
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
        let (target, machine) = start::start(machine, &PartsOfPlaces { places, stop }, stop)?;
        Ok(ReadyTarget { target, machine })
    }

    fn network(
        &self,
        measured: &Machine,
        partners: &[&Machine],
        places: &Places,
        stop: &StopFlag,
    ) -> Result<Option<Box<dyn Network>>, Error> {
        let ends = || [measured].into_iter().chain(partners.iter().copied());
        let networks: Vec<Option<Joined>> = ends().map(Machine::joined).collect();
        let Some(joined) = common_network(&networks) else {
            return match partners {
                [] => Ok(None),
                _ => Err(Error::usage(
                    format!("no network joins {measured} and its partners' machines"),
                    "put all ends on `netns`, all on guests (`qemu`), or all on `host` and hosts over SSH",
                )),
            };
        };
        if partners.is_empty() && joined != Joined::Namespaces {
            return Ok(None);
        }
        Ok(Some(match joined {
            Joined::Loopback => Box::new(Loopback),
            Joined::Hosts => Box::new(Hosts),
            Joined::Namespaces => Box::new(
                Namespaces::new(places.paths_for_facts()?, stop).map_err(|error| or_stopped_usage(error, stop))?,
            ),
            Joined::Wires => {
                for guest in ends().filter_map(Machine::guest) {
                    let kernel = start::kernel_of(guest, places.kernel.as_deref()).map_err(Error::target_as_usage)?;
                    check_network_drivers(&kernel).map_err(Error::target_as_usage)?;
                }
                Box::new(Wires { scratch: places.paths_for_facts()?.scratch })
            }
        }))
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

/// Facts about a machine; boots a guest. Fails if the machine is not available.
pub fn facts(machine: &Machine, machines: &dyn Machines, places: &Places) -> Result<Facts, Error> {
    Ok(machines.ready(machine, places, &StopFlag::default())?.target.facts())
}

/// The workloads of a machine. Fails if the machine is not available, or has none.
pub fn workloads(machine: &Machine, machines: &dyn Machines, places: &Places) -> Result<Vec<WorkloadInfo>, Error> {
    let ready = machines.ready(machine, places, &StopFlag::default())?;
    ready.target.workloads().map_err(Error::target_as_usage)
}

/// The workloads of guests. They are static programs, described by running them on this host. Fails
/// if a part of the guest is missing, or if a workload does not describe itself.
pub(crate) fn guest_workloads(places: &Places) -> Result<Vec<WorkloadInfo>, Error> {
    let paths = places.guest_paths()?;
    let host = Host::new(HostPaths { workloads: paths.guest.join("workloads"), ..paths.host });
    host.workloads().map_err(|error| Error::usage(error.problem, "`make guest` builds the workloads of guests"))
}

/// The memory of a machine, if it is known.
pub(crate) fn memory_bytes(target: &dyn Target) -> Option<u64> {
    target.facts().get_count("memory.total_bytes").and_then(|bytes| u64::try_from(bytes).ok())
}

/// The version of the guests' emulator, as it prints it. Fails if there is none.
pub(crate) fn emulator_version(places: &Places) -> Result<String, Error> {
    let emulator = Emulator::find(places.emulator.as_deref()).map_err(Error::target_as_usage)?;
    Ok(emulator.version().to_owned())
}

/// The network that all ends have in common. Hosts reach this host too.
fn common_network(ends: &[Option<Joined>]) -> Option<Joined> {
    let largest = ends.iter().copied().max()??;
    let has_it =
        |end: &Option<Joined>| *end == Some(largest) || (*end, largest) == (Some(Joined::Loopback), Joined::Hosts);
    ends.iter().all(has_it).then_some(largest)
}

/// The parts of machines that `places` names.
struct PartsOfPlaces<'a> {
    places: &'a Places,
    stop: &'a StopFlag,
}

impl Parts for PartsOfPlaces<'_> {
    type Error = Error;

    fn host(&self) -> Result<Host, Error> {
        self.places.host(self.stop)
    }

    fn guest_paths(&self) -> Result<GuestPaths, Error> {
        self.places.guest_paths()
    }

    fn ssh_paths(&self) -> Result<SshPaths, Error> {
        self.places.ssh_paths()
    }

    fn emulator(&self) -> Option<&Path> {
        self.places.emulator.as_deref()
    }

    fn kernel(&self) -> Option<&Path> {
        self.places.kernel.as_deref()
    }

    fn declared(&self, host: &SshHost) -> Result<SshHost, Error> {
        hosts::resolved(host, self.places)
    }

    fn unavailable(&self, error: TargetError) -> Error {
        or_stopped_usage(error, self.stop)
    }

    fn failed(&self, error: TargetError) -> Error {
        or_stopped(error, self.stop)
    }
}

/// The error of a machine that is not available, or a stop if that is its cause.
fn or_stopped_usage(error: TargetError, stop: &StopFlag) -> Error {
    if stop.is_set() { Error::stopped() } else { Error::target_as_usage(error) }
}

/// The error, or a stop if that is its cause.
pub(crate) fn or_stopped(error: TargetError, stop: &StopFlag) -> Error {
    if stop.is_set() { Error::stopped() } else { error.into() }
}
