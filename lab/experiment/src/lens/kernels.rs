//! Kernels that are built while a run goes on, one for each commit: each is booted in a guest of its own, and one workload is counted there.

use super::guest::{guest, machine_request};
use super::kernel::{counting, vmlinux};
use super::request::{Gates, ModelRequest};
use super::resume::check_emulator;
use super::saved_file::{digest, saved};
use super::{model, plugin};
use crate::error::{Error, ErrorKind};
use crate::failing_target::FailingTarget;
use crate::lab::Lab;
use crate::places::Places;
use crate::target::{GuestRuns, guest_workloads};
use faultline_model::artefact::BuiltKernel;
use faultline_model::cell::Case;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::settings::{LensAgain, LensSettings};
use faultline_model::machine::{Machine, MachineShape};
use faultline_model::record::RunHead;
use faultline_model::subject::Subject;
use faultline_runner::lens::{Naming, case_of_workload};
use faultline_targets::Target;
use faultline_targets::counting::Lens;
use faultline_targets::qemu::{EMULATOR_VERSION, KernelImage};
use std::path::{Path, PathBuf};

/// Digits of a digest that tell the programs of guests apart.
const SHOWN_DIGITS: usize = 12;

/// The request for counts of kernels that are not built yet.
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

/// The settings of such a run, as they are saved. Fails if the modelled machine is impossible, or if the plugin or the emulator is missing.
pub fn settings_of_kernels(request: &KernelsRequest, lab: &Lab<'_>) -> Result<LensSettings, Error> {
    model::check_turns(&request.model)?;
    let machine = model::machine(&request.model, lab.places)?;
    machine.check(&[request.cpus]).map_err(Error::target_as_usage)?;
    lab.machines.lens_emulator(lab.places)?;
    let plugin = plugin::find(lab.places)?;
    let again = LensAgain {
        memory_mib: request.memory_mib,
        ..model::to_count_again(&machine, None, saved(&plugin)?, &Gates::default())
    };
    Ok(model::settings(&request.model, &Gates::default(), request.operations, again))
}

/// What tells apart the programs that kernels run: another version of the workload counts otherwise. Fails if the kernel's workload does not exist.
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

/// What counts kernels of builds.
pub(crate) struct LensOfKernels {
    lens: Lens,
    kernel: BuiltKernel,
    case: Case,
    workloads: Vec<WorkloadInfo>,
    /// The machine that counts.
    shape: MachineShape,
    /// The machine that boots first, for the kernel's symbols.
    first: MachineShape,
    facts: Facts,
}

impl LensOfKernels {
    /// For a new run, whose settings were just made. Fails if the kernel's workload does not exist, or if the guest's parts are missing.
    pub(crate) fn begin(
        settings: &LensSettings,
        kernel: &BuiltKernel,
        cpus: u32,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let again = settings.again.as_deref().ok_or_else(|| does_not_say("the run"))?;
        Self::open(settings, again, PathBuf::from(&again.plugin.path), (kernel, cpus), lab)
    }

    /// For a run that was stopped or killed. Fails if a file that the run began with is missing or has changed.
    pub(crate) fn resume(
        head: &RunHead,
        settings: &LensSettings,
        kernel: &BuiltKernel,
        lab: &Lab<'_>,
    ) -> Result<Self, Error> {
        let unknown = || does_not_say(&format!("run {}", head.id));
        let again = settings.again.as_deref().ok_or_else(unknown)?;
        let cpus = head.settings.cpus.first().copied().ok_or_else(unknown)?;
        check_emulator(head, lab)?;
        let plugin = plugin::find_again(&again.plugin, head.id)?;
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

    /// The facts about the host and the emulator.
    pub(crate) fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// The workloads of guests.
    pub(crate) fn workloads(&self) -> &[WorkloadInfo] {
        &self.workloads
    }

    /// What is counted.
    pub(crate) fn case(&self) -> &Case {
        &self.case
    }

    /// The machine on which the kernel of a build runs. Inner error, in words: there is no kernel, which is a result.
    pub(crate) fn machine(&self, directory: &Path, lab: &mut Lab<'_>) -> Result<Machine, String> {
        let image = self.image(directory)?;
        if let Some(path) = &self.kernel.vmlinux {
            vmlinux(&directory.join(path), &image, lab.observer).map_err(|error| error.problem)?;
        }
        Ok(Machine::Qemu(guest(self.shape, &image.path, &[])))
    }

    /// The target that counts the kernel of a subject, with names. A kernel that does not boot has a target on which nothing can be executed. Fails if its build
    /// is not there any more, or on a stop.
    pub(crate) fn ready(&self, subject: &Subject, lab: &mut Lab<'_>) -> Result<(Box<dyn Target>, Naming), Error> {
        let directory = PathBuf::from(subject.setup.directory.as_deref().unwrap_or_default());
        let gone = |problem| Error::failed(problem, "start a new run: it builds the commit again");
        let image = self.image(&directory).map_err(gone)?;
        let vmlinux = match &self.kernel.vmlinux {
            Some(path) => Some(vmlinux(&directory.join(path), &image, lab.observer)?),
            None => None,
        };
        let request = machine_request(guest(self.first, &image.path, &[]), image);
        let booted = lab
            .machines
            .ready_guest(request, GuestRuns::Workloads, lab.places, lab.stop)
            .and_then(|first| counting(first.as_ref(), &[self.shape], self.lens.clone(), vmlinux, lab));
        match booted {
            // What is missing on this host was missed before.
            Err(error) if error.kind == ErrorKind::Failed => {
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

fn does_not_say(what: &str) -> Error {
    Error::failed(
        format!("{what} does not say how its kernels are counted"),
        "its database was changed by hand; start a new run",
    )
}
