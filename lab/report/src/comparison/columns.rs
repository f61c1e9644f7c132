//! The columns of a comparison, in text, Markdown and CSV; a row for each workload. In CSV numbers are raw, shares and changes are ratios;
//! medians, means, shifts and values are in the unit of the column `unit`.

use super::change::{Change, level};
use super::legend::levels_differ;
use super::words;
use crate::one_line::one_line;
use crate::sentences;
use crate::style::{Signs, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::comparison::{ComparedWorkload, Comparison, Details};
use faultline_model::estimate::Estimate;
use faultline_model::workload_comparison::{Bounded, Method, Unit, WorkloadComparison};

/// A workload with what it belongs to, or one of its further figures.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    compared: &'a Comparison,
    /// The workload's name.
    workload: &'a str,
    /// Number of tasks, where it is known.
    tasks: Option<u32>,
    comparison: &'a WorkloadComparison,
    /// What stands behind the workload's answer; a further figure has none.
    details: Option<&'a Details>,
}

/// The table of all workloads, in their order.
pub(super) fn table(compared: &Comparison) -> Table<Row<'_>> {
    Table::new(columns(compared), compared.workloads.iter().map(|workload| main_row(compared, workload)))
}

/// The same for CSV: behind each workload stand its further figures.
pub(super) fn table_with_figures(compared: &Comparison) -> Table<Row<'_>> {
    let rows = compared.workloads.iter().flat_map(|workload| {
        let main = main_row(compared, workload);
        let figures = workload.details.figures.iter();
        let figures = figures.map(move |comparison| Row { comparison, details: None, ..main });
        std::iter::once(main).chain(figures)
    });
    Table::new(columns(compared), rows)
}

fn main_row<'a>(compared: &'a Comparison, workload: &'a ComparedWorkload) -> Row<'a> {
    let ComparedWorkload { comparison, details } = workload;
    Row { compared, workload: &comparison.name, tasks: details.tasks, comparison, details: Some(details) }
}

type Column<'a> = table::Column<Row<'a>>;

/// Forms with intervals. In narrow text half-widths stand in their place; name, unit and n stand above the row.
const ROOMY: &[Form] = &[Form::Wide, Form::Medium, Form::Markdown];
/// Forms with the kernel's share of the time; in others it stands behind the answers in words.
const ROOMIEST: &[Form] = &[Form::Wide, Form::Markdown];
const NARROW: &[Form] = &[Form::Narrow];

fn columns<'a>(compared: &Comparison) -> Vec<Column<'a>> {
    let has_tasks = compared.workloads.iter().any(|workload| workload.details.tasks.is_some());
    let has_system = compared.workloads.iter().any(|workload| words::system(&workload.details, &UNICODE).is_some());
    vec![
        Column::csv_only("a", |row| row.compared.a.name.clone()),
        Column::csv_only("b", |row| row.compared.b.name.clone()),
        Column::left("workload", |row, _| one_line(row.workload))
            .on(ROOMY)
            .csv("workload", |row| row.workload.to_owned()),
        Column::csv_only("figure", |row| row.figure().to_owned()),
        Column::right("tasks", |row, signs| row.tasks(signs.none)).when(has_tasks).csv("tasks", |row| row.tasks("")),
        Column::csv_only("unit", |row| row.comparison.unit.clone()),
        Column::csv_only("direction", |row| row.comparison.direction.word().to_owned()),
        Column::csv_only("answer", |row| words::answer_word(row.comparison.answer).to_owned()),
        Column::csv_only("inconclusive", |row| {
            row.comparison.inconclusive.map_or("", words::inconclusive_word).to_owned()
        }),
        Column::csv_only("margin_ratio", |row| number(Some(row.comparison.margin))),
        Column::csv_only("within_margin", |row| row.comparison.within_margin.to_string()),
        Column::right("A", |row, signs| row.medians(&row.comparison.unit, signs)[0].clone()).on(ROOMY),
        Column::right("B", |row, signs| row.medians(&row.comparison.unit, signs)[1].clone()).on(ROOMY),
        Column::right("A", |row, signs| row.medians(row.short_unit(), signs)[0].clone()).on(NARROW),
        Column::right("B", |row, signs| row.medians(row.short_unit(), signs)[1].clone()).on(NARROW),
        Column::right("change", |row, signs| row.change(signs, |change| change.words(signs)))
            .on(ROOMY)
            .csv("change_ratio", |row| row.change_part(|change| change.value)),
        Column::right("change", |row, signs| row.change(signs, |change| change.margin(signs))).on(NARROW),
        Column::left("interval", |row, signs| row.change(signs, |change| change.span(signs))).on(ROOMY),
        Column::csv_only("change_low_ratio", |row| row.change_part(|change| change.low)),
        Column::csv_only("change_high_ratio", |row| row.change_part(|change| change.high)),
        Column::right("level", |row, signs| row.change(signs, |change| level(change.level)))
            .when(levels_differ(compared)),
        Column::csv_only("detectable_ratio", |row| number(row.comparison.detectable)),
        Column::csv_only("independent", |row| independent(row.comparison.independent).to_owned()),
        Column::csv_only("method", |row| method(row.comparison.method).to_owned()),
        Column::csv_only("p", |row| number(row.comparison.p)),
        Column::csv_only("p_corrected", |row| number(row.comparison.p_corrected)),
        Column::csv_only("b_to_a_ratio", |row| bound(row.comparison.ratio, |b| b.value)),
        Column::csv_only("b_to_a_low_ratio", |row| bound(row.comparison.ratio, |b| b.low)),
        Column::csv_only("b_to_a_high_ratio", |row| bound(row.comparison.ratio, |b| b.high)),
        Column::csv_only("b_to_a_level_ratio", |row| bound(row.comparison.ratio, |b| b.level)),
        Column::csv_only("shift", |row| bound(row.comparison.shift, |b| b.value)),
        Column::csv_only("shift_low", |row| bound(row.comparison.shift, |b| b.low)),
        Column::csv_only("shift_high", |row| bound(row.comparison.shift, |b| b.high)),
        Column::csv_only("shift_level_ratio", |row| bound(row.comparison.shift, |b| b.level)),
        Column::csv_only("medians_b_to_a_ratio", |row| bound(row.comparison.ratio_of_medians, |b| b.value)),
        Column::csv_only("medians_b_to_a_low_ratio", |row| bound(row.comparison.ratio_of_medians, |b| b.low)),
        Column::csv_only("medians_b_to_a_high_ratio", |row| bound(row.comparison.ratio_of_medians, |b| b.high)),
        Column::csv_only("medians_b_to_a_level_ratio", |row| bound(row.comparison.ratio_of_medians, |b| b.level)),
        Column::csv_only("a_boots", |row| row.comparison.a.boots.to_string()),
        Column::csv_only("a_runs", |row| row.comparison.a.runs.to_string()),
        Column::csv_only("a_intervals", |row| row.comparison.a.intervals.to_string()),
        Column::csv_only("a_units", |row| row.comparison.a.units.to_string()),
        Column::csv_only("a_median", |row| number(Some(row.comparison.a.median))),
        Column::csv_only("a_mean", |row| number(Some(row.comparison.a.mean))),
        Column::csv_only("b_boots", |row| row.comparison.b.boots.to_string()),
        Column::csv_only("b_runs", |row| row.comparison.b.runs.to_string()),
        Column::csv_only("b_intervals", |row| row.comparison.b.intervals.to_string()),
        Column::csv_only("b_units", |row| row.comparison.b.units.to_string()),
        Column::csv_only("b_median", |row| number(Some(row.comparison.b.median))),
        Column::csv_only("b_mean", |row| number(Some(row.comparison.b.mean))),
        Column::left("answer", |row, signs| words::answer_words(row.comparison, signs)).on(ROOMY),
        Column::left("answer", |row, _| words::answer_word(row.comparison.answer).to_owned()).on(NARROW),
        Column::left("n", |row, _| words::units(row.comparison)).on(ROOMY),
        Column::right("system", |row, signs| {
            row.details.and_then(|details| words::system(details, signs)).unwrap_or_else(|| signs.none.to_owned())
        })
        .on(ROOMIEST)
        .when(has_system),
        Column::csv_only("a_system_share_ratio", |row| row.system(0, |share| share.median)),
        Column::csv_only("a_system_share_low_ratio", |row| row.system(0, |share| share.low)),
        Column::csv_only("a_system_share_high_ratio", |row| row.system(0, |share| share.high)),
        Column::csv_only("b_system_share_ratio", |row| row.system(1, |share| share.median)),
        Column::csv_only("b_system_share_low_ratio", |row| row.system(1, |share| share.low)),
        Column::csv_only("b_system_share_high_ratio", |row| row.system(1, |share| share.high)),
        Column::csv_only("a_values", |row| row.values(0)),
        Column::csv_only("b_values", |row| row.values(1)),
        Column::csv_only("cautions", |row| {
            row.comparison.cautions.iter().map(|caution| caution.code().word()).collect::<Vec<_>>().join(";")
        }),
        Column::csv_only("a_failures", |row| row.failures(0)),
        Column::csv_only("b_failures", |row| row.failures(1)),
        Column::csv_only("failure_texts", |row| {
            let failures = row.details.iter().flat_map(|details| details.failures.iter().flatten());
            let texts = failures.map(|failure| one_line(&sentences::failure(failure)));
            texts.collect::<Vec<_>>().join("; ")
        }),
    ]
}

impl Row<'_> {
    fn tasks(&self, none: &str) -> String {
        self.tasks.map_or_else(|| none.to_owned(), |tasks| tasks.to_string())
    }

    /// The name of a further figure; nothing for the workload's own values.
    fn figure(&self) -> &str {
        if self.details.is_some() { "" } else { &self.comparison.name }
    }

    fn medians(&self, unit: &str, signs: &Signs) -> [String; 2] {
        words::medians(self.comparison, &one_line(unit), signs)
    }

    /// What has to stand at a figure of which the unit is told elsewhere: nothing, or the unit where a prefix can't be parted from it.
    fn short_unit(&self) -> &str {
        if self.comparison.unit == "s" { "s" } else { "" }
    }

    fn change(&self, signs: &Signs, words: impl Fn(Change) -> String) -> String {
        Change::of(self.comparison).map_or_else(|| signs.none.to_owned(), words)
    }

    /// A part of the change; nothing where it isn't worth showing.
    fn change_part(&self, part: fn(&Change) -> f64) -> String {
        number(Change::of(self.comparison).as_ref().map(part))
    }

    fn system(&self, side: usize, part: fn(Estimate) -> f64) -> String {
        number(self.details.and_then(|details| details.system_share[side]).map(part))
    }

    fn values(&self, side: usize) -> String {
        let values = self.details.map(|details| details.values[side].as_slice()).unwrap_or_default();
        values.iter().map(f64::to_string).collect::<Vec<_>>().join(";")
    }

    fn failures(&self, side: usize) -> String {
        self.details.map(|details| details.failures[side].len().to_string()).unwrap_or_default()
    }
}

fn independent(unit: Unit) -> &'static str {
    match unit {
        Unit::Boot => "boot",
        Unit::Run => "run",
        Unit::Summary => "summary",
    }
}

fn method(method: Method) -> &'static str {
    match method {
        Method::SignedRanks => "signed-ranks",
        Method::Ranks => "ranks",
        Method::Welch => "welch",
        Method::None => "none",
    }
}

/// A number as it is; nothing where there is none, or none that is finite.
pub(super) fn number(value: Option<f64>) -> String {
    table::number(value.filter(|value| value.is_finite()))
}

fn bound(bounded: Option<Bounded>, part: fn(Bounded) -> f64) -> String {
    number(bounded.map(part))
}
