//! The sandbox of untrusted programs: namespaces in which they find no network, no home directories
//! and no database, and can write only to directories of their own.
//!
//! The keeper makes it between fork and exec of the program, so no process is added, and nothing of
//! it is in the program's time. The keeper itself stays outside. docs/UNTRUSTED-CODE.md describes
//! the limits.

#[cfg(target_os = "linux")]
mod enter;
mod environment;
#[cfg(target_os = "linux")]
mod view;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub(crate) use enter::{Entrance, Failed};
pub(crate) use environment::variables;

/// A sandbox. The default has no network and no directory to write to except scratch space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// True to use the host's network.
    pub has_network: bool,
    /// Existing directories in which the program may write.
    pub writable: Vec<PathBuf>,
    /// Files and directories that the program may read although they are in a hidden directory.
    pub visible: Vec<PathBuf>,
    /// Hidden directories in addition to the usual ones, and files that look empty.
    pub hidden: Vec<PathBuf>,
}

/// Word before each part of a sandbox in the keeper's arguments. The part's kind and value follow.
pub(crate) const WORD: &str = "sandbox";

const NETWORK: &str = "network";
const WRITABLE: &str = "writable";
const VISIBLE: &str = "visible";
const HIDDEN: &str = "hidden";
const OPEN: &str = "open";
const CLOSED: &str = "closed";

impl Sandbox {
    /// The sandbox of a workload's program that runs another one in `directory`.
    pub(crate) fn around(&self, workloads: &Path, directory: Option<&Path>) -> Self {
        let mut sandbox = self.clone();
        sandbox.visible.push(workloads.to_owned());
        sandbox.writable.extend(directory.map(Path::to_owned));
        sandbox
    }

    /// The keeper's arguments.
    pub(crate) fn words(&self) -> Vec<&OsStr> {
        let network = (NETWORK, OsStr::new(if self.has_network { OPEN } else { CLOSED }));
        let lists = [(WRITABLE, &self.writable), (VISIBLE, &self.visible), (HIDDEN, &self.hidden)];
        let paths = lists.into_iter().flat_map(|(kind, paths)| paths.iter().map(move |path| (kind, path.as_os_str())));
        let parts = std::iter::once(network).chain(paths);
        parts.flat_map(|(kind, value)| [OsStr::new(WORD), OsStr::new(kind), value]).collect()
    }

    /// Adds a part from the keeper's arguments. `None` for an unknown kind.
    pub(crate) fn add(&mut self, kind: &OsStr, value: OsString) -> Option<()> {
        match kind.to_str()? {
            NETWORK => self.has_network = value == OPEN,
            WRITABLE => self.writable.push(value.into()),
            VISIBLE => self.visible.push(value.into()),
            HIDDEN => self.hidden.push(value.into()),
            _ => return None,
        }
        Some(())
    }
}

/// The failed step of an entry. No step fails where there is no sandbox.
#[cfg(not(target_os = "linux"))]
pub(crate) enum Failed {}

#[cfg(not(target_os = "linux"))]
impl Failed {
    pub(crate) fn not_made(self, _: &std::io::Error) -> Option<NotMade> {
        match self {}
    }
}

/// Beginning of the message about a system or user that cannot have a sandbox.
pub(crate) const NOT_GIVEN: &str = "this system gives no sandbox: ";

/// A sandbox that was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotMade {
    /// The reason, in words.
    pub(crate) why: String,
    /// True if this system or this user cannot have a sandbox at all.
    pub(crate) is_refused: bool,
}

impl NotMade {
    /// The system gives none.
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        NotMade { why: why.into(), is_refused: true }
    }

    /// A failure of an attempt.
    pub(crate) fn failed(why: impl ToString) -> Self {
        NotMade { why: why.to_string(), is_refused: false }
    }

    /// The message of the keeper.
    pub(crate) fn text(&self) -> String {
        let beginning = if self.is_refused { NOT_GIVEN } else { "the sandbox cannot be made: " };
        format!("{beginning}{}", self.why)
    }
}

/// True for the error of a system call that this system, or this user, is not given. Others, such
/// as a lack of memory or of free namespaces, may be absent from the next attempt.
#[cfg(target_os = "linux")]
pub(crate) fn is_refusal(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    const REFUSALS: [Errno; 5] = [Errno::PERM, Errno::ACCESS, Errno::NOSYS, Errno::INVAL, Errno::OPNOTSUPP];
    const AT_A_LIMIT: [Errno; 2] = [Errno::NOSPC, Errno::USERS];
    let is_in = |errors: &[Errno]| errors.iter().any(|own| Some(own.raw_os_error()) == error.raw_os_error());
    let has_none = || {
        let limit = std::fs::read_to_string("/proc/sys/user/max_user_namespaces");
        limit.is_ok_and(|limit| limit.trim() == "0")
    };
    is_in(&REFUSALS) || (is_in(&AT_A_LIMIT) && has_none())
}

/// Removes a scratch directory with the sandbox's files. Fails if a file cannot be removed.
pub(crate) fn remove_scratch(scratch: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(scratch) {
        // An overlay leaves a directory that only root can read, and programs can make others.
        #[cfg(target_os = "linux")]
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            view::open_directories(scratch);
            std::fs::remove_dir_all(scratch)
        }
        removed => removed,
    }
}

/// Phrases of programs that cannot reach a network. Not translated, as these programs print them.
const UNREACHABLE: [&str; 8] = [
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "network is unreachable",
    "dial tcp",
    "eai_again",
];

/// True if a line of a program's output says that it cannot reach a network.
pub fn lacks_network(line: &str) -> bool {
    let line = line.to_lowercase();
    UNREACHABLE.iter().any(|phrase| line.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keeper_reads_what_it_is_given() {
        let sandbox = Sandbox {
            has_network: true,
            writable: vec!["/a b".into(), "/c".into()],
            visible: vec!["/d".into()],
            hidden: vec!["/e".into()],
        };
        for sandbox in [Sandbox::default(), sandbox] {
            let mut found = Sandbox::default();
            for part in sandbox.words().chunks(3) {
                assert_eq!(part[0], WORD);
                found.add(part[1], part[2].to_owned()).unwrap();
            }
            assert_eq!(found, sandbox);
        }
        assert_eq!(Sandbox::default().add(OsStr::new("other"), "x".into()), None);
    }

    #[test]
    fn a_program_without_a_network_says_so_in_several_ways() {
        for line in [
            "fatal: unable to access 'https://x/': Could not resolve host: x",
            "go: x@v1: Get \"https://x\": dial tcp: lookup x",
            "npm error code EAI_AGAIN",
        ] {
            assert!(lacks_network(line), "{line}");
        }
        assert!(!lacks_network("error: network.c:3: undeclared identifier"));
    }
}
