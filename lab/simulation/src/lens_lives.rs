//! A lens run through all its lives: started, stopped or killed several times, and resumed until it
//! is concluded. Several executions are counted at once.

use crate::checks;
use crate::disk::{self, Killed, Moment, in_words};
use crate::guest::{End, Fate};
use crate::target::SimulatedMachines;
use crate::world::{Troubles, World};
use faultline_experiment::lens::{Gates, LensKernelRequest, ModelRequest, UnderLens, kernel};
use faultline_experiment::{
    Conclusion, Error, ErrorKind, Lab, Measured, Notice, Places, ResumeRequest, resume, stored,
};
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::record::{Attempt, RunHead, RunId, RunRecord};
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

/// A gate that about half of the runs without failures pass.
const BUDGET: &str = "spin<=390@2";

/// The maximum number of moments of a life: later events have no effect.
const MOMENTS: u32 = 30;

/// Content of a file that passes as the plugin, and of one that passes as a kernel.
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
    /// Runs within their budget.
    pub open_gates: u32,
    /// Runs that exceed their budget.
    pub closed_gates: u32,
    /// The kinds of outcomes that were recorded.
    pub outcomes: HashSet<Discriminant<Outcome>>,
}

/// Simulates the lens run of a seed from start to end. Fails with the violated invariant.
pub fn simulate_lens(seed: u64) -> Result<LensAccount, String> {
    let root = disk::root().map_err(in_words)?;
    let world = Rc::new(World::new(seed, root.path()).map_err(in_words)?);
    if world.scenario.has_database {
        std::fs::write(world.disk.database(), disk::empty_database(root.path())?).map_err(in_words)?;
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
        reported: Rc::default(),
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
    /// The run as saved after the last life.
    record: Option<RunRecord>,
    reported: Rc<RefCell<Reported>>,
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
                Some(Ok(Measured::Stopped { .. })) => return Err("it stopped without a request".to_owned()),
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

    /// One life of the product; `None` if it was killed. Passes on the product's own panics.
    fn live(&self, troubles: Troubles) -> Option<Result<Measured, Error>> {
        let places = self.places();
        let stop = self.world.begin_life(troubles);
        let mut observer = Watcher { world: self.world.clone(), reported: self.reported.clone() };
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
        Places { plugin: Some(self.plugin.clone()), ..disk::places(&self.world.disk.database()) }
    }

    /// Opens the database as the last life left it and checks its contents.
    fn look(&mut self) -> Result<(), String> {
        let (places, reported) = (self.places(), self.reported.borrow());
        reported.violation.clone().map_or(Ok(()), Err)?;
        let exists = Path::new(&self.world.disk.database()).exists();
        let runs = if exists { stored::runs(&places).map_err(in_words)? } else { Vec::new() };
        let id = match runs.as_slice() {
            [] if self.run.is_none() && !reported.has_begun => return Ok(()),
            [line] => line.id,
            other => return Err(format!("there are {} runs", other.len())),
        };
        let saved = stored::load(id, &places).map_err(in_words)?;
        checks::check(&saved, self.jobs.get())?;
        if let Some(before) = &self.record {
            checks::check_kept(before, &saved)?;
        }
        saved.attempts.iter().try_for_each(|attempt| self.check_attempt(&saved, attempt))?;
        for (ordinal, outcome) in &reported.ended {
            let is_saved = |attempt: &Attempt| attempt.ordinal == *ordinal && attempt.outcome.as_ref() == Some(outcome);
            if !saved.attempts.iter().any(is_saved) {
                return Err(format!("item {ordinal} was reported as ended with {outcome:?}, which is not saved"));
            }
        }
        drop(reported);
        (self.run, self.record) = (Some(id), Some(saved));
        Ok(())
    }

    /// Checks that an attempt that has ended has its outcome and its counts.
    fn check_attempt(&self, saved: &RunRecord, attempt: &Attempt) -> Result<(), String> {
        let Some(outcome) = attempt.outcome.as_ref().filter(|_| checks::has_ended(attempt)) else { return Ok(()) };
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
            _ => Err(problem("counts are missing, or were never made")),
        }
    }

    fn finished(mut self) -> Result<LensAccount, String> {
        let record = self.record.take().ok_or("it is concluded and not saved")?;
        checks::check_finished(&self.world, &record)?;
        (self.account.items, self.account.attempts) = (record.plan.len(), record.attempts.len());
        let outcomes = record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref());
        self.account.outcomes = outcomes.map(discriminant).collect();
        Ok(self.account)
    }
}

/// Events reported to an observer, which must already be saved.
#[derive(Debug, Default)]
struct Reported {
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
    reported: Rc<RefCell<Reported>>,
}

impl faultline_runner::Observer for Watcher {
    fn item_begins(&mut self, item: &PlanItem, _: &RunProgress) {
        let mut reported = self.reported.borrow_mut();
        if reported.ended.contains_key(&item.ordinal) {
            reported.violation = Some(format!("item {} begins again, although it ended", item.ordinal));
        }
        drop(reported);
        self.world.moment(Moment::Between);
    }

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, _: Option<f64>, _: &RunProgress) {
        self.world.moment(Moment::Writing);
        self.reported.borrow_mut().ended.insert(item.ordinal, outcome.clone());
        self.world.moment(Moment::Between);
    }
}

impl faultline_experiment::Observer for Watcher {
    fn measuring_begins(&mut self, _: &RunHead) {
        self.world.moment(Moment::Writing);
        self.reported.borrow_mut().has_begun = true;
    }

    fn measuring_ends(&mut self) {
        self.world.moment(Moment::Writing);
    }

    fn notice(&mut self, _: &Notice) {}
}
