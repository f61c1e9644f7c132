//! Intervals that are wide, or based on few repeats.

use super::concerned::{Concerned, worst};
use super::{Findings, Warning, WarningKind};
use crate::estimate::{Estimate, fewest_values};
use crate::thresholds::{COVERAGE, NOISY_SHARE};
use faultline_record::cell::Cell;

/// Too few repeats for an interval of [`COVERAGE`].
pub(super) fn few_repeats(findings: &Findings<'_>) -> Option<Warning> {
    let few: Vec<(Cell, Estimate)> = values(findings).filter(|(_, value)| value.coverage < COVERAGE).collect();
    let enough = fewest_values() as u32;
    let fewest = few.iter().map(|(_, value)| value).min_by_key(|value| value.n)?;
    Some(Warning {
        kind: WarningKind::FewRepeats { fewest: fewest.n, coverage: fewest.coverage, enough, wanted: COVERAGE },
        cells: few.into_iter().map(|(cell, _)| cell).collect(),
    })
}

/// Repeats differ a lot from each other.
pub(super) fn noisy(findings: &Findings<'_>) -> Option<Warning> {
    let noisy = values(findings).filter_map(|(cell, value)| Some(Concerned { cell, figure: noise(&value)? })).collect();
    let (worst, cells) = worst(noisy)?;
    let half_width = Some(worst.figure).filter(|figure| figure.is_finite());
    Some(Warning { kind: WarningKind::Noisy { limit: NOISY_SHARE, half_width, worst: worst.cell }, cells })
}

/// Half the interval's width as a share of the median, if more than [`NOISY_SHARE`].
fn noise(value: &Estimate) -> Option<f64> {
    let half_width = value.high / 2.0 - value.low / 2.0;
    (half_width > NOISY_SHARE * value.median.abs()).then(|| half_width / value.median.abs())
}

fn values<'a>(findings: &Findings<'a>) -> impl Iterator<Item = (Cell, Estimate)> + use<'a> {
    findings.curves.iter().flat_map(|curve| {
        let value = |point: &'a crate::figures::Point| {
            Some((Cell { case: curve.case.clone(), tasks: point.tasks }, point.value?))
        };
        curve.points.iter().filter_map(value)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use crate::example;
    use crate::warnings::WarningCode::{FewRepeats, Noisy};
    use crate::warnings::WarningKind;

    #[test]
    fn five_repeats_are_few_and_six_are_not() {
        assert!(of(&example::Run::new(&["load"]).repeats(6).record(), FewRepeats).is_empty());
        let warnings = of(&example::Run::new(&["load"]).repeats(5).record(), FewRepeats);
        let told = WarningKind::FewRepeats { fewest: 5, coverage: 0.9375, enough: 6, wanted: 0.95 };
        assert_eq!(warnings[0].kind, told);
        assert_eq!(warnings[0].cells.len(), 2);
    }

    #[test]
    fn a_wide_interval_is_reported_and_a_narrow_one_not() {
        let narrow = example::Run::new(&["load"]).rate(|_, block| 1_000_003 + 10_000 * u64::from(block));
        assert!(of(&narrow.record(), Noisy).is_empty());
        let wide =
            example::Run::new(&["load"]).rate(|tasks, block| 1_000_003 + 40_000 * u64::from((tasks - 1) * block));
        let warnings = of(&wide.record(), Noisy);
        let WarningKind::Noisy { half_width: Some(half_width), worst, .. } = &warnings[0].kind else {
            panic!("{warnings:?}")
        };
        assert_eq!((format!("{half_width:.3}"), worst.to_string()), ("0.091".to_owned(), "load:base×2".to_owned()));
        assert_eq!(warnings[0].cells.len(), 1);
    }

    #[test]
    fn around_a_median_of_zero_no_percentage_is_given() {
        let half_still = example::Run::new(&["load"]).rate(|_, block| if block < 4 { 0 } else { 1_000_003 });
        let warnings = of(&half_still.record(), Noisy);
        assert!(matches!(warnings[0].kind, WarningKind::Noisy { half_width: None, .. }), "{warnings:?}");
    }
}
