//! The table of kernel counters that differ: in text one table per workload, in Markdown one for all.

use super::change::chance;
use super::words;
use crate::figure;
use crate::one_line::one_line;
use crate::style::Signs;
use crate::table::{self, Form, Table};
use faultline_model::comparison::CounterDifference;

/// Counters shown of each workload.
const SHOWN: usize = 5;

/// A counter, with the workload's name if it is its first one.
pub(super) struct Row<'a> {
    workload: Option<String>,
    counter: &'a CounterDifference,
}

/// The first few counters of a workload.
pub(super) fn rows(workload: String, counters: &[CounterDifference]) -> impl Iterator<Item = Row<'_>> {
    let mut workload = Some(workload);
    counters.iter().take(SHOWN).map(move |counter| Row { workload: workload.take(), counter })
}

/// How many counters of a workload are not shown.
pub(super) fn left_out(counters: &[CounterDifference]) -> usize {
    counters.len().saturating_sub(SHOWN)
}

/// The table of these counters.
pub(super) fn table<'a>(rows: impl IntoIterator<Item = Row<'a>>) -> Table<Row<'a>> {
    Table::new(columns(), rows)
}

type Column<'a> = table::Column<Row<'a>>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("workload", |row, _| row.workload.clone().unwrap_or_default()).on(&[Form::Markdown]),
        Column::left("counter", |row, _| one_line(&row.counter.name)),
        Column::right("A per operation", |row, signs| quantity(row.counter.a, signs)),
        Column::right("B per operation", |row, signs| quantity(row.counter.b, signs)),
        Column::right("B/A", |row, signs| {
            words::counter_ratio(row.counter).map_or_else(|| signs.none.to_owned(), figure::plain)
        }),
        Column::right("p", |row, _| chance(row.counter.p_corrected)),
    ]
}

/// A counter on one line: `vmstat.pgfault 1.000 → 0.0625 (p = 0.0020)`.
pub(crate) fn counter_words(counter: &CounterDifference, signs: &Signs) -> String {
    let [a, b] = [counter.a, counter.b].map(|value| quantity(value, signs));
    let p = chance(counter.p_corrected);
    let equals = if p.starts_with('<') { "" } else { "= " };
    format!("{} {a} {} {b} (p {equals}{p})", one_line(&counter.name), signs.arrow)
}

fn quantity(value: f64, signs: &Signs) -> String {
    if value.is_finite() { figure::quantity(value, "", signs) } else { signs.none.to_owned() }
}
