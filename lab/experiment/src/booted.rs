//! Kernels of commits, each booted in a guest that measures time. Each execution boots a new guest,
//! so its value includes the differences between boots.

use crate::bench::{Bench, BlockPlace, FailingTarget, Sink, Stretched};
use crate::error::{Error, ErrorKind};
use crate::lab::Lab;
use crate::measure::check_lack;
use crate::target::{emulator_version, guest_workloads};
use faultline_record::artefact::{Artefact, BuiltKernel};
use faultline_record::cell::Cell;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::{Guest, Machine, MachineShape, usual_boot_limit};
use faultline_record::plan::{PlanItem, Timing};
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_runner::lens::case_of_workload;
use faultline_runner::{block_of_cell, timing_of_case};
use faultline_targets::qemu::{EMULATOR_VERSION, KernelImage};
use faultline_targets::{Target, lack};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Sockets of a guest.
const SOCKETS: u32 = 1;

/// The guests.
pub(crate) struct BootedKernels {
    kernel: BuiltKernel,
    cell: Cell,
    timing: Timing,
    workloads: Vec<WorkloadInfo>,
    shape: MachineShape,
    facts: Facts,
    /// Guests that were booted once and inspected. Executions of subjects alternate.
    ready: BTreeMap<SubjectIndex, Box<dyn Target>>,
}

impl BootedKernels {
    /// Prepares the guests. Fails if the kernel's workload does not exist, or if the emulator or
    /// the guest's parts are missing.
    pub(crate) fn open(kernel: &BuiltKernel, cpus: u32, lab: &Lab<'_>) -> Result<Self, Error> {
        let workloads = guest_workloads(lab.places)?;
        let case = case_of_workload(&kernel.workload, kernel.mode, &workloads)?;
        let timing = timing_of_case(&case, &workloads)?;
        let shape = MachineShape::new(cpus, SOCKETS, None).map_err(|error| Error::usage(error.problem, error.hint))?;
        let mut facts = lab.places.bare_host().facts();
        facts.text(EMULATOR_VERSION, emulator_version(lab.places)?);
        let cell = Cell { case, tasks: cpus };
        Ok(BootedKernels { kernel: kernel.clone(), cell, timing, workloads, shape, facts, ready: BTreeMap::new() })
    }

    /// The machine that runs a build's kernel. Inner error, in words: there is no kernel, which is
    /// a result.
    fn guest(&self, directory: &Path) -> Result<Machine, String> {
        let image = KernelImage::open(&directory.join(&self.kernel.image)).map_err(|error| error.problem)?;
        Ok(Machine::Qemu(Guest {
            shape: self.shape,
            kernel: Some(image.path),
            accelerator: self.kernel.accelerator,
            boot_limit: usual_boot_limit(self.shape.cpus()),
            parameters: Vec::new(),
        }))
    }

    /// The guest with a subject's kernel. A kernel that does not boot has a target that executes
    /// nothing. Fails if its build is gone, or on a stop.
    fn ready(&mut self, index: SubjectIndex, subject: &Subject, lab: &mut Lab<'_>) -> Result<&dyn Target, Error> {
        if !self.ready.contains_key(&index) {
            let booted = self.boot(subject, lab)?;
            self.ready.insert(index, booted);
        }
        Ok(self.ready[&index].as_ref())
    }

    fn boot(&self, subject: &Subject, lab: &mut Lab<'_>) -> Result<Box<dyn Target>, Error> {
        let directory = PathBuf::from(subject.setup.directory.as_deref().unwrap_or_default());
        let gone = |problem| Error::failed(problem, "start a new run: it builds the commit again");
        let machine = self.guest(&directory).map_err(gone)?;
        let watch = lack::Watch::begin();
        match lab.machines.ready(&machine, lab.places, lab.stop) {
            Ok(ready) => Ok(ready.target),
            // Parts missing on this host were found earlier.
            Err(error) if error.kind == ErrorKind::Failed && !lab.stop.is_set() => {
                check_lack(&watch, lab)?;
                Ok(Box::new(FailingTarget::not_booted(self.shape.cpus(), error.problem)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Bench for BootedKernels {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, Error> {
        Ok(self.workloads.clone())
    }

    fn machine(&self, _: &Artefact, directory: &Path, _: &mut Lab<'_>) -> Result<Result<Machine, String>, Error> {
        Ok(self.guest(directory))
    }

    fn block(&self, subjects: &[SubjectIndex], place: BlockPlace) -> Vec<PlanItem> {
        block_of_cell(subjects, (&self.cell, Some(self.timing)), (place.block, place.ordinal), place.seed)
    }

    /// Boots the kernel of each item and measures it.
    fn measure(&mut self, items: &[PlanItem], into: &mut Sink<'_>, lab: &mut Lab<'_>) -> Result<Stretched, Error> {
        for item in items {
            let target = match self.ready(item.subject, into.subject(item.subject)?, lab) {
                Err(error) if error == Error::stopped() => return Ok(Stretched::Stopped),
                ready => ready?,
            };
            match into.stretch((target, None), std::slice::from_ref(item), lab)? {
                Stretched::ToTheEnd => {}
                ended => return Ok(ended),
            }
        }
        Ok(Stretched::ToTheEnd)
    }
}
