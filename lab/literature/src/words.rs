//! Figures, improvements and claims of the literature in words.

use super::claims::{Agreement, Claim};
use super::improvement::{Improvement, Measured};
use faultline_report::figure::{printed, quantity};
use faultline_report::style::Signs;

/// Mean and the repeat farthest from it: `22.66 k exec/s ±0.8 %`.
pub(crate) fn mean(side: Option<&Measured>, unit: &str, signs: &Signs) -> String {
    let Some(side) = side else { return signs.none.to_owned() };
    let figure = figure(side, unit, signs);
    if side.n < 2 {
        return figure;
    }
    let farthest = (side.highest - side.mean).max(side.mean - side.lowest) / side.mean * 100.0;
    format!("{figure} {}{farthest:.1} %", signs.plus_minus)
}

/// Mean of the repeats, or the one value as it was printed.
pub(crate) fn figure(side: &Measured, unit: &str, signs: &Signs) -> String {
    if side.n < 2 { printed(side.mean, unit, signs) } else { quantity(side.mean, unit, signs) }
}

/// An improvement, where there is one.
pub(crate) fn percent(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.1} %"))
}

/// The claim, by which definition, and whether it is borne out: `23 % gain, as claimed`.
pub(crate) fn verdict(comparison: &Improvement) -> String {
    let Some(claim) = &comparison.claim else { return String::new() };
    let claimed = format!("{} % {}", claim.percent, claim.definition.word());
    match comparison.agreement {
        Some(Agreement::Differs) => format!("{claimed}: recomputed {}", recomputed(comparison, claim)),
        Some(agreement) => format!("{claimed}: {}", stand(agreement)),
        None => claimed,
    }
}

/// How a claim stands.
pub(crate) fn stand(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::AsClaimed => "borne out",
        Agreement::CutOff => "cut off, not rounded",
        Agreement::Differs => "not borne out",
    }
}

/// The recomputed improvement.
fn recomputed(comparison: &Improvement, claim: &Claim) -> String {
    let decimals = claim.decimals();
    comparison.percent(claim.definition).map_or_else(String::new, |value| format!("{value:.decimals$} %"))
}

/// What the columns mean.
pub(crate) fn legend(signs: &Signs) -> [String; 3] {
    [
        format!(
            "before and after: mean over n repeats, {} the repeat farthest from it; the sources give no confidence intervals.",
            signs.plus_minus
        ),
        "figures that stand alone: as their authors print them; how often they were measured isn't said.".to_owned(),
        "gain: new rate / old rate - 1, for times old / new - 1; saved: (old - new) / old, for times. Beside a claim stands the \
         definition that reproduces its author's claims; a claim is borne out when the recomputed figure rounds to it."
            .to_owned(),
    ]
}
