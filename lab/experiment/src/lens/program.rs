//! A program under the lens.

use super::request::LensProgramRequest;
use super::run::{self, LensRun};
use super::{gates, model};
use crate::conclusion::Measured;
use crate::error::Error;
use crate::lab::Lab;
use crate::observer::Notice;
use faultline_model::machine::Machine;
use faultline_model::subject::{Subject, SubjectKind};
use faultline_runner::lens::{Naming, THREADS, plan_program};
use faultline_symbols::Image;
use faultline_targets::counting::{CountingProgram, Lens};
use faultline_targets::qemu_user::UserProgram;
use std::path::Path;
use std::rc::Rc;

/// Numbers of threads, unless the user says otherwise.
const DEFAULT_THREADS: [u32; 4] = [1, 2, 4, 8];

/// The begin mark's instruction (workloads/harness/faultline_mark.h).
const BEGIN_MARK: &[u8] = &[0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00];

/// Runs a program on modelled machines, and concludes.
pub fn program(request: &LensProgramRequest, lab: &mut Lab<'_>) -> Result<Measured, Error> {
    let LensProgramRequest { argv, under, .. } = request;
    let machine = model::machine(&under.model, lab.places)?;
    let threads = threads(request)?;
    let cpus: Vec<u32> = threads.iter().map(|&threads| CountingProgram::cpus_for(&machine, threads)).collect();
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
    let subject = Subject { what, ..Subject::as_is(Machine::Host) };
    let asked = run::request(under, threads);
    let plan = plan_program(&asked, &name(program.program()))?;
    let lens = Lens { plugin, model: machine, scratch: paths.scratch.clone() };
    let target = CountingProgram::new(program, paths, lens, request.whole || !image.has_marks);
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

/// Numbers of threads to run with.
fn threads(request: &LensProgramRequest) -> Result<Vec<u32>, Error> {
    let says_where = request.argv[1..].iter().any(|word| word.contains(THREADS));
    match &request.threads {
        Some(threads) if threads.contains(&0) => Err(Error::usage(
            "0 threads can run nothing",
            "`--threads-from` takes numbers from 1, for example `--threads-from 1,2,8`",
        )),
        Some(threads) if threads.len() > 1 && !says_where => Err(Error::usage(
            "several numbers of threads, and the program is not told which",
            format!("write {THREADS} where it takes the number, for example `-- ./program --jobs {THREADS}`"),
        )),
        Some(threads) => Ok(threads.clone()),
        None if says_where => Ok(DEFAULT_THREADS.to_vec()),
        None => Ok(vec![DEFAULT_THREADS[DEFAULT_THREADS.len() - 1]]),
    }
}

/// A program's file, read.
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

fn name(program: &Path) -> String {
    program.file_name().map_or_else(|| "program".to_owned(), |name| name.to_string_lossy().into_owned())
}
