//! Simulated guests that count: each execution prints its lines, ends as its fate is, and leaves a report.
//!
//! Executions are counted on threads of their own, so they use nothing of the world but its seed.

use crate::death::Moment;
use crate::fate::{End, Fate};
use crate::script::Script;
use crate::workload;
use crate::world::World;
use faultline_model::describe::WorkloadInfo;
use faultline_model::facts::Facts;
use faultline_model::lens::kernel_symbol::KernelSymbol;
use faultline_model::lens::raw::RawReport;
use faultline_model::machine::MachineShape;
use faultline_targets::counting::{AtEnd, CountableGuest, Counted, CountedProgram, Counting, Lens};
use faultline_targets::{Ending, Execution, StopFlag, Target, TargetError};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The address of the only line that moves.
const LINE: u64 = 0xffff_ffff_8200_0040;

/// What a target says while it counts.
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

/// What counts.
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
            return Counted::not_started(format!("there is no workload {}", execution.workload));
        };
        let fate = Fate::of(self.seed, (&info.name, tasks), seed);
        let number = seed.unwrap_or_default();
        let script = workload::script(info, execution, (number, 1.0), &mut ChaCha8Rng::seed_from_u64(number));
        let ending = play(script, fate.end, sink, stop);
        let report = match fate.end {
            End::NoReport | End::GuestFailed => Err(Fate::TEXT.to_owned()),
            End::Counted | End::Status | End::Signal => report(tasks, fate.transfers),
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
fn report(cpus: u32, transfers: u64) -> Result<RawReport, String> {
    let report = json!({
        "format": "faultline-lens", "version": 3, "target": "x86_64", "mode": "kernel",
        "machine": {"cpus": cpus, "sockets": 1, "cpus_per_cache": cpus, "line_bytes": 64, "quantum": 1000,
            "private_quantum": 1000, "instruction_ps": 500, "same_cache_ns": 20, "same_socket_ns": 50,
            "other_socket_ns": 150, "memory_ns": 80, "cache_lines": null, "cache_ways": null},
        "direct_map": null, "scope": "marks", "regions": 1, "problems": [],
        "predicted_time": 1000, "predicted_time_ns": 500, "busy_time": 1000, "overlapping_time": 900,
        "totals": {"instructions": 100_000, "accesses": 50_000, "transfers": transfers, "true_sharing": transfers,
            "false_sharing": 0, "by_cause": {"read": 0, "write": transfers},
            "by_distance": {"same_cache": transfers, "same_socket": 0, "other_socket": 0, "several": 0},
            "atomic": 0, "user": 0, "contents": 0, "capacity_misses": 0},
        "cpus": [], "lines_moved": 1,
        "lines": [{"address": LINE, "space": "virtual", "contents": false, "transfers": transfers,
            "true_sharing": transfers, "false_sharing": 0, "by_cpu": [], "by_site": [],
            "by_offset": [{"offset": 0, "size": 8, "transfers": transfers}]}],
        "sites_moving": 0, "sites": [], "interrupt": null
    });
    RawReport::parse(report.to_string().as_bytes()).map_err(|error| error.to_string())
}
