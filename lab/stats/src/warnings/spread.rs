//! Intervals that say little: of too few repeats, or wide.

use super::Findings;
use super::words::{Concerned, number, percent, worst};
use crate::interval::fewest_values;
use crate::thresholds::{COVERAGE, NOISY_SHARE};
use faultline_model::cell::Cell;
use faultline_model::summary::Estimate;
use faultline_model::warning::{Warning, WarningCode};

/// Too few repeats for an interval of [`COVERAGE`].
pub(super) fn few_repeats(findings: &Findings<'_>) -> Option<Warning> {
    let few: Vec<(Cell, Estimate)> = values(findings).filter(|(_, value)| value.coverage < COVERAGE).collect();
    let enough = fewest_values();
    let fewest = few.iter().map(|(_, value)| value).min_by_key(|value| value.n)?;
    Some(Warning {
        code: WarningCode::FewRepeats,
        text: format!(
            "Fewer than {enough} repeats stand behind {}; the interval of {} covers the true median with {} only. \
             Use {enough} repeats or more for {}.",
            number(few.len(), "point"),
            fewest.n,
            percent(fewest.coverage),
            percent(COVERAGE)
        ),
        cells: few.into_iter().map(|(cell, _)| cell).collect(),
    })
}

/// Repeats differ much from each other.
pub(super) fn noisy(findings: &Findings<'_>) -> Option<Warning> {
    let noisy = values(findings).filter_map(|(cell, value)| Some(Concerned { cell, figure: noise(&value)? })).collect();
    let (worst, cells) = worst(noisy)?;
    let figure = match worst.figure.is_finite() {
        true => format!("at most ±{}", percent(worst.figure)),
        false => "in one beyond any percentage, as the median is 0 or next to it".to_owned(),
    };
    Some(Warning {
        code: WarningCode::Noisy,
        text: format!(
            "Repeats differ: the interval of {} is wider than ±{} of its median, {figure} ({}). \
             Quieten the machine, or use more repeats or a longer window.",
            number(cells.len(), "point"),
            percent(NOISY_SHARE),
            worst.cell
        ),
        cells,
    })
}

/// Half the interval's width as a share of the median, if more than [`NOISY_SHARE`].
fn noise(value: &Estimate) -> Option<f64> {
    let half_width = value.high / 2.0 - value.low / 2.0;
    (half_width > NOISY_SHARE * value.median.abs()).then(|| half_width / value.median.abs())
}

fn values<'a>(findings: &Findings<'a>) -> impl Iterator<Item = (Cell, Estimate)> + use<'a> {
    findings.curves.iter().flat_map(|curve| {
        let value = |point: &'a faultline_model::summary::Point| {
            Some((Cell { case: curve.case.clone(), tasks: point.tasks }, point.value?))
        };
        curve.points.iter().filter_map(value)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use faultline_model::warning::WarningCode::{FewRepeats, Noisy};

    #[test]
    fn five_repeats_are_few_and_six_are_not() {
        assert!(of(&example::Run::new(&["load"]).repeats(6).record(), FewRepeats).is_empty());
        let warnings = of(&example::Run::new(&["load"]).repeats(5).record(), FewRepeats);
        assert!(warnings[0].text.starts_with("Fewer than 6 repeats stand behind 2 points"), "{}", warnings[0].text);
        assert!(warnings[0].text.contains("of 5 covers the true median with 93.8 %"), "{}", warnings[0].text);
        assert_eq!(warnings[0].cells.len(), 2);
    }

    #[test]
    fn a_wide_interval_is_told_and_a_narrow_one_not() {
        let narrow = example::Run::new(&["load"]).rate(|_, block| 1_000_003 + 10_000 * u64::from(block));
        assert!(of(&narrow.record(), Noisy).is_empty());
        let wide =
            example::Run::new(&["load"]).rate(|tasks, block| 1_000_003 + 40_000 * u64::from((tasks - 1) * block));
        let warnings = of(&wide.record(), Noisy);
        assert!(warnings[0].text.contains("±9.1 % (load:base×2)"), "{}", warnings[0].text);
        assert_eq!(warnings[0].cells.len(), 1);
    }

    #[test]
    fn around_a_median_of_zero_no_percentage_is_given() {
        let half_still = example::Run::new(&["load"]).rate(|_, block| if block < 4 { 0 } else { 1_000_003 });
        let warnings = of(&half_still.record(), Noisy);
        assert!(warnings[0].text.contains("beyond any percentage"), "{}", warnings[0].text);
    }
}
