//! The median of finite values.

/// The median of `values`: the middle one, or the mean of the two in the middle; `None` without
/// values.
///
/// All values must be finite. The result is finite too: the mean of two is computed without adding
/// them first.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted(values))
}

/// The median of ascending `values`.
pub(crate) fn median_of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(values[values.len() / 2 - 1].midpoint(upper))
}

/// The values in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
    }
}
