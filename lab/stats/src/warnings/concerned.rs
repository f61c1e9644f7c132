//! The cells that a warning concerns, and the worst of them.

use faultline_record::cell::Cell;

/// A cell and the figure that is the reason for a warning.
#[derive(Debug, Clone)]
pub(super) struct Concerned {
    pub(super) cell: Cell,
    pub(super) figure: f64,
}

/// The cell with the greatest figure, and all the cells; `None` if there is none.
pub(super) fn worst(concerned: Vec<Concerned>) -> Option<(Concerned, Vec<Cell>)> {
    let worst = concerned.iter().max_by(|a, b| a.figure.total_cmp(&b.figure))?.clone();
    Some((worst, concerned.into_iter().map(|concerned| concerned.cell).collect()))
}
