//! A command that was measured at one number of tasks: a row for its time, CPU times and memory.

use super::{coverage, words};
use crate::escape::one_line;
use crate::figure::Scale;
use crate::quantity::QuantityWords;
use crate::sheet::Sheet;
use crate::style::{Signs, Tone};
use crate::table::{self, Form, ResultTable};
use faultline_stats::command_figures::{CommandFigure, CommandFigures};
use faultline_stats::summary::RunSummary;

/// Name, figures and failures of the command. Without a success there are no figures.
pub(super) fn figures(sheet: &mut Sheet<'_>, summary: &RunSummary, command: &CommandFigures) {
    name(sheet, command);
    if !command.figures.is_empty() {
        sheet.table(&ResultTable::new(columns(), command.figures.iter()));
    }
    for point in summary.curves.iter().flat_map(|curve| &curve.points) {
        if let Some(failures) = words::shortfall(point, sheet.style.signs()) {
            sheet.paragraph(Some(Tone::Bad), "  ", &failures);
        }
    }
}

/// The command itself.
pub(super) fn name(sheet: &mut Sheet<'_>, command: &CommandFigures) {
    sheet.titled(&one_line(&command.command), "");
}

/// The meaning of the columns.
pub(super) fn legend(summary: &RunSummary) -> Vec<String> {
    let mut sentences = vec![
        "median and range (smallest and largest value) over n executions; peak memory: of the largest process."
            .to_owned(),
    ];
    sentences.extend(coverage(summary));
    sentences
}

/// The interval of the median. A single value has none.
fn interval(row: &CommandFigure, scale: Scale<'_>, signs: &Signs) -> String {
    match row.estimate.n {
        1 => signs.none.to_owned(),
        _ => scale.span(row.estimate.low, row.estimate.high, signs),
    }
}

type Column<'a> = table::Column<&'a CommandFigure>;

fn columns<'a>() -> Vec<Column<'a>> {
    let scaled = |words: fn(&CommandFigure, Scale<'_>, &Signs) -> String| {
        move |row: &&CommandFigure, signs: &Signs| words(row, Scale::of(row.estimate.median, &row.unit, signs), signs)
    };
    vec![
        Column::left("figure", |row, _| row.quantity.heading().to_owned()).indented(2),
        Column::right("median", scaled(|row, scale, _| scale.quantity(row.estimate.median))),
        Column::left("interval", scaled(interval)).on(Form::ALL_BUT_NARROW),
        Column::left("range", scaled(|row, scale, signs| scale.span(row.smallest, row.largest, signs))),
        Column::right("n", |row, _| row.estimate.n.to_string()),
    ]
}
