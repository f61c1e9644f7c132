//! Figures that other tools save in addition to values, or instead of them. Our own estimates are in `stats`.

/// The arithmetic mean. Each value is divided first: the sum of large values could overflow.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    values.iter().map(|value| value / n).sum()
}

/// The median; 0 without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        Some(upper) if sorted.len().is_multiple_of(2) => sorted[middle - 1].midpoint(*upper),
        Some(value) => *value,
        None => 0.0,
    }
}

/// The standard deviation of a sample; `None` for a single value, or on overflow.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() as f64 - 1.0)).sqrt()).filter(|deviation| deviation.is_finite())
}

/// The smallest and the greatest.
pub(crate) fn extremes(values: &[f64]) -> (Option<f64>, Option<f64>) {
    let values = values.iter().copied();
    (values.clone().reduce(f64::min), values.reduce(f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_few_values() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0]), median(&[7.0])), (2.0, 2.5, 7.0));
        assert_eq!(deviation(&[1.0, 3.0]), Some(2f64.sqrt()));
        assert_eq!((deviation(&[1.0]), deviation(&[1e300, -1e300])), (None, None));
        assert_eq!(extremes(&[2.0, 1.0, 3.0]), (Some(1.0), Some(3.0)));
    }
}
