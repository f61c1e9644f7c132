//! Where a run happens. A target says what machine it is and executes workloads on it, within time limits.
//!
//! There are three: this host, a guest that boots anew for each execution in an emulator, and a program in the emulator's user
//! mode. The emulated ones can count by the lens (`counting`). What is executed, and what becomes of its output, is for `runner` to say.

pub mod counting;
mod executable;
mod execution;
pub mod host;
mod keep;
mod linux_facts;
mod plugin;
mod program_output;
pub mod qemu;
pub mod qemu_user;
pub mod search_path;
mod settings_guard;
mod stop;
mod system_files;
mod system_settings;
mod target;

pub use execution::{Ending, Execution};
pub use keep::keeper;
pub use plugin::Plugin;
pub use settings_guard::SettingsGuard;
pub use stop::StopFlag;
pub use target::{Target, TargetError};
