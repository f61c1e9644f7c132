//! The requested machine, ready to run workloads.

use crate::error::Error;
use crate::places::Places;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::machine::{Guest, Machine};
use faultline_targets::qemu::{Emulator, KernelImage, MachineRequest, Named, QemuMachine};
use faultline_targets::{StopFlag, Target};

/// Makes machines ready to run workloads.
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
}

/// A machine that is ready.
pub struct ReadyTarget<T: ?Sized = dyn Target> {
    /// The machine.
    pub target: Box<T>,
    /// The machine with all defaults filled in, so that the same machine can be created again.
    pub machine: Machine,
}

/// This host, and guests in an emulator on it.
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
            Machine::Host => Ok(ReadyTarget { target: Box::new(places.host()?), machine: Machine::Host }),
            Machine::Qemu(guest) => qemu(guest, places, stop),
        }
    }
}

/// Facts about a machine; a guest is booted for this. Fails if the machine is not available.
pub fn facts(machine: &Machine, places: &Places) -> Result<Facts, Error> {
    Ok(LocalMachines.ready(machine, places, &StopFlag::default())?.target.facts())
}

/// The workloads of a machine, as they describe themselves. Fails if the machine is not available, or has none.
pub fn workloads(machine: &Machine, places: &Places) -> Result<Vec<WorkloadInfo>, Error> {
    let ready = LocalMachines.ready(machine, places, &StopFlag::default())?;
    ready.target.workloads().map_err(Error::target_as_usage)
}

/// The memory of a machine, if it is known.
pub(crate) fn memory_bytes(target: &dyn Target) -> Option<u64> {
    target.facts().get_count("memory.total_bytes").and_then(|bytes| u64::try_from(bytes).ok())
}

/// A guest; its kernel's path is saved in full.
fn qemu(guest: &Guest, places: &Places, stop: &StopFlag) -> Result<ReadyTarget<dyn Target + Sync>, Error> {
    let emulator = Emulator::find(places.emulator.as_deref()).map_err(Error::target_as_usage)?;
    let kernel = KernelImage::open(guest.kernel.as_deref()).map_err(Error::target_as_usage)?;
    let machine = Machine::Qemu(Guest { kernel: Some(kernel.path.clone()), ..guest.clone() });
    // The saved text must lead to the same machine.
    if machine.to_string().parse() != Ok(machine.clone()) {
        return Err(Error::usage(
            format!("the name of the kernel image {} can't be written in `--on`", kernel.path.display()),
            "give it a name without commas, in UTF-8",
        ));
    }
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

/// The error, or a stop if that is its cause.
pub(crate) fn or_stopped(error: faultline_targets::TargetError, stop: &StopFlag) -> Error {
    if stop.is_set() { Error::stopped() } else { error.into() }
}
