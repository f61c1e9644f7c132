//! Lens runs: count cache-line transfers of a program or of a kernel, and apply gates.

mod bounds;
mod builds;
mod costs;
mod files;
mod gates;
mod kernel;
mod kernels;
mod machine;
mod model;
mod program;
mod request;
mod resume;
mod run;

pub(crate) use builds::LensOfBuilds;
pub use builds::{BuildsRequest, settings_of_builds};
pub use costs::{MEASURED, calibrate, keep_costs};
pub use faultline_targets::program_files::With;
pub(crate) use files::find_plugin;
pub use gates::{compare, compare_runs, types};
pub use kernel::kernel;
pub use kernels::{KernelsRequest, settings_of_kernels};
pub(crate) use kernels::{LensOfKernels, programs_of};
pub use machine::machine;
pub use program::program;
pub use request::{
    Gates, GuestRequest, LensKernelRequest, LensMachineRequest, LensProgramRequest, ModelRequest, Module, Symbols,
    USUAL_SEED, UnderLens,
};
pub(crate) use resume::{go_on, hold_again};
pub(crate) use run::jobs;
