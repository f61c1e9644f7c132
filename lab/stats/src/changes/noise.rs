//! The kinds of noise that a series may have: white noise, and white noise with a part that keeps
//! some of its value from point to point.
//!
//! A share of the variance belongs to one first-order autoregressive part, or to four with
//! different scales. Four parts imitate long memory: their shares are fitted to the
//! autocorrelations of fractional noise (d of 0.15, 0.25, 0.35 and 0.45).
//!
//! Source: C. W. J. Granger, Long Memory Relationships and the Aggregation of Dynamic Models,
//! Journal of Econometrics 14, 1980.

/// An autoregressive part of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NoisePart {
    /// Its share of the variance.
    pub(crate) share: f64,
    /// The fraction of its value that it keeps from one point to the next.
    pub(crate) kept: f64,
}

/// A kind of noise: its parts; the rest is white.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct NoiseKind {
    pub(crate) parts: Vec<NoisePart>,
}

/// Fractions that a single part may keep. The last one wanders over thousands of points. More
/// fractions and shares change no false-positive rate by more than chance, and no score for the
/// better.
const KEPT: [f64; 4] = [0.6, 0.9, 0.98, 0.999];

/// The shares that a single part may have.
const SHARES: [f64; 4] = [0.1, 0.35, 0.7, 1.0];

/// Fractions that the parts of long memory keep.
const SCALES: [f64; 4] = [0.5, 0.85, 0.97, 0.995];

/// Their shares, for d of 0.15, 0.25, 0.35 and 0.45.
const LONG_MEMORY: [[f64; 4]; 4] = [
    [0.1811, 0.0616, 0.0156, 0.0116],
    [0.2261, 0.1520, 0.0211, 0.0612],
    [0.2412, 0.2030, 0.0, 0.2422],
    [0.0770, 0.0, 0.0, 0.7607],
];

/// A part that keeps this fraction or more is slow: it wanders over 50 points or more.
const SLOW: f64 = 0.98;

/// Slow parts with at least this share are reported.
const SLOW_SHARE: f64 = 0.05;

impl NoiseKind {
    pub(crate) fn is_white(&self) -> bool {
        self.parts.is_empty()
    }

    /// Share of the variance that is slow, if it is large enough.
    pub(crate) fn wander(&self) -> Option<f64> {
        let share: f64 = self.parts.iter().filter(|part| part.kept >= SLOW).map(|part| part.share).sum();
        (share >= SLOW_SHARE).then_some(share)
    }
}

/// All kinds, white noise first.
pub(crate) fn kinds() -> Vec<NoiseKind> {
    let single = KEPT
        .iter()
        .flat_map(|&kept| SHARES.iter().map(move |&share| NoisePart { share, kept }))
        .map(|part| NoiseKind { parts: vec![part] });
    let long = LONG_MEMORY.iter().map(|shares| NoiseKind {
        parts: shares.iter().zip(SCALES).map(|(&share, kept)| NoisePart { share, kept }).collect(),
    });
    [NoiseKind::default()].into_iter().chain(single).chain(long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_noise_comes_first_and_no_kind_has_more_than_all() {
        let kinds = kinds();
        assert!(kinds[0].is_white() && kinds.iter().filter(|kind| kind.is_white()).count() == 1);
        assert!(kinds.iter().all(|kind| kind.parts.iter().map(|part| part.share).sum::<f64>() <= 1.0));
    }

    #[test]
    fn long_memory_has_the_autocorrelations_of_fractional_noise() {
        for (shares, d) in LONG_MEMORY.iter().zip([0.15, 0.25, 0.35, 0.45]) {
            let mut exact = 1.0;
            for lag in 1..=100 {
                exact *= (f64::from(lag) - 1.0 + d) / (f64::from(lag) - d);
                let imitated: f64 = shares.iter().zip(SCALES).map(|(share, kept)| share * kept.powi(lag)).sum();
                assert!((imitated - exact).abs() < 0.12, "d {d}, lag {lag}: {imitated} for {exact}");
            }
        }
    }

    #[test]
    fn slow_parts_are_wander() {
        let kind = |share, kept| NoiseKind { parts: vec![NoisePart { share, kept }] };
        assert_eq!(kind(0.2, 0.98).wander(), Some(0.2));
        assert_eq!(kind(1.0, 0.9).wander(), None);
        assert_eq!(NoiseKind::default().wander(), None);
    }
}
