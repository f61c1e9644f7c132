//! Where a run happens. A target says what machine it is and executes workloads on it, within time limits.
//!
//! There is one so far, this host. What is executed, and what becomes of its output, is for `runner` to say.

pub mod host;
mod stop;
mod target;

pub use stop::StopFlag;
pub use target::{Ending, Execution, Target, TargetError};
