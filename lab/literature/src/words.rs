//! Texts that several views share: values, claims, and what was measured.

use super::claims::Agreement;
use super::document::Heading;
use super::improvement::{Improvement, Measured};
use faultline_report::figure::{printed, quantity};
use faultline_report::style::Signs;

/// What was measured: the test, then machine, load, sides and note.
pub(crate) fn heading(improvement: &Improvement) -> Heading {
    let subject = &improvement.subject;
    let sides: Vec<&str> = improvement.sides().map(|side| side.release.as_str()).collect();
    let mut about = vec![subject.machine.clone(), subject.load.clone(), sides.join(" to ")];
    about.extend((!subject.note.is_empty()).then(|| subject.note.clone()));
    Heading { title: subject.test.clone(), about }
}

/// Mean and the repeat farthest from it: `22.66 k exec/s ±0.8 %`.
pub(crate) fn mean_and_farthest(side: Option<&Measured>, unit: &str, signs: &Signs) -> String {
    let figure = mean(side, unit, signs);
    match side {
        Some(side) if side.n > 1 => {
            let farthest = (side.highest - side.mean).max(side.mean - side.lowest) / side.mean * 100.0;
            format!("{figure} {}{farthest:.1} %", signs.plus_minus)
        }
        _ => figure,
    }
}

/// Mean of the repeats, or the single value as printed.
pub(crate) fn mean(side: Option<&Measured>, unit: &str, signs: &Signs) -> String {
    match side {
        Some(side) if side.n < 2 => printed(side.mean, unit, signs),
        Some(side) => quantity(side.mean, unit, signs),
        None => signs.none.to_owned(),
    }
}

/// The result of comparing a claim, as text.
pub(crate) fn stand(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::AsClaimed => "reproduced",
        Agreement::CutOff => "truncated",
        Agreement::Differs => "not reproduced",
    }
}

/// The text below an improvement that does not agree with its claim.
pub(crate) fn remark(improvement: &Improvement) -> Option<String> {
    improvement.remark.map(|remark| format!("claimed otherwise: {remark}"))
}

/// A claim's text, with its remark.
pub(crate) fn with_remark(said: String, improvement: &Improvement) -> String {
    match improvement.remark {
        Some(remark) => format!("{said}; {remark}"),
        None => said,
    }
}

/// A value without rounding, for CSV; empty if there is none.
pub(crate) fn raw(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
