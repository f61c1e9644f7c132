//! The world of one seed: its clock, which advances only when something simulated takes time, its
//! files, the events of the current life, and the truth.

use crate::disk::{self, Disk, Killed, Moment};
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::scenario::Scenario;
use faultline_experiment::{Notice, Places};
use faultline_record::facts::Facts;
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::record::RunHead;
use faultline_record::time::UnixMillis;
use faultline_runner::{Clock, RunProgress};
use faultline_targets::StopFlag;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The wall clock is changed by up to a day.
const LONGEST_JUMP_MS: i64 = 86_400_000;

/// Share of a search's executions that leave the system changed, in a life in which they may.
const CHANGED: f64 = 0.002;

/// The events of a life, by the number of the moment at which they happen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Troubles {
    /// The process is killed.
    pub(crate) killed_at: Option<u32>,
    /// A stop is requested.
    pub(crate) stopped_at: Option<u32>,
    /// The wall clock is changed.
    pub(crate) clock_set_at: Option<u32>,
    /// Faults may leave the system changed.
    pub(crate) may_leave_changed: bool,
    /// The disk for builds is full.
    pub(crate) disk_is_full: bool,
    /// The compiler is another one.
    pub(crate) has_other_tools: bool,
}

/// One seed's world.
#[derive(Debug)]
pub(crate) struct World {
    /// Its seed.
    pub(crate) seed: u64,
    /// Its time.
    pub(crate) clock: SimulatedClock,
    /// Its files.
    pub(crate) disk: Disk,
    /// The truth.
    pub(crate) ledger: RefCell<Ledger>,
    /// The experiment.
    pub(crate) scenario: Scenario,
    random: RefCell<ChaCha8Rng>,
    troubles: Cell<Troubles>,
    moments: Cell<u32>,
    boots: Cell<u32>,
    stop: RefCell<StopFlag>,
    budget_used: Cell<bool>,
}

impl World {
    /// The world of a seed, with its files below `root`. Fails if they cannot be created.
    pub(crate) fn new(seed: u64, root: &Path) -> io::Result<Self> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let scenario = Scenario::of(seed, &mut random);
        Self::of(seed, scenario, random, root)
    }

    /// The world of an experiment, with its files below `root`. Fails if they cannot be created.
    pub(crate) fn of(seed: u64, scenario: Scenario, random: ChaCha8Rng, root: &Path) -> io::Result<Self> {
        Ok(World {
            seed,
            clock: SimulatedClock::default(),
            disk: Disk::new(root)?,
            ledger: RefCell::default(),
            scenario,
            random: RefCell::new(random),
            troubles: Cell::default(),
            moments: Cell::new(0),
            boots: Cell::new(1),
            stop: RefCell::default(),
            budget_used: Cell::new(false),
        })
    }

    /// The places of an experiment. Only the database exists.
    pub(crate) fn places(&self) -> Places {
        disk::places(&self.disk.database())
    }

    /// Draws a random value.
    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut ChaCha8Rng) -> T) -> T {
        draw(&mut self.random.borrow_mut())
    }

    /// Starts a life, some time after the last one, perhaps after a reboot. Returns its stop flag.
    pub(crate) fn begin_life(&self, troubles: Troubles) -> StopFlag {
        self.clock.pass(Duration::from_secs(self.draw(|random| random.random_range(1..1000))));
        if self.draw(|random| random.random_bool(0.2)) {
            self.boots.set(self.boots.get() + 1);
        }
        self.troubles.set(troubles);
        self.moments.set(0);
        self.disk.note_log();
        self.ledger.borrow_mut().life_begins();
        self.stop.replace(StopFlag::default());
        self.stop.borrow().clone()
    }

    /// A moment at which an event may happen to this life. A kill does not return.
    pub(crate) fn moment(&self, moment: Moment) {
        let number = self.moments.replace(self.moments.get() + 1);
        let troubles = self.troubles.get();
        if troubles.clock_set_at == Some(number) {
            self.clock.jump(self.draw(|random| random.random_range(-LONGEST_JUMP_MS..LONGEST_JUMP_MS)));
        }
        if troubles.stopped_at == Some(number) {
            self.stop.borrow().set();
        }
        if troubles.killed_at == Some(number) {
            self.draw(|random| self.disk.leave(moment, random)).expect("the simulation's files can be copied");
            resume_unwind(Box::new(Killed));
        }
        if troubles.killed_at == Some(number + 1) {
            self.disk.note_log();
        }
    }

    /// True if a stop was requested in this life.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.borrow().is_set()
    }

    /// The fault of a subject's next execution, if any.
    pub(crate) fn fault(&self, speed_is_set: bool) -> Option<Fault> {
        let share = if speed_is_set { self.scenario.fault_share_b } else { self.scenario.fault_share };
        let may_leave_changed = self.troubles.get().may_leave_changed;
        self.draw(|random| random.random_bool(share).then(|| Fault::any(may_leave_changed, random)))
    }

    /// True if an execution of a search leaves the system changed.
    pub(crate) fn leaves_changed(&self) -> bool {
        self.troubles.get().may_leave_changed && self.draw(|random| random.random_bool(CHANGED))
    }

    /// True if the disk for builds is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        self.troubles.get().disk_is_full
    }

    /// The version of the tools that build commits.
    pub(crate) fn tools(&self) -> u32 {
        if self.troubles.get().has_other_tools { 13 } else { 12 }
    }

    /// The name of the current boot.
    pub(crate) fn boot(&self) -> String {
        format!("boot-{}", self.boots.get())
    }

    /// The facts of the simulated machine, now.
    pub(crate) fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.text("host.name", "simulated");
        facts.text("kernel.name", "Simulated");
        facts.text("kernel.release", "1.0");
        facts.text("boot.id", self.boot());
        facts.count("cpu.logical", 2);
        facts.count("cpu.usable", 2);
        facts.real("load.one_minute", 0.0);
        facts
    }

    /// Records whether the budget is used up now. Its end is rounded to milliseconds.
    pub(crate) fn note_budget(&self) {
        let near = Duration::from_millis(2 * self.ledger.borrow().measuring_lives() as u64);
        let is_unknown = self.scenario.is_comparison() && self.clock.has_jumped();
        if self.scenario.budget().is_some_and(|budget| is_unknown || self.spent() + near + near >= budget) {
            self.budget_used.set(true);
        }
    }

    /// True if the budget was used up when measuring ended, in any life.
    pub(crate) fn was_budget_used(&self) -> bool {
        self.budget_used.get()
    }

    /// Checks that the budget allows another item now.
    pub(crate) fn check_budget(&self) {
        let Some(budget) = self.scenario.budget() else { return };
        let spent = self.spent();
        if spent >= budget {
            let text = format!("an item begins after {spent:?}, with a budget of {budget:?}");
            self.ledger.borrow_mut().violation(text);
        }
    }

    /// Minimum of the time that counts against the budget so far; for a comparison, including its
    /// earlier lives. Valid only while the wall clock was not changed, because the product uses it
    /// for the earlier lives.
    pub(crate) fn spent(&self) -> Duration {
        let ledger = self.ledger.borrow();
        let in_this_life = ledger.in_this_life(self.clock.monotonic());
        if !self.scenario.is_comparison() || self.clock.has_jumped() {
            return in_this_life;
        }
        // The product counts in whole milliseconds.
        let rounded = Duration::from_millis(2 * ledger.measuring_lives() as u64);
        in_this_life + ledger.in_earlier_lives().saturating_sub(rounded)
    }
}

/// 2026-01-01T00:00:00Z.
const BEGIN: i64 = 1_767_225_600_000;

/// Simulated time.
#[derive(Debug)]
pub struct SimulatedClock {
    elapsed: Cell<Duration>,
    /// The wall clock's time at the start.
    wall_began_ms: Cell<i64>,
    has_jumped: Cell<bool>,
}

impl Default for SimulatedClock {
    fn default() -> Self {
        SimulatedClock { elapsed: Cell::default(), wall_began_ms: Cell::new(BEGIN), has_jumped: Cell::new(false) }
    }
}

impl SimulatedClock {
    /// Lets time pass.
    pub fn pass(&self, length: Duration) {
        self.elapsed.set(self.elapsed.get() + length);
    }

    /// Sets the wall clock forward, or back.
    pub fn jump(&self, by_ms: i64) {
        self.wall_began_ms.set(self.wall_began_ms.get() + by_ms);
        self.has_jumped.set(true);
    }

    /// True if the wall clock was ever set.
    pub fn has_jumped(&self) -> bool {
        self.has_jumped.get()
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.wall_began_ms.get() + self.elapsed.get().as_millis() as i64)
    }

    fn monotonic(&self) -> Duration {
        self.elapsed.get()
    }
}

/// Observes an experiment as a front end does, and reports to the ledger. Everything that it
/// observes must already be saved.
pub(crate) struct Watcher(pub(crate) Rc<World>);

impl faultline_runner::Observer for Watcher {
    fn item_begins(&mut self, item: &PlanItem, _: &RunProgress) {
        self.0.check_budget();
        self.0.ledger.borrow_mut().item_begins(item.ordinal);
        self.0.moment(Moment::Between);
    }

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, _: Option<f64>, _: &RunProgress) {
        self.0.moment(Moment::Writing);
        self.0.ledger.borrow_mut().item_ends(item.ordinal, outcome);
        self.0.moment(Moment::Between);
    }
}

impl faultline_experiment::Observer for Watcher {
    fn measuring_begins(&mut self, record: &RunHead) {
        self.0.moment(Moment::Writing);
        let boots: Vec<Option<&str>> = record
            .sessions
            .last()
            .map_or_else(Vec::new, |session| session.facts.iter().map(|facts| facts.get_text("boot.id")).collect());
        let mut ledger = self.0.ledger.borrow_mut();
        // All commits of a search, or of a history, share the facts of its machine.
        let machines = if record.settings.measured_line().is_some() { 1 } else { record.subjects.len() };
        if boots.len() != machines || boots.iter().any(|boot| *boot != Some(&self.0.boot())) {
            ledger.violation(format!("the session's facts are of {boots:?}, and this is {}", self.0.boot()));
        }
        ledger.measuring_begins(self.0.clock.monotonic());
    }

    fn measuring_ends(&mut self) {
        self.0.note_budget();
        self.0.moment(Moment::Writing);
    }

    fn notice(&mut self, _: &Notice) {
        self.0.moment(Moment::Between);
    }
}
