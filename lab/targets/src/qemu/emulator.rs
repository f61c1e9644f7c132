//! The emulator's program: its path, its version, its abilities. Nothing has to be booted for this.

use crate::{TargetError, plugin, program_output, search_path};
use std::path::PathBuf;

const PROGRAM: &str = "qemu-system-x86_64";

/// QEMU's full-system emulator of x86-64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emulator {
    pub(super) program: PathBuf,
    /// As the emulator prints it.
    pub(super) version: String,
    takes_plugins: bool,
}

impl Emulator {
    /// The emulator in the directories of `PATH`. Fails if there is none, or if it does not run.
    pub fn find() -> Result<Self, TargetError> {
        let program = search_path::find(PROGRAM).ok_or_else(|| TargetError {
            problem: format!("there is no {PROGRAM} here"),
            hint: "install QEMU, for example with `apt-get install qemu-system-x86`".to_owned(),
        })?;
        let ask = |argument: &str| {
            program_output::read(program.as_os_str(), &[argument]).map_err(|problem| TargetError {
                problem: format!("{} {argument}: {problem}", program.display()),
                hint: "install QEMU anew, for example with `apt-get install --reinstall qemu-system-x86`".to_owned(),
            })
        };
        let version = ask("--version")?.lines().next().unwrap_or_default().to_owned();
        let takes_plugins = plugin::are_known_to(&ask("-help")?);
        Ok(Emulator { program, version, takes_plugins })
    }

    /// Fails if the emulator was built without plugins.
    pub fn must_take_plugins(&self) -> Result<(), TargetError> {
        if self.takes_plugins {
            return Ok(());
        }
        Err(TargetError {
            problem: format!("{} was built without plugins", self.program.display()),
            hint: "install one that has them, for example Debian's version 7.2 or newer".to_owned(),
        })
    }
}
