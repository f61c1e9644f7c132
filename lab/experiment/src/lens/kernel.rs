//! Workloads in a guest under the lens.

use super::files::{found_again, saved, subject_again};
use super::model::{guest, image, machine_request, modelled, shapes, symbols_failed};
use super::request::LensKernelRequest;
use super::run::{self, LensRun};
use super::{files, gates, model};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::{Lab, Notice, Observer};
use crate::partners::Planned;
use crate::target::{GuestRuns, guest_workloads, or_stopped};
use faultline_record::lens::settings::LensAgain;
use faultline_record::machine::{Guest, Machine, MachineShape};
use faultline_record::record::RunId;
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_runner::lens::{LensRequest, Naming, plan_kernel};
use faultline_symbols::{Image, Kallsyms};
use faultline_targets::Target;
use faultline_targets::counting::{CountableGuest, Lens};
use faultline_targets::qemu::KernelImage;
use std::path::Path;

/// Boots a kernel on modelled machines, counts the transfers of its workloads, and concludes. Fails
/// if the request is impossible, a part is missing, the guest does not boot, or the database cannot
/// be written.
pub fn kernel(request: &LensKernelRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let under = &request.under;
    let (machine, shapes) = modelled(under, &request.cpus, request.memory_mib, lab.places)?;
    gates::check_workloads(&under.gates, &request.workloads)?;
    lab.machines.lens_emulator(lab.places)?;
    let image = image(request.kernel.as_deref(), lab.places)?;
    gates::check_types(&under.gates, &request.workloads, &image.path)?;
    let vmlinux = request.vmlinux.as_deref().map(|path| vmlinux(path, &image, lab.observer)).transpose()?;
    let plugin = files::find_plugin(lab.places)?;
    let baseline = gates::baseline(&under.gates, lab.places)?;
    let again = LensAgain {
        vmlinux: request.vmlinux.as_deref().map(saved).transpose()?,
        memory_mib: request.memory_mib,
        ..model::to_count_again(&machine, Some(saved(&image.path)?), saved(&plugin)?, &under.gates)
    };
    let guest = guest(shapes[0], &image.path, &request.parameters);
    let subject = Subject { commit: under.commit.clone(), ..Subject::as_is(Machine::Qemu(guest.clone())) };
    let asked = LensRequest {
        workloads: request.workloads.clone(),
        mode: request.mode,
        size: request.size,
        memory_bytes: shapes.last().map(|shape| shape.memory_mib() << 20),
        ..run::request(under, request.cpus.clone(), again)
    };
    // The guest's workloads run here too, unless this host has another system: an unknown one is
    // refused before the boot.
    if let Ok(workloads) = guest_workloads(lab.places) {
        plan_kernel(&asked, &workloads)?;
    }
    let first = boot(guest, image, lab)?;
    let workloads = first.workloads()?;
    let plan = plan_kernel(&asked, &workloads)?;
    Planned { items: &plan.items, subject: SubjectIndex::A, workloads: &workloads }.check(&subject.setup)?;
    gates::check_names_of_kernel(&under.gates, &plan)?;
    let lens = Lens { plugin, model: machine, scratch: lab.places.scratch.clone() };
    let (target, naming) = counting(first.as_ref(), &shapes, lens, vmlinux, lab)?;
    let run = LensRun {
        plan: &plan,
        subject: &subject,
        workloads: &workloads,
        target: target.as_ref(),
        naming: &naming,
        under,
        baseline: baseline.as_ref(),
    };
    run.run(lab)
}

/// The target of a resumed run, with names. Fails if a file is missing or has changed, or if the
/// guest does not boot.
pub(super) fn again(
    parameters: &[String],
    cpus: &[u32],
    again: &LensAgain,
    lens: Lens,
    run: RunId,
    lab: &mut Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    let image = KernelImage::open(&subject_again(again, "the kernel image", run)?)?;
    let vmlinux = again.vmlinux.as_ref().map(|file| found_again(file, "the file", run)).transpose()?;
    let vmlinux = vmlinux.map(|path| Image::read(&path).map_err(symbols_failed)).transpose()?;
    let shapes = shapes(cpus, lens.model.sockets, again.memory_mib)?;
    let first = boot(guest(shapes[0], &image.path, parameters), image, lab)?;
    counting(first.as_ref(), &shapes, lens, vmlinux, lab)
}

/// Boots the guest once. Fails if it does not boot.
fn boot(guest: Guest, kernel: KernelImage, lab: &mut Lab<'_>) -> Result<Box<dyn CountableGuest>, Error> {
    lab.note_boot();
    lab.machines.ready_guest(machine_request(guest, kernel), GuestRuns::Workloads, lab.places, lab.stop)
}

/// The machine in each of the shapes, under the lens, with names.
pub(super) fn counting(
    first: &dyn CountableGuest,
    shapes: &[MachineShape],
    lens: Lens,
    vmlinux: Option<Image>,
    lab: &Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    let symbols = first.symbols(lab.stop).map_err(|error| or_stopped(error, lab.stop))?;
    let target = first.counting(shapes, lens, None, &symbols)?;
    let symbols = Kallsyms::new(symbols).map_err(symbols_failed)?;
    Ok((target, Naming::kernel(symbols, vmlinux)))
}

/// The kernel's ELF file; reports missing debug information. Fails if it cannot be read, or if its
/// build ID differs from that of the kernel's image.
pub(super) fn vmlinux(path: &Path, kernel: &KernelImage, observer: &mut dyn Observer) -> Result<Image, Error> {
    let image = Image::read(path).map_err(symbols_failed)?;
    if let (Some((release, build)), Some(banner)) = (&kernel.build, image.banner())
        && !(banner.contains(release.as_str()) && banner.contains(build.as_str()))
    {
        return Err(Error::usage(
            format!("{} is of another kernel: '{banner}', not {release} {build}", path.display()),
            "`--vmlinux` takes the file of the build that made the kernel's image",
        ));
    }
    if !image.has_debug_information() {
        observer.notice(&Notice::NoDebugInformation { vmlinux: path.to_owned() });
    }
    Ok(image)
}
