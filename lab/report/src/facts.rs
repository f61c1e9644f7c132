//! Facts about a machine: what each is, its key, its value.

use crate::fact_words;
use crate::format::Format;
use crate::json::json;
use crate::one_line::one_line;
use crate::style::Style;
use crate::table::{self, Form, Table};
use faultline_model::facts::{FactValue, Facts};

/// Facts by key. JSON is the facts as they are.
pub fn facts(facts: &Facts, format: Format, style: &Style) -> String {
    let table = Table::new(columns(), &facts.0);
    match format {
        Format::Table => table.text(style),
        Format::Markdown => table.markdown(style.signs()),
        Format::Json => json(facts),
        Format::Csv => table.csv(),
    }
}

type Column<'a> = table::Column<(&'a String, &'a FactValue)>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("fact", |(key, _), _| fact_words::name(key)),
        Column::left("key", |(key, _), _| one_line(key)).csv("fact", |(key, _)| (*key).clone()).on(&[
            Form::Wide,
            Form::Medium,
            Form::Markdown,
        ]),
        Column::left("value", |(key, value), signs| fact_words::value(key, value, signs)),
        Column::csv_only("value", |(_, value)| value.to_string()),
    ]
}
