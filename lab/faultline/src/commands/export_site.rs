//! `faultline export-site`

use super::serve::declared_quirks;
use crate::arguments::serve::ExportSite;
use crate::failure::{self, Failure};
use crate::places;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn export_site(arguments: &ExportSite, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let exported = faultline_web::export_site(
        &arguments.directory,
        &declared_quirks(arguments.config.as_deref())?,
        &places::found(db)?,
    )?;
    let start = arguments.directory.join("index.html");
    failure::warn(&format!(
        "pages of {} runs and {} histories: {}",
        exported.runs,
        exported.histories,
        start.display()
    ));
    for left_out in &exported.left_out {
        failure::warn(&format!("without {left_out}"));
    }
    Ok(ExitCode::SUCCESS)
}
