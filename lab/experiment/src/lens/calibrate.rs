//! Measures the cost of a transfer between this machine's CPUs.

use super::costs::{self, Kept, MEASURED};
use crate::error::Error;
use crate::places::Places;
use crate::target::or_stopped;
use crate::whole_file;
use faultline_coherence::{CostTable, DelayTimes};
use faultline_targets::host::ping_pong::{Delays, Nearness, Probe, Rounds, probe};
use faultline_targets::{StopFlag, Target};
use std::path::PathBuf;

/// The result of the measurement.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Every pair of CPUs.
    pub probe: Probe,
    /// The table of costs that follows from it.
    pub table: CostTable,
    /// The machine's name.
    machine: String,
}

/// Measures every pair of this machine's CPUs. Fails with fewer than two usable CPUs, at the time limit, and on a stop.
pub fn calibrate(places: &Places, stop: &StopFlag) -> Result<Calibration, Error> {
    let host = places.bare_host();
    let probe = probe(host.cpus(), Rounds::default(), stop).map_err(|error| or_stopped(error, stop))?;
    let table = table(&probe);
    let machine = host.facts().0.get("host.name").map_or_else(String::new, ToString::to_string);
    Ok(Calibration { probe, table, machine })
}

impl Calibration {
    /// Saves the costs for runs with [`MEASURED`] costs, and returns the file, which is beside the database. Fails if it cannot be written.
    pub fn keep(&self, places: &Places) -> Result<PathBuf, Error> {
        let path = costs::file(places)?;
        let kept = Kept::new(&self.table, format!("measured on {}", self.machine));
        let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(|error| {
                Error::failed(
                    format!("cannot make {}: {error}", directory.display()),
                    "`--db FILE` names a database in a directory that can be written; the costs are kept beside it",
                )
            })?;
        }
        whole_file::write(&path, &text)?;
        Ok(path)
    }
}

/// The times for the model. A distance that this machine does not have costs as much as the next closer one. Memory is not
/// measured; its time comes from the default table.
fn table(probe: &Probe) -> CostTable {
    let default = CostTable::default();
    let measured = |nearness| probe.median_ns(nearness);
    let near = measured(Nearness::SameCache).or(measured(Nearness::SameCore)).or(measured(Nearness::Unknown));
    let socket = measured(Nearness::SameSocket);
    let other = measured(Nearness::OtherSocket);
    let same_cache = near.or(socket).or(other).unwrap_or(f64::from(default.same_cache_ns));
    let same_socket = socket.unwrap_or(same_cache).max(same_cache);
    let other_socket = other.unwrap_or(same_socket).max(same_socket);
    let whole = |value: f64| value.round().clamp(1.0, 1e6) as u32;
    CostTable {
        name: MEASURED.into(),
        source: "measured".into(),
        instruction_ps: whole(probe.instruction_ps),
        same_cache_ns: whole(same_cache),
        same_socket_ns: whole(same_socket),
        other_socket_ns: whole(other_socket),
        memory_ns: default.memory_ns.max(whole(same_cache)),
        delays: Some(delays(&probe.delays, probe.instruction_ps, same_cache)),
    }
}

/// Instructions of the call of the kernel that was measured, about.
const CALL_INSTRUCTIONS: f64 = 100.0;

/// Longest time for which a CPU is taken to keep a line, in transfers. Longer ones cannot be told apart by what was measured.
const MOST_HOLD: f64 = 10.0;

/// The delays for the model. If a CPU keeps a line for h, executes h/a atomic operations of the time a meanwhile, and the line then takes t to the other one, an operation
/// takes c = (h + t)·a/h, so h = t·a/(c − a).
fn delays(measured: &Delays, instruction_ps: f64, transfer_ns: f64) -> DelayTimes {
    let Delays { atomic_ps, contended_ps, wake_ns, interrupt_ns, call_ns } = *measured;
    let beyond_ps = (contended_ps - atomic_ps).max(atomic_ps / MOST_HOLD);
    let whole = |value: f64| value.round().clamp(0.0, 1e9) as u32;
    DelayTimes {
        atomic_ps: whole(atomic_ps - instruction_ps),
        hold_ns: whole(transfer_ns * atomic_ps / beyond_ps),
        wake_ns: whole(wake_ns),
        interrupt_ns: whole(interrupt_ns),
        entry_ns: whole(call_ns - CALL_INSTRUCTIONS * instruction_ps / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_line_is_kept_follows_from_contended_operations() {
        let measured =
            Delays { atomic_ps: 5000.0, contended_ps: 6250.0, wake_ns: 4e4, interrupt_ns: 1500.0, call_ns: 100.0 };
        let times = delays(&measured, 250.0, 20.0);
        // Sixteen operations in 80 ns, then 20 ns for the transfer: 6.25 ns each.
        assert_eq!(times.hold_ns, 80);
        assert_eq!((times.atomic_ps, times.wake_ns, times.interrupt_ns, times.entry_ns), (4750, 40_000, 1500, 75));
        let as_fast = Delays { contended_ps: 4000.0, ..measured };
        assert_eq!(delays(&as_fast, 250.0, 20.0).hold_ns, 200);
    }
}
