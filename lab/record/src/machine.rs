//! The machine on which something runs. It is saved as data. Users write it as a text, for example
//! in `--on`.
//!
//! Each kind of machine is a file in `machine/` with its grammar, capabilities and texts, and one
//! line in [`machines`]. Callers ask for capabilities and do not match on kinds. Plain data:
//! `targets` starts machines, in `start`.

mod disk_image;
mod guest;
mod gvisor;
mod shape;
mod ssh_host;
mod text;
mod this_host;

pub use disk_image::{DiskImage, IMAGE_BOOT_LIMIT, ImageBoots, ImageDevices, LoginAt};
pub use guest::{Guest, counted_boot_limit, usual_boot_limit};
pub use gvisor::Gvisor;
pub use shape::{Accelerator, MOST_CPUS, MachineShape};
pub use ssh_host::{ControlledHost, HostControl, SshHost};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Calls a macro with all kinds of machines, first those without data, then those with data.
#[macro_export]
macro_rules! machines {
    ($callback:ident) => {
        $callback! {
            {
                /// This host.
                Host: this_host::ThisHost = this_host::HOST,
                /// A network namespace of this host: its kernel, programs and files, in a network
                /// of its own.
                Netns: this_host::Namespace = this_host::NETNS,
            }
            {
                /// A guest in QEMU, which boots for each execution.
                Qemu: Guest = guest::KIND,
                /// Another host, which is reached over SSH.
                Ssh: SshHost = ssh_host::KIND,
                /// A disk image of any system, which boots in QEMU.
                Image: DiskImage = disk_image::KIND,
                /// gVisor, which starts for each execution.
                Gvisor: Gvisor = gvisor::KIND,
            }
        }
    };
}

macro_rules! declare {
    (
        { $($(#[$plain_doc:meta])* $plain:ident: $plain_type:path = $plain_kind:path,)* }
        { $($(#[$doc:meta])* $name:ident: $data:path = $kind:path,)* }
    ) => {
        /// The machine on which something runs. Deserialised from its data or from its text.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "lowercase", try_from = "Written")]
        #[schemars(!try_from)]
        pub enum Machine {
            $($(#[$plain_doc])* $plain,)*
            $($(#[$doc])* $name($data),)*
        }

        /// A machine as saved.
        #[derive(Deserialize)]
        #[serde(tag = "kind", rename_all = "lowercase")]
        enum Data {
            $($plain,)*
            $($name($data),)*
        }

        impl From<Data> for Machine {
            fn from(data: Data) -> Self {
                match data {
                    $(Data::$plain => Machine::$plain,)*
                    $(Data::$name(data) => Machine::$name(data),)*
                }
            }
        }

        impl Machine {
            fn kind(&self) -> &dyn MachineKind {
                match self {
                    $(Machine::$plain => &$plain_type,)*
                    $(Machine::$name(data) => data,)*
                }
            }
        }

        /// Grammars of all kinds.
        const KINDS: &[Kind] = &[$($plain_kind,)* $($kind,)*];
    };
}

machines!(declare);

/// Grammar and texts of a kind: `WORD` or `WORD:KEYS`.
struct Kind {
    word: &'static str,
    /// Its part of a list of all kinds.
    summary: &'static str,
    /// A paragraph for help; empty if the summary says all.
    help: &'static str,
    /// An example for error messages; none for a word alone.
    example: Option<&'static str>,
    /// Parses the keys. Fails with a text.
    parse: fn(&str) -> Result<Machine, String>,
}

/// Capabilities of a machine, and its text.
trait MachineKind {
    /// See [`Machine::is_here`].
    fn is_here(&self) -> bool {
        false
    }

    /// See [`Machine::boots_for_each_execution`].
    fn boots_for_each_execution(&self) -> bool {
        false
    }

    /// See [`Machine::guest`].
    fn guest(&self) -> Option<&Guest> {
        None
    }

    /// See [`Machine::ssh_host`].
    fn ssh_host(&self) -> Option<&SshHost> {
        None
    }

    /// See [`Machine::joined`].
    fn joined(&self) -> Option<Joined> {
        None
    }

    /// The machine's text, which parses to the same machine.
    fn written(&self) -> String;
}

/// Network between a machine and those of its partners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Joined {
    /// This host's loopback device, or the network to hosts.
    Loopback,
    /// The existing network of hosts, also with this host.
    Hosts,
    /// Namespaces that are made for the run.
    Namespaces,
    /// Wires between guests.
    Wires,
}

/// Error: an impossible machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct MachineError {
    /// One line for people.
    pub problem: String,
    /// Advice for the user.
    pub hint: String,
}

impl Machine {
    /// True for this host's kernel with its programs and files.
    pub fn is_here(&self) -> bool {
        self.kind().is_here()
    }

    /// True for this host with its files, network and system settings.
    pub fn is_host(&self) -> bool {
        *self == Machine::Host
    }

    /// True if each execution has its own boot.
    pub fn boots_for_each_execution(&self) -> bool {
        self.kind().boots_for_each_execution()
    }

    /// The guest, if the machine is one: it boots any kernel image, and can count.
    pub fn guest(&self) -> Option<&Guest> {
        self.kind().guest()
    }

    /// The machine with another kernel image; `None` if it has a kernel of its own.
    pub fn with_kernel(&self, kernel: PathBuf) -> Option<Machine> {
        Some(Machine::Qemu(Guest { kernel: Some(kernel), ..self.guest()?.clone() }))
    }

    /// The host, if the machine is one to which builds can be sent, and on which artefacts can be
    /// installed.
    pub fn ssh_host(&self) -> Option<&SshHost> {
        self.kind().ssh_host()
    }

    /// The network between it and machines of partners; `None` if it cannot have partners
    /// elsewhere.
    pub fn joined(&self) -> Option<Joined> {
        self.kind().joined()
    }
}

impl Machine {
    /// One line of help on all kinds.
    pub fn help() -> String {
        let summaries: Vec<&str> = KINDS.iter().map(|kind| kind.summary).collect();
        let (last, others) = summaries.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
        format!("Machine: {} or {last} [default: host]", others.join(", "))
    }

    /// Help on all kinds with their keys.
    pub fn long_help() -> String {
        let paragraphs = KINDS.iter().map(|kind| kind.help).filter(|help| !help.is_empty());
        [Self::help()].into_iter().chain(paragraphs.map(str::to_owned)).collect::<Vec<_>>().join("\n\n")
    }
}

impl Default for Machine {
    /// This host.
    fn default() -> Self {
        Machine::Host
    }
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, keys) = text.split_once(':').unwrap_or((text, ""));
        let kind = KINDS.iter().find(|kind| kind.word == word).ok_or_else(not_a_machine)?;
        (kind.parse)(keys)
    }
}

/// Error for a text that no kind has.
fn not_a_machine() -> String {
    let plain: Vec<String> =
        KINDS.iter().filter(|kind| kind.example.is_none()).map(|kind| format!("`{}`", kind.word)).collect();
    let examples: Vec<String> = KINDS.iter().filter_map(|kind| Some(format!("`{}`", kind.example?))).collect();
    let (last, others) = examples.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    format!("not a machine; {}, or for example {} or {last}", plain.join(", "), others.join(", "))
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind().written())
    }
}

/// Input forms of a machine.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a machine, for example `host` or `qemu:cpus=8`")]
enum Written {
    /// Text, as in `--on`.
    Text(String),
    /// Data, as saved.
    Data(Data),
}

impl TryFrom<Written> for Machine {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Text(text) => text.parse(),
            Written::Data(data) => Ok(data.into()),
        }
    }
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

    #[test]
    fn what_is_written_reads_back() {
        for (text, full) in [
            ("host", "host"),
            ("netns", "netns"),
            ("qemu", "qemu:cpus=4,sockets=1,memory=1024M,boot_limit=44s,accel=tcg"),
            ("qemu:cpus=8,sockets=2", "qemu:cpus=8,sockets=2,memory=1280M,boot_limit=48s,accel=tcg"),
            (
                "qemu:kernel=/a,,b,,,cpus=1,append=console=ttyS0,,115200,",
                "qemu:cpus=1,sockets=1,memory=1024M,kernel=/a,,b,,,boot_limit=41s,accel=tcg,append=console=ttyS0,,115200",
            ),
            (
                "qemu:memory=2G,kernel=/k,append=a=1,append=b,boot_limit=90s",
                "qemu:cpus=4,sockets=1,memory=2048M,kernel=/k,boot_limit=1m30s,accel=tcg,append=a=1,append=b",
            ),
            ("ssh:me@lab.example:2222", "ssh:me@lab.example:2222"),
            ("ssh:lab", "ssh:lab"),
            ("ssh:me@[fe80::1%eth0]:22", "ssh:me@[fe80::1%eth0]:22"),
            ("ssh:lab,scratch=/var/tmp,identity=/k,,1,config=/c", "ssh:lab,identity=/k,,1,config=/c,scratch=/var/tmp"),
            (
                "image:d,,1/free-bsd_14.qcow2,cpus=2,user=me,boot=each,devices=old,identity=/k,scratch=/x,boot_limit=90s",
                "image:d,,1/free-bsd_14.qcow2,cpus=2,sockets=1,memory=1024M,accel=tcg,boot_limit=1m30s,boot=each,devices=old,user=me,\
                 identity=/k,scratch=/x",
            ),
            (
                "image:disk.img,accel=kvm",
                "image:disk.img,cpus=4,sockets=1,memory=1024M,accel=kvm,boot_limit=5m,boot=once,devices=virtio,user=root",
            ),
            (
                "image:disk.img,password=/p,,1,login=serial,user=me,scratch=/x",
                "image:disk.img,cpus=4,sockets=1,memory=1024M,accel=tcg,boot_limit=5m,boot=once,devices=virtio,login=serial,password=/p,,1,\
                 user=me,scratch=/x",
            ),
            ("gvisor", "gvisor"),
            ("gvisor:platform=kvm,runsc=/a,,b", "gvisor:runsc=/a,,b,platform=kvm"),
        ] {
            let machine: Machine = text.parse().unwrap();
            assert_eq!(machine.to_string(), full);
            assert_eq!(full.parse(), Ok(machine));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (text, problem) in [
            ("vax", "not a machine"),
            ("host:cpus=1", "not a machine"),
            ("netns:a", "not a machine"),
            ("qemu:cpus", "'cpus' is not KEY=VALUE"),
            ("qemu:cpus=many", "'many' is not a number"),
            ("qemu:cpus=0", "a machine with 0 CPUs cannot be emulated; 1 to 255"),
            ("qemu:cpus=8,sockets=3", "8 CPUs cannot be divided among 3 sockets"),
            ("qemu:cpus=1,,sockets=1", "'1,sockets=1' is not a number"),
            ("qemu:cpus=1,cpus=2", "'cpus' is given twice"),
            ("qemu:colour=red", "'colour' is unknown"),
            ("qemu:memory=lots", "'lots' is not a size of memory"),
            ("qemu:boot_limit=0s", "'0s' is not a limit"),
            ("qemu:accel=hax", "'hax' is not tcg or kvm"),
            ("image", "no disk image"),
            (
                "image:a b.img",
                "the image's file name stands for it among known hosts, and 'a b.img' is not the name of a host",
            ),
            ("image:/", "is not the name of a host"),
            ("image:disk:22", "'disk:22' has a ':'"),
            ("image:me@disk.img", "'me@disk.img' has a '@'"),
            ("image:x.img,cpus=2,cpus=3", "'cpus' is given twice"),
            ("image:x.img,identity=", "'identity=' is not KEY=VALUE"),
            ("image:x.img,user=-l", "'-l' is not the name of a user"),
            ("image:x.img,boot=never", "boot: 'never' is not once or each"),
            ("image:x.img,kernel=/k", "'kernel' is unknown"),
            ("image:x.img,login=telnet", "login: 'telnet' is not ssh or serial"),
            (
                "image:x.img,password=/p",
                "'password' is for the serial console, and SSH takes keys only; add login=serial",
            ),
            ("image:x.img,login=ssh,password=/p", "'password' is for the serial console"),
            ("image:x.img,identity=/k,login=serial", "'identity' is for SSH, and login=serial uses none"),
            ("image:x.img,login=serial,config=/c", "'config' is for SSH, and login=serial uses none"),
            ("gvisor:cpus=1", "'cpus' is unknown; runsc or platform"),
            ("gvisor:runsc=", "'runsc=' is not KEY=VALUE"),
            ("gvisor:platform=a,platform=b", "'platform' is given twice"),
            ("gvisor:platform=--debug", "'--debug' is not the name of a platform"),
            ("ssh", "no host"),
            ("ssh:", "no host"),
            ("ssh:lab,colour=red", "'colour' is unknown; identity, config or scratch"),
            ("ssh:lab,identity", "'identity' is not KEY=VALUE"),
            ("ssh:-oProxyCommand=x", "is not the name of a host"),
            ("ssh:lab,scratch=tmp", "'tmp' is not a path from the root"),
        ] {
            let said = text.parse::<Machine>().unwrap_err();
            assert!(said.contains(problem), "{text}: {said}");
        }
    }
}
