//! A short stretch that differs from the long segment around it: a step and the way back, which no single step explains.

use super::split::SEGMENT_POINTS;
use super::sums::Sums;

/// The gain that a window needs in addition to the logarithm of the number of windows: chance rarely reaches it.
const BEYOND_CHOICE: f64 = 24.0;

/// The window that differs most from the level of its segment, if it does so by more than chance. Lengths are the shortest two
/// segments times powers of two, up to a quarter of the segment.
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
