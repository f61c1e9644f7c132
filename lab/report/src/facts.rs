//! Facts about a machine: key and value.

use crate::format::Format;
use crate::json::json;
use crate::style::Style;
use crate::table::{self, Table};
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
        Column::left("fact", |(key, _), _| (*key).clone()).csv("fact", |(key, _)| (*key).clone()),
        Column::left("value", |(_, value), _| value.to_string()).csv("value", |(_, value)| value.to_string()),
    ]
}
