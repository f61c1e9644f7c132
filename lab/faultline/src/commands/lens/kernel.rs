//! `faultline lens kernel`

use super::runs::{self, LensRun};
use super::{gates, model};
use crate::arguments::lens::Kernel;
use crate::commands::measure;
use crate::failure::{self, Failure};
use crate::places;
use faultline_model::machine::{Accelerator, Guest, Machine, MachineShape, usual_boot_limit};
use faultline_model::subject::Subject;
use faultline_runner::lens::{KernelLens, LensRequest, plan_kernel};
use faultline_symbols::{Image, Kallsyms, SymbolError};
use faultline_targets::qemu::{Emulator, KernelImage, KernelSymbol, MachineRequest, QemuMachine};
use faultline_targets::{StopFlag, Target};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

pub(super) fn kernel(arguments: &Kernel, db: Option<&Path>) -> Result<ExitCode, Failure> {
    model::check_turns(&arguments.under.model)?;
    let machine = model::machine(&arguments.under.model)?;
    machine.check(&arguments.cpus)?;
    let shapes = shapes(arguments)?;
    let emulator = Emulator::find().map_err(Failure::from_target_as_usage)?;
    emulator.must_take_plugins().map_err(Failure::from_target_as_usage)?;
    let image = image(arguments.kernel.as_deref())?;
    let vmlinux = arguments.vmlinux.as_deref().map(vmlinux).transpose()?;
    let plugin = model::plugin(&arguments.under.model)?;
    let baseline = gates::baseline(&arguments.under.gates, db)?;
    let paths = places::guest_paths(&arguments.under.conduct.place, arguments.under.conduct.scratch.as_deref())?;
    let scratch = paths.host.scratch.clone();
    let stop = measure::stop_on_signals()?;
    let stopped = |error: faultline_targets::TargetError| if stop.is_set() { Failure::stopped() } else { error.into() };

    let guest = Guest {
        shape: shapes[0],
        kernel: Some(image.path.clone()),
        accelerator: Accelerator::Tcg,
        boot_limit: usual_boot_limit(shapes[0].cpus()),
        parameters: arguments.append.clone(),
    };
    let request = MachineRequest {
        shape: guest.shape,
        kernel: image,
        accelerator: guest.accelerator,
        boot_limit: guest.boot_limit,
        parameters: guest.parameters.clone(),
    };
    let subject = Subject::as_is(Machine::Qemu(guest));
    let first = QemuMachine::start(request, paths, emulator, &stop).map_err(stopped)?;
    let request = LensRequest {
        workloads: arguments.workloads_chosen.clone(),
        mode: arguments.mode.map(Into::into),
        size: arguments.size,
        ..runs::request(&arguments.under, arguments.cpus.clone(), arguments.ops)
    };
    let workloads = first.workloads()?;
    let plan = plan_kernel(&request, &workloads)?;
    let symbols = symbols(&first, &stop)?;
    let lens = KernelLens {
        machines: shapes.iter().map(|&shape| first.with_shape(shape, usual_boot_limit(shape.cpus()))).collect(),
        model: machine,
        plugin,
        scratch,
        symbols: Rc::new(symbols),
        vmlinux: vmlinux.map(Rc::new),
    };
    let run = LensRun {
        subject: &subject,
        plan: &plan,
        workloads: &workloads,
        target: &first,
        lens: &lens,
        under: &arguments.under,
        baseline: baseline.as_ref(),
        stop: &stop,
    };
    run.run(db)
}

/// The image named, or the system's own.
fn image(named: Option<&Path>) -> Result<KernelImage, Failure> {
    KernelImage::open(named).map_err(|error| match named {
        Some(_) => Failure::usage(error.problem, "`--kernel` takes a bzImage or a vmlinuz for x86-64 that can be read"),
        None => Failure::new(
            error.problem,
            "install one, for example with `apt-get install linux-image-amd64`, or name one with `--kernel`",
        ),
    })
}

/// The kernel's ELF file; said if it is of no use.
fn vmlinux(path: &Path) -> Result<Image, Failure> {
    let image = Image::read(path).map_err(symbols_failed)?;
    if !image.has_debug_information() {
        failure::warn(&format!(
            "hint: {} has no debugging information, so there are no source lines and members; build the kernel with CONFIG_DEBUG_INFO",
            path.display()
        ));
    }
    Ok(image)
}

/// A machine for each number of CPUs, the smallest first.
fn shapes(arguments: &Kernel) -> Result<Vec<MachineShape>, Failure> {
    let mut cpus = arguments.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    cpus.iter()
        .map(|&cpus| MachineShape::new(cpus, arguments.under.model.sockets, arguments.memory))
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::usage(error.problem, error.hint))
}

fn symbols(machine: &QemuMachine, stop: &StopFlag) -> Result<Kallsyms, Failure> {
    let symbols =
        machine.symbols(stop).map_err(|error| if stop.is_set() { Failure::stopped() } else { error.into() })?;
    let mut text = String::new();
    for KernelSymbol { address, kind, name } in &symbols {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{address:016x} {kind} {name}");
    }
    Kallsyms::parse(&text).map_err(symbols_failed)
}

fn symbols_failed(error: SymbolError) -> Failure {
    Failure::usage(error.problem, error.hint)
}
