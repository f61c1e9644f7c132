//! A host that is reached over SSH: where it is, and how to log in. Its parts are words of `ssh`'s command line, so only what is certainly a name passes.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::PathBuf;

/// Longest name of a host or user, in bytes: that of DNS.
const LONGEST_NAME_BYTES: usize = 255;

/// A host, as far as the user specified it. What is missing, OpenSSH's configuration says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
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

/// The same as it is saved, with names that may be anything.
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
    /// The host at `[USER@]HOST[:PORT]`; an address with colons is written in brackets. Fails, in words, if it is none.
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

    /// The same with scratch files in another directory of the host than its default one. Fails, in words, if it is not a path from the root.
    pub fn with_scratch(self, directory: &str) -> Result<Self, String> {
        if !directory.starts_with('/') || directory.contains(char::is_control) {
            return Err(format!("'{}' is not a path from the root, in one line", directory.escape_debug()));
        }
        Ok(SshHost { scratch: Some(directory.to_owned()), ..self })
    }

    /// The same as another user. Fails, in words, if that cannot be the name of one.
    pub fn with_user(self, user: &str) -> Result<Self, String> {
        check_user(user)?;
        Ok(SshHost { user: Some(user.to_owned()), ..self })
    }

    /// The same at another address or name. Fails, in words, if it cannot be one.
    pub fn with_host(self, host: &str) -> Result<Self, String> {
        check_host(host)?;
        Ok(SshHost { host: host.to_owned(), ..self })
    }

    /// The same on another port.
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

    /// The directory on the host for scratch files; `TMPDIR` or `/tmp` there if `None`.
    pub fn scratch(&self) -> Option<&str> {
        self.scratch.as_deref()
    }

    /// Whether it is nothing but a name.
    pub fn is_bare_name(&self) -> bool {
        let SshHost { user, host, port, identity, config, scratch } = self;
        let is_alone = user.is_none() && port.is_none() && identity.is_none() && config.is_none() && scratch.is_none();
        is_alone && !host.contains(':')
    }

    /// As people write it: `USER@HOST:PORT`.
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

fn check_user(user: &str) -> Result<(), String> {
    check("a user", user, "._-+")
}

fn check_host(host: &str) -> Result<(), String> {
    check("a host", host, "._-:%")
}

/// A name must not be taken for an option, nor mean anything to a shell: users' configurations put it into command lines.
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
