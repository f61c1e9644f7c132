//! Speed-up relative to the base, from pairs of repeats in the same block.
//!
//! Repeats of one block run close to each other in time, so slow changes of the machine affect both
//! and cancel in their ratio.

use crate::estimate::{Estimate, estimate, scaled};
use crate::gather::CellRepeats;
use faultline_record::direction::Direction;
use std::collections::BTreeMap;

/// The base of the speed-up: the cell with the fewest tasks that has a non-zero value.
pub(crate) fn base<'c, 'a>(cells: &'c [CellRepeats<'a>]) -> Option<&'c CellRepeats<'a>> {
    cells.iter().find(|cell| cell.repeats.iter().any(|repeat| repeat.value > 0.0))
}

/// Speed-up of `cell` relative to `base`, estimated from the ratios of the blocks in which both
/// have a value. `None` without such a block.
///
/// At the base it is exactly 1, with an interval of width 0 and full coverage.
pub(crate) fn speedup(direction: Direction, base: &CellRepeats<'_>, cell: &CellRepeats<'_>) -> Option<Estimate> {
    let ratios = ratios(direction, base, cell);
    if cell.tasks == base.tasks {
        return Some(Estimate { median: 1.0, low: 1.0, high: 1.0, coverage: 1.0, n: ratios.len() as u32 });
    }
    estimate(&ratios.into_values().collect::<Vec<_>>())
}

/// Speed-up per added task; 1 is ideal. `None` if it is not a finite number.
pub(crate) fn efficiency(base: &CellRepeats<'_>, cell: &CellRepeats<'_>, speedup: &Estimate) -> Option<Estimate> {
    if cell.tasks == base.tasks {
        return Some(*speedup);
    }
    scaled(speedup, f64::from(base.tasks) / f64::from(cell.tasks))
}

/// Ratio of the value to the base's in each block, above 1 if better.
pub(crate) fn ratios(direction: Direction, base: &CellRepeats<'_>, cell: &CellRepeats<'_>) -> BTreeMap<u32, f64> {
    let bases: BTreeMap<u32, f64> = base.repeats.iter().map(|repeat| (repeat.block, repeat.value)).collect();
    let ratio = |block: u32, value: f64| {
        let base = *bases.get(&block)?;
        let (above, below) = match direction {
            Direction::Higher => (value, base),
            Direction::Lower => (base, value),
        };
        (below > 0.0 && above >= 0.0).then(|| above / below).filter(|ratio| ratio.is_finite())
    };
    cell.repeats.iter().filter_map(|repeat| Some((repeat.block, ratio(repeat.block, repeat.value)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::repeat::Repeat;

    fn cell<'a>(attempt: &'a faultline_record::record::Attempt, tasks: u32, values: &[(u32, f64)]) -> CellRepeats<'a> {
        let repeats = values.iter().map(|&(block, value)| Repeat { block, attempt, value, operations: 1 }).collect();
        CellRepeats { tasks, repeats, failures: Vec::new() }
    }

    #[test]
    fn drift_over_the_blocks_drops_out() {
        let attempt = example::attempt(1, 1);
        let base = cell(&attempt, 1, &[(0, 100.0), (1, 50.0), (2, 10.0)]);
        let two = cell(&attempt, 2, &[(0, 150.0), (1, 75.0), (2, 15.0)]);
        let speedup = speedup(Direction::Higher, &base, &two).unwrap();
        assert_eq!((speedup.median, speedup.low, speedup.high, speedup.n), (1.5, 1.5, 1.5, 3));
        assert_eq!(efficiency(&base, &two, &speedup).unwrap().median, 0.75);
    }

    #[test]
    fn of_a_time_the_smaller_is_the_faster() {
        let attempt = example::attempt(1, 1);
        let base = cell(&attempt, 2, &[(0, 30.0)]);
        let four = cell(&attempt, 4, &[(0, 15.0)]);
        let speedup = speedup(Direction::Lower, &base, &four).unwrap();
        assert_eq!(speedup.median, 2.0);
        assert_eq!(efficiency(&base, &four, &speedup).unwrap().median, 1.0);
    }

    #[test]
    fn blocks_without_a_pair_are_left_out_and_the_base_is_one() {
        let attempt = example::attempt(1, 1);
        let base = cell(&attempt, 1, &[(0, 100.0), (2, 0.0)]);
        let two = cell(&attempt, 2, &[(1, 150.0), (2, 15.0)]);
        assert_eq!(speedup(Direction::Higher, &base, &two), None);
        let own = speedup(Direction::Higher, &base, &base).unwrap();
        assert_eq!((own.median, own.low, own.high, own.coverage, own.n), (1.0, 1.0, 1.0, 1.0, 1));
    }

    #[test]
    fn the_base_has_something_to_divide_by() {
        let attempt = example::attempt(1, 1);
        let cells = [cell(&attempt, 1, &[]), cell(&attempt, 2, &[(0, 0.0)]), cell(&attempt, 4, &[(0, 1.0)])];
        assert_eq!(super::base(&cells).map(|cell| cell.tasks), Some(4));
        assert!(super::base(&cells[..2]).is_none());
    }
}
