//! The candidate places of steps, as a tree. A series is divided at the place that explains most,
//! and so are its parts, as long as that explains more than chance alone sometimes does. Later code
//! decides for all divisions together which of them are steps.
//!
//! A part may also be divided at a window: a short stretch that differs from the long segment
//! around it, a step and its reversal, which no single step explains.
//!
//! Source: A. J. Scott and M. Knott, A Cluster Analysis Method for Grouping Means in the Analysis
//! of Variance, Biometrics 30, 1974 (binary segmentation); L. Breiman, J. Friedman, R. Olshen and
//! C. Stone, Classification and Regression Trees, 1984 (grow a tree too large, then prune it).

use super::series::Series;
use super::split::{LEAST_VARIANCE, SEGMENT_POINTS};
use super::sums::Sums;

/// The gain that a window needs in addition to the logarithm of the number of windows: chance
/// rarely reaches it.
const BEYOND_CHOICE: f64 = 24.0;

/// A segment of points, and its division.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The first point of the right part, and the indices of the nodes of both parts. These come
    /// after this node.
    pub(crate) division: Option<(usize, [usize; 2])>,
}

/// The tree of a series, its root first. `enough`: the minimum gain of a division, in variances of
/// white noise.
pub(crate) fn grown(series: &Series, enough: f64) -> Vec<Node> {
    let mut sums = Sums::default();
    let node = |from, to| Node { from, to, division: None };
    let mut nodes = vec![node(0, series.values.len())];
    let mut next = 0;
    while next < nodes.len() {
        let (from, to) = (nodes[next].from, nodes[next].to);
        if let Some(at) = divided(&mut sums, series, from, to, enough) {
            nodes[next].division = Some((at, [nodes.len(), nodes.len() + 1]));
            nodes.extend([node(from, at), node(at, to)]);
        }
        next += 1;
    }
    nodes
}

/// The division of the points `from..to`.
fn divided(sums: &mut Sums, series: &Series, from: usize, to: usize, enough: f64) -> Option<usize> {
    let mut of = |from: usize, to: usize| {
        sums.take(&series.positions[from..to], &series.scaled[from..to]);
        let (at, gain, variance) = between_levels(sums, to - from)?;
        let window = if gain > enough { None } else { standing_out(sums, to - from, variance) };
        Some((from + at, gain, window))
    };
    let (at, gain, window) = of(from, to)?;
    if gain > enough {
        return Some(at);
    }
    let (first, last) = window?;
    let (length, middle) = (last - first, from + first.midpoint(last));
    let sides =
        [((from + first).saturating_sub(2 * length).max(from), middle), (middle, (from + last + 2 * length).min(to))];
    sides.into_iter().find_map(|(from, to)| of(from, to).filter(|(_, gain, _)| *gain > enough).map(|(at, ..)| at))
}

/// The best division of a segment into two levels, what it explains divided by the remaining
/// variance, and that variance.
fn between_levels(sums: &Sums, points: usize) -> Option<(usize, f64, f64)> {
    if points < 2 * SEGMENT_POINTS {
        return None;
    }
    let left_over = |at: usize| sums.about_level(0, at) + sums.about_level(at, points);
    let places = SEGMENT_POINTS..=points - SEGMENT_POINTS;
    let (at, least) = places.map(|at| (at, left_over(at))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let variance = (least / (points as f64 - 2.0)).max(LEAST_VARIANCE);
    Some((at, (sums.about_level(0, points) - least) / variance, variance))
}

/// The window that differs most from its segment's level, if chance does not explain it. Lengths
/// are the shortest two segments times powers of two, up to a quarter of the segment.
fn standing_out(sums: &Sums, points: usize, noise: f64) -> Option<(usize, usize)> {
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
