//! `faultline report`

use super::stored;
use crate::arguments::Report;
use crate::failure::{self, Failure};
use crate::output;
use faultline_model::record::RunRecord;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn report(arguments: &Report, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let record = stored::load(arguments.run, db)?;
    write_page(&record, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a run's page, to standard output for `-`.
pub(super) fn write_page(record: &RunRecord, path: &Path) -> Result<(), Failure> {
    let page = faultline_report::html(&faultline_stats::summarise(record), record);
    if path == Path::new("-") {
        return output::print(&page);
    }
    output::write_file(path, &page)?;
    failure::warn(&format!("page: {}", path.display()));
    Ok(())
}
