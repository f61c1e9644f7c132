//! The emulator's program: where it is, which version, what it can do.

use crate::host::facts::command;
use crate::{TargetError, plugin, search_path};
use std::path::PathBuf;

const PROGRAM: &str = "qemu-system-x86_64";

/// QEMU's full-system emulator of x86-64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Emulator {
    pub(super) program: PathBuf,
    /// As it says it.
    pub(super) version: String,
    /// Whether plugins can be loaded into it.
    pub(super) takes_plugins: bool,
}

impl Emulator {
    pub(super) fn find() -> Result<Self, TargetError> {
        let program = search_path::find(PROGRAM).ok_or_else(|| TargetError {
            problem: format!("there is no {PROGRAM} here"),
            hint: "install QEMU, for example with `apt-get install qemu-system-x86`".to_owned(),
        })?;
        let ask = |argument: &str| {
            command::output(program.as_os_str(), &[argument]).map_err(|problem| TargetError {
                problem: format!("{} {argument}: {problem}", program.display()),
                hint: "install QEMU anew, for example with `apt-get install --reinstall qemu-system-x86`".to_owned(),
            })
        };
        let version = ask("--version")?.lines().next().unwrap_or_default().to_owned();
        let takes_plugins = plugin::are_known_to(&ask("-help")?);
        Ok(Emulator { program, version, takes_plugins })
    }
}
