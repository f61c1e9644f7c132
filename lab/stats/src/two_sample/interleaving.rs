//! Detection of alternating measurement, from the order of the values.

use super::units::{Pairing, Placed, Units};

/// True if the machine's changes over time affected both sides equally. Blocks contain both sides.
/// Without blocks, the sides must alternate: in time order, the side changes at least half as often
/// as the smaller side has values, and at least twice. In random order it changes twice as often on
/// average. False if the order is unknown.
pub(super) fn are_interleaved(units: &Units) -> bool {
    if units.pairing != Pairing::Unblocked {
        return true;
    }
    let fewest = units.a.len().min(units.b.len());
    switches(units).is_some_and(|switches| switches >= (fewest / 2).max(2))
}

/// Number of changes of side in time order. `None` if the place of a value is unknown.
fn switches(units: &Units) -> Option<usize> {
    let placed = |side: &[Placed], is_second: bool| -> Option<Vec<(u64, bool)>> {
        side.iter().map(|value| Some((value.order?, is_second))).collect()
    };
    let mut all = [placed(&units.a, false)?, placed(&units.b, true)?].concat();
    all.sort_unstable();
    Some(all.windows(2).filter(|pair| pair[0].1 != pair[1].1).count())
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Boot, Run, Samples};
    use super::super::units::units;
    use super::*;

    fn side(orders: impl IntoIterator<Item = Option<u64>>) -> Samples {
        let run = |order| Run { order, block: None, intervals: vec![1.0] };
        let boot = Boot { id: None, runs: orders.into_iter().map(run).collect() };
        Samples { boots: vec![boot], ..Samples::default() }
    }

    fn interleaved(a: &[u64], b: &[u64]) -> bool {
        let [a, b] = [a, b].map(|orders| side(orders.iter().copied().map(Some)));
        are_interleaved(&units(&a, &b))
    }

    #[test]
    fn sides_in_turns_are_and_sides_one_after_the_other_are_not() {
        assert!(interleaved(&[0, 2, 4, 6], &[1, 3, 5, 7]));
        assert!(interleaved(&[0, 1, 4, 6], &[2, 3, 5, 7]), "in random order");
        assert!(!interleaved(&[0, 1, 2, 3], &[4, 5, 6, 7]));
        assert!(!interleaved(&[0, 1, 2, 3, 4, 5], &[6, 7, 8, 9, 10, 11]));
        assert!(!interleaved(&[0, 1, 2, 3, 4, 5, 6, 8], &[7, 9, 10, 11, 12, 13, 14, 15]), "but for two");
        assert!(!interleaved(&[0, 1, 2, 3, 4, 5], &[6, 7]));
    }

    #[test]
    fn values_without_a_place_have_no_order() {
        assert!(!are_interleaved(&units(&side([None, None]), &side([None, None]))));
        assert!(!are_interleaved(&units(&side([Some(0), Some(2)]), &side([Some(1), None]))));
    }

    #[test]
    fn blocks_hold_both_sides() {
        let blocked = |order: u64| {
            let runs = (0..3).map(|block| Run { order: Some(order), block: Some(block), intervals: vec![1.0] });
            Samples { boots: vec![Boot { id: None, runs: runs.collect() }], ..Samples::default() }
        };
        assert!(are_interleaved(&units(&blocked(0), &blocked(1))));
    }
}
