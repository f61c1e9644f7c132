//! A figure over the repeats of a side, and the significance of the difference between two sides.

use crate::estimate::estimate;
use crate::lens::comparison::{Change, Spread};
use crate::median::{median_of_sorted, sorted};
use crate::thresholds::{LENS_CHANGE_SHARE, LENS_CHANGE_TRANSFERS};

/// The values' median and range; `None` without values.
pub(crate) fn spread(values: &[f64]) -> Option<Spread> {
    let values = sorted(values);
    let median = median_of_sorted(&values)?;
    Some(Spread { median, low: *values.first()?, high: *values.last()?, n: values.len() as u32 })
}

/// A figure on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Contrast {
    pub(crate) a: Spread,
    pub(crate) b: Spread,
    /// The second minus the first.
    pub(crate) difference: f64,
    pub(crate) change: Change,
}

/// The figure's values on both sides. `are_pairs`: values at one index have the same seed, so each
/// of their differences is exact and counts even if small. `None` without values.
pub(crate) fn contrast(a: &[f64], b: &[f64], are_pairs: bool) -> Option<Contrast> {
    let (side_a, side_b) = (spread(a)?, spread(b)?);
    if !are_pairs {
        let difference = side_b.median - side_a.median;
        return Some(Contrast { difference, change: change(&side_a, &side_b), a: side_a, b: side_b });
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let over_seeds = estimate(&differences)?;
    let is_of_one_sign = over_seeds.low > 0.0 || over_seeds.high < 0.0;
    let difference = over_seeds.median;
    let change = if is_of_one_sign { kind(&side_a, &side_b, difference) } else { Change::Same };
    Some(Contrast { a: side_a, b: side_b, difference, change })
}

/// The smallest difference that counts if it is not exact, and for other seeds:
/// [`LENS_CHANGE_TRANSFERS`], or [`LENS_CHANGE_SHARE`] of the larger median if that is more.
pub(crate) fn tolerance(a: &Spread, b: &Spread) -> f64 {
    LENS_CHANGE_TRANSFERS.max(LENS_CHANGE_SHARE * a.median.max(b.median))
}

/// The change from `a` to `b`. A difference counts if it is above the [`tolerance`], and above the
/// range of the repeats of either side.
fn change(a: &Spread, b: &Spread) -> Change {
    let difference = b.median - a.median;
    if difference.abs() <= tolerance(a, b).max(noise(a, b)) { Change::Same } else { kind(a, b, difference) }
}

/// The kind of a difference that counts. A figure came or went if the other side has almost none of
/// it.
fn kind(a: &Spread, b: &Spread, difference: f64) -> Change {
    let is_alone = |this: &Spread, other: &Spread| {
        other.median == 0.0 || other.median < LENS_CHANGE_TRANSFERS && this.median >= LENS_CHANGE_TRANSFERS
    };
    match difference > 0.0 {
        true if is_alone(b, a) => Change::Came,
        true => Change::More,
        false if is_alone(a, b) => Change::Went,
        false => Change::Less,
    }
}

/// The range of the repeats of the side with the wider range.
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

    #[test]
    fn pairs_are_judged_by_their_differences_and_not_by_what_one_side_spans() {
        let (a, b) = ([9.0, 10.0, 11.0], [9.5, 10.5, 11.5]);
        let change_of = |are_pairs| contrast(&a, &b, are_pairs).unwrap().change;
        assert_eq!((change_of(false), change_of(true)), (Change::Same, Change::More));
        assert_eq!(contrast(&a, &[9.5, 9.5, 11.5], true).unwrap().change, Change::Same, "one seed has fewer");
        let one = contrast(&[1.0], &[1.94], true).unwrap();
        assert_eq!((one.change, one.difference), (Change::More, 0.94));
    }

    #[test]
    fn an_exact_difference_counts_however_small_it_is() {
        let change_of = |a: &[f64], b: &[f64]| contrast(a, b, true).unwrap().change;
        assert_eq!([change_of(&[100.0], &[100.94]), change_of(&[100.94], &[100.0])], [Change::More, Change::Less]);
        assert_eq!([change_of(&[0.0], &[0.001]), change_of(&[0.001], &[0.0])], [Change::Came, Change::Went]);
        assert_eq!(change_of(&[0.001], &[0.002]), Change::More, "next to nothing on both sides");
        assert_eq!(change_of(&[0.001], &[0.5]), Change::Came);
        assert_eq!([change_of(&[1.0], &[1.0]), change_of(&[1.0, 2.0], &[1.1, 1.9])], [Change::Same; 2]);
    }
}
