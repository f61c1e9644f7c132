//! The comparison as pipe tables, one per source.

use super::footnotes::Footnotes;
use super::row::rows;
use super::table::{Judged, Table};
use super::words::{answer, below, claimed, improvement, interval, legend, repeats, value};
use crate::markdown::{head, with_remark};
use faultline_report::grid::{Grid, Side, escape_markdown};
use faultline_report::style::UNICODE;

/// The tables as Markdown.
pub(super) fn markdown(tables: &[(Table, Option<Judged>)]) -> String {
    let tables: String = tables.iter().map(|(table, judged)| one(table, judged.as_ref())).collect();
    format!("{tables}{}\n", lines(legend().map(str::to_owned)))
}

fn one(table: &Table, judged: Option<&Judged>) -> String {
    let rows = rows(table, judged);
    let notes = Footnotes::of(&rows);
    let mut grid = Grid::new(&[
        ("test", Side::Left),
        ("machine", Side::Left),
        ("load", Side::Left),
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
            comparison.subject.test.clone(),
            comparison.subject.machine.clone(),
            comparison.subject.load_and_note(),
            value(&comparison.before, &comparison.unit, &UNICODE),
            value(&comparison.after, &comparison.unit, &UNICODE),
            repeats(comparison),
            improvement(row),
            interval(row, judged, &UNICODE),
            answer(row, &notes),
            with_remark(claimed(comparison), comparison),
        ]);
    }
    format!("{}{}\n{}\n\n", head(&table.source), grid.markdown(), lines(below(table, judged, &notes)))
}

/// Sentences on lines of their own.
fn lines(sentences: impl IntoIterator<Item = String>) -> String {
    sentences.into_iter().map(|sentence| escape_markdown(&sentence)).collect::<Vec<_>>().join("  \n")
}
