//! Cautions about the steps of series: what was found, and what it means.

use super::first_few;
use crate::one_line::one_line;
use faultline_model::changes::ChangeCaution;

/// A sentence or two about the series with these names. Figures are from docs/METHODOLOGY.md, §15.
pub(crate) fn change_caution(caution: &ChangeCaution, series: &[String]) -> String {
    let (names, more) = first_few(series, one_line);
    let names = if more > 0 { format!("{names} and {more} more") } else { names };
    match caution {
        ChangeCaution::Short { .. } => format!(
            "Fewer than 100 points in {names}: slow noise can't be told from steps there. Without slow noise the stated rate holds."
        ),
        ChangeCaution::Wanders { .. } => format!(
            "Part of the noise moves slowly in {names}: small steps can't be told from it, and the stated rate may not hold."
        ),
        ChangeCaution::Restless { .. } => {
            format!("The level changes all the time in {names}, more often than every 20 points: no steps are listed.")
        }
        ChangeCaution::UnlikeAnyNoise { .. } => format!(
            "The values in {names} follow a course that is neither steps nor any noise known here: no steps are listed."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_have_their_own_names() {
        let short = ChangeCaution::Short { points: 20 };
        let said = change_caution(&short, &["linux/zero_fill:base".to_owned(), "x.duration_ms".to_owned()]);
        assert!(said.starts_with("Fewer than 100 points in linux/zero_fill:base, x.duration_ms: "), "{said}");
    }
}
