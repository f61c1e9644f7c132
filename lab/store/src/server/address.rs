//! Addresses of databases on a server: URLs, shown without their passwords, and passwords from
//! elsewhere (`PGPASSWORD`, `PGPASSFILE`, `~/.pgpass`).

use super::encryption::{self, Encryption, Where};
use crate::StoreError;
use postgres::Config;
use postgres::config::Host;
use std::fmt::{Display, Formatter};
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// Default time limit for connecting (`connect_timeout` in the URL, in seconds).
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Default port of a server.
const USUAL_PORT: u16 = 5432;

/// Hint: the form of a URL.
const FORM: &str = "the form is postgres://USER@HOST/DATABASE or postgres:///DATABASE?host=/var/run/postgresql&user=USER; write @ and / in a password as %40 and %2F";

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
    /// Reads a URL. Fails if it names no host or database, or an impossible encryption. No message
    /// quotes the URL, because any part of it may belong to a password.
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

    /// Encryption of connections.
    pub(super) fn encryption(&self) -> &Encryption {
        &self.encryption
    }

    /// The client's configuration with the password. Fails if other users may read the password
    /// file.
    pub(super) fn config(&self) -> Result<Config, StoreError> {
        let mut config = self.config.clone();
        if config.get_password().is_none()
            && let Some(password) = find_password(self.login())?
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

    /// Time limit for connecting.
    pub(super) fn connect_limit(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT_LIMIT)
    }

    /// Name of the database.
    fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_default()
    }

    /// Name of the user.
    fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }
}

/// Location of the server; if the URL names several, of the farthest.
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
        // A single port applies to all hosts.
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

/// A login that needs a password.
#[derive(Debug, Clone, Copy)]
struct Login<'a> {
    host: &'a str,
    port: u16,
    database: &'a str,
    user: &'a str,
}

/// The password of a login; `None` if none is found. Fails if other users may read the password
/// file.
fn find_password(login: Login<'_>) -> Result<Option<String>, StoreError> {
    if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()) {
        return Ok(Some(password));
    }
    let Some(path) = password_file() else { return Ok(None) };
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    let others_may_read = path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
    if others_may_read {
        let problem = format!("other users may read the passwords in {}", path.display());
        return Err(StoreError::unusable(problem, "make the file private with `chmod 600`"));
    }
    Ok(text.lines().find_map(|line| password_of(line, login)))
}

fn password_file() -> Option<PathBuf> {
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass")))
}

/// The password of a line `HOST:PORT:DATABASE:USER:PASSWORD`, if the line matches the login. `*`
/// matches anything; a backslash escapes a colon or backslash.
fn password_of(line: &str, login: Login<'_>) -> Option<String> {
    let line = line.trim_start();
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in [login.host, &login.port.to_string(), login.database, login.user] {
        let (field, after) = field(rest);
        if field != wanted && rest.split(':').next() != Some("*") {
            return None;
        }
        rest = after?;
    }
    Some(field(rest).0)
}

/// The first field, unescaped, and the text after its colon.
fn field(text: &str) -> (String, Option<&str>) {
    let mut field = String::new();
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            ':' => return (field, Some(&text[at + 1..])),
            '\\' => field.extend(signs.next().map(|(_, escaped)| escaped)),
            sign => field.push(sign),
        }
    }
    (field, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> = Login { host: "db.example", port: 5432, database: "team:x", user: "ada" };

    #[test]
    fn a_line_matches_the_login_that_it_names() {
        let password = |line| password_of(line, LOGIN);
        assert_eq!(password("db.example:5432:team\\:x:ada:se\\:cr\\\\et").as_deref(), Some("se:cr\\et"));
        assert_eq!(password("*:*:*:ada:any").as_deref(), Some("any"));
        assert_eq!(password("*:5433:*:ada:other"), None);
        assert_eq!(password("# *:*:*:*:x"), None);
        assert_eq!(password("db.example:5432:team:x:ada:x"), None, "a colon in a name has a backslash");
        assert_eq!(password("\\*:*:*:*:x"), None, "a star with a backslash is a star");
        assert_eq!(password(""), None);
    }
}
