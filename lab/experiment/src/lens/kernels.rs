//! Kernels built during a run, one for each commit. Each boots in a guest of its own, which counts
//! one workload.

use super::files::{digest, saved};
use super::kernel::{counting, vmlinux};
use super::model::{guest, machine_request};
use super::request::{Gates, ModelRequest};
use super::resume::check_emulator;
use super::{files, model};
use crate::bench::{Bench, BlockPlace, FailingTarget, Sink, Stretched};
use crate::error::{Error, ErrorKind};
use crate::lab::Lab;
use crate::measure::check_lack;
use crate::places::Places;
use crate::target::{GuestRuns, guest_workloads};
use faultline_record::artefact::{Artefact, BuiltKernel};
use faultline_record::cell::Case;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::lens::settings::{LensAgain, LensSettings};
use faultline_record::machine::{Machine, MachineShape};
use faultline_record::plan::PlanItem;
use faultline_record::record::RunHead;
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_runner::lens::{Naming, block_of_kernels, case_of_workload};
use faultline_targets::counting::Lens;
use faultline_targets::qemu::{EMULATOR_VERSION, KernelImage};
use faultline_targets::{Target, lack};
use std::path::{Path, PathBuf};

/// Digits of a digest that tell the programs of guests apart.
const SHOWN_DIGITS: usize = 12;

/// The request for counts of kernels that the run builds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KernelsRequest {
    /// The number of CPUs of the guest, and of tasks.
    pub cpus: u32,
    /// Operations of each task; the workload's default if `None`.
    pub operations: Option<u64>,
    /// Memory of the machine in MiB; depends on the number of CPUs if `None`.
    pub memory_mib: Option<u64>,
    /// The modelled machine.
    pub model: ModelRequest,
}

/// The settings of such a run. Fails if the modelled machine is impossible, or if the plugin or the
/// emulator is missing.
pub fn settings_of_kernels(request: &KernelsRequest, lab: &Lab<'_>) -> Result<LensSettings, Error> {
    model::check_turns(&request.model)?;
    let machine = model::machine(&request.model, lab.places)?;
    machine.check(&[request.cpus]).map_err(Error::target_as_usage)?;
    lab.machines.lens_emulator(lab.places)?;
    let plugin = files::find_plugin(lab.places)?;
    let again = LensAgain {
        memory_mib: request.memory_mib,
        ..model::to_count_again(&machine, None, saved(&plugin)?, &Gates::default())
    };
    Ok(model::settings(&request.model, &Gates::default(), request.operations, again))
}

/// The identity of the programs that kernels run, since another version of a workload has other
/// counts. Fails if the kernel's workload does not exist.
pub(crate) fn programs_of(kernel: &BuiltKernel, places: &Places) -> Result<String, Error> {
    let guest = places.guest_paths()?.guest;
    let case = case_of_workload(&kernel.workload, kernel.mode, &guest_workloads(places)?)?;
    let programs = [guest.join("agent"), guest.join("workloads").join(&case.workload)];
    let digests: Result<Vec<String>, std::io::Error> = programs.iter().map(|path| digest(path)).collect();
    let unreadable =
        |error| Error::failed(format!("cannot read the programs of guests: {error}"), "`make guest` builds them");
    let digests =
        digests.map_err(unreadable)?.iter().map(|digest| digest[..SHOWN_DIGITS].to_owned()).collect::<Vec<_>>();
    Ok(format!("agent {}, {} {}", digests[0], case.workload, digests[1]))
}

/// The lens for kernels of builds.
pub(crate) struct LensOfKernels {
    lens: Lens,
    kernel: BuiltKernel,
    case: Case,
    workloads: Vec<WorkloadInfo>,
    /// The machine that counts.
    shape: MachineShape,
    /// The machine of the first boot, which provides the kernel's symbols.
    first: MachineShape,
    facts: Facts,
}

impl LensOfKernels {
    /// The lens of a new run. Fails if the kernel's workload or a part of the guest is missing.
    pub(crate) fn begin(
        settings: &LensSettings,
        kernel: &BuiltKernel,
        cpus: u32,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let again = &settings.again;
        Self::open(settings, again, PathBuf::from(&again.plugin.path), (kernel, cpus), lab)
    }

    /// The lens of a resumed run. Fails if one of its files is missing or has changed.
    pub(crate) fn resume(
        head: &RunHead,
        settings: &LensSettings,
        kernel: &BuiltKernel,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let again = &settings.again;
        let unknown = || does_not_say(&format!("run {}", head.id));
        let cpus = head.settings.cpus.first().copied().ok_or_else(unknown)?;
        check_emulator(head, lab)?;
        let plugin = files::plugin_again(&again.plugin, head.id)?;
        Self::open(settings, again, plugin, (kernel, cpus), lab)
    }

    fn open(
        settings: &LensSettings,
        again: &LensAgain,
        plugin: PathBuf,
        (kernel, cpus): (&BuiltKernel, u32),
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let workloads = guest_workloads(lab.places)?;
        let case = case_of_workload(&kernel.workload, kernel.mode, &workloads)?;
        let lens = Lens { plugin, model: model::again(settings, again), scratch: lab.places.scratch.clone() };
        let shape = |cpus, memory_mib| {
            MachineShape::new(cpus, lens.model.sockets, memory_mib)
                .map_err(|error| Error::usage(error.problem, error.hint))
        };
        let (shape, first) = (shape(cpus, again.memory_mib)?, shape(lens.model.sockets, None)?);
        let mut facts = lab.places.bare_host().facts();
        facts.text(EMULATOR_VERSION, lab.machines.lens_emulator(lab.places)?);
        Ok(LensOfKernels { lens, kernel: kernel.clone(), case, workloads, shape, first, facts })
    }

    /// The target that counts the kernel of a subject, with names. For a kernel that does not boot,
    /// one whose executions fail. Fails if the build does not exist any more, or on a stop.
    fn ready(&self, subject: &Subject, lab: &mut Lab<'_>) -> Result<(Box<dyn Target>, Naming), Error> {
        let directory = PathBuf::from(subject.setup.directory.as_deref().unwrap_or_default());
        let gone = |problem| Error::failed(problem, "start a new run: it builds the commit again");
        let image = self.image(&directory).map_err(gone)?;
        let vmlinux = match &self.kernel.vmlinux {
            Some(path) => Some(vmlinux(&directory.join(path), &image, lab.observer)?),
            None => None,
        };
        let request = machine_request(guest(self.first, &image.path, &[]), image);
        let watch = lack::Watch::begin();
        let booted = lab
            .machines
            .ready_guest(request, GuestRuns::Workloads, lab.places, lab.stop)
            .and_then(|first| counting(first.as_ref(), &[self.shape], self.lens.clone(), vmlinux, lab));
        match booted {
            // A missing part of this host would have failed the start.
            Err(error) if error.kind == ErrorKind::Failed => {
                check_lack(&watch, lab)?;
                let failing = FailingTarget::not_booted(self.shape.cpus(), error.problem);
                Ok((Box::new(failing), Naming::Machine { images: [].into() }))
            }
            booted => booted,
        }
    }

    fn image(&self, directory: &Path) -> Result<KernelImage, String> {
        KernelImage::open(&directory.join(&self.kernel.image)).map_err(|error| error.problem)
    }
}

impl Bench for LensOfKernels {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, Error> {
        Ok(self.workloads.clone())
    }

    fn machine(&self, _: &Artefact, directory: &Path, lab: &mut Lab<'_>) -> Result<Result<Machine, String>, Error> {
        let image = match self.image(directory) {
            Ok(image) => image,
            Err(problem) => return Ok(Err(problem)),
        };
        if let Some(path) = &self.kernel.vmlinux
            && let Err(error) = vmlinux(&directory.join(path), &image, lab.observer)
        {
            return Ok(Err(error.problem));
        }
        Ok(Ok(Machine::Qemu(guest(self.shape, &image.path, &[]))))
    }

    fn block(&self, subjects: &[SubjectIndex], place: BlockPlace) -> Vec<PlanItem> {
        block_of_kernels(subjects, (&self.case, place.tasks), (place.block, place.ordinal), place.seed)
    }

    fn measure(&mut self, items: &[PlanItem], into: &mut Sink<'_>, lab: &mut Lab<'_>) -> Result<Stretched, Error> {
        into.count(items, lab, |subject, _, lab| self.ready(subject, lab))
    }
}

fn does_not_say(what: &str) -> Error {
    Error::failed(
        format!("{what} does not say how its kernels are counted"),
        "its database was changed by hand; start a new run",
    )
}
