//! Histories: the commits of each series with their results, and its steps.

mod changes;
mod commits;
mod gate;
mod layouts;
pub(crate) mod moved;
pub(crate) mod quirks;
pub(crate) mod words;

pub use changes::history_changes;
pub use commits::history_commits;
pub use gate::{history_gate, history_marked};

use crate::figure::Scale;
use crate::format::Format;
use crate::json::json;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::quantity::Quantity;
use crate::sheet::Sheet;
use crate::style::{Signs, Style, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::commit::short_name;
use faultline_model::estimate::Estimate;
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep, PointResult, StepBasis};
use faultline_model::time::UnixMillis;
use std::ops::Range;
use std::slice::from_ref;

/// Letters of a commit's subject that are shown in a table.
const SUBJECT_LETTERS: usize = 50;

const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];

/// The commits of each series with their results.
pub fn history(all: &[HistorySeries], format: Format, style: &Style) -> String {
    match format {
        Format::Table => sheets(all, style, |series, sheet| {
            sheet.text += &table(series).text(style);
            sentences(series, sheet);
        }),
        Format::Markdown => all.iter().map(|series| markdown(series, &table(series).markdown(&UNICODE))).collect(),
        Format::Json => json(all),
        Format::Csv => {
            Table::new(columns(Quantity::counted(None), true, "commit", true), all.iter().flat_map(rows)).csv()
        }
    }
}

/// Some commits of a series with their results, as a table, by their places among its points. What is said below it is of the whole series.
pub fn history_part(series: &HistorySeries, part: &Range<usize>, style: &Style) -> String {
    sheets(from_ref(series), style, |series, sheet| {
        sheet.text += &table_of(series, rows(series).skip(part.start).take(part.len())).text(style);
        sentences(series, sheet);
    })
}

/// Each series below its title, with an empty line between them. `body`: adds what is below the title.
fn sheets(all: &[HistorySeries], style: &Style, body: impl Fn(&HistorySeries, &mut Sheet<'_>)) -> String {
    let mut sheet = Sheet::new(style);
    for (number, series) in all.iter().enumerate() {
        if number > 0 {
            sheet.line("");
        }
        sheet.titled(&one_line(&series.subject), &words::about(series));
        body(series, &mut sheet);
    }
    sheet.text
}

/// What is said below a table.
fn sentences(series: &HistorySeries, sheet: &mut Sheet<'_>) {
    words::sentences(series, sheet.style.signs()).iter().for_each(|sentence| sheet.paragraph(None, "", sentence));
}

/// A heading, a table, and what is said of it.
fn markdown(series: &HistorySeries, table: &str) -> String {
    let lines: String =
        words::sentences(series, &UNICODE).iter().map(|text| format!("{}  \n", words::plain(text))).collect();
    format!("{}{}\n\n{table}\n{lines}\n", words::plain(&series.subject), words::plain(&words::about(series)))
}

fn table(series: &HistorySeries) -> Table<Row<'_>> {
    table_of(series, rows(series))
}

fn table_of<'a>(series: &'a HistorySeries, rows: impl Iterator<Item = Row<'a>>) -> Table<Row<'a>> {
    Table::new(
        columns(
            Quantity::counted(series.counted),
            series.steps.basis != StepBasis::Exact,
            words::point(series),
            !series.quirks.is_empty(),
        ),
        rows,
    )
}

/// A commit of a series.
type Row<'a> = (&'a HistorySeries, u32, &'a HistoryPoint);

fn rows(series: &HistorySeries) -> impl Iterator<Item = Row<'_>> {
    (0..).zip(&series.points).map(move |(position, point)| (series, position, point))
}

type Column<'a> = table::Column<Row<'a>>;

/// Exact values have no interval.
fn columns<'a>(quantity: Quantity, is_noisy: bool, point: &'static str, has_quirks: bool) -> Vec<Column<'a>> {
    vec![
        Column::csv_only("history", |(series, ..)| series.subject.clone()),
        Column::csv_only("tasks", |(series, ..)| series.tasks.to_string()),
        Column::left(point, |(_, _, point), _| short_name(&point.commit.id).to_owned())
            .csv("commit", |(_, _, point)| point.commit.id.clone()),
        Column::left("date", |(_, _, point), _| moment::day(committed(point)))
            .csv("committed", |(_, _, point)| moment::iso(committed(point))),
        Column::right(quantity.heading(), |(series, _, point), signs| value(series, point, signs))
            .csv("value", |(_, _, point)| table::number(point.value())),
        Column::left("interval", |(series, _, point), signs| interval(series, point, signs)).when(is_noisy),
        Column::csv_only("low", |(_, _, point)| table::number(estimate(point).map(|estimate| estimate.low))),
        Column::csv_only("high", |(_, _, point)| table::number(estimate(point).map(|estimate| estimate.high))),
        Column::csv_only("coverage", |(_, _, point)| table::number(estimate(point).map(|estimate| estimate.coverage))),
        Column::right("n", |(_, _, point), _| repeats(point))
            .when(is_noisy)
            .on(ROOMY)
            .csv("n", |(_, _, point)| repeats(point)),
        Column::csv_only("unit", |(series, ..)| series.unit.clone()),
        Column::csv_only("unusable", |(_, _, point)| words::why(&point.result).to_owned()),
        Column::csv_only("run", |(_, _, point)| point.run.map_or_else(String::new, |run| run.to_string())),
        Column::left("quirks", |(series, position, point), _| quirks::of_point(series, *position, point))
            .when(has_quirks)
            .csv("quirks", |(series, position, point)| quirks::of_point(series, *position, point)),
        Column::left("step", |(series, position, _), signs| {
            series.step_at(*position).map_or_else(String::new, |step| words::step(step, signs))
        })
        .csv("step_ratio", |(series, position, _)| {
            table::number(series.step_at(*position).map(|step| step.to / step.from).filter(|ratio| ratio.is_finite()))
        }),
        Column::left("author", |(_, _, point), _| one_line(&point.commit.author))
            .on(ROOMY)
            .csv("author", |(_, _, point)| one_line(&point.commit.author)),
        Column::left("subject", |(_, _, point), _| cut(&one_line(&point.commit.subject), SUBJECT_LETTERS))
            .csv("subject", |(_, _, point)| one_line(&point.commit.subject)),
    ]
}

fn committed(point: &HistoryPoint) -> UnixMillis {
    UnixMillis(point.commit.committed_s.saturating_mul(1000))
}

fn estimate(point: &HistoryPoint) -> Option<&Estimate> {
    match &point.result {
        PointResult::Measured { estimate, .. } => Some(estimate),
        PointResult::Unusable(_) | PointResult::None => None,
    }
}

fn repeats(point: &HistoryPoint) -> String {
    estimate(point).map_or_else(String::new, |estimate| estimate.n.to_string())
}

/// The value, or why there is none.
fn value(series: &HistorySeries, point: &HistoryPoint, signs: &Signs) -> String {
    match (estimate(point), &point.result) {
        (Some(estimate), _) => words::quantity(series, estimate.median, signs),
        (None, PointResult::None) => signs.none.to_owned(),
        (None, result) => words::why(result).to_owned(),
    }
}

fn interval(series: &HistorySeries, point: &HistoryPoint, signs: &Signs) -> String {
    estimate(point).map_or_else(String::new, |estimate| {
        Scale::of(estimate.median, &series.unit, signs).span(estimate.low, estimate.high, signs)
    })
}

/// Names of the commits before and after a step.
fn ends(series: &HistorySeries, step: &HistoryStep) -> [String; 2] {
    [step.after, step.by]
        .map(|position| series.commit(position).map_or_else(String::new, |commit| short_name(&commit.id).to_owned()))
}

#[cfg(test)]
mod tests;
