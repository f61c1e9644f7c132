//! Programs built during a run, one for each commit, counted in guests of one kind.

use super::files::{found_again, saved};
use super::model::{guest, image, machine_request};
use super::program::{
    DEFAULT_THREADS, counted_in, environment, has_marks, kernel_symbols, shapes, with_again, with_as_saved,
};
use super::request::{Gates, ModelRequest};
use super::resume::check_emulator;
use super::{files, model};
use crate::bench::{Bench, BlockPlace, Sink, Stretched};
use crate::error::Error;
use crate::lab::Lab;
use crate::target::GuestRuns;
use faultline_record::artefact::Artefact;
use faultline_record::facts::Facts;
use faultline_record::lens::guest_kernel::KernelSymbol;
use faultline_record::lens::settings::{Bounds, LensAgain, LensSettings, ProgramGuest};
use faultline_record::machine::{Guest, Machine, MachineShape};
use faultline_record::plan::{MeasuredLine, PlanItem};
use faultline_record::record::RunHead;
use faultline_record::subject::{BuildResult, Subject, SubjectIndex};
use faultline_runner::lens::{Naming, block_of_programs};
use faultline_symbols::DebugDirectories;
use faultline_targets::counting::{CountableGuest, CountedProgram, Lens, RegionBounds};
use faultline_targets::program_files::{ProgramFiles, With};
use faultline_targets::qemu::KernelImage;
use faultline_targets::{Target, TargetError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The request for counts of programs that the run builds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuildsRequest {
    /// The number of threads, and of the guest's CPUs; the default if `None`.
    pub threads: Option<u32>,
    /// Count the whole run, and ignore marks.
    pub whole: bool,
    /// Files of this host in addition to those of a build. Relative paths start at the top of a
    /// build.
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

/// The settings of such a run. Fails if the modelled machine is impossible, or if the plugin, the
/// emulator or a kernel is missing.
pub fn settings_of_builds(request: &BuildsRequest, lab: &Lab<'_>) -> Result<LensSettings, Error> {
    let machine = model::machine(&request.model, lab.places)?;
    if request.threads() == 0 {
        return Err(Error::usage("the number of tasks is 0", "`--tasks` takes numbers from 1"));
    }
    machine.check(&[machine.cpus_for_threads(request.threads())]).map_err(Error::target_as_usage)?;
    lab.machines.lens_emulator(lab.places)?;
    let kernel = image(request.kernel.as_deref(), lab.places)?;
    let plugin = files::find_plugin(lab.places)?;
    let again = LensAgain {
        whole: request.whole,
        memory_mib: request.memory_mib,
        guest: Some(ProgramGuest {
            kernel: saved(&kernel.path)?,
            with: request.with.iter().map(with_as_saved).collect(),
            environment: environment(&request.environment),
            kernel_too: request.kernel_too,
            process: None,
            bounds: Bounds::default(),
            debug_directories: Vec::new(),
            files_sha256: None,
        }),
        ..model::to_count_again(&machine, None, saved(&plugin)?, &Gates::default())
    };
    Ok(model::settings(&request.model, &Gates::default(), None, again))
}

/// The lens for programs of builds, with a machine that has booted.
pub(crate) struct LensOfBuilds {
    first: Box<dyn CountableGuest>,
    guest: Guest,
    symbols: Vec<KernelSymbol>,
    lens: Lens,
    /// The saved settings of the program's guest.
    saved: ProgramGuest,
    memory_mib: Option<u64>,
    threads: u32,
    /// Count whole runs, also of programs with marks.
    whole: bool,
    /// Name of the program.
    name: String,
}

impl LensOfBuilds {
    /// The lens of a new run. Fails if the machine does not boot.
    pub(crate) fn begin(
        settings: &LensSettings,
        line: &MeasuredLine,
        threads: u32,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let (again, guest) = parts(settings).ok_or_else(|| does_not_say("the run"))?;
        let files = (PathBuf::from(&again.plugin.path), PathBuf::from(&guest.kernel.path));
        Self::open(settings, (again, guest), files, (line.program_name(), threads), lab)
    }

    /// The lens of a resumed run. Fails if one of its files is missing or has changed, or if the
    /// machine does not boot.
    pub(crate) fn resume(
        head: &RunHead,
        settings: &LensSettings,
        line: &MeasuredLine,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let unknown = || does_not_say(&format!("run {}", head.id));
        let (again, guest) = parts(settings).ok_or_else(unknown)?;
        let threads = head.settings.cpus.first().copied().ok_or_else(unknown)?;
        check_emulator(head, lab)?;
        let plugin = files::plugin_again(&again.plugin, head.id)?;
        let kernel = found_again(&guest.kernel, "the kernel image", head.id)?;
        Self::open(settings, (again, guest), (plugin, kernel), (line.program_name(), threads), lab)
    }

    fn open(
        settings: &LensSettings,
        (again, saved): (&LensAgain, &ProgramGuest),
        (plugin, kernel): (PathBuf, PathBuf),
        (name, threads): (&str, u32),
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
        let (saved, name) = (saved.clone(), name.to_owned());
        Ok(LensOfBuilds { first, guest, symbols, lens, saved, memory_mib, threads, whole, name })
    }

    /// True to count whole runs instead of the part between marks. The first built program decides
    /// for all, so that counts are comparable. Fails if it does not exist any more.
    fn is_whole(&self, subjects: &[Subject]) -> Result<bool, Error> {
        let first = subjects.iter().find(|subject| subject.build == Some(BuildResult::Built));
        match first {
            Some(first) if !self.whole => Ok(!has_marks(self.files_of(first)?.program())?),
            _ => Ok(true),
        }
    }

    /// The target that counts the program of a subject, with names. Fails if a file of it does not
    /// exist any more.
    fn ready(&self, subject: &Subject, is_whole: bool) -> Result<(Box<dyn Target>, Naming), Error> {
        let files = self.files_of(subject)?;
        let shape = self.shape(&files)?;
        let program = CountedProgram {
            files: Arc::new(files),
            directory: subject.setup.directory.clone().unwrap_or_default(),
            environment: self.saved.environment.clone(),
            is_whole,
            kernel_too: self.saved.kernel_too,
            process: None,
            bounds: RegionBounds::default(),
        };
        let debug = DebugDirectories::new(&[]);
        counted_in(self.first.as_ref(), self.symbols.clone(), &[shape], (program, debug), self.lens.clone())
    }

    fn files_of(&self, subject: &Subject) -> Result<ProgramFiles, Error> {
        let directory = subject.setup.directory.as_deref().unwrap_or_default();
        Ok(self.files(&subject.setup.command, Path::new(directory))?)
    }

    /// The files of a program: those of its build, and those that it needs of this host.
    fn files(&self, command: &[String], directory: &Path) -> Result<ProgramFiles, TargetError> {
        let with: Vec<With> = self.saved.with.iter().map(with_again).collect();
        ProgramFiles::find_in_build(command, directory, &with, &self.saved.environment)
    }

    fn shape(&self, files: &ProgramFiles) -> Result<MachineShape, Error> {
        let shapes = shapes(&self.lens.model, &[self.threads], self.memory_mib, files)?;
        Ok(shapes.first().copied().unwrap_or(self.guest.shape))
    }
}

impl Bench for LensOfBuilds {
    fn facts(&self) -> Facts {
        self.first.facts()
    }

    fn machine(
        &self,
        artefact: &Artefact,
        directory: &Path,
        _: &mut Lab<'_>,
    ) -> Result<Result<Machine, String>, Error> {
        let files = match self.files(artefact.command(), directory) {
            Ok(files) => files,
            Err(error) => return Ok(Err(error.problem)),
        };
        let shape = self.shape(&files)?;
        Ok(Ok(Machine::Qemu(Guest { shape, ..self.guest.clone() })))
    }

    fn block(&self, subjects: &[SubjectIndex], place: BlockPlace) -> Vec<PlanItem> {
        block_of_programs(subjects, (&self.name, place.tasks), (place.block, place.ordinal), place.seed)
    }

    fn measure(&mut self, items: &[PlanItem], into: &mut Sink<'_>, lab: &mut Lab<'_>) -> Result<Stretched, Error> {
        into.count(items, lab, |subject, head, _| self.ready(subject, self.is_whole(&head.subjects)?))
    }
}

fn parts(settings: &LensSettings) -> Option<(&LensAgain, &ProgramGuest)> {
    Some((&settings.again, settings.again.guest.as_ref()?))
}

fn does_not_say(what: &str) -> Error {
    Error::failed(
        format!("{what} does not say how its programs are counted"),
        "its database was changed by hand; start a new run",
    )
}
