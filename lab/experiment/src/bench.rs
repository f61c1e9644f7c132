//! Machines on which a growing run measures its builds. Each kind of machine implements one trait.

use crate::error::Error;
use crate::lab::Lab;
use crate::lens::jobs;
use crate::measure::{self, Stretch};
use crate::target::ReadyTarget;
use faultline_record::artefact::Artefact;
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::machine::{ControlledHost, HostControl, Machine};
use faultline_record::outcome::GuestFailure;
use faultline_record::plan::PlanItem;
use faultline_record::recipe::Recipe;
use faultline_record::record::RunHead;
use faultline_record::subject::{Subject, SubjectIndex};
use faultline_runner::lens::Naming;
use faultline_runner::{PlannedRun, SubjectTargets, Targets, block_of_commands};
use faultline_store::Store;
use faultline_targets::counting::{AtEnd, Counted, Counting};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError, ssh};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// The machines that measure the builds of a growing run.
pub(crate) trait Bench {
    /// Facts of the host or emulator, saved with each session.
    fn facts(&self) -> Facts;

    /// Workloads for the plan; none for programs. Fails if they are missing.
    fn workloads(&self) -> Result<Vec<WorkloadInfo>, Error> {
        Ok(Vec::new())
    }

    /// The machine that runs the artefact of a build in `directory`. Inner error, in words: the
    /// build cannot run, which is its result. Fails if no machine can hold its files.
    fn machine(
        &self,
        artefact: &Artefact,
        directory: &Path,
        lab: &mut Lab<'_>,
    ) -> Result<Result<Machine, String>, Error>;

    /// Items that execute each of these subjects once.
    fn block(&self, subjects: &[SubjectIndex], place: BlockPlace) -> Vec<PlanItem>;

    /// Measures items. Fails if the database cannot be written, or if a build is missing.
    fn measure(&mut self, items: &[PlanItem], into: &mut Sink<'_>, lab: &mut Lab<'_>) -> Result<Stretched, Error>;

    /// True if measuring can continue after a lost connection. Waits for the host. Fails on a stop.
    fn is_back(&self, _: &Lab<'_>) -> Result<bool, Error> {
        Ok(true)
    }
}

/// Position of a block in a growing plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPlace {
    /// Number of tasks.
    pub(crate) tasks: u32,
    /// Number of the block.
    pub(crate) block: u32,
    /// Ordinal of its first item.
    pub(crate) ordinal: u32,
    /// Seed of the order; under the lens, of the guests.
    pub(crate) seed: u64,
}

/// The end of a measurement of items.
pub(crate) enum Stretched {
    /// All items have ended.
    ToTheEnd,
    /// A stop was requested.
    Stopped,
    /// The time budget was used up before all items began.
    BudgetUsed,
    /// The connection to a host was lost. The execution does not count.
    ConnectionLost(Error),
}

/// Number of subjects whose guests are prepared at once, each with a copy of its program's files.
const PREPARED_AT_ONCE: usize = 4;

/// The database and run into which executions are saved.
pub(crate) struct Sink<'a> {
    /// The database.
    pub(crate) store: &'a mut Store,
    /// The run.
    pub(crate) head: &'a RunHead,
    /// Time limit of each execution in milliseconds, instead of the run's own.
    pub(crate) limit_ms: Option<u64>,
    /// Time after which no item begins; `None` for unlimited time.
    pub(crate) deadline: Option<Duration>,
}

impl<'a> Sink<'a> {
    /// A subject of the run. Fails if it is not saved.
    pub(crate) fn subject(&self, index: SubjectIndex) -> Result<&'a Subject, Error> {
        measure::subject(self.head, index)
    }

    /// Measures items on one target. `naming`: for a target that counts.
    pub(crate) fn stretch(
        &mut self,
        (target, naming): (&dyn Target, Option<&Naming>),
        items: &[PlanItem],
        lab: &mut Lab<'_>,
    ) -> Result<Stretched, Error> {
        let targets = SubjectTargets { naming, ..SubjectTargets::alone(target) };
        // Counts do not depend on other executions.
        let jobs = naming.map_or(NonZeroUsize::MIN, |_| jobs(target, None));
        self.stretch_of(Targets::shared(&targets), jobs, items, lab)
    }

    /// Measures items on the targets of their subjects, at most `jobs` at the same time.
    fn stretch_of(
        &mut self,
        targets: Targets<'_>,
        jobs: NonZeroUsize,
        items: &[PlanItem],
        lab: &mut Lab<'_>,
    ) -> Result<Stretched, Error> {
        let planned = PlannedRun {
            targets,
            settings: &self.head.settings,
            subjects: &self.head.subjects,
            workloads: &self.head.workloads,
            items,
            budget: self.deadline.map(|deadline| deadline.saturating_sub(lab.clock.monotonic())),
            limit: measure::limit(self.limit_ms, self.head),
            jobs,
        };
        Ok(match measure::stretch(self.store, self.head, &planned, lab)? {
            Stretch::Whole => Stretched::ToTheEnd,
            Stretch::LeftOut(_) => Stretched::BudgetUsed,
            Stretch::Stopped => Stretched::Stopped,
            Stretch::ConnectionLost(error) => Stretched::ConnectionLost(error),
        })
    }

    /// Counts items. `ready`: the counting target of a subject. A guest is prepared once for all
    /// executions of a subject, because counts do not depend on the order. Guests of several
    /// subjects run at the same time.
    pub(crate) fn count(
        &mut self,
        items: &[PlanItem],
        lab: &mut Lab<'_>,
        mut ready: impl FnMut(&Subject, &RunHead, &mut Lab<'_>) -> Result<(Box<dyn Target>, Naming), Error>,
    ) -> Result<Stretched, Error> {
        let mut by_subject = items.to_vec();
        by_subject.sort_by_key(|item| item.subject);
        let mut subjects: Vec<SubjectIndex> = by_subject.iter().map(|item| item.subject).collect();
        subjects.dedup();
        for subjects in subjects.chunks(PREPARED_AT_ONCE) {
            let mut prepared = Vec::new();
            for subject in subjects {
                match ready(self.subject(*subject)?, self.head, lab) {
                    Err(error) if error == Error::stopped() => return Ok(Stretched::Stopped),
                    ready => prepared.push((*subject, ready?)),
                }
            }
            let targets: Vec<(SubjectIndex, SubjectTargets<'_>)> = prepared
                .iter()
                .map(|(subject, (target, naming))| (*subject, SubjectTargets::counting(target.as_ref(), naming)))
                .collect();
            let items: Vec<PlanItem> =
                by_subject.iter().filter(|item| subjects.contains(&item.subject)).cloned().collect();
            // The guest that needs most room decides for all.
            let jobs = prepared.iter().map(|(_, (target, _))| jobs(target.as_ref(), None)).min();
            let jobs = jobs.unwrap_or(NonZeroUsize::MIN);
            match self.stretch_of(Targets::of_some(&targets, &items)?, jobs, &items, lab)? {
                Stretched::ToTheEnd => {}
                ended => return Ok(ended),
            }
        }
        Ok(Stretched::ToTheEnd)
    }
}

/// This host, or another one over SSH: executes programs.
pub(crate) struct ProgramBench {
    ready: ReadyTarget,
    /// The declaration of the other host.
    on: Option<ControlledHost>,
}

impl ProgramBench {
    /// Connects to the host. Fails if it cannot be reached.
    pub(crate) fn open(on: Option<&ControlledHost>, recipe: &Recipe, lab: &Lab<'_>) -> Result<Self, Error> {
        let machine = on.map_or(Machine::Host, ControlledHost::machine);
        let places = lab.places.for_programs_of(recipe)?;
        Ok(ProgramBench { ready: lab.machines.ready(&machine, &places, lab.stop)?, on: on.cloned() })
    }
}

impl Bench for ProgramBench {
    fn facts(&self) -> Facts {
        self.ready.target.facts()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, Error> {
        self.ready.target.workloads().map_err(Error::target_as_usage)
    }

    fn machine(&self, _: &Artefact, directory: &Path, _: &mut Lab<'_>) -> Result<Result<Machine, String>, Error> {
        if self.ready.machine.ssh_host().is_none() {
            return Ok(Ok(Machine::Host));
        }
        ssh::check_size(directory).map_err(Error::target_as_usage)?;
        Ok(Ok(self.ready.machine.clone()))
    }

    fn block(&self, subjects: &[SubjectIndex], place: BlockPlace) -> Vec<PlanItem> {
        block_of_commands(subjects, place.tasks, place.block, place.ordinal, place.seed)
    }

    fn measure(&mut self, items: &[PlanItem], into: &mut Sink<'_>, lab: &mut Lab<'_>) -> Result<Stretched, Error> {
        into.stretch((self.ready.target.as_ref(), None), items, lab)
    }

    fn is_back(&self, lab: &Lab<'_>) -> Result<bool, Error> {
        let Some(on) = &self.on else { return Ok(true) };
        // A host that only executes programs is never power-cycled.
        let control = HostControl { power_cycle: Vec::new(), ..on.control.clone() };
        let found = ssh::find_again((&on.host, &control), "", &lab.places.ssh_paths()?, lab.stop)?;
        if lab.stop.is_set() { Err(Error::stopped()) } else { Ok(found.is_ok()) }
    }
}

/// A target for a build that did not boot or could not be installed: executes nothing.
#[derive(Debug)]
pub(crate) struct FailingTarget {
    cpus: Vec<u32>,
    how: How,
    /// The observation, as text.
    why: String,
}

/// The failed stage.
#[derive(Debug, Clone, Copy)]
enum How {
    /// The kernel did not boot.
    NotBooted,
    /// The build could not be installed.
    NotInstalled,
}

impl FailingTarget {
    /// A kernel that does not boot.
    pub(crate) fn not_booted(cpus: u32, why: String) -> Self {
        FailingTarget { cpus: (0..cpus).collect(), how: How::NotBooted, why }
    }

    /// Something that cannot be installed.
    pub(crate) fn not_installed(cpus: u32, why: String) -> Self {
        FailingTarget { cpus: (0..cpus).collect(), how: How::NotInstalled, why }
    }

    fn ending(&self) -> Ending {
        let text = self.why.clone();
        match self.how {
            How::NotBooted => Ending::GuestFailed { failure: GuestFailure::NotBooted, text, console: String::new() },
            How::NotInstalled => Ending::NotStarted { text },
        }
    }
}

impl Target for FailingTarget {
    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(Vec::new())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn execute(&self, _: &Execution, _: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_), _: &StopFlag) -> Ending {
        self.ending()
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }
}

impl Counting for FailingTarget {
    fn count(
        &self,
        _: &Execution,
        _: u32,
        _: Option<u64>,
        _: &AtEnd<'_>,
        _: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        _: &StopFlag,
    ) -> Counted {
        Counted { ending: self.ending(), console: None, report: Err(self.why.clone()), seed: None }
    }
}
