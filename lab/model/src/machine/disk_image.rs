//! A disk image of any system, which boots in the emulator with its own loader and is reached over SSH, or at its serial console.

use super::{Accelerator, MachineError, MachineShape, SshHost};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Default limit for the time from power-on to the first answer. A distribution's whole system takes 10 s to 60 s in full emulation, on a quiet machine.
pub const IMAGE_BOOT_LIMIT: Duration = Duration::from_secs(5 * 60);

/// A disk image, as far as the user specified it. Nothing is ever written to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskImage {
    /// The image's file.
    pub file: PathBuf,
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// How its instructions are executed.
    pub accelerator: Accelerator,
    /// How long it may take from power-on until somebody can log in.
    pub boot_limit: Duration,
    /// When it is switched on.
    pub boots: ImageBoots,
    /// The kind of its devices.
    pub devices: ImageDevices,
    /// Who logs in. Its name stands for the image in files of known hosts; the port is chosen for each boot.
    pub login: SshHost,
    /// Where to log in.
    #[serde(default, skip_serializing_if = "LoginAt::is_ssh")]
    pub login_at: LoginAt,
}

/// Where to log in to an image's system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoginAt {
    /// At its server of SSH.
    #[default]
    Ssh,
    /// At its serial console.
    Serial {
        /// The file whose first line is the password; `None` if none is asked for.
        password: Option<PathBuf>,
    },
}

impl LoginAt {
    /// As it is written.
    pub fn word(&self) -> &'static str {
        match self {
            LoginAt::Ssh => "ssh",
            LoginAt::Serial { .. } => "serial",
        }
    }

    fn is_ssh(&self) -> bool {
        *self == LoginAt::Ssh
    }
}

/// When an image is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageBoots {
    /// Once, and again after it failed.
    #[default]
    Once,
    /// For each execution.
    Each,
}

/// What a disk and a network card are to an image's system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageDevices {
    /// Virtio devices: the fastest ones, for which most systems have drivers.
    #[default]
    Virtio,
    /// An IDE disk and an Intel e1000 card, for which old systems have drivers too.
    Old,
}

impl ImageBoots {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            ImageBoots::Once => "once",
            ImageBoots::Each => "each",
        }
    }
}

impl ImageDevices {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            ImageDevices::Virtio => "virtio",
            ImageDevices::Old => "old",
        }
    }
}

impl DiskImage {
    /// The image in a file with all defaults. Fails if the file's name cannot stand for it among known hosts.
    pub fn of(file: PathBuf, shape: MachineShape) -> Result<Self, MachineError> {
        let named = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let refused = |problem: String| MachineError {
            problem: format!("the image's file name stands for it among known hosts, and {problem}"),
            hint: "give it a name of letters, digits, dots, hyphens and underscores".to_owned(),
        };
        // They would separate it from a user, a port and a device.
        if let Some(sign) = named.chars().find(|c| "@:%[]".contains(*c)) {
            return Err(refused(format!("'{}' has a '{sign}'", named.escape_debug())));
        }
        let login = SshHost::at(&format!("root@{named}")).map_err(refused)?;
        Ok(DiskImage {
            file,
            shape,
            accelerator: Accelerator::default(),
            boot_limit: IMAGE_BOOT_LIMIT,
            boots: ImageBoots::default(),
            devices: ImageDevices::default(),
            login,
            login_at: LoginAt::default(),
        })
    }

    /// The name that stands for it in files of known hosts.
    pub fn known_as(&self) -> &str {
        self.login.host()
    }
}
