//! Items of the plan without figures.

use super::{Findings, Warning, WarningKind};
use crate::figures::Progress;
use crate::progress::{Standing, progress};
use faultline_record::cell::Cell;

/// Items failed, were skipped, or have not ended.
pub(super) fn incomplete(findings: &Findings<'_>) -> Option<Warning> {
    let Progress { planned, done, failed, unsupported, skipped } = progress(findings.standings);
    let open = planned - done - failed - unsupported - skipped;
    (done < planned).then(|| Warning {
        kind: WarningKind::Incomplete { planned, failed, unsupported, skipped, open },
        cells: cells(findings),
    })
}

/// The affected cells, each once, in the order of the curves.
fn cells(findings: &Findings<'_>) -> Vec<Cell> {
    let missing = |cell: &Cell| {
        findings.standings.iter().any(|(item, standing)| item.cell == *cell && !matches!(standing, Standing::Done(_)))
    };
    let cells = findings.cases.iter().flat_map(|case| case.cells.iter().map(|cell| case.cell(cell.tasks)));
    cells.filter(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use crate::warnings::WarningCode::Incomplete;
    use crate::warnings::WarningKind;
    use faultline_record::outcome::Outcome;

    #[test]
    fn what_is_missing_is_counted_by_reason() {
        let mut record = example::Run::new(&["load"]).record();
        assert!(of(&record, Incomplete).is_empty());
        record.attempts[0].outcome = Some(Outcome::TimedOut { limit_ms: 1 });
        record.attempts[2].outcome = Some(Outcome::Interrupted);
        record.attempts.remove(4);
        record.skipped.push(4);
        let warnings = of(&record, Incomplete);
        let told = WarningKind::Incomplete { planned: 12, failed: 1, unsupported: 0, skipped: 1, open: 1 };
        assert_eq!(warnings[0].kind, told);
        assert_eq!(warnings[0].cells.iter().map(|cell| cell.tasks).collect::<Vec<_>>(), [1]);
    }
}
