//! The comparison for people.

use super::footnotes::Footnotes;
use super::row::rows;
use super::table::{Judged, Table};
use super::words::{answer, below, claimed, improvement, interval, legend, repeats, value};
use crate::improvement::Improvement;
use crate::text::{head, interleave, paragraph};
use faultline_report::Style;
use faultline_report::grid::{Grid, Side};

/// The tables as text.
pub(super) fn text(tables: &[(Table, Option<Judged>)], style: &Style) -> String {
    let mut text = String::new();
    for (table, judged) in tables {
        text.push_str(&one(table, judged.as_ref(), style));
        text.push('\n');
    }
    for sentence in legend() {
        text.push_str(&paragraph(sentence, style));
    }
    text
}

fn one(table: &Table, judged: Option<&Judged>, style: &Style) -> String {
    let rows = rows(table, judged);
    let notes = Footnotes::of(&rows);
    let signs = style.signs();
    let mut grid = Grid::new(&[
        ("      ", Side::Left),
        ("before", Side::Right),
        ("after", Side::Right),
        ("n", Side::Right),
        (table.definition.word(), Side::Right),
        ("interval", Side::Left),
        ("answer", Side::Left),
        ("claimed", Side::Left),
    ]);
    for row in &rows {
        let comparison = row.comparison;
        grid.row(vec![
            format!("  {}", comparison.metric.word()),
            value(&comparison.before, &comparison.unit, signs),
            value(&comparison.after, &comparison.unit, signs),
            repeats(comparison),
            improvement(row),
            interval(row, judged, signs),
            answer(row, &notes),
            claimed(comparison),
        ]);
    }
    let shown: Vec<&Improvement> = rows.iter().map(|row| row.comparison).collect();
    let below: String = below(table, judged, &notes).iter().map(|sentence| paragraph(sentence, style)).collect();
    format!("{}{}{below}", head(&table.source, style), interleave(&shown, &grid.lines(), style))
}
