//! The tables of a comparison: answers, kernel counters, facts. In CSV, numbers are raw, shares and
//! changes are ratios, and other figures have the unit of the column `unit`.

use super::change::{Change, chance, level};
use super::legend::levels_differ;
use super::words;
use crate::escape::one_line;
use crate::page::element;
use crate::style::{Signs, UNICODE};
use crate::table::{self, Attributes, Form, ResultTable};
use crate::{figure, sentences};
use faultline_record::facts::FactValue;
use faultline_stats::comparison::{ComparedWorkload, Comparison, CounterDifference, Details};
use faultline_stats::estimate::Estimate;
use faultline_stats::machine::FactDifference;
use faultline_stats::workload_comparison::{Answer, Bounded, Method, Unit, WorkloadComparison};
use maud::{Markup, html as markup};

/// A workload, or one of its further figures.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    compared: &'a Comparison,
    /// The workload's name.
    workload: &'a str,
    /// Number of tasks, if known.
    tasks: Option<u32>,
    comparison: &'a WorkloadComparison,
    /// Details of the workload; `None` for a further figure.
    details: Option<&'a Details>,
    /// The anchor of the workload's card on the page.
    anchor: &'a str,
}

/// The table of all workloads, in order.
pub(super) fn table(compared: &Comparison) -> ResultTable<Row<'_>> {
    ResultTable::new(columns(compared), compared.workloads.iter().map(|workload| main_row(compared, workload)))
}

/// The table of all workloads on the page. `anchors`: the anchor of each workload's card.
pub(crate) fn page_table<'a>(compared: &'a Comparison, anchors: &'a [String]) -> ResultTable<Row<'a>> {
    let rows = compared.workloads.iter().zip(anchors);
    ResultTable::new(columns(compared), rows.map(|(workload, anchor)| Row { anchor, ..main_row(compared, workload) }))
        .sortable()
}

/// The table of all workloads, each followed by its further figures, for CSV.
pub(super) fn table_with_figures(compared: &Comparison) -> ResultTable<Row<'_>> {
    let rows = compared.workloads.iter().flat_map(|workload| {
        let main = main_row(compared, workload);
        let details = &workload.details;
        let figures = details.by_cpu_time.as_deref().into_iter().chain(&details.figures);
        let figures = figures.map(move |comparison| Row { comparison, details: None, ..main });
        std::iter::once(main).chain(figures)
    });
    ResultTable::new(columns(compared), rows)
}

fn main_row<'a>(compared: &'a Comparison, workload: &'a ComparedWorkload) -> Row<'a> {
    let ComparedWorkload { comparison, details } = workload;
    Row { compared, workload: &comparison.name, tasks: details.tasks, comparison, details: Some(details), anchor: "" }
}

type Column<'a> = table::Column<Row<'a>>;

/// Forms with intervals. Narrow text has half-widths, and name, unit and n above the row.
const ROOMY: &[Form] = Form::ALL_BUT_NARROW;
const NARROW: &[Form] = Form::NARROW;

fn columns<'a>(compared: &Comparison) -> Vec<Column<'a>> {
    let has_tasks = compared.workloads.iter().any(|workload| workload.details.tasks.is_some());
    let has_system = compared.workloads.iter().any(|workload| words::system(&workload.details, &UNICODE).is_some());
    vec![
        Column::csv_only("a", |row| row.compared.a.name.clone()),
        Column::csv_only("b", |row| row.compared.b.name.clone()),
        Column::left("workload", |row, _| one_line(row.workload))
            .on(ROOMY)
            .csv("workload", |row| row.workload.to_owned())
            .leading(0)
            .row_heading()
            .html(|row| markup! { a href={ "#" (row.anchor) } { (element::name(row.workload)) } }),
        Column::csv_only("figure", |row| row.figure().to_owned()),
        Column::right("tasks", |row, signs| row.tasks(signs.none))
            .exact(|row| row.tasks.map(f64::from))
            .when(has_tasks)
            .csv("tasks", |row| row.tasks("")),
        Column::csv_only("unit", |row| row.comparison.unit.clone()),
        Column::csv_only("direction", |row| row.comparison.direction.word().to_owned()),
        Column::csv_only("answer", |row| words::answer_word(row.comparison.answer).to_owned()),
        Column::csv_only("inconclusive", |row| {
            row.comparison.inconclusive.map_or("", words::inconclusive_word).to_owned()
        }),
        Column::csv_option("margin_ratio", |row| Some(row.comparison.margin)),
        Column::csv_only("within_margin", |row| row.comparison.within_margin.to_string()),
        Column::right("A", |row, signs| row.medians(&row.comparison.unit, signs)[0].clone())
            .on(ROOMY)
            .exact(|row| Some(row.comparison.a.median)),
        Column::right("B", |row, signs| row.medians(&row.comparison.unit, signs)[1].clone())
            .on(ROOMY)
            .exact(|row| Some(row.comparison.b.median)),
        Column::right("A", |row, signs| row.medians(row.short_unit(), signs)[0].clone()).on(NARROW),
        Column::right("B", |row, signs| row.medians(row.short_unit(), signs)[1].clone()).on(NARROW),
        Column::right("change", |row, signs| row.change(signs, |change| change.words(signs)))
            .on(ROOMY)
            .csv("change_ratio", |row| row.change_part(|change| change.value))
            .leading(2)
            .exact(|row| Change::of(row.comparison).map(|change| change.value)),
        Column::right("change", |row, signs| row.change(signs, |change| change.margin(signs))).on(NARROW),
        Column::left("interval", |row, signs| row.change(signs, |change| change.span(signs)))
            .on(ROOMY)
            .leading(3)
            .exact(|row| Change::of(row.comparison).map(|change| change.low)),
        Column::csv_only("change_low_ratio", |row| row.change_part(|change| change.low)),
        Column::csv_only("change_high_ratio", |row| row.change_part(|change| change.high)),
        Column::right("level", |row, signs| row.change(signs, |change| level(change.level)))
            .leading(4)
            .exact(|row| Change::of(row.comparison).map(|change| change.level))
            .when(levels_differ(compared)),
        Column::csv_option("detectable_ratio", |row| row.comparison.detectable),
        Column::csv_only("independent", |row| independent(row.comparison.independent).to_owned()),
        Column::csv_only("method", |row| method(row.comparison.method).to_owned()),
        Column::csv_option("p", |row| row.comparison.p),
        Column::csv_option("p_corrected", |row| row.comparison.p_corrected),
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
        Column::csv_option("a_median", |row| Some(row.comparison.a.median)),
        Column::csv_option("a_mean", |row| Some(row.comparison.a.mean)),
        Column::csv_only("b_boots", |row| row.comparison.b.boots.to_string()),
        Column::csv_only("b_runs", |row| row.comparison.b.runs.to_string()),
        Column::csv_only("b_intervals", |row| row.comparison.b.intervals.to_string()),
        Column::csv_only("b_units", |row| row.comparison.b.units.to_string()),
        Column::csv_option("b_median", |row| Some(row.comparison.b.median)),
        Column::csv_option("b_mean", |row| Some(row.comparison.b.mean)),
        Column::left("answer", |row, signs| words::answer_words(row.comparison, signs))
            .on(ROOMY)
            .leading(1)
            .html(|row| answer(row.comparison)),
        Column::left("answer", |row, _| words::answer_word(row.comparison.answer).to_owned()).on(NARROW),
        Column::left("n", |row, _| words::units(row.comparison)).on(ROOMY),
        Column::right("system", |row, signs| {
            row.details.and_then(|details| words::system(details, signs)).unwrap_or_else(|| signs.none.to_owned())
        })
        .on(&[Form::Wide, Form::Markdown])
        .when(has_system),
        Column::page_right("system A", |row: &Row<'_>| element::share(row.system_share(0)))
            .csv("a_system_share_ratio", |row| row.system(0, |share| share.median)),
        Column::csv_only("a_system_share_low_ratio", |row| row.system(0, |share| share.low)),
        Column::csv_only("a_system_share_high_ratio", |row| row.system(0, |share| share.high)),
        Column::page_right("system B", |row: &Row<'_>| element::share(row.system_share(1)))
            .csv("b_system_share_ratio", |row| row.system(1, |share| share.median)),
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

    /// The name of a further figure; empty for the workload's own values.
    fn figure(&self) -> &str {
        if self.details.is_some() { "" } else { &self.comparison.name }
    }

    fn medians(&self, unit: &str, signs: &Signs) -> [String; 2] {
        words::medians(self.comparison, &one_line(unit), signs)
    }

    /// The unit in narrow text, where the line above has it: empty, except for units that join
    /// their prefix.
    fn short_unit(&self) -> &str {
        if self.comparison.unit == "s" { "s" } else { "" }
    }

    fn change(&self, signs: &Signs, words: impl Fn(Change) -> String) -> String {
        Change::of(self.comparison).map_or_else(|| signs.none.to_owned(), words)
    }

    /// A part of the change; empty if the ratio is not worth showing.
    fn change_part(&self, part: fn(&Change) -> f64) -> String {
        number(Change::of(self.comparison).as_ref().map(part))
    }

    fn system_share(&self, side: usize) -> Option<Estimate> {
        self.details.and_then(|details| details.system_share[side])
    }

    fn system(&self, side: usize, part: fn(Estimate) -> f64) -> String {
        number(self.system_share(side).map(part))
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

/// Kernel counters shown per workload in text and Markdown.
pub(super) const COUNTERS_IN_TEXT: usize = 5;

/// The first `most` kernel counters that differ, and the number of those left out.
pub(crate) fn counters(all: &[CounterDifference], most: usize) -> (ResultTable<&CounterDifference>, usize) {
    type Column<'a> = table::Column<&'a CounterDifference>;
    let columns: Vec<Column<'_>> = vec![
        Column::left("counter", |counter, _| one_line(&counter.name))
            .row_heading()
            .html(|counter| markup! { code { (one_line(&counter.name)) } }),
        Column::right("A per operation", |counter, signs| per_operation(counter.a, signs))
            .exact(|counter| Some(counter.a)),
        Column::right("B per operation", |counter, signs| per_operation(counter.b, signs))
            .exact(|counter| Some(counter.b)),
        Column::right("B/A", |counter, signs| {
            words::counter_ratio(counter).map_or_else(|| signs.none.to_owned(), figure::plain)
        })
        .exact(|counter| words::counter_ratio(counter)),
        Column::right("p", |counter, _| chance(counter.p_corrected)).exact(|counter| Some(counter.p_corrected)),
    ];
    let table = ResultTable::new(columns, all.iter().take(most))
        .sortable()
        .row_attributes(|counter| Attributes::default().with("data-counter", one_line(&counter.name)));
    (table, all.len().saturating_sub(most))
}

/// A counter on one line: `vmstat.pgfault 1.000 → 0.0625 (p = 0.0020)`.
pub(crate) fn counter_words(counter: &CounterDifference, signs: &Signs) -> String {
    let [a, b] = [counter.a, counter.b].map(|value| per_operation(value, signs));
    let p = chance(counter.p_corrected);
    let equals = if p.starts_with('<') { "" } else { "= " };
    format!("{} {a} {} {b} (p {equals}{p})", one_line(&counter.name), signs.arrow)
}

fn per_operation(value: f64, signs: &Signs) -> String {
    if value.is_finite() { figure::quantity(value, "", signs) } else { signs.none.to_owned() }
}

/// The answer as a badge of the page.
pub(crate) fn answer(comparison: &WorkloadComparison) -> Markup {
    let sign = match comparison.answer {
        Answer::Faster => "▲",
        Answer::Slower => "▼",
        Answer::Equal => "=",
        Answer::Inconclusive => "?",
    };
    let tone = words::answer_tone(comparison.answer);
    element::badge(element::tone_class(tone), sign, &words::answer_words(comparison, &UNICODE))
}

/// The facts that differ between the sides' machines.
pub(crate) fn facts(compared: &Comparison) -> ResultTable<&FactDifference> {
    type Column<'a> = table::Column<&'a FactDifference>;
    fn value(key: &str, value: Option<&FactValue>, signs: &Signs) -> String {
        value.map_or_else(|| "unknown".to_owned(), |value| crate::facts::value(key, value, signs))
    }
    let columns: Vec<Column<'_>> = vec![
        Column::left("fact that differs", |fact, _| {
            one_line(&format!("{} ({})", crate::facts::name(&fact.key), fact.key))
        })
        .row_heading()
        .html(|fact| element::fact_name(&fact.key)),
        Column::left("A", |fact, signs| value(&fact.key, fact.a.as_ref(), signs)).class("fact"),
        Column::left("B", |fact, signs| value(&fact.key, fact.b.as_ref(), signs)).class("fact"),
    ];
    ResultTable::new(columns, &compared.facts)
}

/// A finite number for CSV; empty for others.
pub(super) fn number(value: Option<f64>) -> String {
    table::number(value.filter(|value| value.is_finite()))
}

fn bound(bounded: Option<Bounded>, part: fn(Bounded) -> f64) -> String {
    number(bounded.map(part))
}
