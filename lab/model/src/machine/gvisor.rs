//! gVisor: a kernel in a process of this host.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// gVisor, as far as the user specified it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gvisor {
    /// Its program; `runsc` in `PATH` if `None`.
    pub runsc: Option<PathBuf>,
    /// How system calls reach it, as `runsc` names it; its own default if `None`.
    pub platform: Option<String>,
}

impl Gvisor {
    /// The same with another platform. Fails, in words, if that cannot be the name of one.
    pub fn with_platform(self, name: &str) -> Result<Self, String> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("'{}' is not the name of a platform; for example ptrace", name.escape_debug()));
        }
        Ok(Gvisor { platform: Some(name.to_owned()), ..self })
    }
}
