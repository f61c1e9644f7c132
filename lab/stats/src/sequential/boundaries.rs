//! Levels of tests at several looks, from their joint distribution.
//!
//! Without a difference, sums of standardised values at the looks are Brownian motion at the times
//! that are the numbers of blocks. A boundary at each look bounds the probability of the first
//! crossing there, which is computed by recursive integration. For ranks this holds approximately;
//! simulations confirm the rates (docs/METHODOLOGY.md, §16). Source: P. Armitage, C. K. McPherson,
//! B. C. Rowe, Repeated Significance Tests on Accumulating Data, Journal of the Royal Statistical
//! Society A 132, 1969.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Number of intervals of the grid on which a density is known. Even, for Simpson's rule.
const INTERVALS: usize = 200;

/// Halvings of the interval in which a boundary is searched.
const HALVINGS: usize = 45;

/// Looks in order, and the density of the sums that have crossed no boundary.
#[derive(Debug, Default)]
pub(super) struct Boundaries {
    /// Blocks at the last look; 0 before the first.
    blocks: f64,
    /// The sum at each point of the grid, its density, and the weight of the point; empty before
    /// the first look.
    points: Vec<Point>,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    sum: f64,
    /// Density times the weight of Simpson's rule.
    mass: f64,
}

impl Boundaries {
    /// The level of a two-sided test at a look with `blocks`, more than at the last look, such that
    /// the probability of a first crossing there is `part`, from 0 to 1.
    pub(super) fn spend(&mut self, blocks: f64, part: f64) -> f64 {
        let normal = Normal::standard();
        let deviation = (blocks - self.blocks).sqrt();
        let beyond = |bound: f64| 2.0 * normal.sf(bound / deviation);
        let crossing = |bound: f64| match self.points.as_slice() {
            [] => beyond(bound),
            points => {
                let of = |point: &Point| {
                    point.mass
                        * (normal.sf((bound - point.sum) / deviation) + normal.sf((bound + point.sum) / deviation))
                };
                points.iter().map(of).sum()
            }
        };
        // No boundary is beyond 10 standard deviations of the sum.
        let (mut low, mut high) = (0.0, 10.0 * blocks.sqrt());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if crossing(middle) > part { low = middle } else { high = middle }
        }
        self.points = self.inside(high, deviation);
        self.blocks = blocks;
        2.0 * normal.sf(high / blocks.sqrt())
    }

    /// The density after a step with this standard deviation, between −`bound` and `bound`.
    fn inside(&self, bound: f64, deviation: f64) -> Vec<Point> {
        let normal = Normal::standard();
        let width = 2.0 * bound / INTERVALS as f64;
        let point = |i: usize| {
            let sum = -bound + width * i as f64;
            let from = |start: f64| normal.pdf((sum - start) / deviation) / deviation;
            let density: f64 = match self.points.as_slice() {
                [] => from(0.0),
                points => points.iter().map(|point| point.mass * from(point.sum)).sum(),
            };
            let simpson = if i == 0 || i == INTERVALS {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            Point { sum, mass: density * simpson * width / 3.0 }
        };
        (0..=INTERVALS).map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels at equally spaced looks that share a total of 5 %: Armitage, McPherson and Rowe's
    /// constant level is 2.94 % for two looks and 2.21 % for three.
    #[test]
    fn published_levels_are_reproduced() {
        for (level, looks) in [(0.0294, 2), (0.0221, 3), (0.0158, 5)] {
            let normal = Normal::standard();
            let mut boundaries = Boundaries::default();
            let mut spent = 0.0;
            for look in 1..=looks {
                let blocks = f64::from(look);
                let bound = normal.inverse_cdf(1.0 - level / 2.0) * blocks.sqrt();
                let deviation = (blocks - boundaries.blocks).sqrt();
                let before: f64 = boundaries.points.iter().map(|point| point.mass).sum();
                boundaries.points = boundaries.inside(bound, deviation);
                boundaries.blocks = blocks;
                let after: f64 = boundaries.points.iter().map(|point| point.mass).sum();
                spent += if look == 1 { 1.0 } else { before } - after;
            }
            assert!((spent - 0.05).abs() < 0.0002, "{looks} looks: {spent}");
        }
    }

    #[test]
    fn a_first_look_has_its_part_and_later_ones_have_more() {
        let mut boundaries = Boundaries::default();
        assert!((boundaries.spend(10.0, 0.01) - 0.01).abs() < 1e-9);
        let second = boundaries.spend(12.0, 0.01);
        assert!(second > 0.013 && second < 0.02, "{second}");
        let mut apart = Boundaries::default();
        apart.spend(10.0, 0.01);
        let far = apart.spend(1000.0, 0.01);
        assert!(far > 0.01 && far < 0.0102, "hardly repeats the first: {far}");
    }
}
