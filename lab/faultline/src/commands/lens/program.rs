//! `faultline lens program`

use super::runs::{self, LensRun};
use super::{gates, model};
use crate::arguments::lens::Program;
use crate::commands::measure;
use crate::failure::{self, Failure};
use crate::places;
use faultline_model::machine::Machine;
use faultline_model::subject::{Subject, SubjectKind};
use faultline_runner::lens::{ProgramLens, THREADS, plan_program};
use faultline_symbols::Image;
use faultline_targets::qemu_user::UserProgram;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

/// Numbers of threads, unless the user says otherwise.
const DEFAULT_THREADS: [u32; 4] = [1, 2, 4, 8];

/// The begin mark's instruction (workloads/harness/faultline_mark.h).
const BEGIN_MARK: &[u8] = &[0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00];

pub(super) fn program(arguments: &Program, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let machine = model::machine(&arguments.under.model)?;
    let threads = threads(arguments)?;
    let cpus: Vec<u32> = threads.iter().map(|&threads| ProgramLens::cpus(&machine, threads)).collect();
    machine.check(&cpus)?;
    let program = UserProgram::find(Path::new(&arguments.argv[0])).map_err(Failure::from_target_as_usage)?;
    let image = image(program.program())?;
    if !image.image.has_symbols() {
        failure::warn(&format!(
            "hint: {} has no symbols, so addresses stand for names; `-g` gives it some",
            program.program().display()
        ));
    }
    let plugin = model::plugin(&arguments.under.model)?;
    let baseline = gates::baseline(&arguments.under.gates, db)?;
    let host = places::host_for_lens(&arguments.under.conduct)?;
    let what = SubjectKind::Program { argv: arguments.argv.clone() };
    let subject = Subject { what, ..Subject::as_is(Machine::Host) };
    let request = runs::request(&arguments.under, threads, arguments.ops);
    let plan = plan_program(&request, &name(program.program()))?;
    let lens = ProgramLens {
        is_whole: arguments.whole || !image.has_marks,
        arguments: arguments.argv[1..].to_vec(),
        program,
        model: machine,
        plugin,
        keeper: host.keeper,
        scratch: host.scratch,
        image: Rc::new(image.image),
    };
    let stop = measure::stop_on_signals()?;
    let run = LensRun {
        subject: &subject,
        plan: &plan,
        workloads: &[],
        target: &host.target,
        lens: &lens,
        under: &arguments.under,
        baseline: baseline.as_ref(),
        stop: &stop,
    };
    run.run(db)
}

/// Numbers of threads to run with.
fn threads(arguments: &Program) -> Result<Vec<u32>, Failure> {
    let says_where = arguments.argv[1..].iter().any(|word| word.contains(THREADS));
    match &arguments.threads_from {
        Some(threads) if threads.contains(&0) => Err(Failure::usage(
            "0 threads can run nothing",
            "`--threads-from` takes numbers from 1, for example `--threads-from 1,2,8`",
        )),
        Some(threads) if threads.len() > 1 && !says_where => Err(Failure::usage(
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

fn image(path: &Path) -> Result<Read, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()), "name a file that can be read")
    })?;
    let image = Image::parse(&bytes).map_err(|error| Failure::usage(error.problem, error.hint))?;
    Ok(Read { image, has_marks: memchr::memmem::find(&bytes, BEGIN_MARK).is_some() })
}

fn name(program: &Path) -> String {
    program.file_name().map_or_else(|| "program".to_owned(), |name| name.to_string_lossy().into_owned())
}
