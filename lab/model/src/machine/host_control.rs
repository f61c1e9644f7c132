//! What is done to a host over SSH to give it something new: the commands that install, reboot, and switch it off and on.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How a host gets something new, is rebooted, and is switched off and on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostControl {
    /// Words of the command that installs, on the host; `{artefact}` among them stands for the file.
    pub install: Vec<String>,
    /// Words of the command that reboots, on the host.
    pub reboot: Vec<String>,
    /// Words of the command that switches its power off and on, on this host; none if empty.
    pub power_cycle: Vec<String>,
    /// The directory on this host in which that command runs.
    pub directory: PathBuf,
    /// How long the host may take to come back.
    pub back_limit: Duration,
}
