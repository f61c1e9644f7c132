//! A program under the lens, in guests.

use super::files::{found_again, saved, subject_again};
use super::model::{each_once, guest, image, machine_request, symbols_failed};
use super::request::LensProgramRequest;
use super::run::{self, LensRun};
use super::{bounds, files, gates, model};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::{Lab, Notice};
use crate::target::{GuestRuns, or_stopped};
use faultline_record::lens::guest_kernel::KernelSymbol;
use faultline_record::lens::settings::{LensAgain, ProgramGuest};
use faultline_record::machine::{Guest, Machine, MachineShape};
use faultline_record::record::RunId;
use faultline_record::subject::{Subject, SubjectKind};
use faultline_runner::lens::{ImagesInGuest, Naming, TASKS, plan_program};
use faultline_symbols::{DebugDirectories, Image, Kallsyms};
use faultline_targets::Target;
use faultline_targets::counting::{CountableGuest, CountedProgram, Lens, MachineModel};
use faultline_targets::program_files::{ProgramFiles, With};
use faultline_targets::qemu::{KernelImage, MachineRequest};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Default numbers of threads.
pub(super) const DEFAULT_THREADS: [u32; 4] = [1, 2, 4, 8];

/// The begin mark's instruction (workloads/harness/faultline_mark.h).
const BEGIN_MARK: &[u8] = &[0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00];

/// Default environment variables of programs: the place of scratch files.
const SCRATCH_VARIABLES: [(&str, &str); 2] = [("HOME", "/tmp"), ("TMPDIR", "/tmp")];

/// Runs a program in guests on modelled machines, and concludes. Fails if the request is
/// impossible, a file of the program or another part is missing, the guest does not boot, or the
/// database cannot be written.
pub fn program(request: &LensProgramRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let LensProgramRequest { argv, guest: wanted, under, .. } = request;
    let machine = model::machine(&under.model, lab.places)?;
    let threads = threads(request)?;
    gates::check_counts(&under.gates, &threads)?;
    machine.check(&cpus(&machine, &threads)).map_err(Error::target_as_usage)?;
    let directory = directory()?;
    let environment = environment(&wanted.environment);
    let files =
        ProgramFiles::find(argv, Path::new(&directory), &wanted.with, &environment).map_err(Error::target_as_usage)?;
    check_process(wanted.process.as_deref(), &files)?;
    let debug = DebugDirectories::new(&wanted.debug_directories);
    let bounds = bounds::found(&wanted.bounds, wanted.process.as_deref(), &files, &debug)?;
    let shapes = shapes(&machine, &threads, wanted.memory_mib, &files)?;
    lab.machines.lens_emulator(lab.places)?;
    let kernel = image(wanted.kernel.as_deref(), lab.places)?;
    let has_marks = look_into(files.program(), lab)?;
    let plugin = files::find_plugin(lab.places)?;
    let baseline = gates::baseline(&under.gates, lab.places)?;
    let is_whole = request.whole || !has_marks || !wanted.bounds.are_none();
    let again = LensAgain {
        directory: Some(directory.clone()),
        whole: is_whole,
        memory_mib: wanted.memory_mib,
        guest: Some(ProgramGuest {
            kernel: saved(&kernel.path)?,
            with: wanted.with.iter().map(with_as_saved).collect(),
            environment: environment.clone(),
            kernel_too: wanted.kernel_too,
            process: wanted.process.clone(),
            bounds: wanted.bounds.clone(),
            debug_directories: wanted
                .debug_directories
                .iter()
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
            files_sha256: Some(files.sha256().map_err(Error::target_as_usage)?),
        }),
        ..model::to_count_again(&machine, Some(saved(files.program())?), saved(&plugin)?, &under.gates)
    };
    let guest = guest(shapes[0], &kernel.path, &wanted.parameters);
    let what = SubjectKind::Program { argv: argv.clone() };
    let subject = Subject { what, commit: under.commit.clone(), ..Subject::as_is(Machine::Qemu(guest.clone())) };
    let asked = run::request(under, threads, again);
    let plan = plan_program(&asked, &name(files.program()))?;
    let own = || Image::read(files.program()).ok();
    let is_own = |name: &str| own().is_some_and(|image| image.has_structure(name));
    gates::check_types_of_program(&under.gates, &plan, &is_own)?;
    let counted = wanted.process.as_deref().and_then(|name| files.file_named(name));
    let counted = counted.as_deref().unwrap_or(files.program());
    let is_variable =
        |name: &str| Image::read_with_debug_file(counted, &debug).is_ok_and(|image| image.has_variable(name));
    gates::check_variables(&under.gates, &plan, &is_variable)?;
    let program = CountedProgram {
        files: Arc::new(files),
        directory,
        environment,
        is_whole,
        kernel_too: wanted.kernel_too,
        process: wanted.process.clone(),
        bounds,
    };
    let lens = Lens { plugin, model: machine, scratch: lab.places.scratch.clone() };
    let (target, naming) = counting(machine_request(guest, kernel), &shapes, (program, debug), lens, lab)?;
    let run = LensRun {
        plan: &plan,
        subject: &subject,
        workloads: &[],
        target: target.as_ref(),
        naming: &naming,
        under,
        baseline: baseline.as_ref(),
    };
    run.run(lab)
}

/// The target of a resumed run, with names. Fails if a file is missing or changed, in another
/// directory, or if the guest does not boot.
pub(super) fn again(
    argv: &[String],
    guest: &Guest,
    threads: &[u32],
    again: &LensAgain,
    lens: Lens,
    run: RunId,
    lab: &mut Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    let (Some(saved_guest), Some(directory)) = (&again.guest, &again.directory) else {
        return Err(Error::failed(
            format!("run {run} does not say how its program ran"),
            "its database was changed by hand; start a new run",
        ));
    };
    check_directory(directory, run)?;
    subject_again(again, "the program", run)?;
    let kernel = KernelImage::open(&found_again(&saved_guest.kernel, "the kernel image", run)?)?;
    let with: Vec<With> = saved_guest.with.iter().map(with_again).collect();
    let files = ProgramFiles::find(argv, Path::new(directory), &with, &saved_guest.environment)?;
    if Some(files.sha256()?) != saved_guest.files_sha256 {
        return Err(Error::failed(
            format!(
                "files of the program have changed since run {run} began, so counts before and after are not comparable"
            ),
            format!(
                "restore its libraries and what `--with` named, or start a new run: the counts of run {run} are kept"
            ),
        ));
    }
    let shapes = shapes(&lens.model, threads, again.memory_mib, &files)?;
    let debug: Vec<PathBuf> = saved_guest.debug_directories.iter().map(PathBuf::from).collect();
    let debug = DebugDirectories::new(&debug);
    let bounds = bounds::found(&saved_guest.bounds, saved_guest.process.as_deref(), &files, &debug)?;
    let program = CountedProgram {
        files: Arc::new(files),
        directory: directory.clone(),
        environment: saved_guest.environment.clone(),
        is_whole: again.whole,
        kernel_too: saved_guest.kernel_too,
        process: saved_guest.process.clone(),
        bounds,
    };
    counting(machine_request(guest.clone(), kernel), &shapes, (program, debug), lens, lab)
}

/// Refuses the name of a process that no file of the guest has.
fn check_process(process: Option<&str>, files: &ProgramFiles) -> Result<(), Error> {
    match process.filter(|name| !files.has_name(name)) {
        None => Ok(()),
        Some(name) => Err(Error::usage(
            format!("no process can be named {name}: the guest has no file of that name"),
            "write the name of the program's file without directories, or add the file with `--with`",
        )),
    }
}

/// A program's arguments may depend on the directory in which it runs.
fn check_directory(began_in: &str, run: RunId) -> Result<(), Error> {
    if began_in == directory()? {
        return Ok(());
    }
    Err(Error::failed(
        format!("run {run} began in the directory {began_in}, and its program may use files there"),
        format!("`cd {began_in}`, then resume it"),
    ))
}

fn directory() -> Result<String, Error> {
    let here = std::env::current_dir().map_err(|error| {
        Error::failed(format!("cannot determine the working directory: {error}"), "change to an existing directory")
    })?;
    Ok(here.to_string_lossy().into_owned())
}

/// The numbers of threads. Fails if several are given, but the program does not take a number.
fn threads(request: &LensProgramRequest) -> Result<Vec<u32>, Error> {
    let says_where = request.argv[1..].iter().any(|word| word.contains(TASKS));
    match &request.threads {
        Some(threads) if threads.contains(&0) => {
            Err(Error::usage("the number of tasks is 0", "`--tasks` takes numbers from 1, for example `--tasks 1,2,8`"))
        }
        Some(threads) if threads.len() > 1 && !says_where => Err(Error::usage(
            format!("several numbers of tasks are given, but the arguments do not contain {TASKS}"),
            format!("write {TASKS} where the program takes the number, for example `-- ./program --jobs {TASKS}`"),
        )),
        Some(threads) => Ok(threads.clone()),
        None if says_where => Ok(DEFAULT_THREADS.to_vec()),
        None => Ok(vec![DEFAULT_THREADS[DEFAULT_THREADS.len() - 1]]),
    }
}

/// The machine in each of the shapes, under the lens, with names. Fails if the guest does not boot.
fn counting(
    machine: MachineRequest,
    shapes: &[MachineShape],
    (program, debug): (CountedProgram, DebugDirectories),
    lens: Lens,
    lab: &mut Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    lab.note_boot();
    let first = lab.machines.ready_guest(machine, GuestRuns::Programs, lab.places, lab.stop)?;
    let symbols = kernel_symbols(first.as_ref(), program.kernel_too, lab)?;
    counted_in(first.as_ref(), symbols, shapes, (program, debug), lens)
}

/// The kernel's symbols if it is counted too; otherwise none. Fails if they cannot be read.
pub(super) fn kernel_symbols(
    guest: &dyn CountableGuest,
    kernel_too: bool,
    lab: &Lab<'_>,
) -> Result<Vec<KernelSymbol>, Error> {
    match kernel_too {
        true => guest.symbols(lab.stop).map_err(|error| or_stopped(error, lab.stop)),
        false => Ok(Vec::new()),
    }
}

/// As [`counting`], for a machine that has booted.
pub(super) fn counted_in(
    first: &dyn CountableGuest,
    symbols: Vec<KernelSymbol>,
    shapes: &[MachineShape],
    (program, debug): (CountedProgram, DebugDirectories),
    lens: Lens,
) -> Result<(Box<dyn Target>, Naming), Error> {
    let images = ImagesInGuest::new(program.files.clone(), debug);
    let target = first.counting(shapes, lens, Some(program), &symbols)?;
    let kernel = match symbols.is_empty() {
        true => None,
        false => Some(Arc::new(Kallsyms::new(symbols).map_err(symbols_failed)?)),
    };
    Ok((target, Naming::Program { images, kernel }))
}

/// A machine for each number of threads, in ascending order. Fails if it is impossible, or if its
/// memory cannot hold the files.
pub(super) fn shapes(
    model: &MachineModel,
    threads: &[u32],
    memory_mib: Option<u64>,
    files: &ProgramFiles,
) -> Result<Vec<MachineShape>, Error> {
    let needed = files.memory_mib();
    if let Some(given) = memory_mib.filter(|&given| given < needed) {
        return Err(Error::usage(
            format!("{given} MiB of memory are too few for the program's files, which need {needed} MiB"),
            format!("`--memory {needed}` or more; the program's own memory comes on top"),
        ));
    }
    let shape = |&cpus: &u32| {
        let usual = MachineShape::new(cpus, model.sockets, memory_mib)?;
        match memory_mib {
            Some(_) => Ok(usual),
            None => MachineShape::new(cpus, model.sockets, Some(usual.memory_mib() + needed)),
        }
    };
    let shapes: Result<_, faultline_record::machine::MachineError> = cpus(model, threads).iter().map(shape).collect();
    shapes.map_err(|error| Error::usage(error.problem, error.hint))
}

/// The numbers of CPUs for these numbers of threads, without duplicates, ascending.
fn cpus(model: &MachineModel, threads: &[u32]) -> Vec<u32> {
    each_once(threads.iter().map(|&threads| model.cpus_for_threads(threads)))
}

/// True if the program has marks; reports a program without names. Fails if it cannot be read.
fn look_into(program: &Path, lab: &mut Lab<'_>) -> Result<bool, Error> {
    let bytes = read(program)?;
    // A script has no names.
    if Image::parse(&bytes).is_ok_and(|image| !image.has_symbols()) {
        lab.observer.notice(&Notice::NoSymbols { program: program.to_owned() });
    }
    Ok(is_marked(&bytes))
}

/// True if the program has marks. Fails if it cannot be read.
pub(super) fn has_marks(program: &Path) -> Result<bool, Error> {
    Ok(is_marked(&read(program)?))
}

fn is_marked(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, BEGIN_MARK).is_some()
}

fn read(program: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(program)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", program.display()), "name a readable file"))
}

fn name(program: &Path) -> String {
    program.file_name().map_or_else(|| "program".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The program's environment without `PATH`, which the guest sets. Depends only on the user's
/// variables.
pub(super) fn environment(given: &[(String, String)]) -> Vec<(String, String)> {
    let scratch = SCRATCH_VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned()));
    scratch.into_iter().chain(given.iter().cloned()).collect()
}

pub(super) fn with_as_saved(with: &With) -> (String, Option<String>) {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    (text(&with.source), with.place.as_ref().map(text))
}

pub(super) fn with_again((source, place): &(String, Option<String>)) -> With {
    With { source: source.into(), place: place.as_ref().map(PathBuf::from) }
}
