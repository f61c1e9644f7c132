//! `faultline lens program`

use super::under;
use crate::arguments::lens::Program;
use crate::commands::measuring;
use crate::failure::Failure;
use faultline_experiment::lens::{self, GuestRequest, LensProgramRequest};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn program(arguments: &Program, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = under::places(&arguments.under, db)?;
    let request = LensProgramRequest {
        argv: arguments.argv.clone(),
        threads: arguments.threads_from.clone(),
        whole: arguments.whole,
        guest: guest(arguments),
        under: under::request(&arguments.under, &places, arguments.ops)?,
    };
    let concluded = measuring::conduct(&arguments.under.conduct, &places, |lab| lens::program(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}

fn guest(arguments: &Program) -> GuestRequest {
    let guest = &arguments.guest;
    GuestRequest {
        with: guest.with.clone(),
        environment: guest.env.clone(),
        kernel_too: arguments.kernel_too,
        debug_directories: guest.debug_dir.clone(),
        kernel: guest.kernel.clone(),
        parameters: guest.append.clone(),
        memory_mib: guest.memory,
    }
}
