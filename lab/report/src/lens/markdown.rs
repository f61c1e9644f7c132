//! A lens run as Markdown: a table of points for each case, with its top lines and code.

use crate::grid::escape_markdown;
use crate::introduction;
use crate::lens::{callers, points, tables, types, words};
use crate::sentences;
use crate::style::UNICODE;
use faultline_model::lens::summary::{LensCurve, LensSummary};
use faultline_model::summary::RunSummary;

/// Lines, types and places in code shown of each case.
const SHOWN: usize = 10;

/// The run as Markdown.
pub(crate) fn markdown(summary: &RunSummary, lens: &LensSummary) -> String {
    let mut text = format!(
        "**{}** — {}  \n{}  \n{}\n",
        escape_markdown(&introduction::title(summary, &UNICODE)),
        escape_markdown(&summary.machine),
        escape_markdown(&introduction::standing(summary, &UNICODE)),
        escape_markdown(&words::subject(lens, &UNICODE))
    );
    for curve in &lens.curves {
        text.push_str(&one(summary, curve));
    }
    if lens.curves.is_empty() {
        text.push_str("\nNothing was planned.\n");
    }
    for warning in &summary.warnings {
        text.push_str(&format!("\n**{}**: {}\n", warning.code().word(), escape_markdown(&sentences::warning(warning))));
    }
    text.push('\n');
    for sentence in words::legend(lens) {
        text.push_str(&format!("{}  \n", escape_markdown(sentence)));
    }
    text
}

fn one(summary: &RunSummary, curve: &LensCurve) -> String {
    let name = escape_markdown(&curve.case.to_string());
    let mut text = format!(
        "\n**{name}** ({}, per {}): {}\n\n",
        introduction::tasks_are(curve.case.mode),
        escape_markdown(&curve.operation),
        escape_markdown(&words::verdict(curve))
    );
    text.push_str(&points::table(summary, std::slice::from_ref(curve), |_| true).markdown(&UNICODE));
    if let Some(point) = words::shown_point(curve) {
        let at = words::cpus(point.cpus);
        for words in words::beside(&curve.operation, point) {
            text.push_str(&format!("\n{}\n", escape_markdown(&words)));
        }
        text.push_str(&format!("\nTop lines at {at}, of {} that moved:\n\n", point.lines_moved));
        text.push_str(&tables::lines(&point.lines, SHOWN).markdown(&UNICODE));
        if let Some(figures) = point.callers.as_ref().filter(|figures| !figures.lines.is_empty()) {
            let table = callers::table(figures).markdown(&UNICODE);
            text.push_str(&format!("\n{}:\n\n{table}", escape_markdown(&callers::heading(figures, point.cpus))));
        }
        if let Some(figures) = &point.types {
            let table = types::table(types::rows(figures, SHOWN)).markdown(&UNICODE);
            text.push_str(&format!("\n{}:\n\n{table}", escape_markdown(&types::heading(figures, point.cpus))));
        }
        text.push_str(&format!("\nTop code at {at}:\n\n"));
        text.push_str(&tables::code(&point.code, SHOWN).markdown(&UNICODE));
    }
    text
}
