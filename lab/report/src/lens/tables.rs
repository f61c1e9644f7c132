//! The tables of a lens run as grids: points, top lines, top code.

use crate::figure;
use crate::grid::{Grid, Side};
use crate::lens::words;
use crate::style::{Signs, Style};
use faultline_model::lens::summary::{LensCurve, LensPoint, LineFigures, Place};

/// Code that is named beside a line.
const MOVERS: usize = 2;

/// Headings of the points' grid. `interval`: with intervals and false sharing.
pub(crate) fn point_columns(interval: bool) -> Vec<(&'static str, Side)> {
    let mut columns = vec![("   CPUs", Side::Right), ("transfers", Side::Right)];
    if interval {
        columns.extend([("interval", Side::Left), ("false sharing", Side::Right)]);
    }
    columns.extend([
        ("instructions", Side::Right),
        ("predicted", Side::Right),
        ("speed-up", Side::Right),
        ("n", Side::Right),
    ]);
    columns
}

/// A point's cells under [`point_columns`]; without a figure they are empty.
pub(crate) fn point_row(curve: &LensCurve, point: &LensPoint, interval: bool, signs: &Signs) -> Vec<String> {
    let none = || signs.none.to_owned();
    let mut row = vec![point.cpus.to_string()];
    let Some(transfers) = point.transfers else {
        row.resize(point_columns(interval).len(), String::new());
        return row;
    };
    row.push(words::transfers(transfers.median));
    if interval {
        let ends = [transfers.low, transfers.high].map(words::transfers);
        row.push(if transfers.n > 1 { ends.join(&format!(" {} ", signs.to)) } else { none() });
        row.push(point.false_share.map_or_else(none, figure::percent));
    }
    let rate = format!("{}/s", curve.operation);
    row.push(point.instructions.map_or_else(none, |instructions| figure::quantity(instructions.median, "", signs)));
    row.push(point.rate.map_or_else(none, |value| figure::quantity(value.median, &rate, signs)));
    row.push(point.speedup.map_or_else(none, figure::plain));
    row.push(transfers.n.to_string());
    row
}

/// Lines, the most transfers first.
pub(crate) fn lines(lines: &[LineFigures], shown: usize) -> Grid {
    let mut grid = Grid::new(&[
        ("data", Side::Left),
        ("transfers", Side::Right),
        ("share", Side::Right),
        ("sharing", Side::Left),
        ("CPUs", Side::Right),
        ("moved by", Side::Left),
    ]);
    for line in lines.iter().take(shown) {
        grid.row(vec![
            words::data(line),
            words::transfers(line.transfers),
            figure::percent(line.share),
            words::sharing(line.false_share),
            line.by_cpu.len().to_string(),
            words::movers(line, MOVERS),
        ]);
    }
    grid
}

/// Width from which on the code of a line has a column of its own, and differences tell what repeats span.
const WIDE: usize = 120;

/// Whether there is no room for that.
pub(crate) fn is_narrow(style: &Style) -> bool {
    style.width.is_some_and(|width| width < WIDE)
}

/// The form of the table of lines that fits.
pub(crate) fn lines_for(style: &Style) -> fn(&[LineFigures], usize) -> Grid {
    if is_narrow(style) { narrow_lines } else { lines }
}

/// [`lines`] for narrow places: what a line holds and the code that moves it in one column, which can be wrapped.
fn narrow_lines(lines: &[LineFigures], shown: usize) -> Grid {
    let mut grid = Grid::new(&[
        ("transfers", Side::Right),
        ("share", Side::Right),
        ("sharing", Side::Left),
        ("CPUs", Side::Right),
        ("data, moved by", Side::Left),
    ]);
    for line in lines.iter().take(shown) {
        grid.row(vec![
            words::transfers(line.transfers),
            figure::percent(line.share),
            words::sharing(line.false_share),
            line.by_cpu.len().to_string(),
            format!("{}, by {}", words::data(line), words::movers(line, MOVERS)),
        ]);
    }
    grid
}

/// Code, the most transfers first.
pub(crate) fn code(places: &[Place], shown: usize) -> Grid {
    let mut grid =
        Grid::new(&[("transfers", Side::Right), ("share", Side::Right), ("sharing", Side::Left), ("code", Side::Left)]);
    for place in places.iter().take(shown) {
        grid.row(vec![
            words::transfers(place.transfers),
            figure::percent(place.share),
            place.false_share.map(words::sharing).unwrap_or_default(),
            words::place(place),
        ]);
    }
    grid
}
