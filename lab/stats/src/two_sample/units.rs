//! Selects the level of the structure whose values are independent, and these values.

use super::samples::{Boot, Samples};
use crate::median::median;
use crate::workload_comparison::Unit;
use std::collections::{BTreeMap, BTreeSet};

/// The independent values of both sides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Units {
    /// The level.
    pub(crate) unit: Unit,
    /// First side.
    pub(crate) a: Vec<Placed>,
    /// Second side.
    pub(crate) b: Vec<Placed>,
    /// Pairing of the units.
    pub(crate) pairing: Pairing,
    /// Facts about the boots.
    pub(crate) boots: Boots,
    /// Blocks left out of the pairs, because their two runs belong to different boots.
    pub(crate) split: Vec<u32>,
}

/// Pairing of units by blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// Values at the same index of both lists belong to one block.
    Pairs,
    /// Every run belongs to a block, but no block gives a pair.
    NoPair,
    /// The sides were not measured in blocks.
    Unblocked,
}

/// A value, and its place in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Placed {
    pub(crate) value: f64,
    pub(crate) order: Option<u64>,
    block: Option<u32>,
}

/// The boots of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boots {
    /// Several on each side.
    Several,
    /// Both sides share one boot.
    Shared,
    /// Several boots, each with whole blocks.
    Blocks,
    /// The boots of a side are not known.
    Unknown,
    /// One side has a single boot that the other does not share, so the effects of boot and side
    /// cannot be separated.
    Confounded,
}

/// The independent units. Boots are the units if both sides have several of their own; otherwise
/// runs are, for example within shared boots. The unit is a summary if both sides have nothing
/// else. With blocks, only blocks with a value of each side are kept; and if boots contain whole
/// blocks, only whole blocks.
pub(crate) fn units(a: &Samples, b: &Samples) -> Units {
    let (boots, split) = boots(a, b);
    let (unit, of): (_, fn(&Samples) -> Vec<Placed>) = match boots {
        Boots::Several => (Unit::Boot, by_boot),
        _ if a.are_summaries && b.are_summaries => (Unit::Summary, by_run),
        _ => (Unit::Run, by_run),
    };
    let blocked = a.runs().chain(b.runs()).all(|run| run.block.is_some());
    let (a, b) = (of(a), of(b));
    match in_blocks(&a, &b, &split) {
        Some((a, b)) => Units { unit, a, b, pairing: Pairing::Pairs, boots, split },
        None if blocked => Units { unit, a, b, pairing: Pairing::NoPair, boots, split },
        None => Units { unit, a, b, pairing: Pairing::Unblocked, boots, split },
    }
}

/// Facts about the boots, and the blocks split between boots although other blocks are not.
fn boots(a: &Samples, b: &Samples) -> (Boots, Vec<u32>) {
    let (Some(ids_a), Some(ids_b)) = (ids(a), ids(b)) else { return (Boots::Unknown, Vec::new()) };
    let blocks = boots_of_blocks(a, b);
    let whole: BTreeSet<&str> = blocks.values().filter(|[a, b]| a == b).map(|[a, _]| *a).collect();
    if !whole.is_empty() {
        let split = blocks.iter().filter(|(_, [a, b])| a != b).map(|(block, _)| *block).collect();
        return (if whole.len() > 1 { Boots::Blocks } else { Boots::Shared }, split);
    }
    let boots = match (ids_a.len() > 1, ids_b.len() > 1) {
        (true, true) => Boots::Several,
        _ if ids_a == ids_b => Boots::Shared,
        _ => Boots::Confounded,
    };
    (boots, Vec::new())
}

/// The boots' names; `None` if one is missing.
fn ids(side: &Samples) -> Option<BTreeSet<&str>> {
    side.boots.iter().map(|boot| boot.id.as_deref()).collect()
}

/// The boots of both sides' runs in each block that has both.
fn boots_of_blocks<'a>(a: &'a Samples, b: &'a Samples) -> BTreeMap<u32, [&'a str; 2]> {
    let [a, b] = [a, b].map(|side| -> BTreeMap<u32, &str> {
        let runs = side.boots.iter().flat_map(|boot| boot.runs.iter().map(|run| (run.block, boot.id.as_deref())));
        runs.filter_map(|(block, id)| block.zip(id)).collect()
    });
    a.into_iter().filter_map(|(block, id)| Some((block, [id, *b.get(&block)?]))).collect()
}

/// The units of blocks that have one on each side, in the order of the blocks, without those that
/// are `split`. `None` if a unit belongs to no block, if a block has several of a side, or if none
/// has both.
fn in_blocks(a: &[Placed], b: &[Placed], split: &[u32]) -> Option<(Vec<Placed>, Vec<Placed>)> {
    let by_block = |side: &[Placed]| -> Option<BTreeMap<u32, Placed>> {
        let blocks: BTreeMap<u32, Placed> =
            side.iter().map(|unit| Some((unit.block?, *unit))).collect::<Option<_>>()?;
        (blocks.len() == side.len()).then_some(blocks)
    };
    let (mut a, b) = (by_block(a)?, by_block(b)?);
    a.retain(|block, _| !split.contains(block));
    let pairs: (Vec<Placed>, Vec<Placed>) =
        a.iter().filter_map(|(block, first)| Some((*first, *b.get(block)?))).unzip();
    (!pairs.0.is_empty()).then_some(pairs)
}

/// One value per boot: the median of its runs' values. Parts of a boot that are listed separately
/// count as one boot.
fn by_boot(side: &Samples) -> Vec<Placed> {
    let names: BTreeSet<Option<&str>> = side.boots.iter().map(|boot| boot.id.as_deref()).collect();
    let of = |name: &Option<&str>| {
        let parts: Vec<&Boot> = side.boots.iter().filter(|boot| boot.id.as_deref() == *name).collect();
        let runs: Vec<Placed> = parts.iter().flat_map(|boot| boot.runs.iter().map(placed)).collect();
        let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
        let block = runs.first().and_then(|first| first.block);
        Placed {
            value: median(&values).expect("checked: a run has a value"),
            order: runs.iter().filter_map(|run| run.order).min(),
            block: block.filter(|_| runs.iter().all(|run| run.block == block)),
        }
    };
    names.iter().map(of).collect()
}

fn by_run(side: &Samples) -> Vec<Placed> {
    side.runs().map(placed).collect()
}

fn placed(run: &super::samples::Run) -> Placed {
    Placed { value: median(&run.intervals).expect("checked: a run has a value"), order: run.order, block: run.block }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Run;
    use super::*;

    fn side(boots: &[(Option<&str>, &[&[f64]])]) -> Samples {
        let boot = |(id, runs): &(Option<&str>, &[&[f64]])| Boot {
            id: id.map(str::to_owned),
            runs: runs.iter().map(|run| Run { order: None, block: None, intervals: run.to_vec() }).collect(),
        };
        Samples { boots: boots.iter().map(boot).collect(), ..Samples::default() }
    }

    fn values(placed: &[Placed]) -> Vec<f64> {
        placed.iter().map(|one| one.value).collect()
    }

    #[test]
    fn of_several_boots_each_gives_one_value() {
        let a = side(&[(Some("1"), &[&[1.0, 2.0, 9.0], &[4.0]]), (Some("2"), &[&[5.0]])]);
        let b = side(&[(Some("3"), &[&[1.0]]), (Some("4"), &[&[2.0]]), (Some("3"), &[&[5.0]])]);
        let units = units(&a, &b);
        assert_eq!((units.unit, units.boots), (Unit::Boot, Boots::Several));
        assert_eq!((values(&units.a), values(&units.b)), (vec![3.0, 5.0], vec![3.0, 2.0]));
    }

    #[test]
    fn in_one_boot_runs_are_the_units() {
        let a = side(&[(Some("1"), &[&[1.0, 2.0, 9.0], &[4.0]])]);
        let found = units(&a, &a);
        assert_eq!((found.unit, found.boots, values(&found.a)), (Unit::Run, Boots::Shared, vec![2.0, 4.0]));
        assert_eq!(units(&a, &side(&[(Some("2"), &[&[1.0]])])).boots, Boots::Confounded);
        assert_eq!(units(&a, &side(&[(None, &[&[1.0]])])).boots, Boots::Unknown);
    }

    /// One run for each block, with the given boot.
    fn blocked(blocks: &[(u32, &str, f64)]) -> Samples {
        let boot = |&(block, id, value): &(u32, &str, f64)| Boot {
            id: Some(id.to_owned()),
            runs: vec![Run { order: None, block: Some(block), intervals: vec![value] }],
        };
        Samples { boots: blocks.iter().map(boot).collect(), ..Samples::default() }
    }

    #[test]
    fn blocks_pair_the_units_and_those_of_one_side_are_left_out() {
        let a = blocked(&[(2, "x", 3.0), (0, "x", 1.0), (1, "x", 2.0)]);
        let b = blocked(&[(0, "x", 10.0), (2, "x", 30.0), (3, "x", 40.0)]);
        let found = units(&a, &b);
        assert_eq!((found.pairing, found.boots, found.unit), (Pairing::Pairs, Boots::Shared, Unit::Run));
        assert_eq!((values(&found.a), values(&found.b)), (vec![1.0, 3.0], vec![10.0, 30.0]));
        let twice = blocked(&[(0, "x", 1.0), (0, "x", 2.0)]);
        assert_eq!(units(&twice, &b).pairing, Pairing::NoPair);
        assert_eq!(units(&a, &side(&[(Some("x"), &[&[1.0]])])).pairing, Pairing::Unblocked);
        assert_eq!(units(&a, &blocked(&[(7, "x", 1.0)])).pairing, Pairing::NoPair, "no block has both");
    }

    #[test]
    fn a_boot_for_each_run_pairs_boots_and_boots_of_whole_blocks_pair_runs() {
        let own = units(&blocked(&[(0, "p", 1.0), (1, "q", 2.0)]), &blocked(&[(1, "r", 4.0), (0, "s", 3.0)]));
        assert_eq!((own.unit, own.boots, own.pairing), (Unit::Boot, Boots::Several, Pairing::Pairs));
        assert_eq!((values(&own.a), values(&own.b)), (vec![1.0, 2.0], vec![3.0, 4.0]));
        let whole = units(&blocked(&[(0, "p", 1.0), (1, "q", 2.0)]), &blocked(&[(0, "p", 3.0), (1, "q", 4.0)]));
        assert_eq!((whole.unit, whole.boots, whole.pairing), (Unit::Run, Boots::Blocks, Pairing::Pairs));
    }

    #[test]
    fn a_block_that_a_reboot_cut_in_two_is_left_out_and_the_others_stay_pairs() {
        let a = blocked(&[(0, "p", 1.0), (1, "p", 2.0), (2, "q", 3.0)]);
        let found = units(&a, &blocked(&[(0, "p", 10.0), (1, "q", 20.0), (2, "q", 30.0)]));
        assert_eq!((found.unit, found.boots, found.pairing), (Unit::Run, Boots::Blocks, Pairing::Pairs));
        assert_eq!((values(&found.a), values(&found.b), found.split), (vec![1.0, 3.0], vec![10.0, 30.0], vec![1]));
        let last = units(&blocked(&[(0, "p", 1.0), (1, "p", 2.0)]), &blocked(&[(0, "p", 10.0), (1, "q", 20.0)]));
        assert_eq!((last.boots, last.split), (Boots::Shared, vec![1]), "what is left is of one boot");
    }
}
