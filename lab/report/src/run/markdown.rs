//! A run's figures as one pipe table, with a line above, and warnings and legend below.

use crate::grid::escape_markdown;
use crate::introduction;
use crate::run::{columns, legend};
use crate::sentences;
use crate::style::UNICODE;
use faultline_model::summary::RunSummary;

/// The run as Markdown.
pub(crate) fn markdown(summary: &RunSummary) -> String {
    let signs = &UNICODE;
    let mut text = format!(
        "**{}** — {}  \n{}\n\n",
        escape_markdown(&introduction::title(summary, signs)),
        escape_markdown(&summary.machine),
        escape_markdown(&introduction::standing(summary, signs))
    );
    if summary.curves.is_empty() {
        text.push_str("No workload has been run.\n");
        return text;
    }
    text.push_str(&columns::table(summary, |_| true).markdown(signs));
    warnings(summary, &mut text);
    text.push('\n');
    for sentence in legend::sentences(summary) {
        text.push_str(&format!("{}  \n", escape_markdown(&sentence)));
    }
    text
}

/// Warnings as a list.
fn warnings(summary: &RunSummary, text: &mut String) {
    if !summary.warnings.is_empty() {
        text.push_str("\nWarnings:\n\n");
    }
    for warning in &summary.warnings {
        let cells = introduction::cells(&warning.cells).map_or_else(String::new, |cells| format!(" [{cells}]"));
        let sentence = escape_markdown(&format!("{}{cells}", sentences::warning(warning)));
        text.push_str(&format!("- **{}**: {sentence}\n", warning.code().word()));
    }
}
