//! gVisor, a kernel in a process of this host that starts for each execution:
//! `gvisor:runsc=FILE,platform=NAME`.

use super::text::{pairs, parts, written_path};
use super::{Kind, Machine, MachineKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub(super) const KIND: Kind = Kind {
    word: "gvisor",
    summary: "gvisor",
    help: "gvisor: a kernel in a process, started for each execution. Keys: runsc=FILE, its \
           program; platform=NAME.",
    example: Some("gvisor"),
    parse: |keys| Ok(Machine::Gvisor(Gvisor::parse(keys)?)),
};

/// gVisor, as far as the user specified it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gvisor {
    /// Its program; `runsc` in `PATH` if `None`.
    pub runsc: Option<PathBuf>,
    /// The mechanism that intercepts system calls, as `runsc` names it; its default if `None`.
    pub platform: Option<String>,
}

impl Gvisor {
    /// This gVisor with another platform. Fails, with a text, for an impossible name.
    pub fn with_platform(self, name: &str) -> Result<Self, String> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("'{}' is not the name of a platform; for example ptrace", name.escape_debug()));
        }
        Ok(Gvisor { platform: Some(name.to_owned()), ..self })
    }

    fn parse(keys: &str) -> Result<Self, String> {
        let mut gvisor = Gvisor::default();
        for pair in pairs(&parts(keys))? {
            match pair {
                ("runsc", file) => gvisor.runsc = Some(PathBuf::from(file)),
                ("platform", name) => gvisor = gvisor.with_platform(name)?,
                (key, _) => return Err(format!("'{key}' is unknown; runsc or platform")),
            }
        }
        Ok(gvisor)
    }
}

impl MachineKind for Gvisor {
    fn boots_for_each_execution(&self) -> bool {
        true
    }

    fn written(&self) -> String {
        let runsc = self.runsc.as_ref().map(|file| format!("runsc={}", written_path(file)));
        let platform = self.platform.as_ref().map(|name| format!("platform={name}"));
        let keys: Vec<String> = runsc.into_iter().chain(platform).collect();
        if keys.is_empty() { KIND.word.to_owned() } else { format!("{}:{}", KIND.word, keys.join(",")) }
    }
}
