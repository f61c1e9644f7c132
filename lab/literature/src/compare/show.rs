//! The comparison in the four formats.

use super::markdown::markdown;
use super::ranges::{Range, ranges};
use super::records::records;
use super::row::{Row, rows};
use super::table::{Judged, Table};
use super::text::text;
use crate::sources::Source;
use faultline_report::Format;
use faultline_report::Style;
use faultline_report::json::json;
use serde::Serialize;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-published-comparison/1";

#[derive(Serialize)]
struct Comparison<'a> {
    format: &'static str,
    tables: Vec<ComparedTable<'a>>,
}

#[derive(Serialize)]
struct ComparedTable<'a> {
    #[serde(flatten)]
    source: &'a Source,
    /// Chance with which none of the table's tests is falsely said to differ. None where nothing could be tested.
    level_ratio: Option<f64>,
    /// Number of tests that the answers are corrected for.
    tests: usize,
    ranges: Vec<Range>,
    rows: Vec<Row<'a>>,
}

/// The literature's comparisons with intervals and answers. Beside each table stands what a test made of its [`Table::pairs`]: None if it has none.
pub fn compared(tables: &[(Table, Option<Judged>)], format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(tables, style),
        Format::Markdown => markdown(tables),
        Format::Csv => records(tables),
        Format::Json => json(&Comparison {
            format: FORMAT,
            tables: tables.iter().map(|(table, judged)| data(table, judged)).collect(),
        }),
    }
}

fn data<'a>(table: &'a Table, judged: &Option<Judged>) -> ComparedTable<'a> {
    let suite = judged.as_ref().map(|judged| &judged.suite);
    ComparedTable {
        source: &table.source,
        level_ratio: suite.map(|suite| suite.level),
        tests: suite.map_or(0, |suite| suite.workloads.len()),
        ranges: ranges(table),
        rows: rows(table, judged.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::judged;
    use super::super::table::tables;
    use super::*;

    #[test]
    fn lines_fit_where_they_can() {
        let style = Style { width: Some(120), colour: false, unicode: false };
        let tables: Vec<_> = tables(None)
            .unwrap()
            .into_iter()
            .map(|table| {
                let judged = (!table.pairs().is_empty()).then(|| judged(&table));
                (table, judged)
            })
            .collect();
        let shown = compared(&tables, Format::Table, &style);
        assert!(shown.is_ascii());
        for line in shown.lines() {
            assert!(line.len() <= 120, "{}: {line}", line.len());
        }
    }
}
