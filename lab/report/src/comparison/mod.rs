//! Two sides beside each other, in the four formats: who they are, what changed and how surely, what else differs. And the answer of a machine
//! compared with itself.

pub(crate) mod cautions;
pub(crate) mod change;
mod columns;
mod counters;
mod fitness;
mod gate;
pub(crate) mod legend;
mod markdown;
pub(crate) mod scaling;
pub(crate) mod sequential;
mod text;
pub(crate) mod words;

pub(crate) use counters::counter_words;
pub use fitness::fitness;
pub use gate::comparison_gate;

use crate::format::Format;
use crate::json::json;
use crate::sentences::worded_comparison;
use crate::style::Style;
use faultline_model::comparison::Comparison;

/// A comparison: a row for each workload, the answers in words, and what else differs. JSON is the comparison as it is; CSV has a record for each
/// workload and for each of its further figures.
pub fn comparison(compared: &Comparison, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text::text(compared, style),
        Format::Json => json(&worded_comparison(compared)),
        Format::Csv => columns::table_with_figures(compared).csv(),
        Format::Markdown => markdown::markdown(compared),
    }
}
