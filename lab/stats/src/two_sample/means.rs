//! The appropriate mean for each quantity.
//!
//! Source: J. E. Smith, Characterizing Computer Performance with a Single Number, Communications of
//! the ACM 31 (10), 1988; P. J. Fleming and J. J. Wallace, How Not to Lie with Statistics,
//! Communications of the ACM 29 (3), 1986.

use faultline_record::direction::Direction;

/// The mean that is proportional to the time spent: arithmetic for times (lower is better),
/// harmonic for rates (higher is better). `None` without values. All values are above 0.
pub fn mean(values: &[f64], direction: Direction) -> Option<f64> {
    match direction {
        Direction::Lower => arithmetic(values),
        Direction::Higher => Some(arithmetic(&values.iter().map(|value| value.recip()).collect::<Vec<_>>())?.recip()),
    }
}

/// The mean of ratios, which does not depend on the side that is the base. `None` without values.
/// All values are above 0.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    Some(arithmetic(&ratios.iter().map(|ratio| ratio.ln()).collect::<Vec<_>>())?.exp())
}

fn arithmetic(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_has_its_mean() {
        assert_eq!(mean(&[10.0, 30.0], Direction::Lower), Some(20.0));
        assert_eq!(mean(&[30.0, 60.0], Direction::Higher), Some(40.0), "there at 30, back at 60");
        assert!((geometric_mean(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-15);
        assert_eq!(mean(&[], Direction::Higher), None);
    }
}
