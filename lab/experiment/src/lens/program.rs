//! A program under the lens.

use super::request::{LensProgramRequest, ProgramPlace};
use super::run::{self, LensRun};
use super::saved_file::{found_again, saved};
use super::{gates, model, program_in_guest};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::Lab;
use crate::observer::Notice;
use faultline_model::lens::settings::LensAgain;
use faultline_model::machine::Machine;
use faultline_model::record::RunId;
use faultline_model::subject::{Subject, SubjectKind};
use faultline_runner::lens::{Naming, THREADS, plan_program};
use faultline_symbols::Image;
use faultline_targets::Target;
use faultline_targets::counting::{CountingProgram, Lens, MachineModel};
use faultline_targets::qemu_user::UserProgram;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Default numbers of threads.
const DEFAULT_THREADS: [u32; 4] = [1, 2, 4, 8];

/// The begin mark's instruction (workloads/harness/faultline_mark.h).
pub(super) const BEGIN_MARK: &[u8] = &[0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00];

/// Runs a program on modelled machines, and concludes. Fails as [`program_in_guest::program`] or [`in_user_mode`] do.
pub fn program(request: &LensProgramRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    match &request.place {
        ProgramPlace::Guest(guest) => program_in_guest::program(request, guest, lab),
        ProgramPlace::UserMode => in_user_mode(request, lab),
    }
}

/// The same in the emulator's user mode. Fails if the request is impossible, the program or a part is missing, or the database cannot be
/// written.
fn in_user_mode(request: &LensProgramRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let LensProgramRequest { argv, under, .. } = request;
    let machine = model::machine(&under.model, lab.places)?;
    let threads = threads(request)?;
    let cpus: Vec<u32> = threads.iter().map(|&threads| machine.cpus_for_threads(threads)).collect();
    gates::check_counts(&under.gates, &threads)?;
    machine.check(&cpus).map_err(Error::target_as_usage)?;
    let program = UserProgram::find(Path::new(&argv[0])).map_err(Error::target_as_usage)?;
    let image = image(program.program())?;
    if !image.image.has_symbols() {
        lab.observer.notice(&Notice::NoSymbols { program: program.program().to_owned() });
    }
    let plugin = model::plugin(lab.places)?;
    let baseline = gates::baseline(&under.gates, lab.places)?;
    let paths = lab.places.paths_for_facts()?;
    let what = SubjectKind::Program { argv: argv.clone() };
    let subject = Subject { what, commit: under.commit.clone(), ..Subject::as_is(Machine::Host) };
    let is_whole = request.whole || !image.has_marks;
    let (times, cache) = model::times_and_cache(&machine);
    let again = LensAgain {
        subject: saved(program.program())?,
        plugin: saved(&plugin)?,
        vmlinux: None,
        directory: Some(directory()?),
        whole: is_whole,
        memory_mib: None,
        times,
        cache,
        baseline: under.gates.baseline.map(|run| run.0),
        guest: None,
    };
    let asked = run::request(under, threads, again);
    let plan = plan_program(&asked, &name(program.program()))?;
    gates::check_names(&under.gates, &plan)?;
    let lens = Lens { plugin, model: machine, scratch: paths.scratch.clone() };
    let target = CountingProgram::new(program, paths, lens, is_whole);
    let run = LensRun {
        plan: &plan,
        subject: &subject,
        workloads: &[],
        target: &target,
        naming: &Naming::Program { image: Rc::new(image.image) },
        under,
        baseline: baseline.as_ref(),
    };
    run.run(lab)
}

/// The target of a resumed run, with names. Fails if a file is missing or has changed, or in another directory.
pub(super) fn again(
    argv: &[String],
    again: &LensAgain,
    model: MachineModel,
    plugin: PathBuf,
    run: RunId,
    lab: &mut Lab<'_>,
) -> Result<(Box<dyn Target>, Naming), Error> {
    check_directory(again, run)?;
    let file = found_again(&again.subject, "the program", run)?;
    let named = argv.first().map_or(file.as_path(), Path::new);
    // Under its original path, because the memory layout of its arguments depends on it.
    let program = UserProgram::find(named)?;
    if saved(program.program())? != again.subject {
        return Err(Error::failed(
            format!("'{}' is not the program with which run {run} began", named.display()),
            format!("it was {}; check PATH", again.subject.path),
        ));
    }
    let image = image(program.program())?;
    let paths = lab.places.paths_for_facts()?;
    let lens = Lens { plugin, model, scratch: paths.scratch.clone() };
    let target = CountingProgram::new(program, paths, lens, again.whole);
    Ok((Box::new(target), Naming::Program { image: Rc::new(image.image) }))
}

/// A program's arguments may depend on the directory in which it runs.
pub(super) fn check_directory(again: &LensAgain, run: RunId) -> Result<(), Error> {
    match &again.directory {
        Some(began_in) if *began_in != directory()? => Err(Error::failed(
            format!("run {run} began in the directory {began_in}, and its program may use files there"),
            format!("`cd {began_in}`, then resume it"),
        )),
        _ => Ok(()),
    }
}

pub(super) fn directory() -> Result<String, Error> {
    let here = std::env::current_dir().map_err(|error| {
        Error::failed(format!("cannot determine the working directory: {error}"), "change to an existing directory")
    })?;
    Ok(here.to_string_lossy().into_owned())
}

/// The numbers of threads. Fails if several are given, but the program does not take a number.
pub(super) fn threads(request: &LensProgramRequest) -> Result<Vec<u32>, Error> {
    let says_where = request.argv[1..].iter().any(|word| word.contains(THREADS));
    match &request.threads {
        Some(threads) if threads.contains(&0) => Err(Error::usage(
            "the number of threads is 0",
            "`--threads-from` takes numbers from 1, for example `--threads-from 1,2,8`",
        )),
        Some(threads) if threads.len() > 1 && !says_where => Err(Error::usage(
            format!("several numbers of threads are given, but the arguments do not contain {THREADS}"),
            format!("write {THREADS} where the program takes the number, for example `-- ./program --jobs {THREADS}`"),
        )),
        Some(threads) => Ok(threads.clone()),
        None if says_where => Ok(DEFAULT_THREADS.to_vec()),
        None => Ok(vec![DEFAULT_THREADS[DEFAULT_THREADS.len() - 1]]),
    }
}

/// A program's file and its contents.
struct Read {
    image: Image,
    has_marks: bool,
}

fn image(path: &Path) -> Result<Read, Error> {
    let bytes = std::fs::read(path).map_err(|error| {
        Error::usage(format!("cannot read {}: {error}", path.display()), "name a file that can be read")
    })?;
    let image = Image::parse(&bytes).map_err(|error| Error::usage(error.problem, error.hint))?;
    Ok(Read { image, has_marks: memchr::memmem::find(&bytes, BEGIN_MARK).is_some() })
}

pub(super) fn name(program: &Path) -> String {
    program.file_name().map_or_else(|| "program".to_owned(), |name| name.to_string_lossy().into_owned())
}
