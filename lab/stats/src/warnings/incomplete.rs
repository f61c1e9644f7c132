//! Items of the plan without figures.

use super::Findings;
use crate::progress::{Standing, is_unsupported};
use faultline_model::cell::Cell;
use faultline_model::warning::{Warning, WarningCode};

/// Items failed, were skipped, or have not ended.
pub(super) fn incomplete(findings: &Findings<'_>) -> Option<Warning> {
    let count =
        |wanted: fn(&Standing<'_>) -> bool| findings.standings.iter().filter(|(_, standing)| wanted(standing)).count();
    let parts = [
        (count(|standing| matches!(standing, Standing::Failed(attempt) if !is_unsupported(attempt))), "failed"),
        (
            count(|standing| matches!(standing, Standing::Failed(attempt) if is_unsupported(attempt))),
            "unsupported here",
        ),
        (count(|standing| matches!(standing, Standing::Skipped)), "skipped, as the time was used up"),
        (count(|standing| matches!(standing, Standing::Left)), "not ended"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!parts.is_empty()).then(|| Warning {
        code: WarningCode::Incomplete,
        text: format!("Of {} planned executions: {}. {}", findings.standings.len(), parts.join("; "), advice(findings)),
        cells: cells(findings),
    })
}

fn advice(findings: &Findings<'_>) -> &'static str {
    let open = findings.standings.iter().any(|(_, standing)| matches!(standing, Standing::Left));
    if open && findings.record.settings.lens().is_some() {
        "Runs under the lens are not resumed: run anew what is missing."
    } else if open {
        "Resume the run to complete it."
    } else {
        "Their points rest on fewer repeats, or are missing; see the reasons beside them."
    }
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
    use faultline_model::outcome::Outcome;
    use faultline_model::warning::WarningCode::Incomplete;

    #[test]
    fn what_is_missing_is_counted_by_reason() {
        let mut record = example::Run::new(&["load"]).record();
        assert!(of(&record, Incomplete).is_empty());
        record.attempts[0].outcome = Some(Outcome::TimedOut { limit_ms: 1 });
        record.attempts[2].outcome = Some(Outcome::Interrupted);
        record.attempts.remove(4);
        record.skipped.push(4);
        let warnings = of(&record, Incomplete);
        assert!(
            warnings[0].text.starts_with(
                "Of 12 planned executions: 1 failed; 1 skipped, as the time was used up; 1 not ended. Resume"
            ),
            "{}",
            warnings[0].text
        );
        assert_eq!(warnings[0].cells.iter().map(|cell| cell.tasks).collect::<Vec<_>>(), [1]);
    }
}
