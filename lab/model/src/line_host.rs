//! A host over SSH on which the builds of a line of commits are measured.

use crate::machine::{HostControl, SshHost};
use serde::{Deserialize, Serialize};

/// The host. All that a later session needs is saved with the run, so a resume reads no declaration. Paths are whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineHost {
    /// Its declared name.
    pub name: String,
    /// Where it is.
    pub host: SshHost,
    /// Its commands.
    pub control: HostControl,
    /// If builds are installed: the file of a build that has the release of its kernel (`uname -r`), a path below its top. Another release that boots is a failure
    /// of the build. `None` if the program of a build is sent and executed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_file: Option<String>,
}

impl LineHost {
    /// Whether builds are installed there.
    pub fn is_installed(&self) -> bool {
        self.release_file.is_some()
    }
}
