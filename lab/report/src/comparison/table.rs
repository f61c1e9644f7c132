//! The rows of a comparison, in as much detail as there is room for.

use super::change::{Change, chance, level};
use super::legend::levels_differ;
use super::words;
use crate::figure;
use crate::grid::{Grid, Side};
use crate::run::words::one_line;
use crate::style::{Signs, Style};
use faultline_model::comparison::{Comparison, CounterDifference, Details};
use faultline_model::workload_comparison::WorkloadComparison;
use textwrap::core::display_width;

/// Counters shown of each workload.
pub(super) const COUNTERS: usize = 5;

/// How much stands in a row, from most to least; the first that fits is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// All of it.
    Wide,
    /// Without the kernel's share of the time, which stands behind the answers in words.
    Medium,
    /// Without what stands above the row, name, unit and n; and with half-widths in place of intervals.
    Narrow,
}

/// The grid with the most detail that fits, and what it has. Its lines are those of the workloads, in their order.
pub(super) fn fitting(compared: &Comparison, style: &Style) -> (Detail, Grid) {
    let room = style.width.unwrap_or(usize::MAX);
    for detail in [Detail::Wide, Detail::Medium] {
        let grid = grid(compared, detail, style.signs());
        if grid.lines().iter().all(|line| display_width(line) <= room) {
            return (detail, grid);
        }
    }
    (Detail::Narrow, grid(compared, Detail::Narrow, style.signs()))
}

/// A column: heading, side, and what stands in it.
type Column<'a> = (&'static str, Side, Box<dyn Fn(&WorkloadComparison, Option<&Details>) -> String + 'a>);

/// A row for each workload. Columns in which nothing would stand are left out.
pub(super) fn grid(compared: &Comparison, detail: Detail, signs: &Signs) -> Grid {
    let columns = columns(compared, detail, signs);
    let headings: Vec<(&str, Side)> = columns.iter().map(|(name, side, _)| (*name, *side)).collect();
    let mut grid = Grid::new(&headings);
    for (comparison, details) in words::rows(compared) {
        grid.row(columns.iter().map(|(_, _, cell)| cell(comparison, details)).collect());
    }
    grid
}

fn columns<'a>(compared: &Comparison, detail: Detail, signs: &'a Signs) -> Vec<Column<'a>> {
    let none = || signs.none.to_owned();
    let narrow = detail == Detail::Narrow;
    let median = |side: usize| -> Column<'a> {
        let cell = move |comparison: &WorkloadComparison, _: Option<&Details>| {
            let unit = if narrow { short_unit(&comparison.unit) } else { &comparison.unit };
            let [a, b] = words::medians(comparison, &one_line(unit), signs);
            if side == 0 { a } else { b }
        };
        (["A", "B"][side], Side::Right, Box::new(cell))
    };
    let change = move |words: fn(&Change, &Signs) -> String| {
        move |comparison: &WorkloadComparison, _: Option<&Details>| {
            Change::of(comparison).map_or_else(none, |change| words(&change, signs))
        }
    };
    let mut columns: Vec<Column<'a>> = Vec::new();
    if !narrow {
        columns.push(("workload", Side::Left, Box::new(|comparison, _| one_line(&comparison.name))));
    }
    if compared.details.iter().any(|details| details.tasks.is_some()) {
        let tasks = move |details: Option<&Details>| details.and_then(|details| details.tasks);
        let cell = move |_: &WorkloadComparison, details: Option<&Details>| {
            tasks(details).map_or_else(none, |n| n.to_string())
        };
        columns.push(("tasks", Side::Right, Box::new(cell)));
    }
    columns.extend([median(0), median(1)]);
    if narrow {
        columns.push(("change", Side::Right, Box::new(change(Change::margin))));
    } else {
        columns.push(("change", Side::Right, Box::new(change(Change::words))));
        columns.push(("interval", Side::Left, Box::new(change(Change::span))));
    }
    if levels_differ(compared) {
        columns.push(("level", Side::Right, Box::new(change(|change, _| level(change.level)))));
    }
    columns.push(("answer", Side::Left, Box::new(|comparison, _| words::answer_word(comparison.answer).to_owned())));
    if !narrow {
        columns.push(("n", Side::Left, Box::new(|comparison, _| words::units(comparison))));
    }
    if detail == Detail::Wide && compared.details.iter().any(|details| words::system(Some(details), signs).is_some()) {
        let system = move |details: Option<&Details>| words::system(details, signs).unwrap_or_else(none);
        columns.push(("system", Side::Right, Box::new(move |_, details| system(details))));
    }
    columns
}

/// What has to stand at a figure of which the unit is told elsewhere: nothing, or the unit where a prefix can't be parted from it.
fn short_unit(unit: &str) -> &str {
    if unit == "s" { unit } else { "" }
}

/// Columns of a counter.
pub(super) const COUNTER_COLUMNS: [(&str, Side); 5] = [
    ("counter", Side::Left),
    ("A per operation", Side::Right),
    ("B per operation", Side::Right),
    ("B/A", Side::Right),
    ("p", Side::Right),
];

/// The counters of a workload that differ, the first few, and how many are left out.
pub(super) fn counters(counters: &[CounterDifference], signs: &Signs) -> (Grid, usize) {
    let mut grid = Grid::new(&COUNTER_COLUMNS);
    for counter in counters.iter().take(COUNTERS) {
        grid.row(counter_row(counter, signs));
    }
    (grid, counters.len().saturating_sub(COUNTERS))
}

/// A counter's cells.
pub(super) fn counter_row(counter: &CounterDifference, signs: &Signs) -> Vec<String> {
    let none = || signs.none.to_owned();
    let number = |value: f64| if value.is_finite() { figure::quantity(value, "", signs) } else { none() };
    vec![
        one_line(&counter.name),
        number(counter.a),
        number(counter.b),
        words::counter_ratio(counter).map_or_else(none, figure::plain),
        chance(counter.p_corrected),
    ]
}
