//! `faultline published`

use super::stored;
use crate::arguments::Published;
use crate::failure::Failure;
use crate::output;
use faultline_report::published;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn published(arguments: &Published, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let format = arguments.format.format;
    let text = match arguments.beside {
        Some(run) => {
            let summary = faultline_stats::summarise(&stored::load(Some(run), db)?);
            published::beside(&summary, format, &output::style())
        }
        None => published::published(arguments.name.as_deref(), format, &output::style()).map_err(|unknown| {
            let known = [unknown.sources, unknown.tests].concat().join(", ");
            Failure::usage(
                format!("no published figures are named '{}'", unknown.name),
                format!("part of one of these: {known}"),
            )
        })?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
