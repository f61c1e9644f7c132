//! The machine on which something runs. It is saved as data; its text is for people, who write it in `--on`: `host`, `netns`, `qemu:KEY=VALUE,…`,
//! `ssh:USER@HOST,…`, `image:FILE,…` or `gvisor:…` (`words`).
//!
//! Plain data: `targets` finds out whether such a machine is available.

mod disk_image;
mod gvisor;
mod host_control;
mod shape;
mod ssh_host;
mod words;

pub use disk_image::{DiskImage, IMAGE_BOOT_LIMIT, ImageBoots, ImageDevices, LoginAt};
pub use gvisor::Gvisor;
pub use host_control::HostControl;
pub use shape::{MOST_CPUS, MachineShape};
pub use ssh_host::SshHost;

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Default limit for the time in which a kernel that boots prints nothing. A whole boot of a stock kernel takes 5 s with one CPU and 16 s with 64,
/// on two real CPUs, and several times as long if those are busy.
const BOOT_LIMIT: Duration = Duration::from_secs(40);
const BOOT_LIMIT_PER_CPU: Duration = Duration::from_secs(1);

/// Default limit for the time in which a kernel prints nothing, with that many CPUs.
pub fn usual_boot_limit(cpus: u32) -> Duration {
    BOOT_LIMIT + BOOT_LIMIT_PER_CPU * cpus
}

/// Under the lens one CPU of the host runs all CPUs, in turns that get shorter the more there are. A boot of 32 CPUs took a minute.
const COUNTED_BOOT_LIMIT_PER_CPU: Duration = Duration::from_secs(8);

/// The same under the lens.
pub fn counted_boot_limit(cpus: u32) -> Duration {
    BOOT_LIMIT + COUNTED_BOOT_LIMIT_PER_CPU * cpus
}

/// A machine that cannot exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct MachineError {
    /// One line for people.
    pub problem: String,
    /// What can be done about it.
    pub hint: String,
}

/// How a guest's instructions are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// By translation; works everywhere.
    #[default]
    Tcg,
    /// By the host's CPUs, if its kernel allows it.
    Kvm,
}

impl Accelerator {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Accelerator::Tcg => "tcg",
            Accelerator::Kvm => "kvm",
        }
    }
}

/// Where something runs. It is read from its data and from its text, which people write in files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", try_from = "Written")]
pub enum Machine {
    /// This host.
    #[default]
    Host,
    /// A guest in QEMU, which boots for each execution.
    Qemu(Guest),
    /// Another host, which is reached over SSH.
    Ssh(SshHost),
    /// A network namespace of this host: its kernel, programs and files, in a network of its own.
    Netns,
    /// A disk image of any system, which boots in QEMU.
    Image(DiskImage),
    /// gVisor, which starts for each execution.
    Gvisor(Gvisor),
}

impl Machine {
    /// The guest, if it is one.
    pub fn guest(&self) -> Option<&Guest> {
        match self {
            Machine::Host | Machine::Netns | Machine::Ssh(_) | Machine::Image(_) | Machine::Gvisor(_) => None,
            Machine::Qemu(guest) => Some(guest),
        }
    }

    /// Whether it is this host's kernel, with its programs and files.
    pub fn is_here(&self) -> bool {
        matches!(self, Machine::Host | Machine::Netns)
    }

    /// Whether it is this host, with its files and system settings.
    pub fn is_host(&self) -> bool {
        *self == Machine::Host
    }

    /// Whether each execution is a boot of its own.
    pub fn boots_for_each_execution(&self) -> bool {
        match self {
            Machine::Host | Machine::Netns | Machine::Ssh(_) => false,
            Machine::Qemu(_) | Machine::Gvisor(_) => true,
            Machine::Image(image) => image.boots == ImageBoots::Each,
        }
    }
}

/// The ways in which a machine is written.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a machine, for example `host` or `qemu:cpus=8`")]
enum Written {
    /// As in `--on`.
    Text(String),
    /// As it is saved.
    Data(Data),
}

/// A machine as it is saved: the same as [`Machine`].
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Data {
    Host,
    Qemu(Guest),
    Ssh(SshHost),
    Netns,
    Image(DiskImage),
    Gvisor(Gvisor),
}

impl TryFrom<Written> for Machine {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Text(text) => text.parse(),
            Written::Data(Data::Host) => Ok(Machine::Host),
            Written::Data(Data::Qemu(guest)) => Ok(Machine::Qemu(guest)),
            Written::Data(Data::Ssh(host)) => Ok(Machine::Ssh(host)),
            Written::Data(Data::Netns) => Ok(Machine::Netns),
            Written::Data(Data::Image(image)) => Ok(Machine::Image(image)),
            Written::Data(Data::Gvisor(gvisor)) => Ok(Machine::Gvisor(gvisor)),
        }
    }
}

/// A guest, as far as the user specified it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// CPUs, sockets, memory.
    pub shape: MachineShape,
    /// The kernel's image; `None` for the newest of the distribution.
    pub kernel: Option<PathBuf>,
    /// How its instructions are executed.
    pub accelerator: Accelerator,
    /// How long the kernel may print nothing while it boots.
    pub boot_limit: Duration,
    /// Parameters for the kernel's command line.
    pub parameters: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn a_machine_is_saved_as_data() {
        let guest: Machine = "qemu:memory=2G,kernel=/a,,b,append=a=1,,2,boot_limit=90s".parse().unwrap();
        let data = json!({
            "kind": "qemu", "shape": {"cpus": 4, "sockets": 1, "memory_mib": 2048}, "kernel": "/a,b",
            "accelerator": "tcg", "boot_limit": {"secs": 90, "nanos": 0}, "parameters": ["a=1,2"],
        });
        let host: Machine = "ssh:a@b:22,identity=/k".parse().unwrap();
        let host_data = json!({"kind": "ssh", "user": "a", "host": "b", "port": 22, "identity": "/k", "config": null, "scratch": null});
        let image: Machine = "image:/d/x.qcow2,cpus=1,user=me".parse().unwrap();
        let image_data = json!({
            "kind": "image", "file": "/d/x.qcow2", "shape": {"cpus": 1, "sockets": 1, "memory_mib": 1024}, "accelerator": "tcg",
            "boot_limit": {"secs": 300, "nanos": 0}, "boots": "once", "devices": "virtio",
            "login": {"user": "me", "host": "x.qcow2", "port": null, "identity": null, "config": null, "scratch": null},
        });
        let console: Machine = "image:/d/x.qcow2,cpus=1,user=me,login=serial,password=/p".parse().unwrap();
        let mut console_data = image_data.clone();
        console_data["login_at"] = json!({"serial": {"password": "/p"}});
        let console = (console, console_data);
        let sandbox = ("gvisor".parse().unwrap(), json!({"kind": "gvisor", "runsc": null, "platform": null}));
        let plain = (Machine::Host, json!({"kind": "host"}));
        let netns = (Machine::Netns, json!({"kind": "netns"}));
        for (machine, data) in [plain, netns, (guest, data), (host, host_data), (image, image_data), console, sandbox] {
            assert_eq!(to_value(&machine).unwrap(), data);
            assert_eq!(from_value::<Machine>(data).unwrap(), machine);
        }
    }

    #[test]
    fn a_machine_is_read_from_its_text_too() {
        let read = |text| from_value::<Machine>(json!(text));
        assert_eq!(read("qemu:cpus=2").unwrap(), "qemu:cpus=2".parse().unwrap());
        assert!(read("vax").unwrap_err().to_string().contains("not a machine"));
    }

    #[test]
    fn saved_machines_that_cannot_exist_are_refused() {
        let data = json!({
            "kind": "qemu", "shape": {"cpus": 8, "sockets": 3, "memory_mib": 2048}, "kernel": null,
            "accelerator": "tcg", "boot_limit": {"secs": 90, "nanos": 0}, "parameters": [],
        });
        assert!(from_value::<Machine>(data).is_err());
        let data = json!({"kind": "ssh", "user": null, "host": "-oProxyCommand=x", "port": null, "identity": null, "config": null, "scratch": null});
        assert!(from_value::<Machine>(data).is_err());
    }
}
