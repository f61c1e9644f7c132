//! Where a run happens. A target says what machine it is and executes workloads on it, within time limits.
//!
//! There are two: this host, and a guest that boots anew for each execution in an emulator. Beside them, any program runs in
//! the emulator's user mode. What is executed, and what becomes of its output, is for `runner` to say.

mod executable;
pub mod host;
mod keep;
mod linux_facts;
mod plugin;
pub mod qemu;
pub mod qemu_user;
mod search_path;
mod settings_guard;
mod stop;
mod system_files;
mod system_settings;
mod target;

pub use keep::keeper;
pub use plugin::Plugin;
pub use settings_guard::SettingsGuard;
pub use stop::StopFlag;
pub use target::{Ending, Execution, Target, TargetError};
