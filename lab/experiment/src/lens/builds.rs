//! Programs that are built while a run goes on, one for each commit: all are counted in guests of one kind.

use super::guest::{guest, image, machine_request};
use super::program::{
    DEFAULT_THREADS, counted_in, environment, has_marks, kernel_symbols, shapes, with_again, with_as_saved,
};
use super::request::{Gates, ModelRequest};
use super::resume::check_emulator;
use super::saved_file::{found_again, saved};
use super::{model, plugin};
use crate::error::Error;
use crate::lab::Lab;
use crate::target::GuestRuns;
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::lens::settings::{LensAgain, LensSettings, ProgramGuest};
use faultline_model::machine::{Guest, Machine, MachineShape};
use faultline_model::record::RunHead;
use faultline_model::subject::{BuildResult, Subject};
use faultline_runner::lens::Naming;
use faultline_symbols::DebugDirectories;
use faultline_targets::counting::{CountableGuest, CountedProgram, Lens};
use faultline_targets::program_files::{ProgramFiles, With};
use faultline_targets::qemu::KernelImage;
use faultline_targets::{Target, TargetError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The request for counts of programs that are not built yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuildsRequest {
    /// The number of threads, for which the guest has CPUs; the default one if `None`.
    pub threads: Option<u32>,
    /// Count the whole run, and ignore marks.
    pub whole: bool,
    /// Files of this host in addition to those of a build. Relative paths begin at the top of a build.
    pub with: Vec<With>,
    /// Environment variables of the program.
    pub environment: Vec<(String, String)>,
    /// Count the kernel too.
    pub kernel_too: bool,
    /// The kernel's image; the default one if `None`.
    pub kernel: Option<PathBuf>,
    /// Memory of the machine in MiB; depends on the number of CPUs and on the files if `None`.
    pub memory_mib: Option<u64>,
    /// The modelled machine.
    pub model: ModelRequest,
}

impl BuildsRequest {
    /// The number of threads.
    pub fn threads(&self) -> u32 {
        self.threads.unwrap_or(DEFAULT_THREADS[DEFAULT_THREADS.len() - 1])
    }
}

/// The settings of such a run, as they are saved. Fails if the modelled machine is impossible, or if the plugin, the emulator or a kernel is missing.
pub fn settings_of_builds(request: &BuildsRequest, lab: &Lab<'_>) -> Result<LensSettings, Error> {
    let machine = model::machine(&request.model, lab.places)?;
    if request.threads() == 0 {
        return Err(Error::usage("the number of threads is 0", "`--threads` takes numbers from 1"));
    }
    machine.check(&[machine.cpus_for_threads(request.threads())]).map_err(Error::target_as_usage)?;
    lab.machines.lens_emulator(lab.places)?;
    let kernel = image(request.kernel.as_deref(), lab.places)?;
    let plugin = plugin::find(lab.places)?;
    let again = LensAgain {
        whole: request.whole,
        memory_mib: request.memory_mib,
        guest: Some(ProgramGuest {
            kernel: saved(&kernel.path)?,
            with: request.with.iter().map(with_as_saved).collect(),
            environment: environment(&request.environment),
            kernel_too: request.kernel_too,
            debug_directories: Vec::new(),
            files_sha256: None,
        }),
        ..model::to_count_again(&machine, None, saved(&plugin)?, &Gates::default())
    };
    Ok(model::settings(&request.model, &Gates::default(), None, again))
}

/// What counts the programs of builds: the lens, and a machine that has booted.
pub(crate) struct LensOfBuilds {
    first: Box<dyn CountableGuest>,
    guest: Guest,
    symbols: Vec<KernelSymbol>,
    lens: Lens,
    /// What is needed of the run's settings.
    saved: ProgramGuest,
    memory_mib: Option<u64>,
    threads: u32,
    /// The whole run is counted, also of programs with marks.
    whole: bool,
}

impl LensOfBuilds {
    /// For a new run, whose settings were just made. Fails if the machine does not boot.
    pub(crate) fn begin(settings: &LensSettings, threads: u32, lab: &Lab<'_>) -> Result<Self, Error> {
        let (again, guest) = parts(settings).ok_or_else(|| does_not_say("the run"))?;
        let files = (PathBuf::from(&again.plugin.path), PathBuf::from(&guest.kernel.path));
        Self::open(settings, again, guest, files, threads, lab)
    }

    /// For a run that was stopped or killed. Fails if a file that the run began with is missing or has changed, or if the machine does not boot.
    pub(crate) fn resume(head: &RunHead, settings: &LensSettings, lab: &Lab<'_>) -> Result<Self, Error> {
        let unknown = || does_not_say(&format!("run {}", head.id));
        let (again, guest) = parts(settings).ok_or_else(unknown)?;
        let threads = head.settings.cpus.first().copied().ok_or_else(unknown)?;
        check_emulator(head, lab)?;
        let plugin = plugin::find_again(&again.plugin, head.id)?;
        let kernel = found_again(&guest.kernel, "the kernel image", head.id)?;
        Self::open(settings, again, guest, (plugin, kernel), threads, lab)
    }

    fn open(
        settings: &LensSettings,
        again: &LensAgain,
        saved: &ProgramGuest,
        (plugin, kernel): (PathBuf, PathBuf),
        threads: u32,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let kernel = KernelImage::open(&kernel)?;
        let lens = Lens { plugin, model: model::again(settings, again), scratch: lab.places.scratch.clone() };
        let shape = MachineShape::new(lens.model.cpus_for_threads(threads), lens.model.sockets, again.memory_mib)
            .map_err(|error| Error::usage(error.problem, error.hint))?;
        let guest = guest(shape, &kernel.path, &[]);
        let request = machine_request(guest.clone(), kernel);
        let first = lab.machines.ready_guest(request, GuestRuns::Programs, lab.places, lab.stop)?;
        let symbols = kernel_symbols(first.as_ref(), saved.kernel_too, lab)?;
        let (memory_mib, whole) = (again.memory_mib, again.whole);
        Ok(LensOfBuilds { first, guest, symbols, lens, saved: saved.clone(), memory_mib, threads, whole })
    }

    /// The facts about the machine that has booted.
    pub(crate) fn facts(&self) -> Facts {
        self.first.facts()
    }

    /// The machine on which the program of a build runs. Inner error, in words: it cannot run there, which is a result. Fails if no machine can hold its files.
    pub(crate) fn machine(&self, command: &[String], directory: &Path) -> Result<Result<Machine, String>, Error> {
        let files = match self.files(command, directory) {
            Ok(files) => files,
            Err(error) => return Ok(Err(error.problem)),
        };
        let shape = self.shape(&files)?;
        Ok(Ok(Machine::Qemu(Guest { shape, ..self.guest.clone() })))
    }

    /// Whether whole runs are counted, and not only what is between marks. The program that was built first decides for all, because other counts could not be
    /// compared with its. Fails if it is not there any more.
    pub(crate) fn is_whole(&self, subjects: &[Subject]) -> Result<bool, Error> {
        let first = subjects.iter().find(|subject| subject.build == Some(BuildResult::Built));
        match first {
            Some(first) if !self.whole => Ok(!has_marks(self.files_of(first)?.program())?),
            _ => Ok(true),
        }
    }

    /// The target that counts the program of a subject, with names. Fails if its files are not there any more.
    pub(crate) fn ready(&self, subject: &Subject, is_whole: bool) -> Result<(Box<dyn Target>, Naming), Error> {
        let files = self.files_of(subject)?;
        let shape = self.shape(&files)?;
        let program = CountedProgram {
            files: Arc::new(files),
            directory: subject.setup.directory.clone().unwrap_or_default(),
            environment: self.saved.environment.clone(),
            is_whole,
            kernel_too: self.saved.kernel_too,
        };
        let debug = DebugDirectories::new(&[]);
        counted_in(self.first.as_ref(), self.symbols.clone(), &[shape], (program, debug), self.lens.clone())
    }

    fn files_of(&self, subject: &Subject) -> Result<ProgramFiles, Error> {
        let directory = subject.setup.directory.as_deref().unwrap_or_default();
        Ok(self.files(&subject.setup.command, Path::new(directory))?)
    }

    /// The files of a program: all that was kept of its build, and what it needs of this host.
    fn files(&self, command: &[String], directory: &Path) -> Result<ProgramFiles, TargetError> {
        let build = With { source: directory.to_owned(), place: None };
        let with: Vec<With> = std::iter::once(build).chain(self.saved.with.iter().map(with_again)).collect();
        let program = command.first().map(String::as_str).unwrap_or_default();
        ProgramFiles::find(Path::new(program), directory, &with, &self.saved.environment)
    }

    fn shape(&self, files: &ProgramFiles) -> Result<MachineShape, Error> {
        let shapes = shapes(&self.lens.model, &[self.threads], self.memory_mib, files)?;
        Ok(shapes.first().copied().unwrap_or(self.guest.shape))
    }
}

fn parts(settings: &LensSettings) -> Option<(&LensAgain, &ProgramGuest)> {
    let again = settings.again.as_deref()?;
    Some((again, again.guest.as_ref()?))
}

fn does_not_say(what: &str) -> Error {
    Error::failed(
        format!("{what} does not say how its programs are counted"),
        "its database was changed by hand; start a new run",
    )
}
