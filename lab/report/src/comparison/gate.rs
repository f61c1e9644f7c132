//! What a gate found of a comparison, in words.

use super::words;
use crate::gate;
use crate::one_line::one_line;
use crate::sentences;
use crate::style::{Signs, Style, Tone};
use faultline_model::comparison::ComparedWorkload;
use faultline_model::gate::{Finding, Gate};
use faultline_model::workload_comparison::Inconclusive;

/// What a gate found, for people.
pub fn comparison_gate(gate: &Gate<Finding<'_>>, style: &Style) -> String {
    let (tone, text) = open(gate);
    gate::told(gate, (tone, &text), |found| line(found, style.signs()), style)
}

/// What an open gate shows: less if inconclusive workloads pass.
fn open(gate: &Gate<Finding<'_>>) -> (Tone, String) {
    let workloads = match gate.noted.iter().filter(|found| matches!(found, Finding::Inconclusive(_))).count() {
        0 => return (Tone::Good, "nothing is slower by more than the margin".to_owned()),
        1 => "1 inconclusive workload".to_owned(),
        count => format!("{count} inconclusive workloads"),
    };
    (Tone::Middling, format!("but {workloads} may be slower by more than the margin"))
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
