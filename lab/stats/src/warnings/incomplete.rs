//! Items of the plan without figures.

use super::Findings;
use crate::progress::{Standing, progress};
use faultline_model::cell::Cell;
use faultline_model::summary::Progress;
use faultline_model::warning::{Warning, WarningKind};

/// Items failed, were skipped, or have not ended.
pub(super) fn incomplete(findings: &Findings<'_>) -> Option<Warning> {
    let Progress { planned, done, failed, unsupported, skipped } = progress(findings.standings);
    let open = planned - done - failed - unsupported - skipped;
    // Lens runs of versions without resume lack the settings that it needs.
    let resumable = findings.record.settings.lens().is_none_or(|lens| lens.again.is_some());
    (done < planned).then(|| Warning {
        kind: WarningKind::Incomplete { planned, failed, unsupported, skipped, open, resumable },
        cells: cells(findings),
    })
}

/// The cells concerned, each once, in the order of the curves.
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
    use faultline_model::lens::settings::{CostTimes, LensAgain, SavedFile};
    use faultline_model::outcome::Outcome;
    use faultline_model::plan::RunKind;
    use faultline_model::record::RunRecord;
    use faultline_model::warning::{WarningCode::Incomplete, WarningKind};

    #[test]
    fn what_is_missing_is_counted_by_reason() {
        let mut record = example::Run::new(&["load"]).record();
        assert!(of(&record, Incomplete).is_empty());
        record.attempts[0].outcome = Some(Outcome::TimedOut { limit_ms: 1 });
        record.attempts[2].outcome = Some(Outcome::Interrupted);
        record.attempts.remove(4);
        record.skipped.push(4);
        let warnings = of(&record, Incomplete);
        let told =
            WarningKind::Incomplete { planned: 12, failed: 1, unsupported: 0, skipped: 1, open: 1, resumable: true };
        assert_eq!(warnings[0].kind, told);
        assert_eq!(warnings[0].cells.iter().map(|cell| cell.tasks).collect::<Vec<_>>(), [1]);
    }

    fn again() -> LensAgain {
        let file = SavedFile { path: "/boot/vmlinuz".to_owned(), sha256: "00".to_owned() };
        let times = CostTimes {
            instruction_ps: 1,
            same_cache_ns: 1,
            same_socket_ns: 1,
            other_socket_ns: 1,
            memory_ns: 1,
            delays: None,
        };
        LensAgain {
            subject: Some(file.clone()),
            plugin: file,
            vmlinux: None,
            directory: None,
            whole: false,
            memory_mib: None,
            times,
            cache: None,
            baseline: None,
            guest: None,
            machine: None,
        }
    }

    #[test]
    fn a_run_under_the_lens_is_resumable_if_it_keeps_what_that_takes() {
        let mut record = crate::lens::example::record(&[(1, 3.0), (2, 40.0)]);
        record.attempts.pop();
        let resumable = |record: &RunRecord| match of(record, Incomplete)[0].kind {
            WarningKind::Incomplete { open: 1, resumable, .. } => resumable,
            ref other => panic!("{other:?}"),
        };
        assert!(!resumable(&record));
        let RunKind::Lens(settings) = &mut record.head.settings.kind else { panic!() };
        settings.again = Some(Box::new(again()));
        assert!(resumable(&record));
    }
}
