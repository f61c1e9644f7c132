//! Targets: where a run happens. A target describes its machine and executes workloads on it, with
//! time limits.
//!
//! Targets are this host (`host`), guests and disk images in an emulator (`qemu`), and systems that
//! are reached over a shell (`ssh`). Counting with the lens is a capability of some (`counting`).
//! `runner` decides what to execute and interprets the output.

mod agent;
mod bsd_facts;
pub mod counting;
mod executable;
mod execution;
pub mod host;
mod keep;
pub mod lack;
mod linux_facts;
pub mod network;
pub mod program_files;
pub mod qemu;
pub mod sandbox;
mod scratch_directory;
pub mod search_path;
mod settings_guard;
mod socket_path;
pub mod ssh;
pub mod start;
mod system_settings;
mod target;

pub use counting::Plugin;
pub use execution::{Ending, Executed, Execution};
pub use keep::{StopFlag, keeper};
pub use settings_guard::SettingsGuard;
pub use target::{Target, TargetError};
