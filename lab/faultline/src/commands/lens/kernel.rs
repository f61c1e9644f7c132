//! `faultline lens kernel`

use super::under;
use crate::arguments::lens::Kernel;
use crate::commands::measuring;
use crate::failure::Failure;
use faultline_experiment::lens::{self, LensKernelRequest};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn kernel(arguments: &Kernel, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let places = under::places(&arguments.under, db)?;
    let request = LensKernelRequest {
        workloads: arguments.workloads_chosen.clone(),
        cpus: arguments.cpus.clone(),
        kernel: arguments.kernel.clone(),
        vmlinux: arguments.vmlinux.clone(),
        parameters: arguments.append.clone(),
        memory_mib: arguments.memory,
        mode: arguments.mode.map(Into::into),
        size: arguments.size,
        under: under::request(&arguments.under, &places, arguments.ops)?,
    };
    let concluded = measuring::conduct(&arguments.under.conduct, &places, |lab| lens::kernel(&request, lab))?;
    Ok(measuring::status(concluded.as_ref()))
}
