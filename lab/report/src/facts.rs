//! Facts about a machine: key and value.

use crate::format::Format;
use crate::grid::{Grid, Side, csv};
use crate::style::Style;
use faultline_model::facts::Facts;

/// Facts by key. JSON is the facts as they are.
pub fn facts(facts: &Facts, format: Format, style: &Style) -> String {
    match format {
        Format::Table => grid(facts).text(style),
        Format::Markdown => grid(facts).markdown(),
        Format::Json => crate::run::json(facts),
        Format::Csv => csv(["fact", "value"], facts.0.iter().map(|(key, value)| [key.clone(), value.to_string()])),
    }
}

fn grid(facts: &Facts) -> Grid {
    let mut grid = Grid::new(&[("fact", Side::Left), ("value", Side::Left)]);
    for (key, value) in &facts.0 {
        grid.row(vec![key.clone(), value.to_string()]);
    }
    grid
}
