//! SSH hosts declared in `faultline.toml` (`[host.NAME]`): their address, and how to install,
//! reboot and power-cycle them.

use crate::error::Error;
use crate::places::Places;
use crate::settings_file::{self, SettingsTable};
use faultline_record::machine::{ControlledHost, HostControl, Machine, SshHost};
use faultline_targets::ssh;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const HINT: &str = "docs/HOSTS.md describes the keys of `[host.NAME]`";

/// Default reboot command.
const USUAL_REBOOT: [&str; 2] = ["systemctl", "reboot"];

/// Default time limit for a host to come back.
const USUAL_BACK_LIMIT: Duration = Duration::from_secs(5 * 60);

/// The keys of a host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    ssh: String,
    port: Option<u16>,
    identity: Option<PathBuf>,
    config: Option<PathBuf>,
    scratch: Option<String>,
    #[serde(default)]
    install: Vec<String>,
    reboot: Option<Vec<String>>,
    #[serde(default)]
    power_cycle: Vec<String>,
    back_limit: Option<String>,
}

/// The hosts that a file declares, by name.
#[derive(Debug, Default)]
pub struct Hosts(BTreeMap<String, ControlledHost>);

impl Hosts {
    /// The hosts that the text of a file declares. Fails if a declaration is impossible.
    pub fn of_text(text: &str, file: &Path) -> Result<Self, Error> {
        let written: Option<BTreeMap<String, toml::Spanned<Entry>>> =
            settings_file::table(text, file, SettingsTable::Host, HINT)?;
        let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut hosts = BTreeMap::new();
        for (name, entry) in written.unwrap_or_default() {
            let at = entry.span();
            let declared = entry.into_inner().declared(directory).map_err(|problem| {
                let problem = format!("host '{}': {problem}", name.escape_debug());
                settings_file::refused(text, file, at, &problem, HINT)
            })?;
            hosts.insert(name, declared);
        }
        Ok(Hosts(hosts))
    }

    /// The names of the hosts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The host with a declared name, if the machine is nothing but that name.
    pub fn named(&self, host: &SshHost) -> Option<&ControlledHost> {
        self.0.get(host.host()).filter(|_| host.is_bare_name())
    }
}

/// The declaration of a host in the file of the places; `None` if the machine is not a declared
/// name. Fails if the file cannot be read, if a declaration is impossible, or if the user has not
/// consented to the file.
pub fn declared(host: &SshHost, places: &Places) -> Result<Option<ControlledHost>, Error> {
    let Some(file) = places.settings.as_deref().filter(|_| host.is_bare_name()) else { return Ok(None) };
    let text = settings_file::read(file)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", file.display()), HINT))?;
    let declared = Hosts::of_text(&text, file)?.named(host).cloned();
    declared.is_some().then(|| places.consent.check(file, &text)).transpose()?;
    Ok(declared)
}

/// Fails like [`declared`] for one of these machines, before any of them is used.
pub fn check<'a>(machines: impl IntoIterator<Item = &'a Machine>, places: &Places) -> Result<(), Error> {
    machines.into_iter().filter_map(Machine::ssh_host).try_for_each(|host| declared(host, places).map(drop))
}

/// An undeclared host, which can only reboot.
fn undeclared(host: SshHost) -> ControlledHost {
    let control = HostControl {
        install: Vec::new(),
        reboot: USUAL_REBOOT.map(str::to_owned).into(),
        power_cycle: Vec::new(),
        directory: PathBuf::new(),
        back_limit: USUAL_BACK_LIMIT,
    };
    ControlledHost { host, control }
}

/// The host with absolute paths, because a resume may begin in another directory. `directory`:
/// default working directory of its commands. Fails if the working directory does not exist.
pub fn with_absolute_paths(on: ControlledHost, directory: &Path) -> std::io::Result<ControlledHost> {
    let ControlledHost { mut host, mut control } = on;
    host.identity = host.identity.map(std::path::absolute).transpose()?;
    host.config = host.config.map(std::path::absolute).transpose()?;
    let declared = Some(control.directory).filter(|declared| !declared.as_os_str().is_empty());
    control.directory = std::path::absolute(declared.unwrap_or_else(|| directory.to_owned()))?;
    Ok(ControlledHost { host, control })
}

/// The host that measures a search, as declared in `faultline.toml`, otherwise undeclared. Fails
/// like [`declared`].
pub fn of_search(named: &SshHost, places: &Places) -> Result<ControlledHost, Error> {
    let host = declared(named, places)?.unwrap_or_else(|| undeclared(named.clone()));
    with_absolute_paths(host, Path::new(".")).map_err(|error| {
        Error::failed(format!("cannot determine the working directory: {error}"), "change to an existing directory")
    })
}

impl Entry {
    /// Paths are relative to `directory`. Fails in words.
    fn declared(self, directory: &Path) -> Result<ControlledHost, String> {
        let mut host = SshHost::at(&self.ssh)?;
        if let Some(port) = self.port {
            if host.port().is_some() {
                return Err("the port is given twice".to_owned());
            }
            host = host.with_port(port);
        }
        if let Some(scratch) = &self.scratch {
            host = host.with_scratch(scratch)?;
        }
        host.identity = self.identity.map(|path| directory.join(path));
        host.config = self.config.map(|path| directory.join(path));
        let reboot = self.reboot.unwrap_or_else(|| USUAL_REBOOT.map(str::to_owned).into());
        for (key, words) in [("install", &self.install), ("reboot", &reboot), ("power_cycle", &self.power_cycle)] {
            if words.iter().any(|word| word.contains('\0')) || words.first().is_some_and(String::is_empty) {
                return Err(format!("`{key}` is not a command"));
            }
        }
        if reboot.is_empty() {
            return Err("`reboot` is not a command".to_owned());
        }
        if !self.install.is_empty() && !self.install.iter().any(|word| word.contains(ssh::ARTEFACT)) {
            return Err(format!("`install` has no {}, which stands for the file that is installed", ssh::ARTEFACT));
        }
        let back_limit = match self.back_limit {
            None => USUAL_BACK_LIMIT,
            Some(text) => match humantime::parse_duration(&text) {
                Ok(limit) if !limit.is_zero() => limit,
                _ => {
                    return Err(format!(
                        "`back_limit`: '{}' is not a limit; write it like 90s or 5m",
                        text.escape_debug()
                    ));
                }
            },
        };
        let (install, power_cycle, directory) = (self.install, self.power_cycle, directory.to_owned());
        Ok(ControlledHost { host, control: HostControl { install, reboot, power_cycle, directory, back_limit } })
    }
}

/// The machine behind a declared name, or the machine itself.
pub(crate) fn resolved(host: &SshHost, places: &Places) -> Result<SshHost, Error> {
    Ok(declared(host, places)?.map_or_else(|| host.clone(), |declared| declared.host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Hosts, Error> {
        Hosts::of_text(text, Path::new("lab/faultline.toml"))
    }

    fn named(hosts: &Hosts, text: &str) -> Option<ControlledHost> {
        hosts.named(&SshHost::at(text).unwrap()).cloned()
    }

    #[test]
    fn hosts_are_read_beside_other_tables() {
        let text = "[variant.x]\n[subject.y]\n[host.lab]\nssh = \"root@lab.example\"\nport = 2222\nidentity = \"keys/lab\"\n\
            install = [\"dpkg\", \"-i\", \"{artefact}\"]\npower_cycle = [\"./plug\", \"lab\"]\nback_limit = \"90s\"\n[host.other]\nssh = \"other\"\n";
        let hosts = parse(text).unwrap();
        let lab = named(&hosts, "lab").unwrap();
        assert_eq!(lab.host.destination(), "root@lab.example:2222");
        assert_eq!(lab.host.identity.as_deref(), Some(Path::new("lab/keys/lab")));
        assert_eq!(lab.control.reboot, USUAL_REBOOT);
        assert_eq!(
            (lab.control.back_limit, lab.control.directory.as_path()),
            (Duration::from_secs(90), Path::new("lab"))
        );
        assert_eq!(named(&hosts, "other").unwrap().control.back_limit, USUAL_BACK_LIMIT);
        for text in ["me@lab", "lab:22", "unknown"] {
            assert_eq!(named(&hosts, text), None, "{text}");
        }
    }

    #[test]
    fn what_is_impossible_is_refused_with_its_line() {
        for (lines, problem) in [
            ("port = 1", "missing field `ssh`"),
            ("ssh = \"-oProxyCommand=x\"", "host 'lab': '-oProxyCommand=x' is not the name of a host"),
            ("ssh = \"a:1\"\nport = 2", "the port is given twice"),
            ("ssh = \"a\"\nscratch = \"tmp\"", "not a path from the root"),
            ("ssh = \"a\"\ninstall = [\"make\"]", "`install` has no {artefact}"),
            ("ssh = \"a\"\nreboot = []", "`reboot` is not a command"),
            ("ssh = \"a\"\nback_limit = \"0s\"", "'0s' is not a limit"),
            ("ssh = \"a\"\npassword = \"b\"", "unknown field `password`"),
        ] {
            let said = parse(&format!("\n[host.lab]\n{lines}\n")).unwrap_err().problem;
            assert!(said.contains(problem) && said.starts_with("lab/faultline.toml:"), "{said}");
        }
    }
}
