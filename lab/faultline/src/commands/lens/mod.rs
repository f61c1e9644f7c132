//! `faultline lens`: counts cache-line transfers.

mod calibrate;
mod compare;
mod kernel;
mod machine;
mod program;
mod types;
pub(in crate::commands) mod under;

use crate::arguments::lens::Lens;
use crate::failure::Failure;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn lens(command: &Lens, db: Option<&Path>) -> Result<ExitCode, Failure> {
    match command {
        Lens::Program(program) => program::program(program, db),
        Lens::Kernel(kernel) => kernel::kernel(kernel, db),
        Lens::Machine(machine) => machine::machine(machine, db),
        Lens::Compare(compare) => compare::compare(compare, db),
        Lens::Types(arguments) => types::types(arguments, db),
        Lens::Calibrate(calibrate) => calibrate::calibrate(calibrate, db),
    }
}
