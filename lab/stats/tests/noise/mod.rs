//! Typical noise of measurements, from a seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A source of noise.
pub struct Noise(ChaCha8Rng);

/// A distribution of noise, with a standard deviation of about 1, apart from heavy tails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Normal,
    /// Student's t of 2 degrees of freedom: no variance.
    HeavyTailed,
    /// A straight rise of two standard deviations in total, plus normal noise.
    Drifting,
    /// Two levels four standard deviations apart, chosen at random for each boot.
    BimodalByBoot,
    /// First-order autoregressive, with the coefficient 0.6.
    Autocorrelated,
}

pub const SHAPES: [Shape; 5] =
    [Shape::Normal, Shape::HeavyTailed, Shape::Drifting, Shape::BimodalByBoot, Shape::Autocorrelated];

impl Noise {
    pub fn new(seed: u64) -> Self {
        Noise(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A uniform random number in [0, 1), in steps of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// A normal random number, by the Box-Muller transform.
    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// `n` values in time order.
    pub fn series(&mut self, shape: Shape, n: usize) -> Vec<f64> {
        match shape {
            Shape::Normal => (0..n).map(|_| self.normal()).collect(),
            // A normal number divided by the root of half a chi-square with 2 degrees of freedom,
            // which is exponential.
            Shape::HeavyTailed => (0..n).map(|_| self.normal() / self.exponential().sqrt()).collect(),
            Shape::Drifting => (0..n).map(|i| 2.0 * i as f64 / n as f64 + self.normal()).collect(),
            Shape::BimodalByBoot => {
                (0..n).map(|_| if self.uniform() < 0.5 { -0.9 } else { 0.9 } + 0.45 * self.normal()).collect()
            }
            Shape::Autocorrelated => self.autoregressive(0.6, n),
        }
    }

    /// An autoregressive series with the coefficient `kept` and a standard deviation of 1.
    pub fn autoregressive(&mut self, kept: f64, n: usize) -> Vec<f64> {
        let fresh = (1.0 - kept * kept).sqrt();
        let mut value = self.normal();
        (0..n)
            .map(|_| {
                let now = value;
                value = kept * value + fresh * self.normal();
                now
            })
            .collect()
    }
}
