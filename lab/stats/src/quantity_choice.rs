//! The choice between time and CPU time by the first executions of a run that builds commits.
//!
//! CPU time replaces time on a busy machine, for a program with one thread that waits for nothing:
//! its CPU time is at most its elapsed time, and it seldom gives up the CPU by itself. On a very
//! busy machine several threads together may not use more CPU time than the elapsed time either, so
//! the second condition does not exclude them. docs/METHODOLOGY.md, §18, describes the rule.

use crate::gather::{CellRepeats, about};
use crate::machine::Cpus;
use crate::progress::{Standing, standings};
use crate::repeat::Repeat;
use crate::thresholds::TICK_NS;
use crate::warnings::{busy_at_start, others_cpus, stolen_share};
use faultline_record::describe::Style;
use faultline_record::quantity::QuantityChoice;
use faultline_record::record::RunRecord;

/// Executions before the choice: one of each end of a search.
const FEWEST: usize = 2;

/// Greatest CPU time of one thread, as a part of the elapsed time: clocks differ a little.
const ONE_THREAD: f64 = 1.05;

/// Least CPU time of an execution, in seconds. Less is too coarse.
const LEAST_CPU_S: f64 = 0.01;

/// Voluntary context switches of a program that waits for nothing: those of its start, and those
/// for each second of CPU time.
const SWITCHES: [f64; 2] = [2.0, 20.0];

/// The choice, if the request left it open and enough executions have ended; `None` otherwise.
pub fn quantity_choice(record: &RunRecord) -> Option<QuantityChoice> {
    let line = record.settings.measured_line()?;
    if line.choice != Some(QuantityChoice::Open) {
        return None;
    }
    let done = standings(record).into_iter().filter_map(|(item, standing)| match standing {
        Standing::Done(attempt) => Repeat::of(about(&record.workloads, item).style, item.block, attempt),
        Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
    });
    let repeats: Vec<Repeat<'_>> = done.collect();
    if repeats.len() < FEWEST {
        return None;
    }
    let tasks = record.settings.cpus.first().copied().unwrap_or(1);
    let executed = CellRepeats { tasks, repeats, failures: Vec::new() };
    Some(if !is_busy(record, &executed) {
        QuantityChoice::Quiet
    } else if is_cpu_bound(&executed) {
        QuantityChoice::Busy
    } else {
        QuantityChoice::NotCpuBound
    })
}

/// True if the machine fails the checks of the warnings about load and steal.
fn is_busy(record: &RunRecord, executed: &CellRepeats<'_>) -> bool {
    busy_at_start(record).is_some()
        || others_cpus(Style::Once, executed, Cpus::of(record).logical).is_some()
        || stolen_share(executed).is_some()
}

/// True if each execution used at most one CPU, and one of them waited for nothing. The first may
/// have waited for files to be read.
fn is_cpu_bound(executed: &CellRepeats<'_>) -> bool {
    let figures = |repeat: &Repeat<'_>| {
        let usage = repeat.attempt.usage?;
        Some((repeat.value, (usage.user_ns + usage.system_ns) as f64 / 1e9, usage.voluntary_switches as f64))
    };
    let Some(all) = executed.repeats.iter().map(figures).collect::<Option<Vec<_>>>() else { return false };
    let is_single = |&(time, cpu_time, _): &(f64, f64, f64)| {
        cpu_time >= LEAST_CPU_S && cpu_time <= ONE_THREAD * time + 2.0 * TICK_NS / 1e9
    };
    let [start, each_second] = SWITCHES;
    let waits_for_nothing = |&(_, cpu_time, switches): &(f64, f64, f64)| switches <= start + each_second * cpu_time;
    executed.tasks == 1 && all.iter().all(is_single) && all.iter().any(waits_for_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::timed_search;
    use faultline_record::plan::RunKind;

    /// A search of which both ends were executed. `load`: CPUs used by others before it; `usage`:
    /// CPU time and voluntary switches of each execution, which takes two seconds.
    fn searched(executions: u32, load: f64, usage: (f64, u64)) -> RunRecord {
        let mut record = timed_search(&[0, 4][..executions as usize], 1, |_, _| [2.0, usage.0]);
        record.head.sessions[0].facts[0].real("load.busy_cpus", load);
        for attempt in &mut record.attempts {
            attempt.usage.as_mut().unwrap().voluntary_switches = usage.1;
        }
        let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
        search.measured.choice = Some(QuantityChoice::Open);
        record
    }

    #[test]
    fn a_busy_machine_and_a_program_that_only_computes_choose_cpu_time() {
        let cases = [
            (2, 0.0, (2.0, 1), Some(QuantityChoice::Quiet)),
            (2, 1.8, (1.0, 3), Some(QuantityChoice::Busy)),
            (2, 1.8, (2.02, 3), Some(QuantityChoice::Busy)),
            (2, 1.8, (3.0, 3), Some(QuantityChoice::NotCpuBound)),
            (2, 1.8, (1.0, 300), Some(QuantityChoice::NotCpuBound)),
            (2, 1.8, (0.002, 1), Some(QuantityChoice::NotCpuBound)),
            (1, 1.8, (1.0, 3), None),
        ];
        for (executions, load, usage, expected) in cases {
            assert_eq!(quantity_choice(&searched(executions, load, usage)), expected, "{executions} {load} {usage:?}");
        }
        let mut record = searched(2, 1.8, (1.0, 3));
        record.head.settings.cpus = vec![2];
        assert_eq!(quantity_choice(&record), Some(QuantityChoice::NotCpuBound), "several copies");
    }

    #[test]
    fn a_choice_is_made_once() {
        let mut record = searched(2, 1.8, (1.0, 3));
        let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
        search.measured.choose(QuantityChoice::Quiet);
        assert_eq!(quantity_choice(&record), None);
        let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
        search.measured.choice = None;
        assert_eq!(quantity_choice(&record), None, "the quantity was requested");
    }
}
