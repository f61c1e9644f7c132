//! A run's figures in the four formats.

mod columns;
pub(crate) mod legend;
mod markdown;
mod text;
pub(crate) mod words;

use crate::format::Format;
use crate::json::json;
use crate::lens;
use crate::sentences::worded_run;
use crate::style::Style;
use faultline_model::summary::RunSummary;

/// A run's figures: for each curve a row per number of tasks; for a lens run, for each case a row per number of CPUs, then the lines and
/// code with the most transfers. JSON is the summary with its sentences and its `format`.
pub fn run_table(summary: &RunSummary, format: Format, style: &Style) -> String {
    if let Some(lens) = &summary.lens {
        return lens::lens_table(summary, lens, format, style);
    }
    match format {
        Format::Table => text::text(summary, style),
        Format::Json => json(&worded_run(summary)),
        Format::Csv => columns::table(summary, |_| true).csv(),
        Format::Markdown => markdown::markdown(summary),
    }
}
