//! CPU time used by other processes: before a session, from the load average; during the run, from
//! the machine's total minus the tasks' own time.

use super::concerned::{Concerned, worst};
use super::{Findings, Warning, WarningKind};
use crate::gather::CellRepeats;
use crate::granule::granule;
use crate::repeat::{Repeat, length_ns};
use crate::shares::MachineTime;
use crate::thresholds::{BUSY_AT_START, LOAD_AVERAGE, OTHERS_CPUS, TICK_NS};
use faultline_record::cell::Cell;
use faultline_record::describe::Style;
use faultline_record::facts::Facts;
use faultline_record::record::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time and amount of CPU use by other processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "when", rename_all = "kebab-case")]
pub enum Load {
    /// Before a session.
    AtStart {
        /// CPUs used by programs just before, if measured and high.
        busy_cpus: Option<f64>,
        /// Load average of the last minute, if high and nothing better was measured.
        load_average: Option<f64>,
        /// Other runnable tasks, if any and nothing better was measured.
        runnable_others: Option<i64>,
    },
    /// While tasks were measured.
    UnderWay {
        /// The largest number of CPUs used by other processes during a cell.
        others_cpus: f64,
        /// The cell with that number.
        worst: Cell,
    },
}

/// A session began on a busy machine.
pub(super) fn at_start(findings: &Findings<'_>) -> Option<Warning> {
    let kind = WarningKind::Load(busy_at_start(findings.record)?);
    Some(Warning { kind, cells: Vec::new() })
}

/// The highest load at the start of a session: CPU time used just before or, if that was not
/// measured, the load average and the number of runnable tasks.
pub(crate) fn busy_at_start(record: &RunRecord) -> Option<Load> {
    let (taken, not): (Vec<&Facts>, Vec<&Facts>) = record.all_facts().partition(|facts| busy_cpus(facts).is_some());
    let busy_cpus = taken.into_iter().filter_map(busy_cpus).max_by(f64::total_cmp).filter(|&busy| busy > BUSY_AT_START);
    let averages = not.iter().filter_map(|facts| facts.get_real("load.one_minute")).filter(|load| load.is_finite());
    let load_average = averages.max_by(f64::total_cmp).filter(|&load| load > LOAD_AVERAGE);
    let others = not.iter().filter_map(|facts| facts.get_count("load.runnable_others")).max();
    let runnable_others = others.filter(|&others| others > 0);
    let is_busy = busy_cpus.is_some() || load_average.is_some() || runnable_others.is_some();
    is_busy.then_some(Load::AtStart { busy_cpus, load_average, runnable_others })
}

/// CPUs used by programs just before a session.
fn busy_cpus(facts: &Facts) -> Option<f64> {
    facts.get_real("load.busy_cpus").filter(|busy| busy.is_finite())
}

/// Other processes used CPU time during the region of interest.
pub(super) fn under_way(findings: &Findings<'_>) -> Option<Warning> {
    let (worst, cells) = worst(busy(findings))?;
    let kind = WarningKind::Load(Load::UnderWay { others_cpus: worst.figure, worst: worst.cell });
    Some(Warning { kind, cells })
}

/// The largest number of CPUs used by other processes above the threshold, and its cell.
pub(crate) fn most_by_others(findings: &Findings<'_>) -> Option<(f64, Cell)> {
    worst(busy(findings)).map(|(worst, _)| (worst.figure, worst.cell))
}

/// The cells during which other processes used CPU time.
fn busy(findings: &Findings<'_>) -> Vec<Concerned> {
    let mut busy = Vec::new();
    for case in findings.cases {
        for cell in &case.cells {
            let figure = others_cpus(case.about.style, cell, findings.cpus.logical);
            busy.extend(figure.map(|figure| Concerned { cell: case.cell(cell.tasks), figure }));
        }
    }
    busy
}

/// CPUs used by other processes over all of a cell's repeats, if above [`OTHERS_CPUS`] and above
/// the measuring error.
///
/// Interrupts belong to no process and are not counted. If usage covers a task's whole life, set-up
/// and warm-up are subtracted too, so the result is too low, never too high.
pub(crate) fn others_cpus(style: Style, cell: &CellRepeats<'_>, logical: Option<u32>) -> Option<f64> {
    let (mut others_ns, mut length_ns) = (0.0, 0.0);
    for repeat in &cell.repeats {
        if let Some((others, length)) = by_others_ns(repeat).zip(region_ns(style, repeat, logical)) {
            others_ns += others;
            length_ns += length;
        }
    }
    let allowed_ns = OTHERS_CPUS * length_ns + 2.0 * TICK_NS + edges_ns(style, cell);
    (others_ns > allowed_ns).then(|| others_ns / length_ns)
}

/// CPU time of other processes during the region of interest, in nanoseconds; may be negative
/// because of measuring errors.
pub(crate) fn by_others_ns(repeat: &Repeat<'_>) -> Option<f64> {
    let machine = MachineTime::of(repeat.attempt)?;
    Some(machine.user_ns + machine.system_ns - tasks_ns(repeat)?)
}

/// Length of the region of interest, in nanoseconds.
pub(crate) fn region_ns(style: Style, repeat: &Repeat<'_>, logical: Option<u32>) -> Option<f64> {
    match style {
        Style::Loop => Some(length_ns(&repeat.attempt.window) as f64),
        Style::Once => Some(MachineTime::of(repeat.attempt)?.total_ns() / f64::from(logical?)),
    }
}

/// CPU time that the tasks used.
pub(crate) fn tasks_ns(repeat: &Repeat<'_>) -> Option<f64> {
    repeat.attempt.usage.map(|usage| usage.user_ns as f64 + usage.system_ns as f64)
}

/// Error bound of the tasks' usage: a looping task reads its usage after a batch, so each end of a
/// repeat is off by part of a batch.
///
/// If ends are spread evenly over a batch, the difference of two has a standard deviation of 0.41
/// batches. The bound, twice a batch times the root of the number of ends, is five standard
/// deviations.
fn edges_ns(style: Style, cell: &CellRepeats<'_>) -> f64 {
    let operations: f64 = cell.repeats.iter().map(|repeat| repeat.operations as f64).sum();
    if style == Style::Once || operations == 0.0 {
        return 0.0;
    }
    let batch_ns = cell.repeats.iter().filter_map(tasks_ns).sum::<f64>() / operations * granule(cell) as f64;
    2.0 * batch_ns * (f64::from(cell.tasks) * cell.repeats.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{of, with_fact};
    use crate::example;
    use crate::warnings::WarningCode::Load;
    use crate::warnings::{Load as Seen, Warning, WarningKind};
    use faultline_record::describe::Style;
    use faultline_record::direction::Direction;
    use faultline_record::facts::FactValue;
    use faultline_record::protocol::{Measure, UsageScope};
    use faultline_record::record::RunRecord;

    const SECOND_NS: i64 = 1_000_000_000;

    #[test]
    fn a_busy_start_is_reported_and_a_quiet_one_not() {
        assert!(of(&with_fact("load.one_minute", FactValue::Real(0.5)), Load).is_empty());
        let warnings = of(&with_fact("load.one_minute", FactValue::Real(1.84)), Load);
        let seen = Seen::AtStart { busy_cpus: None, load_average: Some(1.84), runnable_others: None };
        assert_eq!(warnings[0].kind, WarningKind::Load(seen));
        let warnings = of(&with_fact("load.runnable_others", FactValue::Count(3)), Load);
        let seen = Seen::AtStart { busy_cpus: None, load_average: None, runnable_others: Some(3) };
        assert_eq!(warnings[0].kind, WarningKind::Load(seen));
    }

    #[test]
    fn a_build_that_has_ended_is_no_load() {
        let mut record = with_fact("load.one_minute", FactValue::Real(2.6));
        let facts = &mut record.head.sessions[0].facts[0];
        facts.count("load.runnable_others", 1);
        facts.real("load.busy_cpus", 0.2);
        assert!(of(&record, Load).is_empty());
        record.head.sessions[0].facts[0].real("load.busy_cpus", 0.97);
        let seen = Seen::AtStart { busy_cpus: Some(0.97), load_average: None, runnable_others: None };
        assert_eq!(of(&record, Load)[0].kind, WarningKind::Load(seen));
    }

    /// A run of one task that used 6 s each time, on a machine with four CPUs that was busy for
    /// `others_ns` more in the repeats with two tasks.
    fn run(others_ns: i64) -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        for attempt in &mut record.attempts {
            let tasks = record.plan[attempt.ordinal as usize].cell.tasks;
            attempt.usage = Some(example::usage(4_000_000_000, 2_000_000_000));
            let user_ns = 4 * SECOND_NS + if tasks == 2 { others_ns } else { 0 };
            let counters = [("user", user_ns), ("system", 2 * SECOND_NS), ("irq", SECOND_NS), ("idle", 17 * SECOND_NS)];
            attempt.counters = counters.map(|(name, ns)| (format!("stat.{name}_ns"), ns)).into();
        }
        record
    }

    /// CPUs used by other processes, and the cell.
    fn under_way(warning: &Warning) -> (String, String) {
        let WarningKind::Load(Seen::UnderWay { others_cpus, worst }) = &warning.kind else { panic!("{warning:?}") };
        (format!("{others_cpus:.2}"), worst.to_string())
    }

    #[test]
    fn others_under_way_are_reported_with_their_cells() {
        assert!(of(&run(6 * SECOND_NS / 25), Load).is_empty());
        let warnings = of(&run(3 * SECOND_NS), Load);
        assert_eq!(under_way(&warnings[0]), ("0.50".to_owned(), "load:base×2".to_owned()));
        assert_eq!(warnings[0].cells.len(), 1);
    }

    #[test]
    fn a_whole_lifes_usage_never_accuses_others() {
        let mut record = run(SECOND_NS);
        for attempt in &mut record.attempts {
            let usage = attempt.usage.as_mut().unwrap();
            usage.scope = UsageScope::Life;
            usage.user_ns += 2_000_000_000;
        }
        assert!(of(&record, Load).is_empty());
    }

    #[test]
    fn a_workload_that_runs_once_is_as_long_as_the_machine_says() {
        let mut record = run(3 * SECOND_NS);
        record.head.workloads[0].style = Style::Once;
        for attempt in &mut record.attempts {
            attempt.window.clear();
            attempt.measures =
                vec![Measure { name: "real_s".into(), unit: "s".into(), direction: Direction::Lower, value: 6.0 }];
        }
        // 27 s of CPU time on four CPUs are 6.75 s.
        let warnings = of(&record, Load);
        assert_eq!(under_way(&warnings[0]).0, "0.44");
    }

    #[test]
    fn operations_cut_by_the_regions_ends_are_no_evidence() {
        let mut record = run(4 * SECOND_NS / 5);
        assert_eq!(of(&record, Load).len(), 1);
        // Each operation of the two tasks takes half a second of CPU time, and there are 24 ends.
        for interval in record.attempts.iter_mut().flat_map(|attempt| &mut attempt.window) {
            interval.operations.fill(1);
        }
        assert!(of(&record, Load).is_empty());
    }

    #[test]
    fn two_ticks_are_no_evidence() {
        let mut record = run(60_000_000);
        for attempt in &mut record.attempts {
            attempt.window.truncate(1);
        }
        record.plan.retain(|item| item.block == 0);
        assert!(of(&record, Load).is_empty(), "50 ms are a twentieth of the second, and two ticks are 20 ms");
    }
}
