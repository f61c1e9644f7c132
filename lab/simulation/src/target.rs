//! The simulated machine: executes workloads that are plain data, in simulated time, with faults.

use crate::death::Moment;
use crate::fault::Fault;
use crate::guest::SimulatedGuest;
use crate::history::History;
use crate::scenario::BOOT;
use crate::script::Script;
use crate::workload::{self, EXECUTION, SPEED};
use crate::world::World;
use faultline_experiment::{Error, GuestRuns, Machines, Places, ReadyTarget};
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::machine::{Machine, MachineShape};
use faultline_runner::Clock;
use faultline_targets::counting::{CountableGuest, Lens};
use faultline_targets::network::Network;
use faultline_targets::qemu::{BareRequest, MachineRequest};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use rand::Rng;
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

    /// The same in a search. It depends on the item alone, unless the system is left changed, after which the item is repeated.
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
