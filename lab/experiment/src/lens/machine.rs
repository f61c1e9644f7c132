//! A machine under the lens whose kernel the emulator starts directly, with its modules.

use super::files::{found_again, saved, subject_again};
use super::model::{guest, modelled, shapes, symbols_failed};
use super::request::{LensMachineRequest, Module, Symbols};
use super::run::{self, LensRun};
use super::{files, gates, model};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::{Lab, Notice};
use faultline_record::lens::settings::{LensAgain, MachineFiles, PlacedFile, SavedFile};
use faultline_record::machine::{Guest, Machine, MachineShape};
use faultline_record::record::RunId;
use faultline_record::subject::{Subject, SubjectKind};
use faultline_runner::lens::{Naming, plan_machine};
use faultline_symbols::{Image, PlacedImage};
use faultline_targets::Target;
use faultline_targets::counting::Lens;
use faultline_targets::qemu::{BareRequest, check_startable, is_disk};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Boots the machine in each of its sizes, counts its region of interest, and concludes. Fails if
/// the request is impossible, a file is missing, or the database cannot be written.
pub fn machine(request: &LensMachineRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let under = &request.under;
    let (machine, shapes) = modelled(under, &request.cpus, request.memory_mib, lab.places)?;
    let kernel = saved(&request.kernel)?;
    check_startable(&request.kernel).map_err(Error::target_as_usage)?;
    if is_disk(&request.kernel) && !(request.modules.is_empty() && request.parameters.is_empty()) {
        return Err(Error::usage(
            format!("the disk image {} boots with its own loader", request.kernel.display()),
            "`--module` and `--append` are for kernels that the emulator starts; the image's loader has its own configuration",
        ));
    }
    let files = files(request)?;
    let images = images(&files, lab)?;
    let plugin = files::find_plugin(lab.places)?;
    let baseline = gates::baseline(&under.gates, lab.places)?;
    let what = SubjectKind::Machine {
        image: kernel.path.clone(),
        command_line: request.parameters.join(" "),
        modules: words(&files),
    };
    let kernel_path = PathBuf::from(&kernel.path);
    let guest = guest(shapes[0], &kernel_path, &request.parameters);
    let again = LensAgain {
        memory_mib: request.memory_mib,
        machine: Some(files),
        ..model::to_count_again(&machine, Some(kernel), saved(&plugin)?, &under.gates)
    };
    let lens = Lens { plugin, model: machine, scratch: lab.places.scratch.clone() };
    let target = target(&guest, &kernel_path, &shapes, &again, lens, lab)?;
    let subject = Subject { what, commit: under.commit.clone(), ..Subject::as_is(Machine::Qemu(guest)) };
    let asked = run::request(under, request.cpus.clone(), again);
    let plan = plan_machine(&asked, &name(&request.kernel))?;
    let has_type = |name: &str| images.iter().any(|placed| placed.image.has_structure(name));
    gates::check_types_in_files(&under.gates, &plan, &has_type)?;
    let has_variable = |name: &str| images.iter().any(|image| image.image.has_variable(name));
    gates::check_variables(&under.gates, &plan, &has_variable)?;
    let run = LensRun {
        plan: &plan,
        subject: &subject,
        workloads: &[],
        target: target.as_ref(),
        naming: &Naming::Machine { images },
        under,
        baseline: baseline.as_ref(),
    };
    run.run(lab)
}

/// The target of a resumed run, with names. Fails if a file is missing or has changed.
pub(super) fn again(
    guest: &Guest,
    cpus: &[u32],
    again: &LensAgain,
    lens: Lens,
    run: RunId,
    lab: &mut Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    let Some(files) = &again.machine else {
        return Err(Error::failed(
            format!("run {run} does not say what its machine was given"),
            "its database was changed by hand; start a new run",
        ));
    };
    let kernel = subject_again(again, "the kernel", run)?;
    for file in files.modules.iter().map(|(file, _)| file).chain(files.symbols.iter().map(|placed| &placed.file)) {
        found_again(file, "the file", run)?;
    }
    let shapes = shapes(cpus, lens.model.sockets, again.memory_mib)?;
    let target = target(guest, &kernel, &shapes, again, lens, lab)?;
    Ok((target, Naming::Machine { images: images(files, lab)? }))
}

/// The machine in each of the shapes, under the lens. `again` has its other files.
fn target(
    guest: &Guest,
    kernel: &Path,
    shapes: &[MachineShape],
    again: &LensAgain,
    lens: Lens,
    lab: &Lab<'_>,
) -> Result<Box<dyn Target>, Error> {
    let request = BareRequest {
        shape: guest.shape,
        kernel: kernel.to_owned(),
        modules: again.machine.as_ref().map(words).unwrap_or_default(),
        parameters: guest.parameters.clone(),
    };
    lab.machines.ready_bare(request, shapes, lens, lab.places)
}

/// The machine's files beside its kernel. Fails if one cannot be read.
fn files(request: &LensMachineRequest) -> Result<MachineFiles, Error> {
    let module = |module: &Module| Ok((saved(&module.file)?, module.arguments.clone()));
    let symbols = |&Symbols { ref file, offset }: &Symbols| Ok(PlacedFile { file: saved(file)?, offset });
    Ok(MachineFiles {
        modules: request.modules.iter().map(module).collect::<Result<_, Error>>()?,
        symbols: request.symbols.iter().map(symbols).collect::<Result<_, Error>>()?,
    })
}

/// The modules as arguments of the emulator: each file with its own arguments.
fn words(files: &MachineFiles) -> Vec<String> {
    let words = |(SavedFile { path, .. }, arguments): &(SavedFile, String)| match arguments.as_str() {
        "" => path.clone(),
        arguments => format!("{path} {arguments}"),
    };
    files.modules.iter().map(words).collect()
}

/// The names in its ELF files; reports a file without any. Fails if one is not an ELF file.
fn images(files: &MachineFiles, lab: &mut Lab<'_>) -> Result<Rc<[PlacedImage]>, Error> {
    let mut images = Vec::new();
    for PlacedFile { file, offset } in &files.symbols {
        let image = Image::read(Path::new(&file.path)).map_err(symbols_failed)?;
        if !image.has_symbols() {
            lab.observer.notice(&Notice::NoSymbols { program: PathBuf::from(&file.path) });
        }
        images.push(PlacedImage { image, offset: *offset });
    }
    Ok(images.into())
}

/// The kernel's name without what follows a dot.
fn name(kernel: &Path) -> String {
    kernel.file_stem().map_or_else(|| "kernel".to_owned(), |name| name.to_string_lossy().into_owned())
}
