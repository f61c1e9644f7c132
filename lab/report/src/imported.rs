//! The list of what was taken in from other tools.

use crate::format::Format;
use crate::grid::{Grid, Side, csv};
use crate::moment;
use crate::style::Style;
use faultline_model::imported::ImportedLine;

/// The list of imports. JSON is the lines as they are.
pub fn imported(lines: &[ImportedLine], format: Format, style: &Style) -> String {
    match format {
        Format::Table if lines.is_empty() => "nothing was taken in yet\n".to_owned(),
        Format::Table => grid(lines).text(style),
        Format::Markdown => grid(lines).markdown(),
        Format::Json => crate::run::json(lines),
        Format::Csv => csv(["name", "format", "imported_utc", "benchmarks", "runs"], lines.iter().map(record)),
    }
}

fn grid(lines: &[ImportedLine]) -> Grid {
    let mut grid = Grid::new(&[
        ("name", Side::Left),
        ("format", Side::Left),
        ("taken in", Side::Left),
        ("benchmarks", Side::Right),
        ("runs", Side::Right),
    ]);
    for line in lines {
        let mut row = record(line);
        row[2] = moment::words(line.imported);
        grid.row(row.into());
    }
    grid
}

fn record(line: &ImportedLine) -> [String; 5] {
    [
        line.name.clone(),
        line.source.clone(),
        moment::iso(line.imported),
        line.series.to_string(),
        line.points.to_string(),
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
        assert_eq!(imported(&[], Format::Table, &Style::PLAIN), "nothing was taken in yet\n");
    }
}
