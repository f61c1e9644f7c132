//! CPU time that a hypervisor stole during the region of interest.

use super::concerned::{Concerned, worst};
use super::{Findings, Warning, WarningKind};
use crate::gather::CellRepeats;
use crate::shares::MachineTime;
use crate::thresholds::{STEAL_SHARE, TICK_NS};
use faultline_record::cell::Cell;

/// A hypervisor stole CPU time.
pub(super) fn steal(findings: &Findings<'_>) -> Option<Warning> {
    let (worst, cells) = worst(robbed(findings))?;
    Some(Warning { kind: WarningKind::Steal { share: worst.figure, worst: worst.cell }, cells })
}

/// The largest stolen share above the threshold, and its cell.
pub(crate) fn most_stolen(findings: &Findings<'_>) -> Option<(f64, Cell)> {
    worst(robbed(findings)).map(|(worst, _)| (worst.figure, worst.cell))
}

/// The cells from which time was stolen.
fn robbed(findings: &Findings<'_>) -> Vec<Concerned> {
    let mut robbed = Vec::new();
    for case in findings.cases {
        for cell in &case.cells {
            robbed.extend(stolen_share(cell).map(|figure| Concerned { cell: case.cell(cell.tasks), figure }));
        }
    }
    robbed
}

/// The stolen share over all of a cell's repeats, if above [`STEAL_SHARE`] and above one tick.
pub(crate) fn stolen_share(cell: &CellRepeats<'_>) -> Option<f64> {
    let times: Vec<MachineTime> = cell.repeats.iter().filter_map(|repeat| MachineTime::of(repeat.attempt)).collect();
    let total_ns: f64 = times.iter().map(MachineTime::total_ns).sum();
    let steal_ns: f64 = times.iter().map(|time| time.steal_ns).sum();
    (steal_ns > TICK_NS && steal_ns > STEAL_SHARE * total_ns).then(|| steal_ns / total_ns)
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use crate::warnings::WarningCode::Steal;
    use crate::warnings::WarningKind;
    use faultline_record::record::RunRecord;

    fn run(steal_ns: i64, idle_ns: i64) -> RunRecord {
        let mut record = example::Run::new(&["load"]).record();
        for attempt in &mut record.attempts {
            attempt.counters = [("stat.steal_ns".to_owned(), steal_ns), ("stat.idle_ns".to_owned(), idle_ns)].into();
        }
        record
    }

    #[test]
    fn more_than_a_hundredth_is_reported() {
        assert!(of(&run(10_000_000, 990_000_000), Steal).is_empty());
        let warnings = of(&run(30_000_000, 970_000_000), Steal);
        assert!(matches!(warnings[0].kind, WarningKind::Steal { share: 0.03, .. }), "{warnings:?}");
        assert_eq!(warnings[0].cells.len(), 2);
    }

    #[test]
    fn one_tick_is_no_evidence() {
        let mut record = run(10_000_000, 90_000_000);
        record.plan.retain(|item| item.block == 0);
        assert!(of(&record, Steal).is_empty());
    }
}
