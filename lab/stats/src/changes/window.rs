//! A short stretch that stands out of a long one: a step and the way back, which no single step would explain.

use super::split::SEGMENT_POINTS;
use super::sums::Sums;

/// Gain that a window needs beyond the logarithm of the number to choose from: chance hardly reaches it.
const BEYOND_CHOICE: f64 = 24.0;

/// The window that stands out most from the stretch's level, if any does beyond chance. Lengths are powers of two times the shortest two
/// segments, up to a quarter of the stretch.
pub(crate) fn standing_out(sums: &Sums, points: usize, noise: f64) -> Option<(usize, usize)> {
    let level = sums.mean(0, points);
    let n = points as f64;
    let mut best = (noise * (BEYOND_CHOICE + 2.0 * (n / SEGMENT_POINTS as f64).ln()), None);
    let mut length = 2 * SEGMENT_POINTS;
    while length <= points / 4 {
        let width = length as f64;
        for from in 0..=points - length {
            let off = sums.mean(from, from + length) - level;
            let gain = off * off * width * n / (n - width);
            if gain > best.0 {
                best = (gain, Some((from, from + length)));
            }
        }
        length *= 2;
    }
    best.1
}
