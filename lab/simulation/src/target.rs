//! The simulated machine: executes workloads that are plain data, in simulated time, with faults.
//! The commits of the world's history, as a search gets them: builds take time, and are killed,
//! stopped, or find no room.

use crate::disk::Moment;
use crate::fault::Fault;
use crate::guest::SimulatedGuest;
use crate::history::History;
use crate::scenario::BOOT;
use crate::workload::{self, EXECUTION, SPEED, Script};
use crate::world::World;
use faultline_experiment::{Error, GuestRuns, Lab, Machines, Places, ReadyTarget};
use faultline_history::{Build, Commits, Relink, Relinked, Revert, Reverted, Walked, Which};
use faultline_record::commit::{CommitInfo, CommitLine};
use faultline_record::describe::WorkloadInfo;
use faultline_record::explained::FilesChanged;
use faultline_record::facts::Facts;
use faultline_record::machine::{Machine, MachineShape};
use faultline_record::recipe::{BuildTools, Recipe};
use faultline_runner::Clock;
use faultline_targets::counting::{CountableGuest, Lens};
use faultline_targets::network::Network;
use faultline_targets::qemu::{BareRequest, MachineRequest};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use rand::Rng;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The machines: every requested machine is simulated.
pub(crate) struct SimulatedMachines(pub(crate) Rc<World>);

impl Machines for SimulatedMachines {
    fn ready(&self, machine: &Machine, _: &Places, _: &StopFlag) -> Result<ReadyTarget, Error> {
        let overhead = if machine.guest().is_some() { BOOT } else { Duration::ZERO };
        let target = SimulatedTarget { world: self.0.clone(), workloads: workload::all(), overhead };
        Ok(ReadyTarget { target: Box::new(target), machine: machine.clone() })
    }

    fn ready_partner(
        &self,
        machine: &Machine,
        _: &Places,
        _: &StopFlag,
    ) -> Result<ReadyTarget<dyn Target + Sync>, Error> {
        Err(Error::failed(format!("no partner on {machine}: threads would not repeat themselves"), "leave it out"))
    }

    fn network(
        &self,
        _: &Machine,
        _: &[&Machine],
        _: &Places,
        _: &StopFlag,
    ) -> Result<Option<Box<dyn Network>>, Error> {
        Ok(None)
    }

    fn lens_emulator(&self, _: &Places) -> Result<String, Error> {
        Ok("simulated".to_owned())
    }

    fn ready_guest(
        &self,
        _: MachineRequest,
        _: GuestRuns,
        _: &Places,
        _: &StopFlag,
    ) -> Result<Box<dyn CountableGuest>, Error> {
        Ok(Box::new(SimulatedGuest(self.0.clone())))
    }

    fn ready_bare(
        &self,
        machine: BareRequest,
        _: &[MachineShape],
        _: Lens,
        _: &Places,
    ) -> Result<Box<dyn Target>, Error> {
        let kernel = machine.kernel.display().to_string();
        Err(Error::failed(format!("no machine with {kernel} is simulated"), "simulate a guest"))
    }
}

/// A machine that is ready.
struct SimulatedTarget {
    world: Rc<World>,
    workloads: Vec<WorkloadInfo>,
    overhead: Duration,
}

impl Target for SimulatedTarget {
    fn facts(&self) -> Facts {
        self.world.moment(Moment::Writing);
        self.world.facts()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(self.workloads.clone())
    }

    fn cpus(&self) -> &[u32] {
        &[0, 1]
    }

    fn overhead(&self) -> Duration {
        self.overhead
    }

    fn execute(
        &self,
        execution: &Execution,
        sink: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        stop: &StopFlag,
    ) -> Ending {
        let world = &self.world;
        // The attempt may not be saved yet.
        world.moment(Moment::Writing);
        let Some(info) = self.workloads.iter().find(|info| info.name == execution.workload) else {
            return Ending::NotStarted { text: format!("there is no workload {}", execution.workload) };
        };
        let script = self.script(info, execution);
        world.ledger.borrow_mut().begins(&script);
        world.ledger.borrow_mut().attempt_is_saved(world.clock.monotonic());
        let notices_stop = world.draw(|random| random.random_bool(0.8));
        let ending = self.play(script, execution.limit, sink, stop, notices_stop);
        if ending == Ending::Stopped {
            world.ledger.borrow_mut().stopped();
        }
        ending
    }
}

impl SimulatedTarget {
    /// The script of this execution.
    fn script(&self, info: &WorkloadInfo, execution: &Execution) -> Script {
        let world = &self.world;
        let number = world.ledger.borrow().next();
        if let Some(history) = world.scenario.history() {
            return self.script_of_search(info, execution, number, history);
        }
        let script = world.draw(|random| workload::script(info, execution, (number, 1.0), random));
        let speed_is_set = execution.environment.iter().any(|(name, _)| name == SPEED);
        match world.fault(speed_is_set) {
            Some(fault) => world.draw(|random| fault.bend(script, execution.limit, random)),
            None => script,
        }
    }

    /// The script of an execution in a search. It depends on the item alone, unless the system is
    /// left changed, which repeats the item.
    fn script_of_search(&self, info: &WorkloadInfo, execution: &Execution, number: u64, history: &History) -> Script {
        let world = &self.world;
        let mut random = world.scenario.random_of_item(world.ledger.borrow().item().unwrap_or_default());
        let directory = execution.directory.as_deref().unwrap_or(Path::new("/"));
        let script = workload::script(info, execution, (number, history.speed(directory)), &mut random);
        let injected = world.scenario.fault_in_search(&mut random);
        if world.leaves_changed() {
            return Fault::LeftChanged.bend(script, execution.limit, &mut random);
        }
        match history.fault(directory).or(injected) {
            Some(fault) => fault.bend(script, execution.limit, &mut random),
            None => script,
        }
    }

    fn play(
        &self,
        script: Script,
        limit: Duration,
        sink: &mut (dyn FnMut(&[u8]) -> ControlFlow<()> + '_),
        stop: &StopFlag,
        notices_stop: bool,
    ) -> Ending {
        let world = &self.world;
        world.clock.pass(self.overhead);
        let mut left = limit;
        for line in &script.lines {
            let takes = line.takes.min(left);
            world.clock.pass(takes);
            left -= takes;
            if left.is_zero() {
                return Ending::TimedOut;
            }
            if notices_stop && stop.is_set() {
                return Ending::Stopped;
            }
            if sink(&line.text).is_break() {
                return Ending::Refused;
            }
            world.moment(Moment::Writing);
            let is_number = line.text.starts_with(format!("note {EXECUTION} ").as_bytes());
            world.ledger.borrow_mut().line_taken(line.interval.is_some(), is_number);
            world.moment(Moment::Between);
        }
        if notices_stop && stop.is_set() {
            return Ending::Stopped;
        }
        if script.hangs {
            world.clock.pass(left);
        }
        script.ending
    }
}

/// Duration of a build.
const BUILD: Duration = Duration::from_secs(20);

/// The problem of a disk that is full.
pub(crate) const FULL: &str = "the simulated disk is full";

/// The commits of a world.
pub(crate) struct SimulatedCommits(pub(crate) Rc<World>);

impl SimulatedCommits {
    fn history(&self) -> Result<&History, Error> {
        let history = self.0.scenario.history();
        history.ok_or_else(|| Error::failed("this experiment has no history", "search one that has"))
    }

    /// Builds or links something, which may be killed before and after, stopped, or find no room.
    fn work(&self, name: &str, tools: &BuildTools, lab: &Lab<'_>) -> Result<(), Error> {
        let world = &self.0;
        world.ledger.borrow_mut().build_begins(name, &tools.digest);
        world.moment(Moment::Between);
        world.clock.pass(BUILD);
        if lab.stop.is_set() {
            return Err(Error::stopped());
        }
        if world.is_disk_full() {
            return Err(Error::failed(FULL, "make room"));
        }
        world.moment(Moment::Between);
        Ok(())
    }
}

impl Commits for SimulatedCommits {
    fn line(&self, _: &str, _: &str, _: &Lab<'_>) -> Result<CommitLine, Error> {
        Ok(self.history()?.line())
    }

    fn walk(&self, _: &Which, _: &Lab<'_>) -> Result<Walked, Error> {
        Ok(Walked { commits: self.history()?.line().commits, tagged: BTreeSet::new() })
    }

    fn tools(&self, _: &Recipe, _: &mut Lab<'_>) -> Result<BuildTools, Error> {
        self.0.moment(Moment::Writing);
        let version = self.0.tools();
        let versions = [("cc --version".to_owned(), format!("cc {version}"))].into();
        Ok(BuildTools { digest: version.to_string(), versions })
    }

    fn build(&self, commit: &CommitInfo, _: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Build, Error> {
        self.work(&commit.id, tools, lab)?;
        Ok(self.history()?.build(commit))
    }

    fn relink(&self, asked: &Relink<'_>, _: &Recipe, tools: &BuildTools, lab: &Lab<'_>) -> Result<Relinked, Error> {
        self.work(&format!("{} in layout {}", asked.commit.id, asked.layout.seed), tools, lab)?;
        Ok(self.history()?.relink(asked))
    }

    fn revert(&self, asked: &Revert<'_>, _: &Lab<'_>) -> Result<Reverted, Error> {
        let hint = "search without reverts";
        Err(Error::failed(format!("the simulated commit {} has no files to undo", asked.commit.id), hint))
    }

    fn files(&self, from: &CommitInfo, to: &CommitInfo, lab: &Lab<'_>) -> Result<FilesChanged, Error> {
        self.0.moment(Moment::Between);
        if lab.stop.is_set() {
            return Err(Error::stopped());
        }
        Ok(self.history()?.files(from, to))
    }
}
