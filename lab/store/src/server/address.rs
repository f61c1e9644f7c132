//! The address of a server's database: a URL, shown without its password.

use super::encryption::{self, Encryption, Where};
use super::password::{self, Login};
use crate::StoreError;
use postgres::Config;
use postgres::config::Host;
use std::fmt::{Display, Formatter};
use std::net::IpAddr;
use std::time::Duration;

/// How long an attempt to connect may take, unless the URL says otherwise (`connect_timeout`, in seconds).
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The port of a server, unless the URL says otherwise.
const USUAL_PORT: u16 = 5432;

/// What a URL looks like.
const FORM: &str = "write it like postgres://USER@HOST/DATABASE or postgres:///DATABASE?host=/var/run/postgresql&user=USER; a sign like @ or / in a password is written as %40 or %2F";

/// The address of a database on a server.
#[derive(Clone)]
pub(crate) struct Address {
    config: Config,
    encryption: Encryption,
    /// The URL without the password and the options.
    shown: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Address").field(&self.shown).finish()
    }
}

impl Display for Address {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.shown)
    }
}

impl Address {
    /// Reads a URL. Fails if it names no host or no database, or an encryption that is not possible. No message cites the URL, since any part of it may be a
    /// part of a password.
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let wrong = |problem: &str| StoreError::unusable(format!("the URL of the database {problem}"), FORM);
        let (url, asked) = encryption::split(url);
        let mut config: Config = url.parse().map_err(|_| wrong("cannot be read"))?;
        let has_sign = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
        if config.get_hosts().is_empty() {
            return Err(wrong("names no host"));
        }
        if config.get_hosts().iter().any(has_sign) {
            return Err(wrong("cannot be read"));
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(wrong("names no database"));
        }
        if config.get_user().is_none() {
            let user = ["PGUSER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
            config.user(&user.filter(|user| !user.is_empty()).ok_or_else(|| wrong("names no user"))?);
        }
        let shown = shown(&config);
        let encryption = asked.decide(place(&config), &shown)?;
        config.ssl_mode(encryption.mode());
        Ok(Address { config, encryption, shown })
    }

    /// How connections are encrypted.
    pub(super) fn encryption(&self) -> &Encryption {
        &self.encryption
    }

    /// What to connect with, the password included. Fails if the file of passwords cannot be used.
    pub(super) fn config(&self) -> Result<Config, StoreError> {
        let mut config = self.config.clone();
        if config.get_password().is_none()
            && let Some(password) = password::find(self.login())?
        {
            config.password(password);
        }
        Ok(config)
    }

    fn login(&self) -> Login<'_> {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name,
            Some(Host::Unix(_)) | None => "localhost",
        };
        let port = self.config.get_ports().first().copied().unwrap_or(USUAL_PORT);
        Login { host, port, database: self.database(), user: self.user() }
    }

    /// How long an attempt to connect may take.
    pub(super) fn connect_limit(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT_LIMIT)
    }

    /// The name of the database on its server.
    fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_default()
    }

    /// The user's name on the server.
    fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }
}

/// Where the server is; if the URL names several, the farthest of them.
fn place(config: &Config) -> Where {
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    let is_own = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
    };
    if !config.get_hosts().iter().all(is_own) || !config.get_hostaddrs().iter().all(IpAddr::is_loopback) {
        Where::Elsewhere
    } else if config.get_hosts().iter().any(is_socket) {
        Where::Socket
    } else {
        Where::ThisMachine
    }
}

/// The URL without the password and the options.
fn shown(config: &Config) -> String {
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or_default();
    let (mut names, mut socket) = (Vec::new(), String::new());
    for (index, host) in config.get_hosts().iter().enumerate() {
        // One port is for all hosts.
        let ports = config.get_ports();
        let port = ports.get(index).or(ports.first()).filter(|port| **port != USUAL_PORT);
        let with_port = |sign: &str| port.map_or_else(String::new, |port| format!("{sign}{port}"));
        match host {
            Host::Tcp(name) => names.push(format!("{name}{}", with_port(":"))),
            Host::Unix(directory) => socket = format!("?host={}{}", directory.display(), with_port("&port=")),
        }
    }
    format!("postgres://{user}@{}/{database}{socket}", names.join(","))
}
