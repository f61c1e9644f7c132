//! `faultline export-site`

use super::serve::declared_quirks;
use crate::arguments::serve::ExportSite;
use crate::failure::{self, Failure};
use crate::places;
use faultline_web::ExportRequest;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn export_site(arguments: &ExportSite, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let request = ExportRequest {
        directory: &arguments.directory,
        quirks: &declared_quirks(arguments.config.as_deref())?,
        comparisons: arguments.comparisons,
        executions: arguments.executions,
    };
    let exported = faultline_web::export_site(&request, &places::found(db)?)?;
    let start = arguments.directory.join("index.html");
    failure::warn(&format!(
        "pages of {} runs, {} histories, {} comparisons of commits and {} executions: {}",
        exported.runs,
        exported.histories,
        exported.comparisons,
        exported.executions,
        start.display()
    ));
    for left_out in &exported.left_out {
        failure::warn(&format!("without {left_out}"));
    }
    Ok(ExitCode::SUCCESS)
}
