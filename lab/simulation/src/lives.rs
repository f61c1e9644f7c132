//! An experiment through all its lives: started, ended by an event, and resumed until it is
//! concluded. Also experiments without events, for tests of their cost.

use crate::checks::{Answered, Searched, measured, searched};
use crate::disk::{Killed, REFUSED, in_words};
use crate::scenario::Scenario;
use crate::target::{FULL, SimulatedCommits, SimulatedMachines};
use crate::world::{Troubles, Watcher, World};
use crate::{checks, disk};
use faultline_experiment::{
    Concluded, Conclusion, Error, ErrorKind, Lab, Measured, ResumeRequest, resume, run_to_resume, stored,
};
use faultline_record::outcome::Outcome;
use faultline_record::record::{RunId, RunRecord, RunState};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;

/// Maximum number of moments of a life: later events have no effect.
const MOMENTS: f64 = 1000.0;

/// Maximum number of moments of a life of a search, which executes more.
const MOMENTS_OF_SEARCH: f64 = 10_000.0;

/// Maximum number of samples after which a database refuses to save: no more than most experiments
/// have.
const SAMPLES: u32 = 60;

/// The result of a seed.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Number of lives.
    pub lives: u32,
    /// Lives that ended by a kill.
    pub killed: u32,
    /// Kills in the middle of a write.
    pub torn: u32,
    /// Lives that were stopped.
    pub stopped: u32,
    /// Lives whose database refused to save.
    pub refused: u32,
    /// Lives that ended because the system was left changed.
    pub left_changed: u32,
    /// Items planned.
    pub items: usize,
    /// Attempts at them.
    pub attempts: usize,
    /// The kinds of outcomes that were recorded.
    pub outcomes: HashSet<Discriminant<Outcome>>,
    /// Lives that refused to continue a search with another compiler.
    pub other_tools: u32,
    /// Lives without disk space for a build.
    pub full_disks: u32,
    /// The answer of a comparison or check; `None` for others, and if nothing could be compared.
    pub answered: Option<Answered>,
    /// True for a check of the machine.
    pub is_check: bool,
    /// The answers of a search.
    pub searched: Option<Searched>,
    /// Number of commits of a history with values.
    pub measured_commits: Option<u32>,
    /// True if the gate is open; `None` without a gate.
    pub is_open: Option<bool>,
}

/// The end of a life.
enum End {
    /// With the experiment's conclusion.
    Concluded(Box<Conclusion>),
    /// The experiment is finished, and its sides cannot be compared.
    Incomparable(String),
    /// Before the end of the experiment.
    Early,
}

/// Simulates the experiment of a seed from start to end. Fails with the violated invariant.
pub fn simulate(seed: u64) -> Result<Account, String> {
    let root = disk::root().map_err(in_words)?;
    let world = Rc::new(World::new(seed, root.path()).map_err(in_words)?);
    if world.scenario.has_database {
        std::fs::write(world.disk.database(), disk::empty_database(root.path())?).map_err(in_words)?;
    }
    let (machines, commits) = (SimulatedMachines(world.clone()), SimulatedCommits(world.clone()));
    let lives = Lives { world, machines, commits, run: None, record: None, account: Account::default() };
    lives.until_concluded()
}

struct Lives {
    world: Rc<World>,
    machines: SimulatedMachines,
    commits: SimulatedCommits,
    run: Option<RunId>,
    /// The run as saved after the last life.
    record: Option<RunRecord>,
    account: Account,
}

impl Lives {
    fn until_concluded(mut self) -> Result<Account, String> {
        let troubled = self.world.scenario.troubled_lives;
        for life in 0..=troubled {
            let end = if life < troubled { self.troubled_life()? } else { self.life(Troubles::default(), None)? };
            self.look()?;
            match end {
                End::Concluded(conclusion) => return self.concluded(&conclusion),
                End::Incomparable(problem) => return self.incomparable(&problem),
                End::Early => {}
            }
        }
        Err("it ended early without an event".to_owned())
    }

    /// A life in which an event happens.
    fn troubled_life(&mut self) -> Result<End, String> {
        let world = self.world.clone();
        // As many events within the first few moments as within the first hundreds.
        let is_search = world.scenario.history().is_some();
        let moments = if is_search { MOMENTS_OF_SEARCH } else { MOMENTS };
        let moment = |share: f64| {
            world.draw(|random| random.random_bool(share).then(|| moments.powf(random.random::<f64>()) as u32))
        };
        let troubles = Troubles {
            killed_at: moment(0.7),
            stopped_at: moment(0.2),
            clock_set_at: moment(0.2),
            may_leave_changed: true,
            disk_is_full: is_search && world.draw(|random| random.random_bool(0.1)),
            // A search that begins with other tools would need them in all its lives.
            has_other_tools: is_search && self.run.is_some() && world.draw(|random| random.random_bool(0.2)),
        };
        let samples = world.draw(|random| random.random_bool(0.3).then(|| random.random_range(0..SAMPLES)));
        let refused_after = samples.filter(|_| world.disk.database().exists());
        self.life(troubles, refused_after)
    }

    /// `refused_after`: number of samples after which the database refuses to save.
    fn life(&mut self, troubles: Troubles, refused_after: Option<u32>) -> Result<End, String> {
        let world = self.world.clone();
        if let Some(samples) = refused_after {
            world.draw(|random| disk::refuse_writes(&world.disk.database(), samples, random)).map_err(in_words)?;
        }
        let named = self.run.filter(|_| world.draw(|random| random.random_bool(0.5)));
        let lived = self.live(troubles, named);
        world.ledger.borrow_mut().life_ended();
        if refused_after.is_some() {
            disk::accept_writes(&world.disk.database()).map_err(in_words)?;
        }
        self.account.lives += 1;
        match lived {
            None => {
                self.account.killed += 1;
                Ok(End::Early)
            }
            Some(Ok(Measured::Concluded(conclusion))) => Ok(End::Concluded(conclusion)),
            Some(Ok(Measured::Stopped { .. })) if world.is_stopped() => {
                self.account.stopped += 1;
                Ok(End::Early)
            }
            Some(Ok(Measured::Stopped { .. })) => Err("it stopped without a request".to_owned()),
            Some(Err(error)) => self.failed(&error, troubles, refused_after.is_some()),
        }
    }

    /// One life of the product; `None` if it was killed. Passes on the product's own panics.
    /// `named`: the run to resume.
    fn live(&self, troubles: Troubles, named: Option<RunId>) -> Option<Result<Measured, Error>> {
        let (world, places) = (&self.world, self.world.places());
        let stop = world.begin_life(troubles);
        let mut observer = Watcher(world.clone());
        let lived = catch_unwind(AssertUnwindSafe(|| {
            let mut lab = Lab {
                places: &places,
                machines: &self.machines,
                clock: &world.clock,
                stop: &stop,
                observer: &mut observer,
            };
            match self.run {
                None => world.scenario.begin(&self.commits, &mut lab),
                Some(_) => self.resume(named, &mut lab),
            }
        }));
        match lived {
            Ok(measured) => Some(measured),
            Err(payload) if payload.is::<Killed>() => None,
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }

    /// Resumes the run as the front ends do.
    fn resume(&self, run: Option<RunId>, lab: &mut Lab<'_>) -> Result<Measured, Error> {
        let request = ResumeRequest { run, ..ResumeRequest::default() };
        let head = run_to_resume(&request, lab.places)?;
        if head.state == RunState::Open && head.settings.measured_line().is_some() {
            return faultline_history::continue_run(head.id, None, &self.commits, lab);
        }
        resume(&request, lab)
    }

    /// An error is correct if its cause was injected.
    fn failed(&mut self, error: &Error, troubles: Troubles, may_refuse: bool) -> Result<End, String> {
        if may_refuse && error.problem.contains(REFUSED) {
            self.account.refused += 1;
            return Ok(End::Early);
        }
        if troubles.may_leave_changed && self.world.ledger.borrow().last_left_changed() {
            self.account.left_changed += 1;
            return Ok(End::Early);
        }
        if error.kind == ErrorKind::Stopped && self.world.is_stopped() {
            self.account.stopped += 1;
            return Ok(End::Early);
        }
        if troubles.disk_is_full && error.problem == FULL {
            self.account.full_disks += 1;
            return Ok(End::Early);
        }
        if troubles.has_other_tools && error.problem.contains("has changed since run") {
            self.account.other_tools += 1;
            return Ok(End::Early);
        }
        if self.world.scenario.is_comparison() && error.problem.contains("can't be compared") {
            return Ok(End::Incomparable(error.problem.clone()));
        }
        Err(format!("it failed: {}", error.problem))
    }

    /// Opens the database as the last life left it and checks its contents.
    fn look(&mut self) -> Result<(), String> {
        let mut ledger = self.world.ledger.borrow_mut();
        ledger.first_violation()?;
        let places = self.world.places();
        let runs =
            if self.world.disk.database().exists() { stored::runs(&places).map_err(in_words)? } else { Vec::new() };
        let id = match runs.as_slice() {
            [] if self.run.is_none() && ledger.measuring_lives() == 0 => return Ok(()),
            [line] => line.id,
            other => return Err(format!("there are {} runs", other.len())),
        };
        self.run = Some(id);
        let saved = stored::load(id, &places).map_err(in_words)?;
        checks::check(&saved, 1)?;
        if let Some(before) = &self.record {
            checks::check_kept(before, &saved)?;
        }
        ledger.check(&saved)?;
        ledger.saved_builds(&saved);
        self.record = Some(saved);
        Ok(())
    }

    fn concluded(mut self, conclusion: &Conclusion) -> Result<Account, String> {
        let record = self.finished()?;
        if conclusion.head != record.head {
            return Err("it is concluded from something else than what is saved".to_owned());
        }
        let again = stored::conclusion(self.run, &self.world.places()).map_err(in_words)?;
        check_same(conclusion, &again, "from the database")?;
        match self.live(Troubles::default(), self.run) {
            Some(Ok(Measured::Concluded(resumed))) => check_same(conclusion, &resumed, "from a resume")?,
            other => return Err(format!("the finished run is resumed: {other:?}")),
        }
        self.account.answered = checks::answered(&self.world, &record, &conclusion.what)?;
        self.account.is_check = matches!(conclusion.what, Concluded::Fitness(_));
        self.check_whole(conclusion)?;
        self.account.searched = self.searched(conclusion)?;
        self.account.measured_commits = self.measured_commits(conclusion)?;
        self.account.is_open = conclusion.gate().map(|gate| gate.is_open());
        Ok(self.account)
    }

    /// A search or history must conclude the same as without events.
    fn check_whole(&self, conclusion: &Conclusion) -> Result<(), String> {
        let scenario = &self.world.scenario;
        if scenario.history().is_none() || self.account.lives == 1 {
            return Ok(());
        }
        let root = disk::root().map_err(in_words)?;
        let whole = untroubled(scenario.clone(), ChaCha8Rng::seed_from_u64(0), root.path())?;
        // A machine that reboots between two lives has more boots.
        check_alike(conclusion, &whole, "from one without events", without_boots)
    }

    /// The answers of a search; `None` for other experiments.
    fn searched(&self, conclusion: &Conclusion) -> Result<Option<Searched>, String> {
        let scenario = &self.world.scenario;
        let Some(history) = scenario.history().filter(|_| scenario.repeats_of_history().is_none()) else {
            return Ok(None);
        };
        match &conclusion.what {
            Concluded::Bisect(found) => searched(found, history).map(Some),
            _ => Err("a search is concluded as another".to_owned()),
        }
    }

    /// Number of commits of a history with values; `None` for other experiments.
    fn measured_commits(&self, conclusion: &Conclusion) -> Result<Option<u32>, String> {
        let scenario = &self.world.scenario;
        let (Some(history), Some(repeats)) = (scenario.history(), scenario.repeats_of_history()) else {
            return Ok(None);
        };
        match &conclusion.what {
            Concluded::History(results) => measured(results, history, repeats, scenario.fault_share == 0.0).map(Some),
            _ => Err("a history is concluded as another".to_owned()),
        }
    }

    fn incomparable(mut self, problem: &str) -> Result<Account, String> {
        self.finished()?;
        match stored::conclusion(self.run, &self.world.places()) {
            Err(error) if error.problem == problem => Ok(self.account),
            Err(error) => Err(format!("'{problem}' was said, and from the database comes '{}'", error.problem)),
            Ok(_) => Err(format!("'{problem}' was said, and from the database comes a comparison")),
        }
    }

    /// The saved run, which must be at its end.
    fn finished(&mut self) -> Result<RunRecord, String> {
        let record = self.record.take().ok_or("it is concluded and not saved")?;
        checks::check_finished(&self.world, &record)?;
        (self.account.items, self.account.attempts) = (record.plan.len(), record.attempts.len());
        self.account.torn = self.world.disk.torn();
        let outcomes = record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref());
        self.account.outcomes = outcomes.map(discriminant).collect();
        Ok(record)
    }
}

/// A conclusion without the boots of its executions.
fn without_boots(concluded: &str) -> String {
    let mut parts = concluded.split("boots: [");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(']').map_or(part, |(_, rest)| rest))
}

/// Checks that two conclusions of one experiment are equal, with their gates.
fn check_same(one: &Conclusion, other: &Conclusion, source: &str) -> Result<(), String> {
    check_alike(one, other, source, str::to_owned)
}

/// As [`check_same`], comparing only `of` of each text.
fn check_alike(one: &Conclusion, other: &Conclusion, source: &str, of: fn(&str) -> String) -> Result<(), String> {
    let (first, second) = (of(&format!("{:?}", one.what)), of(&format!("{:?}", other.what)));
    if first != second {
        return Err(format!("concluded was {first}, and {source} comes {second}"));
    }
    let is_open = |conclusion: &Conclusion| conclusion.gate().map(|gate| gate.is_open());
    if is_open(one) != is_open(other) || one.is_well() != other.is_well() {
        return Err(format!("its gate was {:?}, and {source} it is {:?}", is_open(one), is_open(other)));
    }
    Ok(())
}

/// A comparison of two equal sides in that many blocks, which takes all of its looks. Fails if the
/// experiment fails or does not end.
pub fn calm_comparison(blocks: u32) -> Result<Box<Conclusion>, String> {
    conclude(Scenario::calm_comparison(blocks))
}

/// A search of that many commits, of which every tenth is slower than the one before. Fails if the
/// experiment fails or does not end.
pub fn calm_search(commits: u32) -> Result<Box<Conclusion>, String> {
    conclude(Scenario::calm_search(commits))
}

fn conclude(scenario: Scenario) -> Result<Box<Conclusion>, String> {
    let root = disk::root().map_err(in_words)?;
    untroubled(scenario, ChaCha8Rng::seed_from_u64(1), root.path())
}

/// The conclusion of an experiment without events. Executions have the faults of the scenario.
/// Fails if the experiment fails or does not end.
pub(crate) fn untroubled(scenario: Scenario, random: ChaCha8Rng, root: &Path) -> Result<Box<Conclusion>, String> {
    let world = Rc::new(World::of(1, scenario, random, root).map_err(in_words)?);
    let (places, machines, commits) =
        (world.places(), SimulatedMachines(world.clone()), SimulatedCommits(world.clone()));
    let (stop, mut observer) = (world.begin_life(Troubles::default()), Watcher(world.clone()));
    let mut lab =
        Lab { places: &places, machines: &machines, clock: &world.clock, stop: &stop, observer: &mut observer };
    match world.scenario.begin(&commits, &mut lab).map_err(|error| error.problem)? {
        Measured::Concluded(conclusion) => Ok(conclusion),
        Measured::Stopped { .. } => Err("it stopped without a request".to_owned()),
    }
}
