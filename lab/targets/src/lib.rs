//! Where a run happens. A target describes its machine and executes workloads on it, with time limits.
//!
//! There are three: this host, a guest in an emulator, which boots for each execution, and another host that is reached over SSH. A guest can count with
//! the lens (`counting`). `runner` decides what to execute and what to do with the output.

mod agent;
mod bsd_facts;
pub mod counting;
mod executable;
mod execution;
pub mod host;
mod keep;
mod linux_facts;
pub mod network;
mod plugin;
pub mod program_files;
mod program_output;
pub mod qemu;
pub mod search_path;
mod settings_guard;
mod socket_path;
pub mod ssh;
mod stop;
mod system_files;
mod system_settings;
mod target;

pub use execution::{Ending, Executed, Execution};
pub use keep::keeper;
pub use plugin::Plugin;
pub use settings_guard::SettingsGuard;
pub use stop::StopFlag;
pub use target::{Target, TargetError};
