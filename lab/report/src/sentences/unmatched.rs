//! Why something of two sides is not compared.

use super::failure;
use faultline_model::unmatched::{Unmatched, UnmatchedReason};

/// One line: `zero_fill:base×4: on the first side only`.
pub fn unmatched(unmatched: &Unmatched) -> String {
    let law = matches!(unmatched.reason, UnmatchedReason::NoLaw { .. });
    let before = if law { "law of scaling of " } else { "" };
    let measure = unmatched.measure.as_ref().map_or_else(String::new, |measure| format!(" {measure}"));
    let tasks = unmatched.tasks.map_or_else(String::new, |tasks| format!("×{tasks}"));
    let block = match unmatched.reason {
        UnmatchedReason::SplitBlock { block } => format!(", block {}", u64::from(block) + 1),
        _ => String::new(),
    };
    format!("{before}{}{measure}{tasks}{block}: {}", unmatched.name, unmatched_reason(&unmatched.reason))
}

/// The reason, without the name.
pub(super) fn unmatched_reason(reason: &UnmatchedReason) -> String {
    match reason {
        UnmatchedReason::OneSideOnly { side } => format!("on the {} side only", side.ordinal()),
        UnmatchedReason::UnitsDiffer { units } => {
            let word = |unit: &String| if unit.is_empty() { "unknown".to_owned() } else { format!("'{unit}'") };
            let [a, b] = units.each_ref().map(word);
            format!("the units differ: {a} and {b}")
        }
        UnmatchedReason::DirectionsDiffer => "the sides disagree on which direction is better".to_owned(),
        UnmatchedReason::DirectionUnknown => "it is unknown which direction is better".to_owned(),
        UnmatchedReason::NoValue { side, failure: cause } => {
            let cause = cause.as_ref().map_or_else(String::new, |cause| format!(" ({})", failure(cause)));
            format!("the {} side has no value{cause}", side.ordinal())
        }
        UnmatchedReason::NoRatio { side, value, least, greatest } => {
            let needed = match value.is_finite() && *value > 0.0 {
                true => format!("{value:e}: ratios need values from {least:e} to {greatest:e}"),
                false => format!("{value}: ratios need finite values above 0"),
            };
            format!("the {} side has the value {needed}", side.ordinal())
        }
        UnmatchedReason::SplitBlock { .. } => "its two runs belong to different boots".to_owned(),
        UnmatchedReason::NoLaw { why } => why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::failure::{Failure, FailureCause};
    use faultline_model::scaling::FitError;
    use faultline_model::unmatched::Letter;

    #[test]
    fn each_reason_has_its_words() {
        let words =
            |reason| unmatched(&Unmatched { name: "x".into(), tasks: Some(2), measure: Some("idle".into()), reason });
        assert_eq!(words(UnmatchedReason::OneSideOnly { side: Letter::B }), "x idle×2: on the second side only");
        let block = UnmatchedReason::SplitBlock { block: 5 };
        assert_eq!(words(block), "x idle×2, block 6: its two runs belong to different boots");
        let units = UnmatchedReason::UnitsDiffer { units: ["s".into(), String::new()] };
        assert_eq!(words(units), "x idle×2: the units differ: 's' and unknown");
        let hung = Failure { block: None, cause: FailureCause::Told { words: "hung".into() } };
        let reason = UnmatchedReason::NoValue { side: Letter::A, failure: Some(hung) };
        assert_eq!(words(reason), "x idle×2: the first side has no value (hung)");
        let law = UnmatchedReason::NoLaw { why: FitError::Unsettled };
        let law = Unmatched { name: "x".into(), tasks: None, measure: None, reason: law };
        assert_eq!(unmatched(&law), "law of scaling of x: the fit of the law does not converge for these values");
    }
}
