//! Kernels that are built while a run goes on, one for each commit, and booted in guests in which time is measured. Each execution has a boot of its own, so
//! differences between boots are within its values.

use crate::error::{Error, ErrorKind};
use crate::failing_target::FailingTarget;
use crate::lab::Lab;
use crate::target::{emulator_version, guest_workloads};
use faultline_model::artefact::BuiltKernel;
use faultline_model::cell::Case;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::machine::{Guest, Machine, MachineShape, usual_boot_limit};
use faultline_model::plan::Timing;
use faultline_model::subject::{Subject, SubjectIndex};
use faultline_runner::lens::case_of_workload;
use faultline_runner::timing_of_case;
use faultline_targets::Target;
use faultline_targets::qemu::{EMULATOR_VERSION, KernelImage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Sockets of a guest.
const SOCKETS: u32 = 1;

/// The guests.
pub(crate) struct BootedKernels {
    kernel: BuiltKernel,
    case: Case,
    timing: Timing,
    workloads: Vec<WorkloadInfo>,
    shape: MachineShape,
    facts: Facts,
    /// Those that were booted once and looked at. Executions of subjects alternate.
    ready: BTreeMap<SubjectIndex, Box<dyn Target>>,
}

impl BootedKernels {
    /// Fails if the kernel's workload does not exist, or if the emulator or the guest's parts are missing.
    pub(crate) fn open(kernel: &BuiltKernel, cpus: u32, lab: &Lab<'_>) -> Result<Self, Error> {
        let workloads = guest_workloads(lab.places)?;
        let case = case_of_workload(&kernel.workload, kernel.mode, &workloads)?;
        let timing = timing_of_case(&case, &workloads)?;
        let shape = MachineShape::new(cpus, SOCKETS, None).map_err(|error| Error::usage(error.problem, error.hint))?;
        let mut facts = lab.places.bare_host().facts();
        facts.text(EMULATOR_VERSION, emulator_version(lab.places)?);
        Ok(BootedKernels { kernel: kernel.clone(), case, timing, workloads, shape, facts, ready: BTreeMap::new() })
    }

    /// The facts about the host and the emulator.
    pub(crate) fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// The workloads of guests.
    pub(crate) fn workloads(&self) -> &[WorkloadInfo] {
        &self.workloads
    }

    /// What is measured.
    pub(crate) fn case(&self) -> &Case {
        &self.case
    }

    /// For how long.
    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }

    /// The machine on which the kernel of a build runs. Inner error, in words: there is no kernel, which is a result.
    pub(crate) fn machine(&self, directory: &Path) -> Result<Machine, String> {
        let image = KernelImage::open(&directory.join(&self.kernel.image)).map_err(|error| error.problem)?;
        Ok(Machine::Qemu(Guest {
            shape: self.shape,
            kernel: Some(image.path),
            accelerator: self.kernel.accelerator,
            boot_limit: usual_boot_limit(self.shape.cpus()),
            parameters: Vec::new(),
        }))
    }

    /// The guest with the kernel of a subject. A kernel that does not boot has a target on which nothing can be executed. Fails if its build is not there any more,
    /// or on a stop.
    pub(crate) fn ready(
        &mut self,
        index: SubjectIndex,
        subject: &Subject,
        lab: &mut Lab<'_>,
    ) -> Result<&dyn Target, Error> {
        if !self.ready.contains_key(&index) {
            let booted = self.boot(subject, lab)?;
            self.ready.insert(index, booted);
        }
        Ok(self.ready[&index].as_ref())
    }

    fn boot(&self, subject: &Subject, lab: &mut Lab<'_>) -> Result<Box<dyn Target>, Error> {
        let directory = PathBuf::from(subject.setup.directory.as_deref().unwrap_or_default());
        let gone = |problem| Error::failed(problem, "start a new run: it builds the commit again");
        let machine = self.machine(&directory).map_err(gone)?;
        match lab.machines.ready(&machine, lab.places, lab.stop) {
            Ok(ready) => Ok(ready.target),
            // What is missing on this host was missed before.
            Err(error) if error.kind == ErrorKind::Failed && !lab.stop.is_set() => {
                Ok(Box::new(FailingTarget::not_booted(self.shape.cpus(), error.problem)))
            }
            Err(error) => Err(error),
        }
    }
}
