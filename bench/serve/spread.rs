//! Values of several rounds: the median, the lowest and the highest.

use std::fmt::{Display, Formatter};

#[derive(Default)]
pub struct Spread(Vec<f64>);

impl Spread {
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// The quantile of this share; NaN without values.
    pub fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1) as f64;
        self.0.get((last * share).round() as usize).copied().unwrap_or(f64::NAN)
    }

    pub fn most(&self) -> f64 {
        self.at(1.0)
    }
}

impl Display for Spread {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str("left out");
        }
        write!(formatter, "{:9.1} ({:.1} … {:.1}, n = {})", self.at(0.5), self.at(0.0), self.most(), self.0.len())
    }
}
