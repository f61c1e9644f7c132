//! Running sums of a segment, which give the best level or line of any part in constant time.

/// Running sums over a segment. Positions and values are relative to its middle, to reduce rounding
/// errors.
#[derive(Default)]
pub(crate) struct Sums(Vec<[f64; 5]>);

/// The best level, or the best line, of a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// Sum of squared deviations from the level.
    pub(crate) about_level: f64,
    /// Sum of squared deviations from the line.
    pub(crate) about_line: f64,
    /// Mean position and value, and the line's slope.
    pub(crate) mean: (f64, f64),
    pub(crate) slope: f64,
}

impl Sums {
    /// Replaces the sums by those of this segment. Positions are scaled to about −1…1.
    pub(crate) fn take(&mut self, positions: &[u64], values: &[f64]) {
        let n = values.len() as f64;
        let centre = values.iter().sum::<f64>() / n;
        self.0.clear();
        self.0.reserve(values.len() + 1);
        let mut sums = [0.0; 5];
        self.0.push(sums);
        for (&position, value) in positions.iter().zip(values) {
            let (x, y) = (about_middle(positions, position), value - centre);
            for (sum, term) in sums.iter_mut().zip([x, x * x, y, y * y, x * y]) {
                *sum += term;
            }
            self.0.push(sums);
        }
    }

    /// The fit of points `from..to` of the segment, at least one.
    #[inline]
    pub(crate) fn fit(&self, from: usize, to: usize) -> Fit {
        let (first, last) = (&self.0[from], &self.0[to]);
        let n = (to - from) as f64;
        let [x, xx, y, yy, xy]: [f64; 5] = std::array::from_fn(|i| last[i] - first[i]);
        let about_level = (yy - y * y / n).max(0.0);
        let (spread, common) = (xx - x * x / n, xy - x * y / n);
        let slope = if spread > 0.0 { common / spread } else { 0.0 };
        Fit { about_level, about_line: (about_level - slope * common).max(0.0), mean: (x / n, y / n), slope }
    }

    /// Sum of squared deviations of `from..to` from its level.
    #[inline]
    pub(crate) fn about_level(&self, from: usize, to: usize) -> f64 {
        let n = (to - from) as f64;
        let y = self.0[to][2] - self.0[from][2];
        (self.0[to][3] - self.0[from][3] - y * y / n).max(0.0)
    }

    /// Mean value of `from..to`.
    #[inline]
    pub(crate) fn mean(&self, from: usize, to: usize) -> f64 {
        (self.0[to][2] - self.0[from][2]) / (to - from) as f64
    }

    /// Position and value of a point, in the units of the sums.
    pub(crate) fn point(&self, at: usize) -> (f64, f64) {
        (self.0[at + 1][0] - self.0[at][0], self.0[at + 1][2] - self.0[at][2])
    }
}

/// A position relative to the middle of a segment, in halves of its length.
pub(crate) fn about_middle(positions: &[u64], position: u64) -> f64 {
    let (first, last) = (positions[0], positions[positions.len() - 1]);
    if last == first { 0.0 } else { 2.0 * (position - first) as f64 / (last - first) as f64 - 1.0 }
}

impl Fit {
    /// The lower cost of level and line, as squared deviations, and whether it is the line's. The
    /// line costs `line` more.
    #[inline]
    pub(crate) fn cheaper(&self, line: f64) -> (f64, bool) {
        let drifting = self.about_line + line;
        if drifting < self.about_level { (drifting, true) } else { (self.about_level, false) }
    }

    /// The fitted value at a position.
    pub(crate) fn at(&self, x: f64, drifts: bool) -> f64 {
        self.mean.1 + if drifts { self.slope * (x - self.mean.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_fitted_at_unequal_distances() {
        let positions = [0, 10, 11, 40];
        let values = [1.0, 21.0, 23.0, 81.0];
        let mut sums = Sums::default();
        sums.take(&positions, &values);
        let whole = sums.fit(0, 4);
        assert!(whole.about_line < 1e-20 && whole.about_level > 1000.0);
        assert!((whole.slope - 40.0).abs() < 1e-12, "2 a position, 20 positions to half the stretch");
        let (cost, drifts) = whole.cheaper(1.0);
        assert!(drifts && (cost - 1.0).abs() < 1e-9);
        assert!((sums.fit(1, 3).about_level - 2.0).abs() < 1e-9);
        let (x, y) = sums.point(3);
        assert!((x - 1.0).abs() < 1e-12 && (whole.at(x, true) - y).abs() < 1e-9);
    }
}
