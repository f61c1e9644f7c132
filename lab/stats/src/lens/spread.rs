//! A figure over the repeats of one side of a comparison, and whether two sides differ.

use crate::median::median_of_sorted;
use crate::median::sorted;
use crate::thresholds::{LENS_CHANGE_SHARE, LENS_CHANGE_TRANSFERS};
use faultline_model::lens::comparison::{Change, Spread};

/// The values' median and range; `None` without values.
pub(crate) fn spread(values: &[f64]) -> Option<Spread> {
    let values = sorted(values);
    let median = median_of_sorted(&values)?;
    Some(Spread { median, low: *values.first()?, high: *values.last()?, n: values.len() as u32 })
}

/// The change from `a` to `b`. A difference counts if it is above [`LENS_CHANGE_TRANSFERS`], above [`LENS_CHANGE_SHARE`] of the
/// larger median, and above the range of the repeats of either side.
pub(crate) fn change(a: &Spread, b: &Spread) -> Change {
    let tolerance = LENS_CHANGE_TRANSFERS.max(LENS_CHANGE_SHARE * a.median.max(b.median)).max(noise(a, b));
    let difference = b.median - a.median;
    if difference.abs() <= tolerance {
        Change::Same
    } else if a.median < LENS_CHANGE_TRANSFERS {
        Change::Came
    } else if b.median < LENS_CHANGE_TRANSFERS {
        Change::Went
    } else if difference > 0.0 {
        Change::More
    } else {
        Change::Less
    }
}

/// The range of a side's repeats; the wider one of both sides.
pub(crate) fn noise(a: &Spread, b: &Spread) -> f64 {
    (a.high - a.low).max(b.high - b.low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Spread {
        spread(values).unwrap()
    }

    #[test]
    fn each_kind_of_change() {
        assert_eq!(change(&of(&[0.0]), &of(&[1.0])), Change::Came);
        assert_eq!(change(&of(&[1.0]), &of(&[0.0])), Change::Went);
        assert_eq!(change(&of(&[1.0]), &of(&[1.5])), Change::More);
        assert_eq!(change(&of(&[1.5]), &of(&[1.0])), Change::Less);
    }

    #[test]
    fn differences_within_a_tolerance_are_none() {
        assert_eq!(change(&of(&[0.0]), &of(&[0.02])), Change::Same);
        assert_eq!(change(&of(&[10.0]), &of(&[10.3])), Change::Same);
        assert_eq!(change(&of(&[10.0]), &of(&[10.4])), Change::More);
        assert_eq!(change(&of(&[9.0, 10.0, 11.0]), &of(&[11.5])), Change::Same, "the first side's repeats span 2");
    }
}
