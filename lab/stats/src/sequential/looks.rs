//! The times of the looks, and the error that each look may spend.
//!
//! The parts add up to the total error. So for any dependence between the looks, the probability
//! that any of them is wrong is at most the total. Sources: K. K. G. Lan, D. L. DeMets, Discrete
//! Sequential Boundaries for Clinical Trials, Biometrika 70, 1983 (spending); C. Jennison, B. W.
//! Turnbull, Interim Analyses: the Repeated Confidence Interval Approach, Journal of the Royal
//! Statistical Society B 51, 1989.

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
        let alpha = error * (1.0 - LAST_LOOK_SHARE) / (blocks.len() - 1) as f64;
        if signs_can_decide(first as usize, alpha / f64::from(workloads.max(1))) {
            let last = blocks.len() - 1;
            let look = |(i, blocks): (usize, u32)| Look {
                blocks,
                alpha: if i == last { error * LAST_LOOK_SHARE } else { alpha },
            };
            return blocks.into_iter().enumerate().map(look).collect();
        }
    }
    let only = Look { blocks: most_blocks, alpha: error };
    if most_blocks == 0 { Vec::new() } else { vec![only] }
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

/// The look that ends a comparison between two of its `looks`, after `taken` of them, with `blocks`
/// measured. It may spend the remaining error. `None` if nothing was measured since the last look.
///
/// It keeps the total error only if the reason for the end does not depend on the sides' values. A
/// time budget does not; a user who has seen a look may.
pub fn last_look(looks: &[Look], taken: u32, blocks: u32) -> Option<Look> {
    let (taken, left) = looks.split_at_checked(taken as usize)?;
    let seen = taken.last().map_or(0, |look| look.blocks);
    let alpha = left.iter().map(|look| look.alpha).sum();
    (blocks > seen && !left.is_empty()).then_some(Look { blocks, alpha })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spent(looks: &[Look]) -> f64 {
        looks.iter().map(|look| look.alpha).sum()
    }

    #[test]
    fn half_is_kept_for_the_last_and_the_first_can_decide() {
        let looks = looks(60, 3, 0.95);
        let (first, last) = (looks[0], looks[looks.len() - 1]);
        assert_eq!((last.blocks, last.alpha), (60, (1.0 - 0.95) * LAST_LOOK_SHARE));
        assert!(signs_can_decide(first.blocks as usize, first.alpha / 3.0));
        assert!(first.blocks == 11 && looks.len() >= 6, "{looks:?}");
    }

    #[test]
    fn where_ranks_decide_nothing_there_is_one_look() {
        assert_eq!(looks(3, 1, 0.95), [Look { blocks: 3, alpha: 1.0 - 0.95 }]);
        assert_eq!(looks(0, 1, 0.95), []);
    }

    #[test]
    fn an_early_end_spends_what_is_left() {
        let looks = looks(60, 1, 0.95);
        let end = last_look(&looks, 2, looks[1].blocks + 1).unwrap();
        assert!((end.alpha + spent(&looks[..2]) - 0.05).abs() < 1e-12);
        assert_eq!(last_look(&looks, 2, looks[1].blocks), None);
        assert_eq!(last_look(&looks, looks.len() as u32, 99), None);
    }

    proptest! {
        #[test]
        fn the_looks_ascend_to_the_end_and_spend_the_error(most in 1u32..2000, workloads in 0u32..30, level in 0.8f64..0.999) {
            let looks = looks(most, workloads, level);
            prop_assert!(looks.windows(2).all(|pair| pair[0].blocks < pair[1].blocks));
            prop_assert_eq!(looks.last().map(|look| look.blocks), Some(most));
            prop_assert!((spent(&looks) - (1.0 - level)).abs() < 1e-12);
        }
    }
}
