//! A run whose plan grows while it goes on, because commits are built for it: a search along a line of commits, or a history. What was built and measured decides
//! what is done next. Time is measured on this host, over SSH on another one, or of kernels in guests; what the lens counts, in guests.

use crate::booted::BootedKernels;
use crate::conclusion::{Ended, Measured};
use crate::database::MeasuringStore;
use crate::error::Error;
use crate::installed::{self, InstallingHost, MOST_CUTS};
use crate::lab::Lab;
use crate::lens::{LensOfBuilds, LensOfKernels};
use crate::measure::{self, Stretch};
use crate::resumable;
use crate::target::ReadyTarget;
use faultline_model::artefact::Artefact;
use faultline_model::cell::Cell;
use faultline_model::describe::WorkloadInfo;
use faultline_model::explained::StepExplained;
use faultline_model::lens::settings::LensSettings;
use faultline_model::machine::{HostControl, Machine};
use faultline_model::plan::{MeasuredLine, PlanItem, RunKind, Settings};
use faultline_model::record::{RunHead, RunId, RunRecord, Session};
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use faultline_runner::lens::{Naming, block_of_kernels, block_of_programs};
use faultline_runner::{Clock, PlannedRun, SubjectTargets, Targets, block_of_cell, block_of_commands};
use faultline_store::{NewRun, Store};
use faultline_targets::{Target, ssh};
use std::num::NonZeroUsize;
use std::path::Path;

/// The request for such a run.
#[derive(Debug, Clone)]
pub struct GrowingRequest {
    /// What is measured, and how: a kind of run that builds commits.
    pub kind: RunKind,
    /// Maximum number of blocks in which a commit is executed, or of seeds with which it is counted.
    pub repeats: u32,
    /// Copies of the command that run at once; under the lens, threads of the command, for which the guest has CPUs.
    pub tasks: u32,
    /// Time limit of each execution in milliseconds.
    pub limit_ms: Option<u64>,
    /// Seed of the order, and of each guest's random numbers; a random one if `None`.
    pub seed: Option<u64>,
    /// A name for people.
    pub label: Option<String>,
}

/// A run that can be extended, with the machine that it is measured on.
pub struct GrowingRun {
    database: MeasuringStore,
    /// Everything that is saved.
    record: RunRecord,
    /// Items that are planned and have not ended.
    missing: Vec<PlanItem>,
    limit_ms: Option<u64>,
    bench: Bench,
}

/// Where commits are measured.
enum Bench {
    /// Programs, on this host or on another one.
    Host(Box<ReadyTarget>),
    /// What is installed on another host, which reboots.
    Installing(Box<InstallingHost>),
    /// Kernels, each booted in a guest.
    Booting(Box<BootedKernels>),
    /// Programs, in guests under the lens.
    Guests(Box<LensOfBuilds>),
    /// Kernels, in guests under the lens.
    Kernels(Box<LensOfKernels>),
}

/// A target that counts, with names for what it counts.
type CountingTarget = (Box<dyn Target>, Naming);

impl Bench {
    /// For a new run, with the workloads that it may plan.
    fn begin(settings: &Settings, tasks: u32, lab: &Lab<'_>) -> Result<(Self, Vec<WorkloadInfo>), Error> {
        Ok(match counted(settings) {
            None => {
                let bench = Self::timed(settings, tasks, lab)?;
                let workloads = match &bench {
                    Bench::Installing(host) => host.workloads().to_vec(),
                    Bench::Booting(kernels) => kernels.workloads().to_vec(),
                    Bench::Host(ready) => ready.target.workloads().map_err(Error::target_as_usage)?,
                    Bench::Guests(_) | Bench::Kernels(_) => Vec::new(),
                };
                (bench, workloads)
            }
            Some((lens, Artefact::Command(_))) => {
                (Bench::Guests(Box::new(LensOfBuilds::begin(lens, tasks, lab)?)), Vec::new())
            }
            Some((lens, Artefact::Kernel(kernel))) => {
                let lens = LensOfKernels::begin(lens, kernel, tasks, lab)?;
                let workloads = lens.workloads().to_vec();
                (Bench::Kernels(Box::new(lens)), workloads)
            }
        })
    }

    /// For a run that was stopped or killed.
    fn resume(head: &RunHead, lab: &Lab<'_>) -> Result<Self, Error> {
        Ok(match counted(&head.settings) {
            None => {
                // A build of this run may have taken it down.
                if let Some(on) = head.settings.measured_line().and_then(|line| line.on.as_ref())
                    && on.is_installed()
                {
                    installed::await_host(on, lab)?;
                }
                Self::timed(&head.settings, head.settings.cpus.first().copied().unwrap_or(1), lab)?
            }
            Some((lens, Artefact::Command(_))) => Bench::Guests(Box::new(LensOfBuilds::resume(head, lens, lab)?)),
            Some((lens, Artefact::Kernel(kernel))) => {
                Bench::Kernels(Box::new(LensOfKernels::resume(head, lens, kernel, lab)?))
            }
        })
    }

    /// Where time is measured.
    fn timed(settings: &Settings, tasks: u32, lab: &Lab<'_>) -> Result<Self, Error> {
        let line = settings.measured_line();
        let on = line.and_then(|line| line.on.as_ref());
        if let Some(kernel) = line.and_then(|line| line.artefact.kernel()) {
            match on.map(|on| (on, &on.release_file)) {
                Some((on, Some(release_file))) => {
                    let host = InstallingHost::open(on, release_file, kernel, tasks, lab)?;
                    return Ok(Bench::Installing(Box::new(host)));
                }
                // No declaration asks for programs of a host that are kernels.
                Some((_, None)) => {}
                None => return Ok(Bench::Booting(Box::new(BootedKernels::open(kernel, tasks, lab)?))),
            }
        }
        let machine = on.map_or(Machine::Host, |on| Machine::Ssh(on.host.clone()));
        Ok(Bench::Host(Box::new(lab.machines.ready(&machine, lab.places, lab.stop)?)))
    }

    /// The target that counts a subject, with names. `None` on a stop, and on a bench that does not count. Fails if the subject's build is not there any more.
    fn counting(
        &self,
        head: &RunHead,
        subject: SubjectIndex,
        lab: &mut Lab<'_>,
    ) -> Result<Option<CountingTarget>, Error> {
        let subject = resumable::subject(head, subject)?;
        let ready = match self {
            Bench::Host(_) | Bench::Installing(_) | Bench::Booting(_) => return Ok(None),
            Bench::Guests(lens) => lens.ready(subject, lens.is_whole(&head.subjects)?),
            Bench::Kernels(lens) => lens.ready(subject, lab),
        };
        match ready {
            Err(error) if error == Error::stopped() => Ok(None),
            ready => ready.map(Some),
        }
    }

    fn session(&self, clock: &dyn Clock) -> Session {
        let facts = match self {
            Bench::Host(ready) => ready.target.facts(),
            Bench::Installing(host) => host.facts(),
            Bench::Booting(kernels) => kernels.facts(),
            Bench::Guests(lens) => lens.facts(),
            Bench::Kernels(lens) => lens.facts(),
        };
        Session { started: clock.now(), facts: vec![facts] }
    }
}

/// How the lens counts, and what; `None` if time is measured.
fn counted(settings: &Settings) -> Option<(&LensSettings, &Artefact)> {
    let line = settings.measured_line()?;
    Some((&line.measure.counted()?.lens, &line.artefact))
}

/// Whether everything planned has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It has.
    ToTheEnd,
    /// A stop was requested.
    Stopped,
}

impl GrowingRun {
    /// Starts a run without any subject or item. Fails if the machine is not available, or if the database cannot be written.
    pub fn begin(request: &GrowingRequest, lab: &mut Lab<'_>) -> Result<Self, Error> {
        lab.put_back_leftovers()?;
        let settings = Settings {
            cpus: vec![request.tasks],
            repeats: request.repeats,
            seed: request.seed.unwrap_or_else(measure::any_seed),
            limit_ms: request.limit_ms,
            size: None,
            kind: request.kind.clone(),
        };
        check_seeds(&settings)?;
        let (bench, workloads) = Bench::begin(&settings, request.tasks, lab)?;
        let mut database = MeasuringStore::open_or_create(lab.places)?;
        let session = bench.session(lab.clock);
        let new = NewRun {
            label: request.label.as_deref(),
            settings: &settings,
            subjects: &[],
            workloads: &workloads,
            plan: &[],
            session: &session,
        };
        let run = database.store.begin_run(&new)?;
        let record = database.store.load_run(run)?;
        Ok(GrowingRun { database, record, missing: Vec::new(), limit_ms: request.limit_ms, bench })
    }

    /// Opens a run that was stopped or killed. `limit_ms`: time limit of each execution instead of the run's own. Fails if there is no such run, if the machine is
    /// not available, or if the database cannot be written.
    pub fn resume(run: RunId, limit_ms: Option<u64>, lab: &mut Lab<'_>) -> Result<Self, Error> {
        lab.put_back_leftovers()?;
        let mut database = MeasuringStore::open_existing(lab.places)?;
        let head = database.store.load_head(run)?;
        let bench = Bench::resume(&head, lab)?;
        database.store.resume_run(run, &bench.session(lab.clock))?;
        let (record, missing) = (database.store.load_run(run)?, database.store.missing_items(run)?);
        Ok(GrowingRun { database, record, missing, limit_ms: limit_ms.or(head.settings.limit_ms), bench })
    }

    /// The run, with all that was measured so far.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The machine on which what a build left runs. `directory`: that of the build. Inner error, in words: it cannot run there, which is a result of the build. Fails if no
    /// machine can hold its files.
    pub fn machine(
        &self,
        artefact: &Artefact,
        directory: &Path,
        lab: &mut Lab<'_>,
    ) -> Result<Result<Machine, String>, Error> {
        match &self.bench {
            Bench::Host(ready) if matches!(ready.machine, Machine::Ssh(_)) => {
                ssh::check_size(directory).map_err(Error::target_as_usage)?;
                Ok(Ok(ready.machine.clone()))
            }
            Bench::Host(_) => Ok(Ok(Machine::Host)),
            Bench::Installing(host) => Ok(host.machine(directory)),
            Bench::Booting(kernels) => Ok(kernels.machine(directory)),
            Bench::Guests(lens) => lens.machine(artefact.command(), directory),
            Bench::Kernels(lens) => Ok(lens.machine(directory, lab)),
        }
    }

    /// Saves another subject, and plans one execution of it if it was built, unless a subject has the same build. A kill leaves both or none. Fails if the database cannot be
    /// written.
    pub fn add_subject(&mut self, subject: &Subject) -> Result<(), Error> {
        let index = SubjectIndex(self.record.subjects.len() as u32);
        let has_its_build = |other: &Subject| other.setup.directory == subject.setup.directory;
        let is_new = subject.build == Some(BuildResult::Built) && !self.record.subjects.iter().any(has_its_build);
        let items = if is_new { self.items(&[(0, vec![index])]) } else { Vec::new() };
        self.extend(std::slice::from_ref(subject), items)
    }

    /// Saves another subject, of which nothing is planned yet. Fails if the database cannot be written.
    pub fn add_unplanned(&mut self, subject: &Subject) -> Result<(), Error> {
        self.extend(std::slice::from_ref(subject), Vec::new())
    }

    /// Plans further blocks, each of which executes these subjects once, in random order; under the lens with the run's seed. Fails if the database cannot be written.
    pub fn plan(&mut self, blocks: &[Vec<SubjectIndex>]) -> Result<(), Error> {
        let blocks: Vec<_> = blocks.iter().map(|subjects| (0, subjects.clone())).collect();
        self.count(&blocks)
    }

    /// Plans further blocks, each of which counts these subjects once with the run's seed plus a number. Fails if the database cannot be written.
    pub fn count(&mut self, seeds: &[(u32, Vec<SubjectIndex>)]) -> Result<(), Error> {
        let items = self.items(seeds);
        self.extend(&[], items)
    }

    /// The items of further blocks, each with the number that is added to the seed of guests.
    fn items(&self, blocks: &[(u32, Vec<SubjectIndex>)]) -> Vec<PlanItem> {
        let planned = self.record.plan.last();
        let (mut ordinal, mut block) = planned.map_or((0, 0), |last| (last.ordinal + 1, last.block + 1));
        let settings = &self.record.settings;
        let tasks = settings.cpus.first().copied().unwrap_or(1);
        let mut items = Vec::new();
        for (number, subjects) in blocks {
            let seed = settings.seed + u64::from(*number);
            items.extend(match &self.bench {
                Bench::Host(_) => block_of_commands(subjects, tasks, block, ordinal, settings.seed),
                Bench::Installing(host) => {
                    let cell = Cell { case: host.case().clone(), tasks };
                    block_of_cell(subjects, (&cell, Some(host.timing())), (block, ordinal), settings.seed)
                }
                Bench::Booting(kernels) => {
                    let cell = Cell { case: kernels.case().clone(), tasks };
                    block_of_cell(subjects, (&cell, Some(kernels.timing())), (block, ordinal), settings.seed)
                }
                Bench::Guests(_) => {
                    let name = settings.measured_line().map_or("", MeasuredLine::program_name);
                    block_of_programs(subjects, (name, tasks), (block, ordinal), seed)
                }
                Bench::Kernels(lens) => block_of_kernels(subjects, (lens.case(), tasks), (block, ordinal), seed),
            });
            ordinal += subjects.len() as u32;
            block += 1;
        }
        items
    }

    fn extend(&mut self, subjects: &[Subject], items: Vec<PlanItem>) -> Result<(), Error> {
        let store = &mut self.database.store;
        store.extend_run(self.record.id, subjects, &items)?;
        store.load_further(&mut self.record)?;
        self.missing.extend(items);
        Ok(())
    }

    /// Measures what is planned and has not ended. Fails if the database cannot be written, or if a system setting could not be restored.
    pub fn measure(&mut self, lab: &mut Lab<'_>) -> Result<Gone, Error> {
        if self.missing.is_empty() {
            return Ok(Gone::ToTheEnd);
        }
        let mut cuts = 0;
        loop {
            let gone = self.measure_missing(lab)?;
            let before = self.missing.len();
            self.database.store.load_further(&mut self.record)?;
            let lost = match gone {
                Stretched::ToTheEnd => {
                    self.missing.clear();
                    return Ok(Gone::ToTheEnd);
                }
                Stretched::Stopped => return Ok(Gone::Stopped),
                Stretched::ConnectionLost(error) => error,
            };
            self.missing = self.database.store.missing_items(self.record.id)?;
            cuts = if self.missing.len() < before { 1 } else { cuts + 1 };
            if cuts > MOST_CUTS {
                return Err(lost);
            }
            if !self.is_back(lab)? {
                return Err(lost);
            }
        }
    }

    /// Waits for a host whose connection was lost. Whether it answers; of one on which builds are installed, more is found out before the next execution. Fails on a stop.
    fn is_back(&self, lab: &Lab<'_>) -> Result<bool, Error> {
        let on = self.record.settings.measured_line().and_then(|line| line.on.as_ref());
        let (Some(on), Bench::Host(_)) = (on, &self.bench) else { return Ok(true) };
        // Whoever only sends programs there does not switch it off.
        let control = HostControl { power_cycle: Vec::new(), ..on.control.clone() };
        let found = ssh::find_again((&on.host, &control), "", &lab.places.ssh_paths()?, lab.stop)?;
        if lab.stop.is_set() { Err(Error::stopped()) } else { Ok(found.is_ok()) }
    }

    fn measure_missing(&mut self, lab: &mut Lab<'_>) -> Result<Stretched, Error> {
        if let Bench::Installing(host) = &mut self.bench {
            let (store, head) = (&mut self.database.store, &self.record.head);
            return measure_installed(store, head, host, (&self.missing, self.limit_ms), lab);
        }
        if let Bench::Booting(kernels) = &mut self.bench {
            let (store, head) = (&mut self.database.store, &self.record.head);
            return measure_booted(store, head, kernels, (&self.missing, self.limit_ms), lab);
        }
        let (store, head) = (&mut self.database.store, &self.record.head);
        if let Bench::Host(ready) = &self.bench {
            return stretch(store, head, (ready.target.as_ref(), None), (&self.missing, self.limit_ms), lab);
        }
        // A guest is made ready once for all executions of a subject. Counts do not depend on the order.
        let mut missing = self.missing.clone();
        missing.sort_by_key(|item| item.subject);
        for items in missing.chunk_by(|x, y| x.subject == y.subject) {
            let Some((target, naming)) = self.bench.counting(head, items[0].subject, lab)? else {
                return Ok(Stretched::Stopped);
            };
            match stretch(store, head, (target.as_ref(), Some(&naming)), (items, self.limit_ms), lab)? {
                Stretched::ToTheEnd => {}
                ended => return Ok(ended),
            }
        }
        Ok(Stretched::ToTheEnd)
    }

    /// Saves what is known of the steps that were found, besides their values. Fails if the database cannot be written.
    pub fn explain(&mut self, explained: &[StepExplained]) -> Result<(), Error> {
        let store = &mut self.database.store;
        store.save_explained(self.record.id, explained)?;
        Ok(store.load_further(&mut self.record)?)
    }

    /// Ends the run and concludes it. Fails if the database cannot be written.
    pub fn finish(mut self) -> Result<Measured, Error> {
        let store = &mut self.database.store;
        store.finish_run(self.record.id)?;
        store.load_further(&mut self.record)?;
        Measured::of_record(&Ended::ToTheEnd, store, &self.record)
    }
}

/// Fails if a seed of the run is more than every reader of JSON and SQL can hold. Steps are confirmed with as many further seeds as searches have.
fn check_seeds(settings: &Settings) -> Result<(), Error> {
    let number = 2 * u64::from(settings.repeats);
    let is_held = settings.seed.checked_add(number).is_some_and(|last| last <= i64::MAX as u64);
    if counted(settings).is_none() || is_held {
        return Ok(());
    }
    Err(Error::usage(
        format!("there are no {number} seeds from {}", settings.seed),
        format!("each execution of a commit may have the next number, and the last must be at most {}", i64::MAX),
    ))
}

/// Installs what each item measures, and measures it. Fails if the host is lost, or if the database cannot be written.
fn measure_installed(
    store: &mut Store,
    head: &RunHead,
    host: &mut InstallingHost,
    (items, limit_ms): (&[PlanItem], Option<u64>),
    lab: &mut Lab<'_>,
) -> Result<Stretched, Error> {
    for item in items {
        let subject = resumable::subject(head, item.subject)?;
        let target = match host.ready(item.subject, subject, lab) {
            Ok(target) => target,
            Err(error) if error == Error::stopped() || lab.stop.is_set() => return Ok(Stretched::Stopped),
            Err(error) => return Err(measure::host_lost(error.problem, head)),
        };
        match stretch(store, head, (target, None), (std::slice::from_ref(item), limit_ms), lab)? {
            Stretched::ToTheEnd => host.measured(),
            ended => return Ok(ended),
        }
    }
    Ok(Stretched::ToTheEnd)
}

/// Boots the kernel that each item measures, and measures it. Fails if the database cannot be written.
fn measure_booted(
    store: &mut Store,
    head: &RunHead,
    kernels: &mut BootedKernels,
    (items, limit_ms): (&[PlanItem], Option<u64>),
    lab: &mut Lab<'_>,
) -> Result<Stretched, Error> {
    for item in items {
        let subject = resumable::subject(head, item.subject)?;
        let target = match kernels.ready(item.subject, subject, lab) {
            Err(error) if error == Error::stopped() => return Ok(Stretched::Stopped),
            ready => ready?,
        };
        match stretch(store, head, (target, None), (std::slice::from_ref(item), limit_ms), lab)? {
            Stretched::ToTheEnd => {}
            ended => return Ok(ended),
        }
    }
    Ok(Stretched::ToTheEnd)
}

/// How measuring items ended.
enum Stretched {
    /// Each has ended.
    ToTheEnd,
    /// A stop was requested.
    Stopped,
    /// The connection to a host was lost, which an execution did not survive.
    ConnectionLost(Error),
}

/// Measures items on one target, with names if it counts. `limit_ms`: time limit of each execution instead of the run's own.
fn stretch(
    store: &mut Store,
    head: &RunHead,
    (target, naming): (&dyn Target, Option<&Naming>),
    (items, limit_ms): (&[PlanItem], Option<u64>),
    lab: &mut Lab<'_>,
) -> Result<Stretched, Error> {
    let targets = SubjectTargets::alone(target);
    let planned = PlannedRun {
        targets: Targets::shared(&targets),
        settings: &head.settings,
        subjects: &head.subjects,
        workloads: &head.workloads,
        items,
        budget: None,
        limit: measure::limit(limit_ms, head),
        naming,
        jobs: NonZeroUsize::MIN,
    };
    Ok(match measure::stretch(store, head, &planned, lab)? {
        Stretch::Whole | Stretch::BudgetUsed(_) => Stretched::ToTheEnd,
        Stretch::Stopped => Stretched::Stopped,
        Stretch::ConnectionLost(error) => Stretched::ConnectionLost(error),
    })
}
