//! Workloads in a guest under the lens.

use super::request::LensKernelRequest;
use super::run::{self, LensRun};
use super::{gates, model};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::Lab;
use crate::observer::{Notice, Observer};
use crate::target::or_stopped;
use faultline_model::machine::{Accelerator, Guest, Machine, MachineShape, usual_boot_limit};
use faultline_model::subject::Subject;
use faultline_runner::lens::{LensRequest, Naming, plan_kernel};
use faultline_symbols::{Image, Kallsyms, SymbolError};
use faultline_targets::Target;
use faultline_targets::counting::{CountingGuest, Lens};
use faultline_targets::qemu::{Emulator, KernelImage, MachineRequest, QemuMachine};
use std::path::Path;
use std::rc::Rc;

/// Boots a kernel on modelled machines, counts its workloads' transfers, and concludes.
pub fn kernel(request: &LensKernelRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let under = &request.under;
    model::check_turns(&under.model)?;
    let machine = model::machine(&under.model, lab.places)?;
    machine.check(&request.cpus).map_err(Error::target_as_usage)?;
    let shapes = shapes(request)?;
    let emulator = Emulator::find().map_err(Error::target_as_usage)?;
    emulator.must_take_plugins().map_err(Error::target_as_usage)?;
    let image = image(request.kernel.as_deref())?;
    let vmlinux = request.vmlinux.as_deref().map(|path| vmlinux(path, lab.observer)).transpose()?;
    let plugin = model::plugin(lab.places)?;
    let baseline = gates::baseline(&under.gates, lab.places)?;
    let paths = lab.places.guest_paths()?;
    let scratch = paths.host.scratch.clone();

    let guest = Guest {
        shape: shapes[0],
        kernel: Some(image.path.clone()),
        accelerator: Accelerator::Tcg,
        boot_limit: usual_boot_limit(shapes[0].cpus()),
        parameters: request.parameters.clone(),
    };
    let boot = MachineRequest {
        shape: guest.shape,
        kernel: image,
        accelerator: guest.accelerator,
        boot_limit: guest.boot_limit,
        parameters: guest.parameters.clone(),
    };
    let subject = Subject::as_is(Machine::Qemu(guest));
    let first = QemuMachine::start(boot, paths, emulator, lab.stop).map_err(|error| or_stopped(error, lab.stop))?;
    let asked = LensRequest {
        workloads: request.workloads.clone(),
        mode: request.mode,
        size: request.size,
        ..run::request(under, request.cpus.clone())
    };
    let workloads = first.workloads()?;
    let plan = plan_kernel(&asked, &workloads)?;
    let symbols = first.symbols(lab.stop).map_err(|error| or_stopped(error, lab.stop))?;
    let lens = Lens { plugin, model: machine, scratch };
    let shapes: Vec<_> = shapes.into_iter().map(|shape| (shape, usual_boot_limit(shape.cpus()))).collect();
    let target = CountingGuest::new(first, &shapes, lens, &symbols);
    let symbols = Kallsyms::new(symbols).map_err(symbols_failed)?;
    let run = LensRun {
        plan: &plan,
        subject: &subject,
        workloads: &workloads,
        target: &target,
        naming: &Naming::Kernel { symbols: Rc::new(symbols), vmlinux: vmlinux.map(Rc::new) },
        under,
        baseline: baseline.as_ref(),
    };
    run.run(lab)
}

/// The image named, or the system's own.
fn image(named: Option<&Path>) -> Result<KernelImage, Error> {
    KernelImage::open(named).map_err(|error| match named {
        Some(_) => Error::usage(error.problem, "`--kernel` takes a bzImage or a vmlinuz for x86-64 that can be read"),
        None => Error::failed(
            error.problem,
            "install one, for example with `apt-get install linux-image-amd64`, or name one with `--kernel`",
        ),
    })
}

/// The kernel's ELF file; said if it is of no use.
fn vmlinux(path: &Path, observer: &mut dyn Observer) -> Result<Image, Error> {
    let image = Image::read(path).map_err(symbols_failed)?;
    if !image.has_debug_information() {
        observer.notice(&Notice::NoDebugInformation { vmlinux: path.to_owned() });
    }
    Ok(image)
}

/// A machine for each number of CPUs, the smallest first.
fn shapes(request: &LensKernelRequest) -> Result<Vec<MachineShape>, Error> {
    let mut cpus = request.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    cpus.iter()
        .map(|&cpus| MachineShape::new(cpus, request.under.model.sockets, request.memory_mib))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::usage(error.problem, error.hint))
}

fn symbols_failed(error: SymbolError) -> Error {
    Error::usage(error.problem, error.hint)
}
