//! A run whose plan grows while it builds commits: a search along a line of commits, or a history.
//! The saved record decides what to do next.

use crate::bench::{Bench, BlockPlace, ProgramBench, Sink, Stretched};
use crate::booted::BootedKernels;
use crate::conclusion::{Ended, Measured};
use crate::database::MeasuringStore;
use crate::error::Error;
use crate::installed::{self, InstallingHost, MOST_CUTS, without_kernel};
use crate::lab::Lab;
use crate::lens::{LensOfBuilds, LensOfKernels, programs_of};
use crate::target::emulator_version;
use faultline_record::artefact::{Artefact, BuiltKernel};
use faultline_record::explained::StepExplained;
use faultline_record::facts::Facts;
use faultline_record::machine::{ControlledHost, Machine};
use faultline_record::outcome::Outcome;
use faultline_record::plan::{LineMeasure, MeasuredLine, PlanItem, RunKind, Settings};
use faultline_record::record::{RunHead, RunId, RunRecord, Session};
use faultline_record::subject::{BuildResult, Subject, SubjectIndex};
use faultline_runner::Clock;
use faultline_stats::quantity_choice;
use faultline_store::NewRun;
use faultline_targets::Target;
use std::path::Path;
use std::time::Duration;

/// A run that can be extended, with the machines that measure it.
pub struct GrowingRun {
    database: MeasuringStore,
    /// The saved record.
    record: RunRecord,
    /// Planned items that have not ended.
    missing: Vec<PlanItem>,
    limit_ms: Option<u64>,
    /// Time left for executions; `None` for unlimited time.
    budget: Option<Duration>,
    bench: Box<dyn Bench>,
}

/// The machines for a new run.
fn begin_bench(settings: &Settings, lab: &Lab<'_>) -> Result<Box<dyn Bench>, Error> {
    let (line, tasks) = (measured_line(settings)?, tasks(settings));
    let Some(counted) = line.measure.counted() else { return timed_bench(line, tasks, lab) };
    Ok(match &line.artefact {
        Artefact::Command(_) => Box::new(LensOfBuilds::begin(&counted.lens, line, tasks, lab)?),
        Artefact::Kernel(kernel) => Box::new(LensOfKernels::begin(&counted.lens, kernel, tasks, lab)?),
    })
}

/// The machines for a run that was stopped or killed.
fn resume_bench(head: &RunHead, lab: &Lab<'_>) -> Result<Box<dyn Bench>, Error> {
    let line = measured_line(&head.settings)?;
    let Some(counted) = line.measure.counted() else {
        // A build of this run may have taken the host down.
        if let Some(on) = line.on.as_ref().filter(|_| line.release_file.is_some()) {
            installed::await_host(on, lab)?;
        }
        return timed_bench(line, tasks(&head.settings), lab);
    };
    Ok(match &line.artefact {
        Artefact::Command(_) => Box::new(LensOfBuilds::resume(head, &counted.lens, line, lab)?),
        Artefact::Kernel(kernel) => Box::new(LensOfKernels::resume(head, &counted.lens, kernel, lab)?),
    })
}

/// The machines that measure time.
fn timed_bench(line: &MeasuredLine, tasks: u32, lab: &Lab<'_>) -> Result<Box<dyn Bench>, Error> {
    Ok(match (line.artefact.kernel(), &line.on, &line.release_file) {
        (Some(kernel), None, _) => Box::new(BootedKernels::open(kernel, tasks, lab)?),
        (Some(kernel), Some(on), Some(file)) => Box::new(InstallingHost::open((on, file), kernel, tasks, lab)?),
        (_, on, _) => Box::new(ProgramBench::open(on.as_ref(), &line.recipe, lab)?),
    })
}

fn measured_line(settings: &Settings) -> Result<&MeasuredLine, Error> {
    settings.measured_line().ok_or_else(|| Error::usage("the run builds no commits", "`faultline list` shows the runs"))
}

/// Reports a missing sandbox if something of the commits is executed on this host, and workloads
/// that are built for that.
fn note_conditions(line: &MeasuredLine, lab: &mut Lab<'_>) -> Result<(), Error> {
    let runs_here = line.measure.counted().is_none() && line.artefact.kernel().is_none() && line.on.is_none();
    if runs_here || !line.recipe.command.is_empty() {
        lab.note_sandbox(&line.recipe)?;
    }
    if runs_here {
        lab.note_machine(&Machine::Host, lab.places);
    }
    Ok(())
}

fn budget(settings: &Settings) -> Option<Duration> {
    settings.bisect().and_then(|search| search.budget_ms).map(Duration::from_millis)
}

fn tasks(settings: &Settings) -> u32 {
    settings.cpus.first().copied().unwrap_or(1)
}

fn session(bench: &dyn Bench, clock: &dyn Clock) -> Session {
    Session { started: clock.now(), facts: vec![bench.facts()] }
}

/// Progress of what is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// Everything has ended.
    ToTheEnd,
    /// A stop was requested.
    Stopped,
    /// The time budget was used up. The items left are skipped.
    BudgetUsed,
}

impl GrowingRun {
    /// Starts a run without subjects or items. Fails if a machine is not available, or if the
    /// database cannot be written.
    pub fn begin(settings: &Settings, label: Option<&str>, lab: &mut Lab<'_>) -> Result<Self, Error> {
        lab.put_back_leftovers()?;
        check_seeds(settings)?;
        note_conditions(measured_line(settings)?, lab)?;
        let bench = begin_bench(settings, lab)?;
        let workloads = bench.workloads()?;
        let mut database = MeasuringStore::open_or_create(lab.places)?;
        let session = session(bench.as_ref(), lab.clock);
        let new = NewRun { label, settings, subjects: &[], workloads: &workloads, plan: &[], session: &session };
        let run = database.store.begin_run(&new)?;
        let record = database.store.load_run(run)?;
        let (missing, budget) = (Vec::new(), budget(settings));
        Ok(GrowingRun { database, record, missing, limit_ms: settings.limit_ms, budget, bench })
    }

    /// Opens a run that was stopped or killed. `limit_ms`: time limit of each execution instead of
    /// the run's own. Fails if there is no such run, if the machine is not available, or if the
    /// database cannot be written.
    pub fn resume(run: RunId, limit_ms: Option<u64>, lab: &mut Lab<'_>) -> Result<Self, Error> {
        lab.put_back_leftovers()?;
        let mut database = MeasuringStore::open_existing(lab.places)?;
        let head = database.store.load_head(run)?;
        note_conditions(measured_line(&head.settings)?, lab)?;
        let bench = resume_bench(&head, lab)?;
        database.store.resume_run(run, &session(bench.as_ref(), lab.clock))?;
        let (record, missing) = (database.store.load_run(run)?, database.store.missing_items(run)?);
        let limit_ms = limit_ms.or(head.settings.limit_ms);
        let used = Duration::from_millis(database.store.executed_ms(run)?);
        let budget = budget(&head.settings).map(|budget| budget.saturating_sub(used));
        Ok(GrowingRun { database, record, missing, limit_ms, budget, bench })
    }

    /// The run with everything measured so far.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The machine that runs the artefact of a build in `directory`. Inner error, in words: the
    /// build cannot run, which is its result. Fails if no machine can hold its files.
    pub fn machine(
        &self,
        artefact: &Artefact,
        directory: &Path,
        lab: &mut Lab<'_>,
    ) -> Result<Result<Machine, String>, Error> {
        self.bench.machine(artefact, directory, lab)
    }

    /// Saves another subject. Plans one execution of it if it was built and no other subject has
    /// the same build. A kill leaves both or none. Fails if the database cannot be written.
    pub fn add_subject(&mut self, subject: &Subject) -> Result<(), Error> {
        let index = SubjectIndex(self.record.subjects.len() as u32);
        let has_its_build = |other: &Subject| other.setup.directory == subject.setup.directory;
        let is_new = subject.build == Some(BuildResult::Built) && !self.record.subjects.iter().any(has_its_build);
        let items = if is_new { self.items(&[(0, vec![index])]) } else { Vec::new() };
        self.extend(std::slice::from_ref(subject), items)
    }

    /// Saves another subject without planning anything. Fails if the database cannot be written.
    pub fn add_unplanned(&mut self, subject: &Subject) -> Result<(), Error> {
        self.extend(std::slice::from_ref(subject), Vec::new())
    }

    /// Plans further blocks. Fails if the database cannot be written.
    pub fn plan(&mut self, blocks: &[(u32, Vec<SubjectIndex>)]) -> Result<(), Error> {
        let items = self.items(blocks);
        self.extend(&[], items)
    }

    /// Items of further blocks: each executes its subjects once, with the run's seed plus a number.
    fn items(&self, blocks: &[(u32, Vec<SubjectIndex>)]) -> Vec<PlanItem> {
        let planned = self.record.plan.last();
        let (mut ordinal, mut block) = planned.map_or((0, 0), |last| (last.ordinal + 1, last.block + 1));
        let settings = &self.record.settings;
        let mut items = Vec::new();
        for (number, subjects) in blocks {
            let seed = settings.seed + u64::from(*number);
            let place = BlockPlace { tasks: tasks(settings), block, ordinal, seed };
            items.extend(self.bench.block(subjects, place));
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

    /// Chooses the quantity by the first executions, if the request left it open. Fails if the
    /// database cannot be written.
    pub fn choose_quantity(&mut self) -> Result<(), Error> {
        let Some(choice) = quantity_choice(&self.record) else { return Ok(()) };
        let mut settings = self.record.settings.clone();
        match &mut settings.kind {
            RunKind::Bisect(search) => search.measured.choose(choice),
            RunKind::History(history) => history.measured.choose(choice),
            RunKind::Timed(_) | RunKind::Comparison(_) | RunKind::Lens(_) => return Ok(()),
        }
        self.database.store.settle_run(self.record.id, &settings)?;
        self.record.head.settings = settings;
        Ok(())
    }

    /// Measures the planned items that have not ended. Fails if the database cannot be written, or
    /// if a system setting could not be restored.
    pub fn measure(&mut self, lab: &mut Lab<'_>) -> Result<Gone, Error> {
        if self.missing.is_empty() {
            return Ok(Gone::ToTheEnd);
        }
        let began = lab.clock.monotonic();
        let deadline = self.budget.map(|budget| began + budget);
        let gone = self.measure_until(deadline, lab);
        self.budget = deadline.map(|deadline| deadline.saturating_sub(lab.clock.monotonic()));
        gone
    }

    fn measure_until(&mut self, deadline: Option<Duration>, lab: &mut Lab<'_>) -> Result<Gone, Error> {
        let mut cuts = 0;
        loop {
            let mut into =
                Sink { store: &mut self.database.store, head: &self.record.head, limit_ms: self.limit_ms, deadline };
            let gone = self.bench.measure(&self.missing, &mut into, lab)?;
            let before = self.missing.len();
            let newest = self.record.attempts.last().map(|attempt| attempt.id);
            self.database.store.load_further(&mut self.record)?;
            if self.record.attempts.last().map(|attempt| attempt.id) != newest
                && let Some(text) = untranslated_twice(&self.record)
            {
                return Err(Error::failed(
                    format!("two commits in a row cannot be counted: {text}"),
                    format!(
                        "start a new run with other flags in the build; `faultline resume {}` continues with other commits",
                        self.record.id
                    ),
                ));
            }
            let lost = match gone {
                Stretched::ToTheEnd => {
                    self.missing.clear();
                    return Ok(Gone::ToTheEnd);
                }
                Stretched::Stopped => return Ok(Gone::Stopped),
                Stretched::BudgetUsed => return self.skip_missing(),
                Stretched::ConnectionLost(error) => error,
            };
            self.missing = self.database.store.missing_items(self.record.id)?;
            cuts = if self.missing.len() < before { 1 } else { cuts + 1 };
            if cuts > MOST_CUTS {
                return Err(lost);
            }
            if !self.bench.is_back(lab)? {
                return Err(lost);
            }
        }
    }

    /// Skips the items that have not ended.
    fn skip_missing(&mut self) -> Result<Gone, Error> {
        let store = &mut self.database.store;
        let left: Vec<u32> = store.missing_items(self.record.id)?.iter().map(|item| item.ordinal).collect();
        store.skip_items(self.record.id, &left)?;
        self.record = store.load_run(self.record.id)?;
        self.missing.clear();
        Ok(Gone::BudgetUsed)
    }

    /// Saves explanations of the steps. Fails if the database cannot be written.
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

/// The text of the newest attempt, if the emulator did not translate an instruction of its commit,
/// nor of the commit that was executed before it.
fn untranslated_twice(record: &RunRecord) -> Option<&str> {
    let ended = record.attempts.iter().rev().filter_map(|attempt| {
        let item = record.plan.iter().rev().find(|item| item.ordinal == attempt.ordinal)?;
        Some((item.subject, attempt.outcome.as_ref()?))
    });
    let mut ended = ended.filter(|(_, outcome)| **outcome != Outcome::Interrupted);
    let (newest, Outcome::NotTranslated { text }) = ended.next()? else { return None };
    let (_, before) = ended.find(|(subject, _)| *subject != newest)?;
    matches!(before, Outcome::NotTranslated { .. }).then_some(text.as_str())
}

/// Fails if a seed of the run does not fit what every reader of JSON and SQL can hold. Confirming
/// steps takes as many further seeds as the search.
fn check_seeds(settings: &Settings) -> Result<(), Error> {
    let number = 2 * u64::from(settings.repeats);
    let is_held = settings.seed.checked_add(number).is_some_and(|last| last <= i64::MAX as u64);
    if settings.counting().is_none() || is_held {
        return Ok(());
    }
    Err(Error::usage(
        format!("there are no {number} seeds from {}", settings.seed),
        format!("each execution of a commit may have the next number, and the last must be at most {}", i64::MAX),
    ))
}

/// The machine that measures commits.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuringMachine {
    /// Identity: values of another machine are not comparable. For time, the host and its CPUs; in
    /// guests also the emulator and the programs that kernels run. For counts, the emulator and
    /// those programs.
    pub name: String,
    /// Facts of the host that measures time; `None` for counts.
    pub facts: Option<Facts>,
}

/// The machine that measures the builds of a line. Fails if it is not available, or if the workload
/// of a kernel does not exist.
pub fn measuring_machine(line: &MeasuredLine, lab: &Lab<'_>) -> Result<MeasuringMachine, Error> {
    let (artefact, on) = (&line.artefact, line.on.as_ref());
    match line.measure {
        LineMeasure::Timed { .. } => {
            if let (None, Some(kernel)) = (on, artefact.kernel()) {
                return guests(kernel, lab);
            }
            let machine = on.map_or(Machine::Host, ControlledHost::machine);
            let facts = lab.machines.ready(&machine, lab.places, lab.stop)?.target.facts();
            let name = host_and_cpus(&facts).join(", ");
            // A kernel that is installed belongs to its commit.
            let facts = if line.release_file.is_some() { without_kernel(facts) } else { facts };
            Ok(MeasuringMachine { name, facts: Some(facts) })
        }
        LineMeasure::Counted(_) => {
            let emulator = lab.machines.lens_emulator(lab.places)?;
            let name = match artefact.kernel() {
                Some(kernel) => format!("{emulator}, {}", programs_of(kernel, lab.places)?),
                None => emulator,
            };
            Ok(MeasuringMachine { name, facts: None })
        }
    }
}

/// Guests on this host that measure time.
fn guests(kernel: &BuiltKernel, lab: &Lab<'_>) -> Result<MeasuringMachine, Error> {
    let facts = lab.places.bare_host().facts();
    let mut name = host_and_cpus(&facts);
    name.extend([emulator_version(lab.places)?, programs_of(kernel, lab.places)?]);
    Ok(MeasuringMachine { name: name.join(", "), facts: Some(facts) })
}

/// Name and CPU model of a host.
fn host_and_cpus(facts: &Facts) -> Vec<String> {
    ["host.name", "cpu.model"].into_iter().filter_map(|key| facts.get_text(key).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::cell::{Case, Cell, TaskMode};
    use faultline_record::journal::AttemptId;
    use faultline_record::plan::{PinPolicy, TimedSettings};
    use faultline_record::record::{Attempt, RunState};
    use faultline_record::time::UnixMillis;

    /// A record in which one execution of each subject ended like this.
    fn record(ended: &[(u32, Outcome)]) -> RunRecord {
        let kind = RunKind::Timed(TimedSettings::pinned(PinPolicy::Each));
        let settings = Settings { cpus: vec![1], repeats: 1, seed: 1, limit_ms: None, size: None, kind };
        let head = RunHead {
            id: RunId(1),
            label: None,
            settings,
            subjects: Vec::new(),
            workloads: Vec::new(),
            state: RunState::Open,
            sessions: Vec::new(),
        };
        let case = Case { workload: "w".into(), variant: "base".into(), mode: TaskMode::Thread };
        let mut record = RunRecord { head, plan: vec![], skipped: vec![], attempts: vec![], explained: vec![] };
        for (ordinal, (subject, outcome)) in (0..).zip(ended) {
            let cell = Cell { case: case.clone(), tasks: 1 };
            let subject = SubjectIndex(*subject);
            record.plan.push(PlanItem { ordinal, block: ordinal, subject, cell, timing: None, seed: None });
            let mut attempt = Attempt::begun(AttemptId(ordinal.into()), ordinal, 0, UnixMillis(1));
            attempt.outcome = Some(outcome.clone());
            record.attempts.push(attempt);
        }
        record
    }

    #[test]
    fn two_commits_in_a_row_that_are_not_translated_end_the_run() {
        let not = || Outcome::NotTranslated { text: "x".to_owned() };
        assert_eq!(untranslated_twice(&record(&[(0, Outcome::Done), (1, not())])), None);
        assert_eq!(untranslated_twice(&record(&[(0, not()), (0, not())])), None, "one commit, twice");
        assert_eq!(untranslated_twice(&record(&[(0, not()), (1, Outcome::Done), (2, not())])), None);
        assert_eq!(untranslated_twice(&record(&[(0, not()), (1, not()), (1, Outcome::Interrupted)])), Some("x"));
    }
}
