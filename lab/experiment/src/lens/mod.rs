//! Lens runs: count cache-line transfers of a program or of a kernel, and apply gates.

mod builds;
mod calibrate;
mod compare;
mod gates;
mod guest;
mod kernel;
mod kernels;
mod machine;
mod measured_costs;
mod model;
mod plugin;
mod program;
mod request;
mod resume;
mod run;
mod saved_file;
mod types;

pub(crate) use builds::LensOfBuilds;
pub use builds::{BuildsRequest, settings_of_builds};
pub use calibrate::calibrate;
pub use compare::{compare, compare_runs};
pub use faultline_targets::program_files::With;
pub use kernel::kernel;
pub use kernels::{KernelsRequest, settings_of_kernels};
pub(crate) use kernels::{LensOfKernels, programs_of};
pub use machine::machine;
pub use measured_costs::{MEASURED, keep_costs};
pub use program::program;
pub use request::{
    Gates, GuestRequest, LensKernelRequest, LensMachineRequest, LensProgramRequest, ModelRequest, Module, USUAL_SEED,
    UnderLens,
};
pub(crate) use resume::{go_on, hold_again};
pub use types::types;
