//! `faultline published`

use crate::arguments::Published;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::{find_run, stored};
use faultline_literature::{self as literature, UnknownName};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn published(arguments: &Published, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let (format, style) = (arguments.format.format, output::style());
    let name = arguments.name.as_deref();
    let text = match &arguments.beside {
        Some(run) => {
            let places = places::found(db)?;
            let summary = stored::figures(find_run(run, &places)?, &places)?;
            literature::beside(&summary, format, &style)
        }
        None if arguments.compare => literature::answers(name, format, &style).map_err(refused)?,
        None => literature::figures(name, format, &style).map_err(refused)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn refused(unknown: UnknownName) -> Failure {
    Failure::usage(unknown.to_string(), format!("give a part of one of these names: {}", unknown.known.join(", ")))
}
