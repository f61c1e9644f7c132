//! A run as what it is: figures, or a comparison of two sides.

use crate::failure::{self, Failure};
use crate::output;
use faultline_model::comparison::Comparison;
use faultline_model::outcome::Outcome;
use faultline_model::record::RunRecord;
use faultline_report::Format;
use faultline_stats::comparison::Settings;
use faultline_stats::sequential::concluded;
use std::path::Path;

/// The comparison that a run holds, if it has two sides.
pub(super) fn compared(record: &RunRecord) -> Result<Option<Comparison>, Failure> {
    if record.settings.comparison().is_none() {
        return Ok(None);
    }
    let compared = concluded(record, &Settings::default());
    compared.map(Some).map_err(|error| {
        let why = failed_first(record).map_or_else(String::new, |why| format!("; {why}"));
        Failure::new(
            format!("run {} can't be compared: {error}{why}", record.id),
            "give each side what it needs here, and compare again",
        )
    })
}

/// The first thing that failed, with its side.
fn failed_first(record: &RunRecord) -> Option<String> {
    record.attempts.iter().find_map(|attempt| {
        let outcome = attempt.outcome.as_ref().filter(|outcome| **outcome != Outcome::Done)?;
        let item = record.plan.iter().find(|item| item.ordinal == attempt.ordinal)?;
        Some(format!("{} on side {}: {outcome}", item.cell, item.subject))
    })
}

/// The run's table.
pub(super) fn table(record: &RunRecord, format: Format) -> Result<String, Failure> {
    Ok(match compared(record)? {
        Some(compared) => faultline_report::comparison(&compared, format, &output::style()),
        None => faultline_report::run_table(&faultline_stats::summarise(record), format, &output::style()),
    })
}

/// Writes the run's page, to standard output for `-`.
pub(super) fn write_page(record: &RunRecord, path: &Path) -> Result<(), Failure> {
    let page = match compared(record)? {
        Some(compared) => faultline_report::comparison_html(&compared),
        None => faultline_report::html(&faultline_stats::summarise(record), record),
    };
    write(&page, path)
}

/// Writes a page, to standard output for `-`.
pub(super) fn write(page: &str, path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return output::print(page);
    }
    output::write_file(path, page)?;
    failure::warn(&format!("page: {}", path.display()));
    Ok(())
}
