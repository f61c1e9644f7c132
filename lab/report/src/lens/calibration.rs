//! The calibration of a machine: hand-overs between CPUs, other delays, and the costs for the
//! model.

use crate::facts;
use crate::figure::Scale;
use crate::format::Format;
use crate::sheet::{Sheet, in_format};
use crate::style::{Signs, Style};
use crate::table::{self, Form, ResultTable};
use faultline_record::facts::FactValue;
use faultline_record::lens::calibration::{Calibration, Delays, Nearness, Time};

/// A calibration: a row per time.
pub fn lens_calibration(calibration: &Calibration, format: Format, style: &Style) -> String {
    in_format(format, style, |sheet| body(sheet, calibration), || calibration, || table(calibration).csv())
}

fn body(mut sheet: Sheet<'_>, calibration: &Calibration) -> String {
    sheet.table(&table(calibration));
    if let Some(note) = unsteady(calibration, sheet.style.signs()) {
        sheet.paragraph(None, "", &note);
    }
    sheet.text
}

fn table(calibration: &Calibration) -> ResultTable<Row> {
    ResultTable::new(columns(), rows(calibration))
}

/// The first time that varied too much during the measurement, and the number of others.
fn unsteady(calibration: &Calibration, signs: &Signs) -> Option<String> {
    let mut unsteady = calibration.measured.unsteady();
    let (of, time) = unsteady.next()?;
    let (low, high) = time.quartiles_ns;
    let span = Scale::of(high / 1e9, "s", signs).span(low / 1e9, high / 1e9, signs);
    let others = match unsteady.count() {
        0 => String::new(),
        1 => ", and 1 more time varied as much".to_owned(),
        others => format!(", and {others} more times varied as much"),
    };
    Some(format!(
        "Half of the times of {of} were {span}{others}: a hypervisor moved the CPUs, or other work delayed them. \
         Such times give no costs."
    ))
}

/// A measured time, or a cost.
struct Row {
    /// Key, with the unit as suffix like that of a fact.
    key: String,
    value: FactValue,
    /// First and third quartile of the measured times, in nanoseconds.
    quartiles_ns: Option<(f64, f64)>,
    /// The distance of the two CPUs of a pair.
    nearness: Option<Nearness>,
}

impl Row {
    fn measured(key: String, time: Time, nearness: Option<Nearness>) -> Self {
        Row { key, value: FactValue::Real(time.median_ns), quartiles_ns: Some(time.quartiles_ns), nearness }
    }

    fn cost((name, value): (&str, u32)) -> Self {
        Row { key: format!("cost.{name}"), value: FactValue::Count(value.into()), quartiles_ns: None, nearness: None }
    }

    fn quartiles(&self, signs: &Signs) -> String {
        let span = |(low, high): (f64, f64)| Scale::of(high / 1e9, "s", signs).span(low / 1e9, high / 1e9, signs);
        self.quartiles_ns.map(span).unwrap_or_default()
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::left("what", |row, _| facts::name(&row.key)),
        Column::left("key", |row, _| row.key.clone()).csv_as_shown("key").on(Form::ALL_BUT_NARROW),
        Column::right("median or cost", |row, signs| facts::value(&row.key, &row.value, signs))
            .csv("value", |row| row.value.to_string()),
        Column::right("quartiles", |row, signs| row.quartiles(signs)),
        Column::csv_option("lower_quartile_ns", |row| row.quartiles_ns.map(|(low, _)| low)),
        Column::csv_option("upper_quartile_ns", |row| row.quartiles_ns.map(|(_, high)| high)),
        Column::left("the CPUs share", |row, _| row.nearness.map_or("", shared).to_owned())
            .csv("nearness", |row| row.nearness.map_or("", Nearness::word).to_owned()),
    ]
}

type Column = table::Column<Row>;

fn rows(calibration: &Calibration) -> Vec<Row> {
    let Calibration { measured, costs, delays: modelled, .. } = calibration;
    let pairs = measured.pairs.iter().map(|pair| {
        let key = format!("pair.{}-{}.hand_over_ns", pair.one, pair.other);
        Row::measured(key, pair.hand_over, Some(pair.nearness))
    });
    let delays = delays(&measured.delays).into_iter().map(|(key, time)| Row::measured(key.to_owned(), time, None));
    let costs = costs.numbers().chain(modelled.numbers()).map(Row::cost);
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

fn shared(nearness: Nearness) -> &'static str {
    match nearness {
        Nearness::SameCore => "a core",
        Nearness::SameCache => "a cache",
        Nearness::SameSocket => "a socket",
        Nearness::OtherSocket => "no socket",
        Nearness::Unknown => "unknown",
    }
}
