//! A machine's calibration in the four formats: hand-overs between CPUs, what else takes time, and the costs for the model.

use crate::fact_words;
use crate::figure::Scale;
use crate::format::Format;
use crate::json::json;
use crate::style::{Signs, Style};
use crate::table::{self, Form, Table};
use faultline_model::facts::FactValue;
use faultline_model::lens::calibration::{Calibration, Delays, Nearness, Time};
use faultline_model::lens::settings::{CostTimes, DelaySettings};

/// A calibration, one time per row. JSON is the structure itself.
pub fn lens_calibration(calibration: &Calibration, format: Format, style: &Style) -> String {
    let table = Table::new(columns(), rows(calibration));
    match format {
        Format::Table => {
            let wrapped = |note: String| style.wrap(&note, "", "").join("\n") + "\n";
            table.text(style) + &unsteady(calibration, style.signs()).map(wrapped).unwrap_or_default()
        }
        Format::Markdown => {
            let note = unsteady(calibration, style.signs()).map_or_else(String::new, |note| format!("\n{note}\n"));
            table.markdown(style.signs()) + &note
        }
        Format::Json => json(calibration),
        Format::Csv => table.csv(),
    }
}

/// Which pairs of CPUs have no distance of their own: their times changed during the measurement.
fn unsteady(calibration: &Calibration, signs: &Signs) -> Option<String> {
    let mut pairs = calibration.measured.pairs.iter().filter(|pair| !pair.is_steady());
    let first = pairs.next()?;
    let (low, high) = first.hand_over.quartiles_ns;
    let span = Scale::of(high / 1e9, "s", signs).span(low / 1e9, high / 1e9, signs);
    let others = match pairs.count() {
        0 => String::new(),
        others => format!(", and those of {others} more"),
    };
    Some(format!(
        "The hand-overs between CPUs {} and {} took {span}{others}: a hypervisor moved the CPUs meanwhile, or other work delayed them. Costs from such times say little; calibrate again.",
        first.one, first.other
    ))
}

/// A time that was measured, or a cost.
struct Row {
    /// Like the key of a fact, with the unit at its end.
    key: String,
    value: FactValue,
    /// First and third quartile of what was measured, in nanoseconds.
    quartiles_ns: Option<(f64, f64)>,
    /// How near the two CPUs of a pair are.
    nearness: Option<Nearness>,
}

impl Row {
    fn measured(key: String, time: Time, nearness: Option<Nearness>) -> Self {
        Row { key, value: FactValue::Real(time.median_ns), quartiles_ns: Some(time.quartiles_ns), nearness }
    }

    fn cost((key, value): (&str, u32)) -> Self {
        Row { key: key.to_owned(), value: FactValue::Count(value.into()), quartiles_ns: None, nearness: None }
    }

    fn quartiles(&self, signs: &Signs) -> String {
        let span = |(low, high): (f64, f64)| Scale::of(high / 1e9, "s", signs).span(low / 1e9, high / 1e9, signs);
        self.quartiles_ns.map(span).unwrap_or_default()
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::left("what", |row, _| fact_words::name(&row.key)),
        Column::left("key", |row, _| row.key.clone()).csv("key", |row| row.key.clone()).on(&[
            Form::Wide,
            Form::Medium,
            Form::Markdown,
        ]),
        Column::right("median or cost", |row, signs| fact_words::value(&row.key, &row.value, signs))
            .csv("value", |row| row.value.to_string()),
        Column::right("quartiles", |row, signs| row.quartiles(signs)),
        Column::csv_only("lower_quartile_ns", |row| table::number(row.quartiles_ns.map(|(low, _)| low))),
        Column::csv_only("upper_quartile_ns", |row| table::number(row.quartiles_ns.map(|(_, high)| high))),
        Column::left("the CPUs share", |row, _| row.nearness.map_or("", shared).to_owned())
            .csv("nearness", |row| row.nearness.map_or("", Nearness::word).to_owned()),
    ]
}

type Column = table::Column<Row>;

fn rows(calibration: &Calibration) -> Vec<Row> {
    let Calibration { measured, costs, .. } = calibration;
    let pairs = measured.pairs.iter().map(|pair| {
        let key = format!("pair.{}-{}.hand_over_ns", pair.one, pair.other);
        Row::measured(key, pair.hand_over, Some(pair.nearness))
    });
    let delays = delays(&measured.delays).into_iter().map(|(key, time)| Row::measured(key.to_owned(), time, None));
    let costs = times(costs).into_iter().chain(costs.delays.iter().flat_map(further_times)).map(Row::cost);
    pairs.chain(delays).chain(costs).collect()
}

fn delays(measured: &Delays) -> [(&'static str, Time); 5] {
    let Delays { atomic, contended, wake, interrupt, call } = *measured;
    [
        ("measured.atomic_ns", atomic),
        ("measured.contended_ns", contended),
        ("measured.wake_ns", wake),
        ("measured.interrupt_ns", interrupt),
        ("measured.call_ns", call),
    ]
}

fn times(costs: &CostTimes) -> [(&'static str, u32); 5] {
    let CostTimes { instruction_ps, same_cache_ns, same_socket_ns, other_socket_ns, memory_ns, .. } = *costs;
    [
        ("cost.instruction_ps", instruction_ps),
        ("cost.same_cache_ns", same_cache_ns),
        ("cost.same_socket_ns", same_socket_ns),
        ("cost.other_socket_ns", other_socket_ns),
        ("cost.memory_ns", memory_ns),
    ]
}

fn further_times(delays: &DelaySettings) -> [(&'static str, u32); 5] {
    let DelaySettings { atomic_ps, request_percent, wake_ns, interrupt_ns, entry_ns, .. } = *delays;
    [
        ("cost.atomic_ps", atomic_ps),
        ("cost.request_percent", request_percent),
        ("cost.wake_ns", wake_ns),
        ("cost.interrupt_ns", interrupt_ns),
        ("cost.entry_ns", entry_ns),
    ]
}

fn shared(nearness: Nearness) -> &'static str {
    match nearness {
        Nearness::SameCore => "a core",
        Nearness::SameCache => "a cache",
        Nearness::SameSocket => "a socket",
        Nearness::OtherSocket => "no socket",
        Nearness::Unknown => "unknown",
    }
}
