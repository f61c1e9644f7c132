//! A disk image of any system, which boots in the emulator with its own loader and is reached over
//! SSH, or at its serial console:
//! `image:FILE,cpus=2,memory=2G,boot_limit=5m,boot=each,devices=old,login=serial,user=NAME,…`.

use super::text::{
    ShapeKeys, accelerator_named, limit, named, pairs, parts, with_hint, written_limit, written_path, written_shape,
};
use super::{Accelerator, Kind, Machine, MachineError, MachineKind, MachineShape, SshHost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    word: "image",
    summary: "image:FILE",
    help: "A disk image, image:FILE, boots in QEMU with its own loader and is reached over SSH. \
           The file is not changed. Keys: cpus, sockets, memory and accel as for a guest; \
           boot_limit=5m; boot=each to boot for each execution; devices=old for IDE disks and an \
           e1000 card; login=serial to log in at the serial console, with password=FILE if it \
           asks for one; user=root; identity, config and scratch as for a host.",
    example: Some("image:FILE"),
    parse: |keys| Ok(Machine::Image(DiskImage::parse(keys)?)),
};

/// The keys of the login method, and those of SSH alone.
const LOGIN: &str = "login";
const PASSWORD: &str = "password";
const OF_SSH: [&str; 2] = ["identity", "config"];

/// Default limit for the time from power-on to the first answer. A distribution's whole system
/// takes 10 s to 60 s in full emulation, on an idle host.
pub const IMAGE_BOOT_LIMIT: Duration = Duration::from_secs(5 * 60);

/// A disk image, as far as the user specified it. It is never written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskImage {
    /// The image's file.
    pub file: PathBuf,
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// Execution of its instructions.
    pub accelerator: Accelerator,
    /// Time limit from power-on to the login prompt.
    pub boot_limit: Duration,
    /// Time of power-on.
    pub boots: ImageBoots,
    /// The kind of its devices.
    pub devices: ImageDevices,
    /// Login. Its host name stands for the image among known hosts; the port is chosen for each
    /// boot.
    pub login: SshHost,
    /// Login method.
    #[serde(default, skip_serializing_if = "LoginAt::is_ssh")]
    pub login_at: LoginAt,
}

/// Login method of an image's system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoginAt {
    /// Its SSH server.
    #[default]
    Ssh,
    /// Its serial console.
    Serial {
        /// The file whose first line is the password; `None` without a password.
        password: Option<PathBuf>,
    },
}

impl LoginAt {
    /// The word in a machine's text.
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

/// Time of an image's power-on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageBoots {
    /// Once, and again after it failed.
    #[default]
    Once,
    /// For each execution.
    Each,
}

/// Devices of an image's system: a disk and a network card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageDevices {
    /// Virtio devices: the fastest ones, for which most systems have drivers.
    #[default]
    Virtio,
    /// An IDE disk and an Intel e1000 card, for which old systems have drivers too.
    Old,
}

impl ImageBoots {
    /// The word in a machine's text.
    pub fn word(self) -> &'static str {
        match self {
            ImageBoots::Once => "once",
            ImageBoots::Each => "each",
        }
    }
}

impl ImageDevices {
    /// The word in a machine's text.
    pub fn word(self) -> &'static str {
        match self {
            ImageDevices::Virtio => "virtio",
            ImageDevices::Old => "old",
        }
    }
}

impl DiskImage {
    /// The image in a file with all defaults. Fails if the file's name cannot stand for the image
    /// among known hosts.
    pub fn of(file: PathBuf, shape: MachineShape) -> Result<Self, MachineError> {
        let named = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let refused = |problem: String| MachineError {
            problem: format!("the image's file name stands for it among known hosts, and {problem}"),
            hint: "give it a name of letters, digits, dots, hyphens and underscores".to_owned(),
        };
        // These characters would separate it from a user, a port and a device.
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

    /// Its name among known hosts.
    pub fn known_as(&self) -> &str {
        self.login.host()
    }
}

impl DiskImage {
    fn parse(keys: &str) -> Result<Self, String> {
        let parts = parts(keys);
        let Some((file, keys)) = parts.split_first() else {
            return Err("no disk image; for example `image:disk.qcow2`".to_owned());
        };
        let mut shape = ShapeKeys::new();
        let mut image = DiskImage::of(PathBuf::from(file), shape.shape()?).map_err(|error| with_hint(&error))?;
        let keys = pairs(keys)?;
        image.login_at = login_at(&keys)?;
        for (key, value) in keys {
            match key {
                "accel" => image.accelerator = accelerator_named(value)?,
                "boot_limit" => image.boot_limit = limit(value)?,
                "boot" => image.boots = named("boot", value, [ImageBoots::Once, ImageBoots::Each], ImageBoots::word)?,
                "devices" => {
                    let known = [ImageDevices::Virtio, ImageDevices::Old];
                    image.devices = named("devices", value, known, ImageDevices::word)?;
                }
                "user" => image.login = image.login.with_user(value)?,
                LOGIN | PASSWORD => {}
                _ if image.login.take(key, value)? || shape.take(key, value)? => {}
                _ => {
                    return Err(format!(
                        "'{key}' is unknown; cpus, sockets, memory, accel, boot_limit, boot, devices, login, user, \
                         password, identity, config or scratch"
                    ));
                }
            }
        }
        Ok(DiskImage { shape: shape.shape()?, ..image })
    }
}

impl MachineKind for DiskImage {
    fn boots_for_each_execution(&self) -> bool {
        self.boots == ImageBoots::Each
    }

    fn written(&self) -> String {
        let (file, shape) = (written_path(&self.file), written_shape(&self.shape));
        let (accelerator, limit) = (self.accelerator.word(), written_limit(self.boot_limit));
        let mut text = format!(
            "{}:{file},{shape},accel={accelerator},boot_limit={limit},boot={},devices={}",
            KIND.word,
            self.boots.word(),
            self.devices.word()
        );
        if let LoginAt::Serial { password } = &self.login_at {
            text += &format!(",{LOGIN}={}", self.login_at.word());
            text += &password.as_ref().map(|file| format!(",{PASSWORD}={}", written_path(file))).unwrap_or_default();
        }
        text += &self.login.user().map(|user| format!(",user={user}")).unwrap_or_default();
        text + &self.login.written_keys()
    }
}

/// Login method of an image's system. Fails for keys of another method.
fn login_at(keys: &[(&str, &str)]) -> Result<LoginAt, String> {
    let value = |wanted: &str| keys.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
    let serial = LoginAt::Serial { password: value(PASSWORD).map(PathBuf::from) };
    let known = [&LoginAt::Ssh, &serial];
    match value(LOGIN).map_or(Ok(&LoginAt::Ssh), |text| named(LOGIN, text, known, |at| at.word()))? {
        LoginAt::Ssh if value(PASSWORD).is_some() => {
            Err("'password' is for the serial console, and SSH takes keys only; add login=serial, or name a key with identity=FILE".to_owned())
        }
        LoginAt::Serial { .. } => match OF_SSH.into_iter().find(|key| value(key).is_some()) {
            Some(key) => Err(format!(
                "'{key}' is for SSH, and login=serial uses none; leave it out; password=FILE names a file with the password"
            )),
            None => Ok(serial),
        },
        LoginAt::Ssh => Ok(LoginAt::Ssh),
    }
}
