//! What a gate found of a comparison, in words: whether it is open, then a line for each thing that closes it or is worth knowing. No line is folded:
//! logs of CI are searched line by line.

use super::words;
use crate::one_line::one_line;
use crate::sentences;
use crate::sheet::Sheet;
use crate::style::{Signs, Style, Tone};
use faultline_model::comparison::ComparedWorkload;
use faultline_model::gate::{Finding, Gate};
use faultline_model::workload_comparison::Inconclusive;

/// What a gate found, for people.
pub fn comparison_gate(gate: &Gate<Finding<'_>>, style: &Style) -> String {
    let signs = style.signs();
    let mut sheet = Sheet::new(style);
    if gate.is_open() {
        open(&mut sheet, gate);
    } else {
        sheet.paragraph(Some(Tone::Bad), "", "gate: closed");
    }
    for found in &gate.closed_by {
        sheet.line(&format!("  {}", line(found, signs)));
    }
    for found in &gate.noted {
        sheet.line(&format!("  passes: {}", line(found, signs)));
    }
    sheet.text
}

/// What an open gate shows: less if inconclusive workloads pass.
fn open(sheet: &mut Sheet<'_>, gate: &Gate<Finding<'_>>) {
    let inconclusive = gate.noted.iter().filter(|found| matches!(found, Finding::Inconclusive(_))).count();
    if inconclusive == 0 {
        sheet.paragraph(Some(Tone::Good), "", "gate: open, nothing is slower by more than the margin");
        return;
    }
    let workloads = if inconclusive == 1 {
        "1 inconclusive workload".to_owned()
    } else {
        format!("{inconclusive} inconclusive workloads")
    };
    sheet.paragraph(
        Some(Tone::Middling),
        "",
        &format!("gate: open, but {workloads} may be slower by more than the margin"),
    );
}

fn line(found: &Finding<'_>, signs: &Signs) -> String {
    match found {
        Finding::Slower(workload) | Finding::SlowerWithinMargin(workload) => answer(workload, signs),
        Finding::Inconclusive(workload) => {
            // Where the interval reaches past the margin, the answer has it.
            let comparison = &workload.comparison;
            let has_it = comparison.detectable.is_none() || comparison.inconclusive == Some(Inconclusive::PastMargin);
            let power = (!has_it).then(|| format!("; {}", words::power(comparison)));
            format!("{}{}", answer(workload, signs), power.unwrap_or_default())
        }
        Finding::Unmatched(unmatched) => format!("not compared: {}", one_line(&sentences::unmatched(unmatched))),
    }
}

fn answer(workload: &ComparedWorkload, signs: &Signs) -> String {
    format!("{}: {}", words::name(workload), words::answer(&workload.comparison, signs))
}
