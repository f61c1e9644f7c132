//! Others that used CPU time: before a session, by the load average; under way, by what the whole machine used less
//! what the tasks did.

use super::Findings;
use super::concerned::{Concerned, worst};
use crate::gather::CellRepeats;
use crate::granule::granule;
use crate::repeat::{Repeat, length_ns};
use crate::shares::MachineTime;
use crate::thresholds::{BUSY_AT_START, LOAD_AVERAGE, OTHERS_CPUS, TICK_NS};
use faultline_model::cell::Cell;
use faultline_model::describe::Style;
use faultline_model::facts::Facts;
use faultline_model::record::RunRecord;
use faultline_model::warning::{Load, Warning, WarningKind};

/// A session began on a machine that was busy.
pub(super) fn at_start(findings: &Findings<'_>) -> Option<Warning> {
    let kind = WarningKind::Load(busy_at_start(findings.record)?);
    Some(Warning { kind, cells: Vec::new() })
}

/// How busy the machine was when a session began, at most: by the CPU time in the moments before, or by the load average and the tasks that
/// were ready to run where that was not taken.
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

/// CPUs that programs used in the moments before a session.
fn busy_cpus(facts: &Facts) -> Option<f64> {
    facts.get_real("load.busy_cpus").filter(|busy| busy.is_finite())
}

/// Others used CPU time during the region of interest.
pub(super) fn under_way(findings: &Findings<'_>) -> Option<Warning> {
    let (worst, cells) = worst(busy(findings))?;
    let kind = WarningKind::Load(Load::UnderWay { others_cpus: worst.figure, worst: worst.cell });
    Some(Warning { kind, cells })
}

/// The greatest part of a CPU that others used, beyond what is allowed, and the cell that it was taken from.
pub(crate) fn most_by_others(findings: &Findings<'_>) -> Option<(f64, Cell)> {
    worst(busy(findings)).map(|(worst, _)| (worst.figure, worst.cell))
}

/// The cells during which others used CPU time.
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

/// CPUs that others used over all of a cell's repeats, if more than [`OTHERS_CPUS`] and than could come of the
/// figures' own coarseness.
///
/// Interrupts are nobody's and not counted. A usage that covers a task's whole life takes set-up and warm-up away
/// too: others are then underestimated, never overestimated.
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

/// CPU time of others during the region of interest, in nanoseconds; below 0 where the figures are too coarse.
fn by_others_ns(repeat: &Repeat<'_>) -> Option<f64> {
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

/// What the ends of the tasks' usage may add up to: a task that loops reads it when it is done with a batch, so each
/// of a repeat's ends is off by part of one.
///
/// The difference of two ends spread evenly over a batch deviates by 0.41 of it; twice a batch times the root of the
/// number of ends is five such deviations.
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
    use faultline_model::describe::Style;
    use faultline_model::direction::Direction;
    use faultline_model::facts::FactValue;
    use faultline_model::protocol::{Measure, UsageScope};
    use faultline_model::record::RunRecord;
    use faultline_model::warning::WarningCode::Load;
    use faultline_model::warning::{Load as Seen, Warning, WarningKind};

    const SECOND_NS: i64 = 1_000_000_000;

    #[test]
    fn a_busy_start_is_told_and_a_quiet_one_not() {
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

    /// A run of one task that used 6 s each time, while the machine of four CPUs was busy for `others_ns` more in the
    /// repeats of two tasks.
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

    /// What others used, in CPUs, and during which cell.
    fn under_way(warning: &Warning) -> (String, String) {
        let WarningKind::Load(Seen::UnderWay { others_cpus, worst }) = &warning.kind else { panic!("{warning:?}") };
        (format!("{others_cpus:.2}"), worst.to_string())
    }

    #[test]
    fn others_under_way_are_told_with_their_cells() {
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
        // Now each operation of the two tasks takes half a second of CPU time, and there are 24 ends.
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
