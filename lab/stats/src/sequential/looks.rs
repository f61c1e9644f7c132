//! The times of the looks, and the level of the test at each.
//!
//! The looks spend parts of the error that add up to the total (Lan and DeMets 1983). A look sees
//! the blocks of the look before, so it repeats most of that look's errors. The levels follow from
//! the joint distribution of the looks (`boundaries`), and exceed the parts. Source of intervals
//! at each look: C. Jennison, B. W. Turnbull, Interim Analyses: the Repeated Confidence Interval
//! Approach, Journal of the Royal Statistical Society B 51, 1989.

use super::boundaries::Boundaries;
use crate::comparison::Look;
use crate::thresholds::{LAST_LOOK_SHARE, LOOK_GROWTH};
use crate::two_sample::signs_can_decide;

/// The looks of a comparison of up to `most_blocks` blocks and `workloads` pairs of cells, with a
/// familywise false-positive rate of at most 1 − `level`.
///
/// The first look is where the signed-rank test can be significant at its part of the error. Each
/// further look has about [`LOOK_GROWTH`] times the blocks. The last one, with all blocks, may
/// spend [`LAST_LOOK_SHARE`]. If there is no room for two looks, there is one. None without blocks.
pub fn looks(most_blocks: u32, workloads: u32, level: f64) -> Vec<Look> {
    let error = 1.0 - level;
    for first in 1..most_blocks {
        let blocks = growing(first, most_blocks);
        let early = error * (1.0 - LAST_LOOK_SHARE) / (blocks.len() - 1) as f64;
        if signs_can_decide(first as usize, early / f64::from(workloads.max(1))) {
            let mut boundaries = Boundaries::default();
            let last = blocks.len() - 1;
            let look = |(i, blocks): (usize, u32)| {
                let part = if i == last { error * LAST_LOOK_SHARE } else { early };
                Look { blocks, alpha: next_level(&mut boundaries, blocks, part, workloads) }
            };
            return blocks.into_iter().enumerate().map(look).collect();
        }
    }
    let only = Look { blocks: most_blocks, alpha: error };
    if most_blocks == 0 { Vec::new() } else { vec![only] }
}

/// The level of the test of all workloads at a further look, which spends this part of the error.
fn next_level(boundaries: &mut Boundaries, blocks: u32, part: f64, workloads: u32) -> f64 {
    let workloads = f64::from(workloads.max(1));
    workloads * boundaries.spend(f64::from(blocks), part / workloads)
}

/// Ascending numbers from `first` to `last`, at least two, with an approximately constant ratio.
fn growing(first: u32, last: u32) -> Vec<u32> {
    let (first, last) = (f64::from(first), f64::from(last));
    let steps = ((last / first).ln() / LOOK_GROWTH.ln()).round().max(1.0);
    let at = |step: u32| (first * (last / first).powf(f64::from(step) / steps)).round() as u32;
    let mut blocks: Vec<u32> = (0..=steps as u32).map(at).collect();
    blocks.dedup();
    blocks
}

/// The look that ends a comparison of `workloads` pairs between two `looks`, after `taken` of them,
/// with `blocks` measured. It may spend the rest of the error 1 − `level`. `None` if nothing
/// was measured since the last look.
///
/// It keeps the total error only if the reason for the end does not depend on the sides' values. A
/// time budget does not; a user who has seen a look may.
pub fn last_look(looks: &[Look], taken: u32, blocks: u32, workloads: u32, level: f64) -> Option<Look> {
    let (taken, left) = looks.split_at_checked(taken as usize)?;
    let seen = taken.last().map_or(0, |look| look.blocks);
    if blocks <= seen || left.is_empty() {
        return None;
    }
    let error = 1.0 - level;
    let early = error * (1.0 - LAST_LOOK_SHARE) / (looks.len().max(2) - 1) as f64;
    let mut boundaries = Boundaries::default();
    for look in taken {
        next_level(&mut boundaries, look.blocks, early, workloads);
    }
    let rest = error - early * taken.len() as f64;
    Some(Look { blocks, alpha: next_level(&mut boundaries, blocks, rest, workloads) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_has_most_of_the_error_and_the_first_can_decide() {
        let looks = looks(60, 3, 0.95);
        let (first, last) = (looks[0], looks[looks.len() - 1]);
        assert!(last.blocks == 60 && last.alpha > 0.05 * LAST_LOOK_SHARE && last.alpha < 0.05, "{last:?}");
        assert!(signs_can_decide(first.blocks as usize, first.alpha / 3.0));
        assert!(first.blocks == 11 && looks.len() >= 6, "{looks:?}");
    }

    #[test]
    fn where_ranks_decide_nothing_there_is_one_look() {
        assert_eq!(looks(3, 1, 0.95), [Look { blocks: 3, alpha: 1.0 - 0.95 }]);
        assert_eq!(last_look(&looks(3, 1, 0.95), 0, 2, 1, 0.95).unwrap().blocks, 2);
        assert_eq!(looks(0, 1, 0.95), []);
    }

    #[test]
    fn an_early_end_spends_what_is_left() {
        let looks = looks(60, 1, 0.95);
        let end = |taken, blocks| last_look(&looks, taken, blocks, 1, 0.95);
        let alpha = end(2, looks[1].blocks + 1).unwrap().alpha;
        assert!(alpha > 0.05 - looks[0].alpha - looks[1].alpha && alpha < 0.05, "{alpha}");
        assert!(end(2, 59).unwrap().alpha < alpha, "more of it is new");
        assert_eq!((end(2, looks[1].blocks), end(looks.len() as u32, 99)), (None, None));
    }

    proptest! {
        #[test]
        fn the_looks_ascend_to_the_end_and_spend_the_error(most in 1u32..2000, workloads in 0u32..30, level in 0.8f64..0.999) {
            let looks = looks(most, workloads, level);
            prop_assert!(looks.windows(2).all(|pair| pair[0].blocks < pair[1].blocks));
            prop_assert_eq!(looks.last().map(|look| look.blocks), Some(most));
            let parts: f64 = looks.iter().map(|look| look.alpha).sum();
            prop_assert!(looks.iter().all(|look| look.alpha <= 1.0 - level + 1e-9), "{:?}", looks);
            prop_assert!(parts >= 1.0 - level - 1e-9, "{:?}", looks);
        }
    }
}
