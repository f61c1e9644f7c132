//! Guests under the lens, as far as workloads and users' programs need them alike: the kernel, and the machines.

use crate::error::Error;
use faultline_model::machine::{Accelerator, Guest, MachineShape, usual_boot_limit};
use faultline_symbols::SymbolError;
use faultline_targets::qemu::{KernelImage, MachineRequest, Named};
use std::path::Path;

/// The named image, or the system's own. Fails if there is none.
pub(super) fn image(named: Option<&Path>) -> Result<KernelImage, Error> {
    KernelImage::open(named).map_err(|error| match named {
        Some(_) => Error::usage(error.problem, "`--kernel` takes a bzImage or a vmlinuz for x86-64 that can be read"),
        None => Error::usage(
            error.problem,
            "install one, for example with `apt-get install linux-image-amd64`, or name one with `--kernel`",
        ),
    })
}

/// The numbers of CPUs, each once, the smallest first.
pub(super) fn each_once(cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut cpus: Vec<u32> = cpus.into_iter().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// A machine for each number of CPUs, the smallest first.
pub(super) fn shapes(cpus: &[u32], sockets: u32, memory_mib: Option<u64>) -> Result<Vec<MachineShape>, Error> {
    each_once(cpus.iter().copied())
        .iter()
        .map(|&cpus| MachineShape::new(cpus, sockets, memory_mib))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::usage(error.problem, error.hint))
}

/// The smallest machine, as it is saved.
pub(super) fn guest(shape: MachineShape, image: &KernelImage, parameters: &[String]) -> Guest {
    Guest {
        shape,
        kernel: Some(image.path.clone()),
        accelerator: Accelerator::Tcg,
        boot_limit: usual_boot_limit(shape.cpus()),
        parameters: parameters.to_vec(),
    }
}

/// The machine that the guest describes, with this kernel.
pub(super) fn machine_request(guest: Guest, kernel: KernelImage) -> MachineRequest {
    let Guest { shape, accelerator, boot_limit, parameters, .. } = guest;
    MachineRequest { shape, kernel, accelerator, boot_limit, parameters, named: Named::ByOptions }
}

pub(super) fn symbols_failed(error: SymbolError) -> Error {
    Error::usage(error.problem, error.hint)
}
