//! Readings of two runs paired by the seed with which they repeat exactly, and conclusions about
//! other seeds.

use crate::estimate::{estimate, fewest_values};
use crate::lens::cells::{CellReadings, instructions, transfers};
use crate::lens::comparison::{Basis, InGeneral, SeedPair};
use crate::lens::spread::{spread, tolerance};
use faultline_record::lens::reading::Reading;
use std::collections::{BTreeMap, BTreeSet};

/// The readings to compare: paired by index and ascending seed if both sides have seeds in common,
/// otherwise all readings.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    pub(crate) a: Vec<&'a Reading>,
    pub(crate) b: Vec<&'a Reading>,
    /// The seeds of the pairs; empty if the readings are not paired.
    pub(crate) seeds: Vec<u64>,
}

impl<'a> Sides<'a> {
    /// Pairs the readings of one cell.
    pub(crate) fn of(a: &[&'a Reading], b: &[&'a Reading]) -> Self {
        let (of_a, of_b) = (by_seed(a), by_seed(b));
        let seeds: Vec<u64> = of_a.keys().filter(|seed| of_b.contains_key(seed)).copied().collect();
        if seeds.is_empty() {
            return Sides { a: a.to_vec(), b: b.to_vec(), seeds };
        }
        let chosen = |of: &BTreeMap<u64, &'a Reading>| seeds.iter().map(|seed| of[seed]).collect();
        Sides { a: chosen(&of_a), b: chosen(&of_b), seeds }
    }

    /// True if the readings are paired.
    pub(crate) fn are_paired(&self) -> bool {
        !self.seeds.is_empty()
    }

    /// Origin of the figures. `all`: the numbers of readings of both sides.
    pub(crate) fn basis(&self, all: (usize, usize)) -> Basis {
        if !self.are_paired() {
            return Basis::Repeats;
        }
        let pairs: Vec<SeedPair> =
            self.seeds.iter().zip(self.a.iter().zip(&self.b)).map(|(&seed, (a, b))| pair(seed, a, b)).collect();
        let left_out = |all: usize| (all - pairs.len()) as u32;
        Basis::Seeds { left_out: (left_out(all.0), left_out(all.1)), in_general: in_general(&pairs), pairs }
    }
}

/// The readings that repeat exactly, by seed; of several with one seed the first.
fn by_seed<'a>(readings: &[&'a Reading]) -> BTreeMap<u64, &'a Reading> {
    let mut by_seed = BTreeMap::new();
    for reading in readings {
        if let Some(seed) = reading.seed {
            by_seed.entry(seed).or_insert(*reading);
        }
    }
    by_seed
}

fn pair(seed: u64, a: &Reading, b: &Reading) -> SeedPair {
    SeedPair {
        seed,
        transfers: (transfers(a), transfers(b)),
        instructions: (instructions(a), instructions(b)),
        identical: a == b,
    }
}

/// Conclusion about all transfers with other seeds. Each difference is exact, so all spread comes
/// from the seeds.
fn in_general(pairs: &[SeedPair]) -> InGeneral {
    let needed = fewest_values() as u32;
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.transfers.1 - pair.transfers.0).collect();
    let side = |figure: fn(&SeedPair) -> f64| spread(&pairs.iter().map(figure).collect::<Vec<_>>());
    let both = side(|pair| pair.transfers.0).zip(side(|pair| pair.transfers.1));
    let Some((difference, (a, b))) = estimate(&differences).zip(both).filter(|_| pairs.len() > 1) else {
        return InGeneral::OneSeed { needed };
    };
    let tolerance = tolerance(&a, &b);
    if difference.n < needed {
        InGeneral::TooFewSeeds { difference, needed }
    } else if -tolerance <= difference.low && difference.high <= tolerance {
        InGeneral::Same { difference }
    } else if difference.low > 0.0 && difference.median > tolerance {
        InGeneral::More { difference }
    } else if difference.high < 0.0 && difference.median < -tolerance {
        InGeneral::Less { difference }
    } else {
        InGeneral::Inconclusive { difference }
    }
}

/// The seeds of the readings, ascending; empty if one of them does not repeat exactly.
pub(crate) fn seeds_of(readings: &[&Reading]) -> Vec<u64> {
    let seeds: Option<BTreeSet<u64>> = readings.iter().map(|reading| reading.seed).collect();
    seeds.unwrap_or_default().into_iter().collect()
}

/// Both cells with only the readings of their common seeds; unchanged if they have none in common.
pub(crate) fn in_common<'a>(a: &CellReadings<'a>, b: &CellReadings<'a>) -> (CellReadings<'a>, CellReadings<'a>) {
    let sides = Sides::of(&a.readings, &b.readings);
    (CellReadings { readings: sides.a, ..a.clone() }, CellReadings { readings: sides.b, ..b.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::compare::compare;
    use crate::lens::comparison::{CellComparison, Change};
    use crate::lens::example::{self, line, seeded};
    use proptest::prelude::*;

    /// A reading of 1,000 operations with one line.
    fn counted(seed: Option<u64>, transfers: u64) -> Reading {
        Reading { seed, ..example::reading(2, 1000, vec![line(0x1000, transfers, "counter")]) }
    }

    fn compared(a: &[Reading], b: &[Reading]) -> CellComparison {
        let (a, b) = (a.iter().collect::<Vec<_>>(), b.iter().collect::<Vec<_>>());
        compare(&example::case(), 2, &a, &b).unwrap()
    }

    fn of(seeds_and_transfers: &[(u64, u64)]) -> Vec<Reading> {
        seeds_and_transfers.iter().map(|&(seed, transfers)| counted(Some(seed), transfers)).collect()
    }

    fn general(comparison: &CellComparison) -> InGeneral {
        let Basis::Seeds { in_general, .. } = &comparison.basis else { panic!("{comparison:?}") };
        *in_general
    }

    #[test]
    fn one_seed_has_an_exact_difference_and_no_interval() {
        let comparison = compared(&of(&[(1, 1000)]), &of(&[(1, 1940)]));
        let pair = SeedPair { seed: 1, transfers: (1.0, 1.94), instructions: (100.0, 100.0), identical: false };
        let in_general = InGeneral::OneSeed { needed: 6 };
        assert_eq!(comparison.basis, Basis::Seeds { pairs: vec![pair], left_out: (0, 0), in_general });
        assert_eq!((comparison.transfers_change, comparison.data[0].difference), (Change::More, 0.94));
    }

    #[test]
    fn readings_that_are_the_same_are_identical() {
        let comparison = compared(&of(&[(1, 1000)]), &of(&[(1, 1000)]));
        let Basis::Seeds { pairs, .. } = &comparison.basis else { panic!("{comparison:?}") };
        assert!(pairs[0].identical && comparison.data.is_empty() && comparison.code.is_empty());
    }

    #[test]
    fn what_one_side_has_alone_is_left_out() {
        let comparison =
            compared(&of(&[(1, 9000), (2, 1000), (3, 1100)]), &of(&[(3, 1200), (2, 1200), (4, 1), (5, 1)]));
        let Basis::Seeds { pairs, left_out, .. } = &comparison.basis else { panic!("{comparison:?}") };
        assert_eq!(pairs.iter().map(|pair| pair.seed).collect::<Vec<_>>(), [2, 3]);
        assert_eq!((*left_out, comparison.transfers.0.high, comparison.transfers.1.low), ((1, 2), 1.1, 1.2));
    }

    #[test]
    fn without_a_seed_in_common_all_repeats_are_compared() {
        for (a, b) in [(Some(1), Some(2)), (None, Some(1)), (None, None)] {
            let comparison = compared(&[counted(a, 1000)], &[counted(b, 2000)]);
            assert_eq!((&comparison.basis, comparison.transfers_change), (&Basis::Repeats, Change::More));
        }
    }

    /// Every seed adds `added` transfers; the seeds of one side differ by more.
    fn with_added(seeds: u64, added: fn(u64) -> u64) -> CellComparison {
        let a: Vec<(u64, u64)> = (1..=seeds).map(|seed| (seed, 1000 + seed * 700 % 900)).collect();
        let b: Vec<(u64, u64)> = a.iter().map(|&(seed, transfers)| (seed, transfers + added(seed))).collect();
        compared(&of(&a), &of(&b))
    }

    #[test]
    fn several_seeds_tell_what_holds_in_general_once_they_are_enough() {
        let few = with_added(5, |_| 200);
        assert!(matches!(general(&few), InGeneral::TooFewSeeds { needed: 6, difference } if difference.n == 5));
        assert_eq!(few.transfers_change, Change::More, "for these seeds");
        let enough = with_added(6, |_| 200);
        let InGeneral::More { difference } = general(&enough) else { panic!("{enough:?}") };
        assert!(difference.coverage > 0.95 && (difference.median - 0.2).abs() < 1e-9, "{difference:?}");
        assert_eq!(enough.data[0].change, Change::More, "the seeds of one side alone span more than the difference");
    }

    #[test]
    fn differences_of_either_sign_are_inconclusive_and_small_ones_are_none() {
        let mixed = with_added(8, |seed| if seed % 2 == 0 { 400 } else { 0 });
        assert!(matches!(general(&mixed), InGeneral::Inconclusive { .. }), "{mixed:?}");
        assert_eq!((mixed.transfers_change, mixed.data.len()), (Change::Same, 0));
        let small = with_added(8, |seed| seed % 3);
        assert!(matches!(general(&small), InGeneral::Same { .. }), "{small:?}");
    }

    #[test]
    fn fewer_transfers_with_every_seed_are_fewer_in_general() {
        let (a, b) = (with_added(7, |_| 0), with_added(7, |_| 300));
        let readings = |comparison: &CellComparison, side: fn(&SeedPair) -> f64| {
            let Basis::Seeds { pairs, .. } = &comparison.basis else { panic!("{comparison:?}") };
            of(&pairs.iter().map(|pair| (pair.seed, (side(pair) * 1000.0).round() as u64)).collect::<Vec<_>>())
        };
        let less = compared(&readings(&b, |pair| pair.transfers.1), &readings(&a, |pair| pair.transfers.0));
        assert!(matches!(general(&less), InGeneral::Less { .. }), "{less:?}");
    }

    #[test]
    fn runs_with_one_seed_repeat_their_cells_exactly() {
        let (a, b) = (seeded(&[(2, 1, 1.0), (8, 1, 3.0)]), seeded(&[(2, 1, 1.0), (8, 1, 3.5)]));
        let cells = crate::lens::compare_runs(&a, &b).cells;
        let identical = |cell: &CellComparison| match &cell.basis {
            Basis::Seeds { pairs, .. } => pairs.iter().all(|pair| pair.identical),
            Basis::Repeats => false,
        };
        assert_eq!(cells.iter().map(identical).collect::<Vec<_>>(), [true, false]);
    }

    proptest! {
        /// For any order of the repeats, the pairs are the common seeds, and each pair has its
        /// seed's counts.
        #[test]
        fn pairs_are_the_seeds_in_common(
            a in prop::collection::btree_map(0u64..12, 1u64..5000, 1..8),
            b in prop::collection::btree_map(0u64..12, 1u64..5000, 1..8),
            reversed: bool,
        ) {
            let readings = |side: &BTreeMap<u64, u64>| of(&side.iter().map(|(&seed, &count)| (seed, count)).collect::<Vec<_>>());
            let (mut of_a, of_b) = (readings(&a), readings(&b));
            if reversed {
                of_a.reverse();
            }
            let comparison = compared(&of_a, &of_b);
            let common: Vec<u64> = a.keys().filter(|seed| b.contains_key(seed)).copied().collect();
            match &comparison.basis {
                Basis::Repeats => prop_assert!(common.is_empty()),
                Basis::Seeds { pairs, left_out, .. } => {
                    prop_assert_eq!(pairs.iter().map(|pair| pair.seed).collect::<Vec<_>>(), common.clone());
                    for pair in pairs {
                        let expected = (a[&pair.seed] as f64 / 1000.0, b[&pair.seed] as f64 / 1000.0);
                        prop_assert_eq!(pair.transfers, expected);
                        prop_assert_eq!(pair.identical, a[&pair.seed] == b[&pair.seed]);
                    }
                    let expected = ((a.len() - common.len()) as u32, (b.len() - common.len()) as u32);
                    prop_assert_eq!(*left_out, expected);
                }
            }
        }

        /// Exchanging the sides exchanges more and fewer, and changes the sign of every difference.
        #[test]
        fn exchanging_the_sides_turns_differences_around(
            sides in prop::collection::vec((1u64..5000, 1u64..5000), 1..10),
        ) {
            let readings = |side: fn(&(u64, u64)) -> u64| of(&(1..).zip(&sides).map(|(seed, both)| (seed, side(both))).collect::<Vec<_>>());
            let (a, b) = (readings(|both| both.0), readings(|both| both.1));
            let (there, back) = (compared(&a, &b), compared(&b, &a));
            let turned = match there.transfers_change {
                Change::Came => Change::Went,
                Change::Went => Change::Came,
                Change::More => Change::Less,
                Change::Less => Change::More,
                Change::Same => Change::Same,
            };
            prop_assert_eq!(back.transfers_change, turned);
            let kinds = (general(&there), general(&back));
            prop_assert!(matches!(
                kinds,
                (InGeneral::OneSeed { .. }, InGeneral::OneSeed { .. })
                    | (InGeneral::TooFewSeeds { .. }, InGeneral::TooFewSeeds { .. })
                    | (InGeneral::More { .. }, InGeneral::Less { .. })
                    | (InGeneral::Less { .. }, InGeneral::More { .. })
                    | (InGeneral::Same { .. }, InGeneral::Same { .. })
                    | (InGeneral::Inconclusive { .. }, InGeneral::Inconclusive { .. })
            ), "{:?}", kinds);
        }
    }
}
