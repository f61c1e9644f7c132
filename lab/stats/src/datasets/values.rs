//! The values of one run: those of its intervals, or one where intervals hold too little.

use crate::gather::{CaseCells, CellRepeats};
use crate::granule::granule;
use crate::repeat::{Repeat, rate};
use crate::thresholds::COARSE_SHARE;
use faultline_model::cell::Cell;
use faultline_model::protocol::Interval;
use std::collections::BTreeSet;

/// Cells whose intervals count so little that a single operation, or batch, would show: their runs have one value each.
///
/// It goes for both sides of a comparison, as a median of intervals and a rate over all of them are not the same figure.
#[derive(Debug, Default)]
pub(crate) struct Coarse(BTreeSet<Cell>);

impl Coarse {
    /// Looks at all the cells.
    pub(crate) fn of<'a>(cases: impl Iterator<Item = &'a CaseCells<'a>>) -> Self {
        let coarse = |case: &CaseCells<'_>| {
            let cells: Vec<Cell> =
                case.cells.iter().filter(|cell| is_coarse(cell)).map(|c| case.cell(c.tasks)).collect();
            cells
        };
        Coarse(cases.flat_map(coarse).collect())
    }

    /// The values of a repeat of `cell`, at least one.
    pub(crate) fn values(&self, cell: &Cell, repeat: &Repeat<'_>) -> Vec<f64> {
        let rates: Vec<f64> = repeat.attempt.window.chunks(1).filter_map(rate).collect();
        if rates.is_empty() || self.0.contains(cell) { vec![repeat.value] } else { rates }
    }
}

/// The rule of coarse counts (docs/METHODOLOGY.md, §9), for each interval on its own.
fn is_coarse(cell: &CellRepeats<'_>) -> bool {
    let fewest = cell.repeats.iter().flat_map(|repeat| &repeat.attempt.window).map(Interval::total).min();
    fewest.is_some_and(|fewest| f64::from(cell.tasks) * granule(cell) as f64 > COARSE_SHARE * fewest as f64)
}
