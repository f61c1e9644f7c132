//! Figures and cells in the words of a warning.

use faultline_model::cell::Cell;

/// A share as a percentage with one decimal: `3.2 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A number of things: `1 cell`, `2 cells`.
pub(super) fn number(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// A cell and the figure that it is concerned by.
#[derive(Debug, Clone)]
pub(super) struct Concerned {
    pub(super) cell: Cell,
    pub(super) figure: f64,
}

/// The cell of the greatest figure, and all the cells; none when there is none.
pub(super) fn worst(concerned: Vec<Concerned>) -> Option<(Concerned, Vec<Cell>)> {
    let worst = concerned.iter().max_by(|a, b| a.figure.total_cmp(&b.figure))?.clone();
    Some((worst, concerned.into_iter().map(|concerned| concerned.cell).collect()))
}
