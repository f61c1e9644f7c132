//! The list of what was imported from other tools.

use crate::format::Format;
use crate::json::json;
use crate::moment;
use crate::style::Style;
use crate::table::{self, Table};
use faultline_model::imported::ImportedLine;

/// The list of imports. JSON is the lines as they are.
pub fn imported(lines: &[ImportedLine], format: Format, style: &Style) -> String {
    let table = Table::new(columns(), lines);
    match format {
        Format::Table if lines.is_empty() => "nothing imported yet\n".to_owned(),
        Format::Table => table.text(style),
        Format::Markdown => table.markdown(style.signs()),
        Format::Json => json(lines),
        Format::Csv => table.csv(),
    }
}

type Column<'a> = table::Column<&'a ImportedLine>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("name", |line, _| line.name.clone()).csv("name", |line| line.name.clone()),
        Column::left("format", |line, _| line.source.clone()).csv("format", |line| line.source.clone()),
        Column::right("imported", |line, _| moment::words(line.imported))
            .csv("imported_utc", |line| moment::iso(line.imported)),
        Column::right("benchmarks", |line, _| line.series.to_string())
            .csv("benchmarks", |line| line.series.to_string()),
        Column::right("runs", |line, _| line.points.to_string()).csv("runs", |line| line.points.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::time::UnixMillis;

    #[test]
    fn a_line_says_what_it_is_and_how_much() {
        let line = ImportedLine {
            name: "nightly".to_owned(),
            source: "asv".to_owned(),
            imported: UnixMillis(1_560_531_834_000),
            series: 3,
            points: 40,
        };
        let csv = imported(&[line], Format::Csv, &Style::PLAIN);
        assert_eq!(csv, "name,format,imported_utc,benchmarks,runs\nnightly,asv,2019-06-14T17:03:54.000Z,3,40\n");
        assert_eq!(imported(&[], Format::Table, &Style::PLAIN), "nothing imported yet\n");
    }
}
