//! A kernel as the subject of `faultline bisect`: what is booted of a build, and what is counted on it.

use crate::arguments::bisect::{Bisect, Measure};
use crate::commands::lens::under::modelled;
use crate::failure::Failure;
use faultline_experiment::lens::KernelsRequest;
use faultline_history::measure::MeasureRequest;
use faultline_model::artefact::{Artefact, BuiltKernel};
use faultline_model::count::Count;
use faultline_model::machine::Accelerator;
use faultline_model::recipe::Recipe;
use std::path::{Component, Path};

/// CPUs of the machine, unless another number is asked for.
const USUAL_CPUS: u32 = 1;

/// The kernel; `None` if a command is measured. Fails if a path leaves the top of a build.
pub(super) fn artefact(arguments: &Bisect) -> Result<Option<Artefact>, Failure> {
    let kernel = &arguments.kernel;
    let (Some(image), Some(workload)) = (&kernel.image, &kernel.workload) else { return Ok(None) };
    if let Some(path) = kernel.vmlinux.iter().chain([image]).find(|path| leaves(path)) {
        return Err(Failure::usage(
            format!("'{}' is no path below the top of a build", path.escape_debug()),
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

/// Whether a path leads out of a build.
fn leaves(path: &str) -> bool {
    path.is_empty()
        || !Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// What is kept of a build: what is booted, and what else is asked for.
pub(super) fn kept(recipe: Recipe, artefact: &Artefact) -> Recipe {
    let booted = artefact.kernel().into_iter().flat_map(|kernel| kernel.vmlinux.iter().chain([&kernel.image]));
    let booted: Vec<String> = booted.filter(|path| !recipe.kept.contains(path)).cloned().collect();
    Recipe { kept: [recipe.kept, booted].concat(), ..recipe }
}

/// What is counted on a kernel. Fails if options are given that belong to programs.
pub(super) fn measure(arguments: &Bisect) -> Result<MeasureRequest, Failure> {
    let what = match arguments.measure {
        Measure::Time => {
            return Err(Failure::usage(
                "the time of kernels is not measured here",
                "add `--measure transfers` or `--measure instructions`; a subject of faultline.toml with `measure = \"time\"` boots them and measures time",
            ));
        }
        Measure::Instructions => Count::Instructions,
        Measure::Transfers => Count::Transfers,
    };
    let guest = &arguments.guest;
    let of_programs = [
        ("--threads", guest.threads.is_some()),
        ("--whole", guest.whole),
        ("--kernel-too", guest.kernel_too),
        ("--with", !guest.with.is_empty()),
        ("--env", !guest.env.is_empty()),
        ("--kernel", guest.kernel.is_some()),
        ("--repeats", arguments.repeats.is_some()),
        ("--tasks", arguments.tasks.is_some()),
        ("--pin", arguments.pin.is_some()),
    ];
    if let Some((option, _)) = of_programs.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(
            format!("{option} does not apply to kernels"),
            "a workload runs on the kernel: `--workload`, `--cpus`, `--mode` and `--ops` say which and how",
        ));
    }
    let request = KernelsRequest {
        cpus: arguments.kernel.cpus.unwrap_or(USUAL_CPUS),
        operations: arguments.kernel.ops,
        memory_mib: guest.memory,
        model: modelled(&arguments.model),
    };
    Ok(MeasureRequest::CountOnKernel { what, request: Box::new(request) })
}
