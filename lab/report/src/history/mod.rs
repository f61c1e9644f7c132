//! Histories: commits with their results, in text, Markdown, CSV, JSON and on pages; and the plan
//! of a run.

pub(crate) mod causes;
mod changes;
pub(crate) mod words;

pub use changes::history_changes;
pub(crate) use changes::page_table as changes_table;
pub use words::{history_gate, history_marked};

use crate::escape::{cut, one_line};
use crate::figure;
use crate::figure::Scale;
use crate::format::Format;
use crate::page::delivery::{Site, pinned};
use crate::page::element;
use crate::quantity::QuantityWords;
use crate::sheet::{Sheet, in_format};
use crate::style::{Signs, Style};
use crate::table::{self, Attributes, Form, ResultTable};
use faultline_record::commit::short_name;
use faultline_record::quantity::Quantity;
use faultline_record::time::UnixMillis;
use faultline_stats::estimate::Estimate;
use faultline_stats::history::PlannedCommit;
use faultline_stats::history::{HistoryPoint, HistorySeries, HistoryStep, PointResult, StepBasis};
use maud::html as markup;
use std::ops::Range;
use std::slice::from_ref;

/// Letters of a commit's subject in a table.
const SUBJECT_LETTERS: usize = 50;

/// The commits of each series with their results.
pub fn history(all: &[HistorySeries], format: Format, style: &Style) -> String {
    let body = |series: &HistorySeries, sheet: &mut Sheet<'_>| {
        sheet.table(&table(series));
        sentences(series, sheet);
    };
    let csv = || ResultTable::new(columns(Quantity::Time, true, "commit", true), all.iter().flat_map(rows)).csv();
    in_format(format, style, |sheet| series_by_series(all, sheet, body), || all, csv)
}

/// A part of a series' commits as text, by their places among its points. The sentences concern the
/// whole series.
pub fn history_part(series: &HistorySeries, part: &Range<usize>, style: &Style) -> String {
    series_by_series(from_ref(series), Sheet::new(style), |series, sheet| {
        sheet.table(&table_of(series, rows(series).skip(part.start).take(part.len())));
        sentences(series, sheet);
    })
}

/// Each series below its title. `body`: adds the content below the title.
fn series_by_series(
    all: &[HistorySeries],
    mut sheet: Sheet<'_>,
    body: impl Fn(&HistorySeries, &mut Sheet<'_>),
) -> String {
    for series in all {
        sheet.space();
        sheet.titled(&one_line(&series.subject), &words::about(series));
        body(series, &mut sheet);
    }
    sheet.text
}

/// The sentences below a table.
fn sentences(series: &HistorySeries, sheet: &mut Sheet<'_>) {
    words::sentences(series, sheet.style.signs()).iter().for_each(|sentence| sheet.paragraph(None, "", sentence));
}

fn table(series: &HistorySeries) -> ResultTable<Row<'_>> {
    table_of(series, rows(series))
}

fn table_of<'a>(series: &'a HistorySeries, rows: impl Iterator<Item = Row<'a>>) -> ResultTable<Row<'a>> {
    ResultTable::new(
        columns(
            series.quantity,
            series.steps.basis != StepBasis::Exact,
            words::point(series),
            !series.quirks.is_empty(),
        ),
        rows,
    )
}

/// A commit of a series. The site is known on a page.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    series: &'a HistorySeries,
    position: u32,
    point: &'a HistoryPoint,
    site: Option<&'a Site>,
}

fn rows(series: &HistorySeries) -> impl Iterator<Item = Row<'_>> {
    (0..).zip(&series.points).map(move |(position, point)| Row { series, position, point, site: None })
}

/// The table of the commits at these positions, on the page of a history. The script replaces its
/// rows.
pub(crate) fn page_table<'a>(
    series: &'a HistorySeries,
    positions: impl Iterator<Item = u32>,
    site: &'a Site,
) -> ResultTable<Row<'a>> {
    let point = |position: u32| series.points.get(position as usize);
    let rows =
        positions.filter_map(|position| Some(Row { series, position, point: point(position)?, site: Some(site) }));
    ResultTable::new(columns(Quantity::Time, true, "commit", false), rows)
        .row_attributes(|row| Attributes::default().with("data-position", row.position))
}

type Column<'a> = table::Column<Row<'a>>;

/// Exact values have no interval.
fn columns<'a>(quantity: Quantity, is_noisy: bool, point: &'static str, has_quirks: bool) -> Vec<Column<'a>> {
    vec![
        Column::csv_only("history", |row| row.series.subject.clone()),
        Column::csv_only("tasks", |row| row.series.tasks.to_string()),
        Column::left(point, |row, _| short_name(&row.point.commit.id).to_owned())
            .csv("commit", |row| row.point.commit.id.clone())
            .row_heading()
            .html(|row| element::commit(&pinned("", &row.point.commit.id), &row.point.commit.id)),
        Column::left("date", |row, _| element::day(&row.point.commit))
            .csv("committed", |row| figure::iso_time(committed(row.point))),
        Column::right(quantity.heading(), |row, signs| value(row.series, row.point, signs))
            .number("value", |row| row.point.value()),
        Column::left("interval", |row, signs| interval(row.series, row.point, signs)).when(is_noisy).html(|row| {
            let series = row.series;
            element::interval(estimate(row.point).copied().filter(|_| !series.quantity.is_counted()), &series.unit)
        }),
        Column::csv_option("low", |row| estimate(row.point).map(|estimate| estimate.low)),
        Column::csv_option("high", |row| estimate(row.point).map(|estimate| estimate.high)),
        Column::csv_option("coverage", |row| estimate(row.point).map(|estimate| estimate.coverage)),
        Column::right("n", |row, _| repeats(row.point))
            .when(is_noisy)
            .on(Form::ROOMY)
            .csv_as_shown("n")
            .exact(|row| estimate(row.point).map(|estimate| estimate.n.into())),
        Column::csv_only("unit", |row| row.series.unit.clone()),
        Column::csv_only("unusable", |row| words::why(&row.point.result).to_owned()),
        Column::page_right("run", |row: &Row<'_>| match (row.point.run, row.site) {
            (Some(run), Some(site)) => markup! { a href=(site.run(run)) { (run) } },
            _ => element::none(),
        })
        .csv("run", |row| row.point.run.map_or_else(String::new, |run| run.to_string())),
        Column::left("quirks", |row, _| causes::of_point(row.series, row.position, row.point))
            .on(TEXT)
            .when(has_quirks)
            .csv_as_shown("quirks"),
        Column::left("step", |row, signs| {
            row.series.step_at(row.position).map_or_else(String::new, |step| words::step(step, signs))
        })
        .on(TEXT)
        .csv("step_ratio", |row| {
            let step = row.series.step_at(row.position);
            table::number(step.map(|step| step.to / step.from).filter(|ratio| ratio.is_finite()))
        }),
        Column::left("author", |row, _| one_line(&row.point.commit.author)).on(Form::ROOMY).csv_as_shown("author"),
        Column::left("subject", |row, _| cut(&one_line(&row.point.commit.subject), SUBJECT_LETTERS))
            .csv("subject", |row| one_line(&row.point.commit.subject)),
    ]
}

/// Forms other than the page.
const TEXT: &[Form] = &[Form::Wide, Form::Medium, Form::Narrow, Form::Markdown];

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

/// The value, or the reason for none.
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

/// The commits of histories, with the action that a run would take for each.
pub fn history_commits(all: &[PlannedCommit], format: Format, style: &Style) -> String {
    let table = ResultTable::new(planned_columns(), all);
    let body = |mut sheet: Sheet<'_>| {
        let wanted = all.iter().filter(|planned| planned.is_wanted).count();
        sheet.table(&table);
        sheet.paragraph(None, "", &format!("{wanted} of {} would be measured by `faultline history run`.", all.len()));
        sheet.text
    };
    in_format(format, style, body, || all, || table.csv())
}

type PlannedColumn<'a> = table::Column<&'a PlannedCommit>;

fn planned_columns<'a>() -> Vec<PlannedColumn<'a>> {
    vec![
        PlannedColumn::left("history", |planned, _| one_line(&planned.subject))
            .csv("history", |planned| planned.subject.clone()),
        PlannedColumn::right("tasks", |planned, _| planned.tasks.to_string()).csv_as_shown("tasks"),
        PlannedColumn::left("commit", |planned, _| short_name(&planned.commit.id).to_owned())
            .csv("commit", |planned| planned.commit.id.clone()),
        PlannedColumn::left("date", |planned, _| element::day(&planned.commit)),
        PlannedColumn::left("result", |planned, _| result(planned).to_owned()).csv_as_shown("result"),
        PlannedColumn::csv_only("is_picked", |planned| planned.is_picked.to_string()),
        PlannedColumn::csv_only("is_wanted", |planned| planned.is_wanted.to_string()),
        PlannedColumn::left("subject", |planned, _| cut(&one_line(&planned.commit.subject), SUBJECT_LETTERS))
            .csv("subject", |planned| one_line(&planned.commit.subject)),
    ]
}

fn result(planned: &PlannedCommit) -> &'static str {
    match (planned.is_measured, planned.is_wanted) {
        (Some(true), false) => "measured",
        (Some(true), true) => "to be measured again",
        (Some(false), false) => "cannot be measured",
        (Some(false), true) => "to be tried again",
        (None, _) => "to be measured",
    }
}

#[cfg(test)]
mod tests;
