//! Start of a machine: from the user's machine to a target that is ready. Each kind of machine has
//! one function here, which finds its parts and makes its paths absolute.

use crate::host::Host;
use crate::qemu::{Emulator, GuestPaths, KernelImage, MachineRequest, Named, QemuMachine};
use crate::ssh::{GvisorMachine, ImageMachine, SshMachine, SshPaths};
use crate::{StopFlag, Target, TargetError};
use faultline_record::machine::{DiskImage, Guest, Gvisor, LoginAt, Machine, SshHost};
use std::io;
use std::path::{Path, PathBuf};

/// A target that is ready, and its machine with all defaults filled in and absolute paths, so that
/// the same machine can be started again.
pub type Started = (Box<dyn Target + Sync>, Machine);

/// Parts of machines on this host, and the caller's errors.
pub trait Parts {
    /// The caller's error.
    type Error;

    /// This host with its workloads. Fails if they are missing.
    fn host(&self) -> Result<Host, Self::Error>;

    /// The parts of guests. Fails if they are missing.
    fn guest_paths(&self) -> Result<GuestPaths, Self::Error>;

    /// The parts that are sent to a host over SSH. Fails if they are missing.
    fn ssh_paths(&self) -> Result<SshPaths, Self::Error>;

    /// The emulator that the user names.
    fn emulator(&self) -> Option<&Path>;

    /// The default kernel of guests, if this machine has none of its own.
    fn kernel(&self) -> Option<&Path>;

    /// The host as declared by the user, or as given. Fails if the declaration cannot be read.
    fn declared(&self, host: &SshHost) -> Result<SshHost, Self::Error>;

    /// The error for a machine that cannot be had as requested.
    fn unavailable(&self, error: TargetError) -> Self::Error;

    /// The error for a machine that failed.
    fn failed(&self, error: TargetError) -> Self::Error;
}

/// Start of one kind of machine.
trait Start {
    /// Starts it. Fails if it is not available, does not start, or on a stop.
    fn start<P: Parts>(&self, parts: &P, stop: &StopFlag) -> Result<Started, P::Error>;
}

macro_rules! dispatch {
    (
        { $($(#[$_plain_doc:meta])* $plain:ident: $_plain_type:path = $_plain_kind:path,)* }
        { $($(#[$_doc:meta])* $name:ident: $_data:path = $_kind:path,)* }
    ) => {
        /// Starts a machine. Fails if it is not available, does not start, or on a stop.
        pub fn start<P: Parts>(machine: &Machine, parts: &P, stop: &StopFlag) -> Result<Started, P::Error> {
            match machine {
                $(Machine::$plain => this_host(machine, parts),)*
                $(Machine::$name(data) => data.start(parts, stop),)*
            }
        }
    };
}

faultline_record::machines!(dispatch);

/// Machines with this host's kernel, programs and files: nothing is to be started.
fn this_host<P: Parts>(machine: &Machine, parts: &P) -> Result<Started, P::Error> {
    Ok((Box::new(parts.host()?), machine.clone()))
}

impl Start for Guest {
    fn start<P: Parts>(&self, parts: &P, stop: &StopFlag) -> Result<Started, P::Error> {
        let emulator = Emulator::find(parts.emulator()).map_err(|error| parts.unavailable(error))?;
        let kernel = kernel_of(self, parts.kernel()).map_err(|error| parts.unavailable(error))?;
        let machine = Machine::Qemu(Guest { kernel: Some(kernel.path.clone()), ..self.clone() });
        let request = MachineRequest {
            shape: self.shape,
            kernel,
            accelerator: self.accelerator,
            boot_limit: self.boot_limit,
            parameters: self.parameters.clone(),
            named: Named::InOn,
        };
        let target = QemuMachine::start(request, parts.guest_paths()?, emulator, stop);
        Ok((Box::new(target.map_err(|error| parts.failed(error))?), machine))
    }
}

/// The kernel that a guest boots: its own, or the default. `unpacked`: the default of a machine
/// without kernels.
pub fn kernel_of(guest: &Guest, unpacked: Option<&Path>) -> Result<KernelImage, TargetError> {
    guest.kernel.as_deref().map_or_else(|| KernelImage::of_this_machine(unpacked), KernelImage::open)
}

impl Start for SshHost {
    fn start<P: Parts>(&self, parts: &P, stop: &StopFlag) -> Result<Started, P::Error> {
        let host = with_absolute_paths(&parts.declared(self)?, parts)?;
        let target = SshMachine::connect(host.clone(), &parts.ssh_paths()?, stop);
        Ok((Box::new(target.map_err(|error| parts.unavailable(error))?), Machine::Ssh(host)))
    }
}

/// The host with absolute paths.
fn with_absolute_paths<P: Parts>(host: &SshHost, parts: &P) -> Result<SshHost, P::Error> {
    let mut host = host.clone();
    for path in [&mut host.identity, &mut host.config].into_iter().flatten() {
        *path = absolute(path, parts)?;
    }
    Ok(host)
}

impl Start for DiskImage {
    fn start<P: Parts>(&self, parts: &P, stop: &StopFlag) -> Result<Started, P::Error> {
        let emulator = Emulator::find(parts.emulator()).map_err(|error| parts.unavailable(error))?;
        let (file, login) = (absolute(&self.file, parts)?, with_absolute_paths(&self.login, parts)?);
        let mut image = DiskImage { file, login, ..self.clone() };
        if let LoginAt::Serial { password: Some(password) } = &mut image.login_at {
            *password = absolute(password, parts)?;
        }
        let target = ImageMachine::start(image.clone(), parts.ssh_paths()?, emulator, stop);
        Ok((Box::new(target.map_err(|error| parts.unavailable(error))?), Machine::Image(image)))
    }
}

impl Start for Gvisor {
    fn start<P: Parts>(&self, parts: &P, stop: &StopFlag) -> Result<Started, P::Error> {
        let runsc = self.runsc.as_deref().map(|file| absolute(file, parts)).transpose()?;
        let gvisor = Gvisor { runsc, ..self.clone() };
        let target = GvisorMachine::start(&gvisor, &parts.ssh_paths()?, stop);
        Ok((Box::new(target.map_err(|error| parts.unavailable(error))?), Machine::Gvisor(gvisor)))
    }
}

/// An absolute path.
fn absolute<P: Parts>(path: &Path, parts: &P) -> Result<PathBuf, P::Error> {
    std::path::absolute(path).map_err(|error| no_directory(&error, parts))
}

fn no_directory<P: Parts>(error: &io::Error, parts: &P) -> P::Error {
    parts.failed(TargetError {
        problem: format!("cannot determine the working directory: {error}"),
        hint: "change to an existing directory".to_owned(),
    })
}
