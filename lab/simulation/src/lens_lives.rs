//! A lens run through all its lives: started, stopped or killed several times, and resumed until it is concluded. Several executions are counted at the
//! same time.

use crate::death::{Killed, Moment};
use crate::fate::{End, Fate};
use crate::files::{self, in_words};
use crate::target::SimulatedMachines;
use crate::world::{Troubles, World};
use crate::{ending, record};
use faultline_experiment::lens::{Gates, LensKernelRequest, ModelRequest, UnderLens, kernel};
use faultline_experiment::{
    Conclusion, Error, ErrorKind, Lab, Measured, Notice, Places, ResumeRequest, resume, stored,
};
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::{Attempt, RunHead, RunId, RunRecord};
use faultline_runner::RunProgress;
use rand::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::mem::{Discriminant, discriminant};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Operations of each task.
const OPERATIONS: u64 = 64;

/// A gate that about half of the runs pass, unless an execution fails.
const BUDGET: &str = "spin<=390@2";

/// The maximum number of moments of a life: later events have no effect.
const MOMENTS: u32 = 30;

/// A file that is taken for the plugin, and one that is taken for a kernel.
const PLUGIN: &[u8] = b"qemu_plugin_install\0faultline_lens_interface_2\0";
const KERNEL: &[u8] = b"\x7fELF";

/// The result of a seed.
#[derive(Debug, Clone, Default)]
pub struct LensAccount {
    /// Number of lives.
    pub lives: u32,
    /// Lives that ended by a kill.
    pub killed: u32,
    /// Lives that were stopped.
    pub stopped: u32,
    /// Items planned.
    pub items: usize,
    /// Attempts at them.
    pub attempts: usize,
    /// Runs that kept their budget.
    pub open_gates: u32,
    /// Runs that did not.
    pub closed_gates: u32,
    /// The kinds of outcomes that were recorded.
    pub outcomes: HashSet<Discriminant<Outcome>>,
}

/// Simulates a seed's lens run from its start to its end. Fails with the invariant that did not hold.
pub fn simulate_lens(seed: u64) -> Result<LensAccount, String> {
    let root = files::root().map_err(in_words)?;
    let world = Rc::new(World::new(seed, root.path()).map_err(in_words)?);
    if world.scenario.has_database {
        std::fs::write(world.disk.database(), files::empty_database(root.path())?).map_err(in_words)?;
    }
    let [plugin, kernel] = [("plugin.so", PLUGIN), ("kernel", KERNEL)].map(|(name, bytes)| {
        let path = root.path().join(name);
        std::fs::write(&path, bytes).map(|()| path).map_err(in_words)
    });
    let jobs = world.draw(|random| random.random_range(1..=3));
    let run = LensLives {
        machines: SimulatedMachines(world.clone()),
        world,
        plugin: plugin?,
        kernel: kernel?,
        jobs: NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN),
        run: None,
        record: None,
        told: Rc::default(),
        account: LensAccount::default(),
    };
    run.until_concluded()
}

struct LensLives {
    world: Rc<World>,
    machines: SimulatedMachines,
    plugin: PathBuf,
    kernel: PathBuf,
    jobs: NonZeroUsize,
    run: Option<RunId>,
    /// The run as it was saved after the last life.
    record: Option<RunRecord>,
    told: Rc<RefCell<Told>>,
    account: LensAccount,
}

impl LensLives {
    fn until_concluded(mut self) -> Result<LensAccount, String> {
        let troubled = self.world.draw(|random| random.random_range(0..5));
        for life in 0..=troubled {
            let lived = self.live(if life < troubled { self.troubles() } else { Troubles::default() });
            self.account.lives += 1;
            self.look()?;
            match lived {
                None => self.account.killed += 1,
                Some(Ok(Measured::Concluded(conclusion))) => {
                    let again = stored::conclusion(self.run, &self.places()).map_err(in_words)?;
                    if format!("{:?}", conclusion.what) != format!("{:?}", again.what) {
                        return Err("the conclusion from the database is another".to_owned());
                    }
                    self.check_gates(&conclusion)?;
                    return self.finished();
                }
                Some(Ok(Measured::Stopped { .. })) if self.world.is_stopped() => self.account.stopped += 1,
                Some(Err(error)) if error.kind == ErrorKind::Stopped && self.world.is_stopped() => {
                    self.account.stopped += 1;
                }
                Some(Ok(Measured::Stopped { .. })) => return Err("it stopped, and nobody asked for it".to_owned()),
                Some(Err(error)) => return Err(format!("it failed: {}", error.problem)),
            }
        }
        Err("it ended early without an event".to_owned())
    }

    /// Checks that resuming the finished run applies the same gates.
    fn check_gates(&mut self, conclusion: &Conclusion) -> Result<(), String> {
        let resumed = match self.live(Troubles::default()) {
            Some(Ok(Measured::Concluded(resumed))) => resumed,
            other => return Err(format!("the finished run is resumed: {other:?}")),
        };
        if conclusion.gates.len() != 1 || conclusion.gates != resumed.gates || conclusion.is_well() != resumed.is_well()
        {
            return Err(format!("its gates found {:?}, and after a resume {:?}", conclusion.gates, resumed.gates));
        }
        match conclusion.gates[0].passed() {
            true => self.account.open_gates += 1,
            false => self.account.closed_gates += 1,
        }
        Ok(())
    }

    fn troubles(&self) -> Troubles {
        let moment =
            |share: f64| self.world.draw(|random| random.random_bool(share).then(|| random.random_range(0..MOMENTS)));
        Troubles { killed_at: moment(0.6), stopped_at: moment(0.4), ..Troubles::default() }
    }

    /// What the product does in one life; `None` if it was killed. The product's own panics are passed on.
    fn live(&self, troubles: Troubles) -> Option<Result<Measured, Error>> {
        let places = self.places();
        let stop = self.world.begin_life(troubles);
        let mut observer = Watcher { world: self.world.clone(), told: self.told.clone() };
        let lived = catch_unwind(AssertUnwindSafe(|| {
            let (machines, clock) = (&self.machines, &self.world.clock);
            let mut lab = Lab { places: &places, machines, clock, stop: &stop, observer: &mut observer };
            match self.run {
                None => kernel(&self.request(), &mut lab),
                Some(run) => {
                    let request = ResumeRequest { run: Some(run), jobs: Some(self.jobs), ..ResumeRequest::default() };
                    resume(&request, &mut lab)
                }
            }
        }));
        match lived {
            Ok(measured) => Some(measured),
            Err(payload) if payload.is::<Killed>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }

    fn request(&self) -> LensKernelRequest {
        LensKernelRequest {
            workloads: vec!["spin".to_owned(), "shuffle:near".to_owned()],
            cpus: vec![1, 2],
            kernel: Some(self.kernel.clone()),
            vmlinux: None,
            parameters: Vec::new(),
            memory_mib: None,
            mode: None,
            size: None,
            under: UnderLens {
                model: ModelRequest::default(),
                gates: Gates { budgets: vec![BUDGET.parse().expect("a budget")], baseline: None },
                repeats: 2,
                seed: self.world.seed,
                operations: Some(OPERATIONS),
                limit_ms: None,
                jobs: Some(self.jobs),
                label: None,
                commit: None,
            },
        }
    }

    fn places(&self) -> Places {
        Places { plugin: Some(self.plugin.clone()), ..files::places(&self.world.disk.database()) }
    }

    /// Opens the database as the last life left it, and checks its contents.
    fn look(&mut self) -> Result<(), String> {
        let (places, told) = (self.places(), self.told.borrow());
        told.violation.clone().map_or(Ok(()), Err)?;
        let exists = Path::new(&self.world.disk.database()).exists();
        let runs = if exists { stored::runs(&places).map_err(in_words)? } else { Vec::new() };
        let id = match runs.as_slice() {
            [] if self.run.is_none() && !told.has_begun => return Ok(()),
            [line] => line.id,
            other => return Err(format!("there are {} runs", other.len())),
        };
        let saved = stored::load(id, &places).map_err(in_words)?;
        record::check(&saved, self.jobs.get())?;
        if let Some(before) = &self.record {
            record::check_kept(before, &saved)?;
        }
        saved.attempts.iter().try_for_each(|attempt| self.check_attempt(&saved, attempt))?;
        for (ordinal, outcome) in &told.ended {
            let is_saved = |attempt: &Attempt| attempt.ordinal == *ordinal && attempt.outcome.as_ref() == Some(outcome);
            if !saved.attempts.iter().any(is_saved) {
                return Err(format!("item {ordinal} was told to have ended with {outcome:?}, which is not saved"));
            }
        }
        drop(told);
        (self.run, self.record) = (Some(id), Some(saved));
        Ok(())
    }

    /// Checks that an attempt that has ended says how it ended, and has the counts that were made.
    fn check_attempt(&self, saved: &RunRecord, attempt: &Attempt) -> Result<(), String> {
        let Some(outcome) = attempt.outcome.as_ref().filter(|_| record::has_ended(attempt)) else { return Ok(()) };
        let item = saved.plan.iter().find(|item| item.ordinal == attempt.ordinal).ok_or("an attempt of no item")?;
        let fate = Fate::of_item(self.world.seed, item);
        let problem = |text: &str| format!("item {}, {fate:?}: {text}: {attempt:?}", item.ordinal);
        if !fate.is(outcome) {
            return Err(problem("another outcome is saved"));
        }
        let operations = OPERATIONS * u64::from(item.cell.tasks);
        match (&attempt.reading, fate.end) {
            (None, End::NoReport | End::GuestFailed) => Ok(()),
            (Some(reading), End::Counted | End::Status | End::Signal) => {
                let is_whole = fate.end == End::Counted;
                let is_right = reading.totals.transfers == fate.transfers
                    && reading.is_partial != is_whole
                    && (!is_whole || reading.operations.get() == operations)
                    && reading.seed == item.seed;
                if is_right { Ok(()) } else { Err(problem("other counts are saved")) }
            }
            _ => Err(problem("counts are missing, or there are some that nobody made")),
        }
    }

    fn finished(mut self) -> Result<LensAccount, String> {
        let record = self.record.take().ok_or("it is concluded and not saved")?;
        ending::check(&self.world, &record)?;
        (self.account.items, self.account.attempts) = (record.plan.len(), record.attempts.len());
        let outcomes = record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref());
        self.account.outcomes = outcomes.map(discriminant).collect();
        Ok(self.account)
    }
}

/// What an observer was told, which must already be saved.
#[derive(Debug, Default)]
struct Told {
    /// A run began.
    has_begun: bool,
    /// The items that ended, with their outcomes.
    ended: BTreeMap<u32, Outcome>,
    /// A violation, in words.
    violation: Option<String>,
}

/// Observes a lens run as a front end does.
struct Watcher {
    world: Rc<World>,
    told: Rc<RefCell<Told>>,
}

impl faultline_runner::Observer for Watcher {
    fn item_begins(&mut self, item: &PlanItem, _: &RunProgress) {
        let mut told = self.told.borrow_mut();
        if told.ended.contains_key(&item.ordinal) {
            told.violation = Some(format!("item {} begins again, although it ended", item.ordinal));
        }
        drop(told);
        self.world.moment(Moment::Between);
    }

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, _: Option<f64>, _: &RunProgress) {
        self.world.moment(Moment::Writing);
        self.told.borrow_mut().ended.insert(item.ordinal, outcome.clone());
        self.world.moment(Moment::Between);
    }
}

impl faultline_experiment::Observer for Watcher {
    fn measuring_begins(&mut self, _: &RunHead) {
        self.world.moment(Moment::Writing);
        self.told.borrow_mut().has_begun = true;
    }

    fn measuring_ends(&mut self) {
        self.world.moment(Moment::Writing);
    }

    fn notice(&mut self, _: &Notice) {}
}
