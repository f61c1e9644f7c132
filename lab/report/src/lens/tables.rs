//! The tables of what moved: top lines, top code.

use crate::figure;
use crate::lens::words;
use crate::style::Style;
use crate::table::{self, Form, Table};
use faultline_model::lens::place::Place;
use faultline_model::lens::summary::LineFigures;

/// Number of places in code that are named for a line.
const MOVERS: usize = 2;

/// Minimum width for a separate column with the code of a line, and for the range of repeats in differences.
const WIDE: usize = 120;

/// The form of these tables that fits.
pub(crate) fn form(style: &Style) -> Form {
    if style.width.is_some_and(|width| width < WIDE) { Form::Narrow } else { Form::Wide }
}

/// Lines, the most transfers first.
pub(crate) fn lines(lines: &[LineFigures], shown: usize) -> Table<&LineFigures> {
    Table::new(line_columns(), lines.iter().take(shown))
}

type LineColumn<'a> = table::Column<&'a LineFigures>;

/// In narrow forms, what a line holds and the code that moves it share one column, which can be wrapped.
fn line_columns<'a>() -> Vec<LineColumn<'a>> {
    const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];
    vec![
        LineColumn::left("data", |line, _| words::data(line)).on(ROOMY),
        LineColumn::right("transfers", |line, _| figure::transfers(line.transfers)),
        LineColumn::right("share", |line, _| figure::percent(line.share)),
        LineColumn::left("sharing", |line, _| words::sharing(line.false_share)),
        LineColumn::right("CPUs", |line, _| line.by_cpu.len().to_string()),
        LineColumn::left("moved by", |line, _| words::movers(line, MOVERS)).on(ROOMY),
        LineColumn::left("data, moved by", |line, _| {
            format!("{}, by {}", words::data(line), words::movers(line, MOVERS))
        })
        .on(&[Form::Narrow]),
    ]
}

/// Code, the most transfers first.
pub(crate) fn code(places: &[Place], shown: usize) -> Table<&Place> {
    Table::new(code_columns(), places.iter().take(shown))
}

type CodeColumn<'a> = table::Column<&'a Place>;

fn code_columns<'a>() -> Vec<CodeColumn<'a>> {
    vec![
        CodeColumn::right("transfers", |place, _| figure::transfers(place.transfers)),
        CodeColumn::right("share", |place, _| figure::percent(place.share)),
        CodeColumn::left("sharing", |place, _| place.false_share.map(words::sharing).unwrap_or_default()),
        CodeColumn::left("code", |place, _| words::place(place)),
    ]
}
