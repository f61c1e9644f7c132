//! The series that is searched: one point for each position, in order, with outliers cut off.

use super::sums::about_middle;
use crate::median::median;

/// A value at a position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Its position: the ordinal of a commit in its history, or a time. Distances matter only for
    /// drift.
    pub position: u64,
    /// Its value, in the series' unit. Several values at one position count as one, their median.
    pub value: f64,
}

/// Reason why a series cannot be searched.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SeriesError {
    /// A value that is not finite.
    #[error("the value at position {position} is {value}, which is not finite")]
    NotFinite {
        /// Its position.
        position: u64,
        /// The value.
        value: f64,
    },
    /// Fewer points than a search needs.
    #[error("{points} points are too few: a search needs {SHORTEST}")]
    TooShort {
        /// Points that it has.
        points: usize,
    },
    /// A minimum change that is negative or not finite.
    #[error("the smallest change to report is {}: it has to be 0 % or more, and finite", percent(*.0))]
    LeastChange(f64),
    /// A false-positive rate for which there is no calibration.
    #[error("the false-positive rate is {}: it has to lie between 0.1 % and 20 %", percent(*.0))]
    FalseAlarms(f64),
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    // Shares are converted from percentages: the product's last digits are rounding errors.
    let percent = (share * 1e8).round() / 1e6;
    format!("{percent} %")
}

/// The minimum number of points: fewer show neither the noise nor a level.
pub(crate) const SHORTEST: usize = 12;

/// Points in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub(crate) positions: Vec<u64>,
    /// The measured values.
    pub(crate) values: Vec<f64>,
    /// The values that are searched: outliers cut off, at most 1 in size.
    pub(crate) scaled: Vec<f64>,
}

/// A value farther than this many spreads from its neighbours' median is moved to that distance.
/// Steps remain, because the median follows them.
const EXTREME: f64 = 3.0;

/// Number of neighbours for the median, including the value itself: four outliers in a row do not
/// move it.
const NEIGHBOURS: usize = 9;

/// Share of the values whose distance from that median gives the spread. It is large, because
/// values with two modes are not outliers.
const USUAL: f64 = 0.9;

/// The half-width that contains this share, in standard deviations of a normal distribution.
const USUAL_DEVIATIONS: f64 = 1.645;

/// The series of `observations`, in any order. Fails if a value is not finite.
pub(crate) fn series(observations: &[Observation]) -> Result<Series, SeriesError> {
    if let Some(&Observation { position, value }) = observations.iter().find(|one| !one.value.is_finite()) {
        return Err(SeriesError::NotFinite { position, value });
    }
    let mut ordered = observations.to_vec();
    ordered.sort_by_key(|one| one.position);
    let mut positions = Vec::with_capacity(ordered.len());
    let mut values = Vec::with_capacity(ordered.len());
    for together in ordered.chunk_by(|a, b| a.position == b.position) {
        positions.push(together[0].position);
        values.push(match together {
            [one] => one.value,
            _ => median(&together.iter().map(|one| one.value).collect::<Vec<_>>()).expect("a position has a value"),
        });
    }
    let scaled = scaled(&values);
    Ok(Series { positions, values, scaled })
}

impl Series {
    /// The points `from..to` as a series.
    pub(crate) fn part(&self, from: usize, to: usize) -> Series {
        Series {
            positions: self.positions[from..to].to_vec(),
            values: self.values[from..to].to_vec(),
            scaled: self.scaled[from..to].to_vec(),
        }
    }

    /// The points `from..to` for a search: positions in −1…1 relative to the middle, and scaled
    /// values.
    pub(crate) fn stretch(&self, from: usize, to: usize) -> impl Iterator<Item = (f64, f64)> {
        let positions = &self.positions[from..to];
        let points = positions.iter().zip(&self.scaled[from..to]);
        points.map(move |(&position, &value)| (about_middle(positions, position), value))
    }
}

/// Values without outliers, minus the median of the first one's neighbours, in units of the
/// greatest distance from that.
fn scaled(values: &[f64]) -> Vec<f64> {
    if values.is_empty() {
        return Vec::new();
    }
    let near: Vec<f64> = (0..values.len()).map(|i| neighbours_median(values, i)).collect();
    let mut distances: Vec<f64> = values.iter().zip(&near).map(|(value, near)| (value - near).abs()).collect();
    let extreme = EXTREME * spread(&mut distances);
    let centre = near[0];
    let mut tamed: Vec<f64> =
        values.iter().zip(near).map(|(value, near)| value.clamp(near - extreme, near + extreme) - centre).collect();
    let greatest = tamed.iter().map(|value| value.abs()).fold(0.0, f64::max);
    if greatest > 0.0 {
        tamed.iter_mut().for_each(|value| *value /= greatest);
    }
    tamed
}

/// The standard deviation that a normal distribution with the usual of these distances from its
/// middle would have. At least one distance; changes their order.
pub(crate) fn spread(distances: &mut [f64]) -> f64 {
    let usual = ((USUAL * distances.len() as f64) as usize).min(distances.len() - 1);
    let (_, &mut usual, _) = distances.select_nth_unstable_by(usual, f64::total_cmp);
    usual / USUAL_DEVIATIONS
}

/// The median of the [`NEIGHBOURS`] values around the `i`-th, with equally many on both sides if
/// the ends allow it.
fn neighbours_median(values: &[f64], i: usize) -> f64 {
    let count = NEIGHBOURS.min(values.len());
    let from = i.saturating_sub(count / 2).min(values.len() - count);
    let mut near = [0.0; NEIGHBOURS];
    near[..count].copy_from_slice(&values[from..from + count]);
    near[..count].sort_unstable_by(f64::total_cmp);
    near[count / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(list: &[(u64, f64)]) -> Vec<Observation> {
        list.iter().map(|&(position, value)| Observation { position, value }).collect()
    }

    #[test]
    fn values_of_one_position_are_one_point_and_order_is_made() {
        let found = series(&at(&[(5, 9.0), (1, 1.0), (5, 3.0), (5, 4.0)])).unwrap();
        assert_eq!((found.positions, found.values), (vec![1, 5], vec![1.0, 4.0]));
    }

    fn scaled_of(values: &[f64]) -> Vec<f64> {
        series(&at(&values.iter().enumerate().map(|(i, &value)| (i as u64, value)).collect::<Vec<_>>())).unwrap().scaled
    }

    #[test]
    fn a_spike_is_cut_off_and_a_step_stays() {
        let mut values: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
        values[12] = 900.0;
        assert_eq!(scaled_of(&values)[12], 1.0, "the greatest, but no greater than the extreme");
        assert!(scaled_of(&values)[11] > 0.2);
        let step: Vec<f64> = (0..40).map(|i| if i < 35 { 0.0 } else { 5.0 }).collect();
        assert_eq!(scaled_of(&step)[34..36], [0.0, 1.0]);
    }

    #[test]
    fn values_of_two_kinds_are_no_extremes() {
        let values: Vec<f64> = (0..60).map(|i| if i * i % 7 < 2 { 10.0 } else { 0.0 }).collect();
        let scaled = scaled_of(&values);
        assert!(
            scaled.iter().zip(&values).all(|(scaled, value)| scaled.abs() == f64::from(u8::from(*value != values[0])))
        );
        assert!(series(&[]).unwrap().scaled.is_empty());
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let error = series(&at(&[(3, f64::NAN)])).unwrap_err();
        assert_eq!(error.to_string(), "the value at position 3 is NaN, which is not finite");
    }
}
