//! The operating system of a machine, as the machine reports it, and the directory of its programs.

use crate::TargetError;
use std::fmt;
use std::path::{Path, PathBuf};

/// Systems for which `make guest-bsd` builds, as `uname -s` prints them.
const BUILT_BSDS: [&str; 3] = ["FreeBSD", "NetBSD", "OpenBSD"];

/// Other systems, as `uname -s` prints them, for which a user can build programs.
const OTHERS: [&str; 2] = ["DragonFly", "Linux"];

/// The only other architecture for which `make guest-bsd` builds.
const BUILT_ARCHITECTURE: &str = "x86_64";

/// A system and the architecture of its CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct System {
    name: String,
    architecture: String,
}

impl System {
    /// Parses the output of `uname -sm`. Fails, with a text, if it cannot name a directory.
    pub(crate) fn parse(said: &str) -> Result<Self, String> {
        let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let words: Vec<&str> = said.split(' ').collect();
        match words[..] {
            [name, architecture] if !said.is_empty() && words.iter().all(is_name) => {
                Ok(System { name: name.to_owned(), architecture: architecture.to_owned() })
            }
            _ => Err(format!("it says that it is '{said}', which `uname -sm` prints on no system")),
        }
    }

    /// The system of this machine's guests: Linux, on this machine's architecture.
    pub(crate) fn of_guests() -> Self {
        System { name: "Linux".to_owned(), architecture: std::env::consts::ARCH.to_owned() }
    }

    /// As `uname -s` prints it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// As `uname -m` prints it.
    pub(crate) fn architecture(&self) -> &str {
        &self.architecture
    }

    /// True for a system with `/proc` and `/sys`.
    pub(crate) fn is_linux(&self) -> bool {
        self.name == "Linux"
    }

    /// Directory of the system's programs: the guests' directory for guests, otherwise a
    /// subdirectory.
    pub(crate) fn directory(&self, guest: &Path) -> PathBuf {
        if *self == System::of_guests() {
            return guest.to_owned();
        }
        guest.join(self.directory_name())
    }

    /// Name of the subdirectory, like a cross compiler's target.
    pub(crate) fn directory_name(&self) -> String {
        format!("{}-{}", self.usual_architecture(), self.name.to_lowercase())
    }

    /// Systems that have a subdirectory among the guests' parts.
    pub(crate) fn with_directories(guest: &Path) -> Vec<Self> {
        let entries = std::fs::read_dir(guest).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names.iter().filter_map(|name| Self::of_directory(name)).collect()
    }

    fn of_directory(name: &str) -> Option<Self> {
        let (architecture, system) = name.rsplit_once('-')?;
        let mut known = BUILT_BSDS.into_iter().chain(OTHERS);
        let name = known.find(|known| known.to_lowercase() == system).unwrap_or(system);
        Some(System { name: name.to_owned(), architecture: architecture.to_owned() })
    }

    /// Hint: the command that builds the programs.
    pub(crate) fn hint(&self) -> String {
        if *self == System::of_guests() {
            return "`make guest` builds what guests need".to_owned();
        }
        if BUILT_BSDS.contains(&self.name()) && self.usual_architecture() == BUILT_ARCHITECTURE {
            return "`make guest-bsd` builds the programs for FreeBSD, NetBSD and OpenBSD".to_owned();
        }
        "`make guest-bsd` does not build for it; docs/HOSTS.md says how to build the programs on such a system"
            .to_owned()
    }

    /// Fails if the system's programs have no directory.
    pub(crate) fn check_directory(&self, guest: &Path) -> Result<(), TargetError> {
        let directory = self.directory(guest);
        if directory.is_dir() {
            return Ok(());
        }
        let problem = format!("there are no programs for {self}: {} is missing", directory.display());
        Err(TargetError { problem, hint: self.hint() })
    }

    /// One name of the architecture for all systems.
    fn usual_architecture(&self) -> &str {
        match self.architecture.as_str() {
            "amd64" => "x86_64",
            "arm64" => "aarch64",
            other => other,
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(said: &str) -> PathBuf {
        System::parse(said).unwrap().directory(Path::new("/g"))
    }

    #[test]
    fn each_system_has_a_directory() {
        assert_eq!(directory(&format!("Linux {}", std::env::consts::ARCH)), Path::new("/g"));
        assert_eq!(directory("FreeBSD amd64"), Path::new("/g/x86_64-freebsd"));
        assert_eq!(directory("OpenBSD arm64"), Path::new("/g/aarch64-openbsd"));
        assert_eq!(directory("DragonFly x86_64"), Path::new("/g/x86_64-dragonfly"));
    }

    #[test]
    fn directories_lead_back_to_their_systems() {
        let guest = tempfile::tempdir().unwrap();
        for name in ["workloads", "i86pc-sunos", "x86_64-openbsd", "i686-linux"] {
            std::fs::create_dir(guest.path().join(name)).unwrap();
        }
        let found: Vec<String> = System::with_directories(guest.path()).iter().map(System::to_string).collect();
        assert_eq!(found, ["Linux i686", "sunos i86pc", "OpenBSD x86_64"]);
        assert_eq!(System::with_directories(&guest.path().join("nowhere")), []);
    }

    #[test]
    fn what_leads_elsewhere_is_no_system() {
        for said in ["", "Linux", "Linux x86_64 more", "../x y", "a /b", "FreeBSD ..", " amd64x\u{e9}"] {
            assert!(System::parse(said).is_err(), "{said:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_builds_it() {
        let missing = |said: &str| System::parse(said).unwrap().check_directory(Path::new("/nowhere")).unwrap_err();
        let freebsd = missing("FreeBSD amd64");
        assert_eq!(freebsd.problem, "there are no programs for FreeBSD amd64: /nowhere/x86_64-freebsd is missing");
        assert!(freebsd.hint.contains("`make guest-bsd`"), "{freebsd:?}");
        assert!(missing("DragonFly x86_64").hint.contains("does not build for it"));
        assert!(missing("NetBSD evbarm").hint.contains("does not build for it"));
        assert!(System::of_guests().check_directory(Path::new("/nowhere")).unwrap_err().hint.contains("`make guest`"));
    }
}
