//! A host that is reached over SSH: address and login. Its parts become words of `ssh`'s command
//! line, so only strict names are accepted.
//! `ssh:USER@HOST:PORT,identity=FILE,config=FILE,scratch=DIR`.

use super::text::{pairs, parts, written, written_path};
use super::{Joined, Kind, Machine, MachineKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    word: "ssh",
    summary: "ssh:USER@HOST",
    help: "Another host, ssh:[USER@]HOST[:PORT], is measured with OpenSSH's client, keys and \
           known hosts. Keys: identity=FILE, a private key; config=FILE for the client; \
           scratch=DIR, a directory of the host.",
    example: Some("ssh:user@host"),
    parse: |keys| Ok(Machine::Ssh(SshHost::parse(keys)?)),
};

/// Maximum length of a host's or user's name in bytes, as in DNS.
const LONGEST_NAME_BYTES: usize = 255;

/// A host, as far as the user specified it. OpenSSH's configuration supplies the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Saved")]
#[schemars(!try_from)]
pub struct SshHost {
    user: Option<String>,
    host: String,
    port: Option<u16>,
    /// The file of a private key.
    pub identity: Option<PathBuf>,
    /// A configuration file for OpenSSH's client instead of the user's.
    pub config: Option<PathBuf>,
    scratch: Option<String>,
}

/// The saved form, with names that may be anything.
#[derive(Deserialize)]
struct Saved {
    user: Option<String>,
    host: String,
    port: Option<u16>,
    identity: Option<PathBuf>,
    config: Option<PathBuf>,
    scratch: Option<String>,
}

impl TryFrom<Saved> for SshHost {
    type Error = String;

    fn try_from(saved: Saved) -> Result<Self, String> {
        let Saved { user, host, port, identity, config, scratch } = saved;
        if let Some(user) = &user {
            check_user(user)?;
        }
        check_host(&host)?;
        let read = SshHost { user, host, port, identity, config, scratch: None };
        scratch.map_or(Ok(read.clone()), |scratch| read.with_scratch(&scratch))
    }
}

impl SshHost {
    /// The host at `[USER@]HOST[:PORT]`; an address with colons is written in brackets. Fails, with
    /// a text, for another form.
    pub fn at(destination: &str) -> Result<Self, String> {
        let (user, place) = match destination.rsplit_once('@') {
            Some((user, place)) => (Some(user.to_owned()), place),
            None => (None, destination),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, rest)) => (address, Some(rest.strip_prefix(':').unwrap_or_default())),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        if let Some(user) = &user {
            check_user(user)?;
        }
        check_host(host)?;
        let port = port.map(|port| match port.parse() {
            Ok(port @ 1..) => Ok(port),
            _ => Err(format!("'{}' is not a port; 1 to 65535", port.escape_debug())),
        });
        let port = port.transpose()?;
        Ok(SshHost { user, host: host.to_owned(), port, identity: None, config: None, scratch: None })
    }

    /// This host with another scratch directory than its default. Fails, with a text, if it is not
    /// an absolute path.
    pub fn with_scratch(self, directory: &str) -> Result<Self, String> {
        if !directory.starts_with('/') || directory.contains(char::is_control) {
            return Err(format!("'{}' is not a path from the root, in one line", directory.escape_debug()));
        }
        Ok(SshHost { scratch: Some(directory.to_owned()), ..self })
    }

    /// This host with another user. Fails, with a text, for an impossible name.
    pub fn with_user(self, user: &str) -> Result<Self, String> {
        check_user(user)?;
        Ok(SshHost { user: Some(user.to_owned()), ..self })
    }

    /// This host with another address or name. Fails, with a text, for an impossible one.
    pub fn with_host(self, host: &str) -> Result<Self, String> {
        check_host(host)?;
        Ok(SshHost { host: host.to_owned(), ..self })
    }

    /// This host with another port.
    pub fn with_port(self, port: u16) -> Self {
        SshHost { port: Some(port), ..self }
    }

    /// The user; that of OpenSSH's configuration if `None`.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The host's name, its address without brackets, or a name of OpenSSH's configuration.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; that of OpenSSH's configuration if `None`.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Scratch directory on the host; `TMPDIR` or `/tmp` there if `None`.
    pub fn scratch(&self) -> Option<&str> {
        self.scratch.as_deref()
    }

    /// True for a name alone.
    pub fn is_bare_name(&self) -> bool {
        let SshHost { user, host, port, identity, config, scratch } = self;
        let is_alone = user.is_none() && port.is_none() && identity.is_none() && config.is_none() && scratch.is_none();
        is_alone && !host.contains(':')
    }

    /// The text `USER@HOST:PORT`.
    pub fn destination(&self) -> String {
        let mut text = String::new();
        if let Some(user) = &self.user {
            text = format!("{user}@");
        }
        text += &if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if let Some(port) = self.port {
            // Writing to a string never fails.
            let _ = write!(text, ":{port}");
        }
        text
    }
}

impl SshHost {
    fn parse(keys: &str) -> Result<Self, String> {
        let parts = parts(keys);
        let Some((destination, keys)) = parts.split_first() else {
            return Err("no host; for example `ssh:user@host`".to_owned());
        };
        let mut host = SshHost::at(destination)?;
        for (key, value) in pairs(keys)? {
            if !host.take(key, value)? {
                return Err(format!("'{key}' is unknown; identity, config or scratch"));
            }
        }
        Ok(host)
    }

    /// Handles a key of the login. False for another key.
    pub(super) fn take(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match key {
            "identity" => self.identity = Some(PathBuf::from(value)),
            "config" => self.config = Some(PathBuf::from(value)),
            "scratch" => *self = self.clone().with_scratch(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The keys of the login.
    pub(super) fn written_keys(&self) -> String {
        let paths = [("identity", &self.identity), ("config", &self.config)];
        let paths =
            paths.into_iter().filter_map(|(key, path)| Some(format!(",{key}={}", written_path(path.as_ref()?))));
        let scratch = self.scratch().map(|scratch| format!(",scratch={}", written(scratch)));
        paths.chain(scratch).collect()
    }
}

impl MachineKind for SshHost {
    fn ssh_host(&self) -> Option<&SshHost> {
        Some(self)
    }

    fn joined(&self) -> Option<Joined> {
        Some(Joined::Hosts)
    }

    fn written(&self) -> String {
        format!("{}:{}{}", KIND.word, self.destination(), self.written_keys())
    }
}

/// Commands that install on a host, reboot it, and switch its power off and on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostControl {
    /// Words of the command that installs, on the host; `{artefact}` stands for the file.
    pub install: Vec<String>,
    /// Words of the command that reboots, on the host.
    pub reboot: Vec<String>,
    /// Words of the command that switches its power off and on, on this host; empty if there is
    /// none.
    pub power_cycle: Vec<String>,
    /// Working directory of that command on this host.
    pub directory: PathBuf,
    /// Time limit for the host to come back.
    pub back_limit: Duration,
}

/// A host over SSH and the commands that control it. A run saves it whole, so a resume reads no
/// declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlledHost {
    /// Address and login.
    pub host: SshHost,
    /// Its commands.
    pub control: HostControl,
}

impl ControlledHost {
    /// The host as a machine.
    pub fn machine(&self) -> Machine {
        Machine::Ssh(self.host.clone())
    }
}

fn check_user(user: &str) -> Result<(), String> {
    check("a user", user, "._-+")
}

fn check_host(host: &str) -> Result<(), String> {
    check("a host", host, "._-:%")
}

/// A name must not look like an option, nor be special to a shell: users' configurations put it
/// into command lines.
fn check(what: &str, name: &str, others: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME_BYTES || name.starts_with('-') || !name.chars().all(fits) {
        return Err(format!("'{}' is not the name of {what}", name.escape_debug()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_read_and_written() {
        for text in ["lab", "me@lab", "me@lab:1", "lab:65535", "10.0.0.1", "[::1]", "a.b+c@[fe80::1%eth0]:22"] {
            assert_eq!(SshHost::at(text).unwrap().destination(), text);
        }
        let host = SshHost::at("me@[::1]:22").unwrap();
        assert_eq!((host.user(), host.host(), host.port()), (Some("me"), "::1", Some(22)));
        assert!(SshHost::at("lab").unwrap().is_bare_name() && !SshHost::at("lab:22").unwrap().is_bare_name());
    }

    #[test]
    fn hostile_names_are_refused() {
        let hosts = [
            "",
            "-lab",
            "-oProxyCommand=touch x",
            "a b",
            "a;b",
            "$(x)",
            "`x`",
            "a\nb",
            "a'b",
            "a/b",
            "a\u{1b}[2J",
            "ä",
            "@",
            "a@",
        ];
        let users = ["-l@lab", "@lab", "a b@lab", "$(x)@lab", "a'@lab", "a\n@lab", "a@b@lab"];
        for text in hosts.into_iter().chain(users) {
            let said = SshHost::at(text).unwrap_err();
            assert!(said.contains("is not the name of a") && !said.contains(['\n', '\u{1b}']), "{text:?}: {said}");
        }
        for text in ["lab:", "lab:0", "lab:65536", "lab:-1", "lab:ssh", "[::1]22:"] {
            assert!(SshHost::at(text).unwrap_err().contains("is not a port"), "{text:?}");
        }
        assert!(SshHost::at("lab").unwrap().with_scratch("/a\nb").is_err());
        assert!(SshHost::at(&"a".repeat(256)).is_err());
    }
}
