//! A lens run's figures, comparisons and gates, and calibrations, in the four formats.

mod calibration;
pub(crate) mod callers;
pub(crate) mod compare;
mod gate;
pub(crate) mod greatest;
pub(crate) mod layout;
pub(crate) mod layout_rows;
mod markdown;
mod points;
pub(crate) mod seeds;
mod tables;
mod text;
pub(crate) mod types;
pub(crate) mod words;

pub use calibration::lens_calibration;
pub use callers::folded;
pub use compare::lens_compare_table;
pub(crate) use compare::{difference_words, totals};
pub use gate::budget_table;
pub use types::lens_types_table;

use crate::format::Format;
use crate::json::json;
use crate::sentences::worded_run;
use crate::style::Style;
use faultline_model::lens::summary::LensSummary;
use faultline_model::summary::RunSummary;

/// A lens run: for each case a row per number of CPUs, then the lines and code with the most transfers. JSON is the run's summary. CSV has a record per
/// number of CPUs; lines and code are in the JSON.
pub(crate) fn lens_table(summary: &RunSummary, lens: &LensSummary, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text::text(summary, lens, style),
        Format::Json => json(&worded_run(summary)),
        Format::Csv => points::table(summary, &lens.curves, |_| true).csv(),
        Format::Markdown => markdown::markdown(summary, lens),
    }
}
