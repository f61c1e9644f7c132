//! Simulated guests that count: each execution prints its lines, ends by its fate, and leaves a
//! report.
//!
//! A fate follows from the seed of the world and from what is executed, so it can be computed again
//! from what is saved. Executions are counted on their own threads and use nothing else of the
//! world.

use crate::disk::Moment;
use crate::workload::{self, Script};
use crate::world::World;
use faultline_lens_format::{RawCounts, RawLine, RawReport};
use faultline_record::describe::WorkloadInfo;
use faultline_record::facts::Facts;
use faultline_record::lens::counted::{AgentReport, CountedReport};
use faultline_record::lens::guest_kernel::KernelSymbol;
use faultline_record::machine::MachineShape;
use faultline_record::outcome::{GuestFailure, Outcome, Uncounted};
use faultline_record::plan::PlanItem;
use faultline_targets::counting::{AtEnd, CountableGuest, Counted, CountedProgram, Counting, Lens};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The address of the only line that moves.
const LINE: u64 = 0xffff_ffff_8200_0040;

/// Receiver of a counting target's output.
type Sink<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + 'a;

/// A guest that has booted.
pub(crate) struct SimulatedGuest(pub(crate) Rc<World>);

impl CountableGuest for SimulatedGuest {
    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(workload::all())
    }

    fn symbols(&self, _: &StopFlag) -> Result<Vec<KernelSymbol>, TargetError> {
        let symbol = |address, name: &str| KernelSymbol { address, kind: 'D', name: name.to_owned() };
        Ok(vec![symbol(LINE, "counter"), symbol(LINE + 8, "after")])
    }

    fn counting(
        &self,
        shapes: &[MachineShape],
        _: Lens,
        _: Option<CountedProgram>,
        _: &[KernelSymbol],
    ) -> Result<Box<dyn Target>, TargetError> {
        let most = shapes.iter().map(MachineShape::cpus).max().unwrap_or(1);
        let counter = Counter { seed: self.0.seed, workloads: workload::all() };
        Ok(Box::new(CountingTarget { world: self.0.clone(), cpus: (0..most).collect(), counter }))
    }
}

struct CountingTarget {
    world: Rc<World>,
    cpus: Vec<u32>,
    counter: Counter,
}

impl Target for CountingTarget {
    fn facts(&self) -> Facts {
        self.world.moment(Moment::Writing);
        self.world.facts()
    }

    fn workloads(&self) -> Result<Vec<WorkloadInfo>, TargetError> {
        Ok(self.counter.workloads.clone())
    }

    fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    fn execute(&self, _: &Execution, _: &mut Sink<'_>, _: &StopFlag) -> Ending {
        Ending::NotStarted { text: "under the lens every execution is counted".to_owned() }
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(&self.counter)
    }
}

/// A counting target.
struct Counter {
    seed: u64,
    workloads: Vec<WorkloadInfo>,
}

impl Counting for Counter {
    fn room_bytes(&self) -> Option<u64> {
        Some(1 << 20)
    }

    fn count(
        &self,
        execution: &Execution,
        tasks: u32,
        seed: Option<u64>,
        _: &AtEnd<'_>,
        sink: &mut Sink<'_>,
        stop: &StopFlag,
    ) -> Counted {
        let Some(info) = self.workloads.iter().find(|info| info.name == execution.workload) else {
            return Counted::lab_failed(format!("there is no workload {}", execution.workload));
        };
        let fate = Fate::of(self.seed, (&info.name, tasks), seed);
        let number = seed.unwrap_or_default();
        let script = workload::script(info, execution, (number, 1.0), &mut ChaCha8Rng::seed_from_u64(number));
        let ending = play(script, fate.end, sink, stop);
        let report = match fate.end {
            End::NoReport | End::GuestFailed => Err(Fate::TEXT.to_owned()),
            End::Counted | End::Status | End::Signal => Ok(report(tasks, fate.transfers)),
        };
        Counted { ending, console: None, report, seed }
    }
}

/// Prints the lines, or the first half of them if the workload does not end well.
fn play(script: Script, end: End, sink: &mut Sink<'_>, stop: &StopFlag) -> Ending {
    let is_whole = matches!(end, End::Counted | End::NoReport);
    let count = if is_whole { script.lines.len() } else { script.lines.len() / 2 };
    for line in &script.lines[..count] {
        if stop.is_set() {
            return Ending::Stopped;
        }
        if sink(&line.text).is_break() {
            return Ending::Refused;
        }
    }
    let text = Fate::TEXT.to_owned();
    match end {
        End::Counted | End::NoReport => script.ending,
        End::Status => Ending::Exited { status: Fate::STATUS, stderr: text },
        End::Signal => Ending::Signalled { signal: Fate::SIGNAL, stderr: text },
        End::GuestFailed => Ending::GuestFailed { failure: Fate::FAILURE, text: text.clone(), console: text },
    }
}

/// A report of one line.
fn report(cpus: u32, transfers: u64) -> CountedReport {
    let mut operation = RawCounts::of_lines(vec![RawLine::written(LINE, transfers)]);
    (operation.totals.instructions, operation.totals.accesses) = (100_000, 50_000);
    CountedReport { counts: RawReport { operation, ..RawReport::empty(cpus) }, agent: AgentReport::default() }
}

/// The share of executions with a fault.
const FAULTS: f64 = 0.3;

/// The end of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With its counts.
    Counted,
    /// By itself, with a status.
    Status,
    /// By a signal.
    Signal,
    /// Without a report.
    NoReport,
    /// With its guest.
    GuestFailed,
}

/// The fate of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) end: End,
    /// Number of transfers until its end.
    pub(crate) transfers: u64,
}

impl Fate {
    /// The status with which an execution ends by itself.
    pub(crate) const STATUS: i32 = 3;
    /// The signal.
    pub(crate) const SIGNAL: i32 = 11;
    /// The text of every failure.
    pub(crate) const TEXT: &'static str = "it was to be";
    /// The failure of guests.
    pub(crate) const FAILURE: GuestFailure = GuestFailure::ALL[0];

    /// The fate of an execution. `seed`: of the world.
    pub(crate) fn of(seed: u64, (workload, tasks): (&str, u32), item_seed: Option<u64>) -> Self {
        let name = workload.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let parts = [name, tasks.into(), item_seed.unwrap_or_default()];
        let mixed = parts.iter().fold(seed, |mixed, part| mixed.rotate_left(17).wrapping_mul(0x9e37_79b9) ^ part);
        let mut random = ChaCha8Rng::seed_from_u64(mixed);
        let ends = [End::Status, End::Signal, End::NoReport, End::GuestFailed];
        let end = match random.random_bool(FAULTS) {
            true => ends[random.random_range(0..ends.len())],
            false => End::Counted,
        };
        Fate { end, transfers: random.random_range(1..100_000) }
    }

    /// The fate of an item.
    pub(crate) fn of_item(seed: u64, item: &PlanItem) -> Self {
        Self::of(seed, (&item.cell.case.workload, item.cell.tasks), item.seed)
    }

    /// True if this outcome must be recorded.
    pub(crate) fn is(self, outcome: &Outcome) -> bool {
        let text = Self::TEXT.to_owned();
        let expected = match self.end {
            End::Counted => Outcome::Done,
            End::Status => Outcome::Exited { status: Self::STATUS, stderr: text },
            End::Signal => Outcome::Crashed { signal: Self::SIGNAL, stderr: text },
            End::NoReport => Outcome::NotCounted { why: Uncounted::NoReport { problem: text } },
            End::GuestFailed => Outcome::GuestFailed { how: Self::FAILURE, text: text.clone(), console: text },
        };
        *outcome == expected
    }
}
