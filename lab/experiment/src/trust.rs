//! Consent to a `faultline.toml`: builds, commands and hosts that it declares are used only after
//! the user has accepted its content. Accepted files are listed in the user's state directory, as
//! lines `DIGEST PATH`. The digest covers path and content, so a changed file is asked about again,
//! and so is a copy elsewhere. It does not cover files that the file names.

use crate::error::{Error, ErrorKind};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The files that a command may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consent {
    /// True if the command may use every file.
    pub is_given: bool,
    /// The list of accepted files; `None` without a home directory.
    pub list: Option<PathBuf>,
}

impl Consent {
    /// Fails with [`ErrorKind::Untrusted`] unless the user has accepted this text of the file.
    pub fn check(&self, file: &Path, text: &str) -> Result<(), Error> {
        if self.includes(file, text) {
            return Ok(());
        }
        let shown = file.display().to_string();
        let hint = format!(
            "`faultline trust {}` shows what it would execute and trusts it; `--trust` does for one command",
            shell_words::quote(&shown)
        );
        Err(Error {
            problem: format!("{shown} has not been trusted, or has changed since"),
            hint: Some(hint),
            kind: ErrorKind::Untrusted { file: file.to_owned() },
            because: Vec::new(),
        })
    }

    /// True if the command may use this text of the file.
    pub fn includes(&self, file: &Path, text: &str) -> bool {
        self.is_given || self.is_listed(file, text)
    }

    /// True if the user has accepted this text of the file.
    pub fn is_listed(&self, file: &Path, text: &str) -> bool {
        let list = self.list.as_deref().and_then(|list| fs::read_to_string(list).ok());
        let digest = digest(file, text).ok();
        list.zip(digest).is_some_and(|(list, digest)| entries(&list).any(|(known, _)| known == digest))
    }

    /// Accepts this text of the file, instead of an earlier one. Fails if the list cannot be
    /// written.
    pub fn add(&self, file: &Path, text: &str) -> Result<(), Error> {
        let list = self.list.as_deref().ok_or_else(|| {
            Error::failed(
                "there is no home directory for the list of trusted files",
                "set HOME or XDG_STATE_HOME; `--trust` needs no list",
            )
        })?;
        try_add(list, file, text).map_err(|error| {
            Error::failed(
                format!("cannot write {}: {error}", list.display()),
                "make room or permit it; `--trust` needs no list",
            )
        })
    }
}

/// Digests and paths of a list.
fn entries(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.lines().filter_map(|line| line.split_once(' '))
}

fn try_add(list: &Path, file: &Path, text: &str) -> io::Result<()> {
    let digest = digest(file, text)?;
    // One line, whatever the path has.
    let path = whole_path(file)?.to_string_lossy().escape_debug().to_string();
    let before = match fs::read_to_string(list) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let directory = list.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // Readable by its owner only, and complete when it gets its name.
    let mut new = NamedTempFile::new_in(directory)?;
    for (known, other) in entries(&before).filter(|(_, other)| *other != path) {
        writeln!(new, "{known} {other}")?;
    }
    writeln!(new, "{digest} {path}")?;
    new.persist(list).map_err(|error| error.error)?;
    Ok(())
}

/// The path of a file below its directory's canonical path, from which its relative paths start. A
/// link elsewhere to a trusted file is therefore another file. Fails if the directory is gone.
fn whole_path(file: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(file)?;
    let (Some(directory), Some(name)) = (whole.parent(), whole.file_name()) else { return whole.canonicalize() };
    Ok(directory.canonicalize()?.join(name))
}

/// Digest of a file's whole path and its text. Fails if its directory is gone.
fn digest(file: &Path, text: &str) -> io::Result<String> {
    let path = whole_path(file)?;
    let path = path.as_os_str().as_bytes();
    let mut sha256 = Sha256::new_with_prefix((path.len() as u64).to_le_bytes());
    sha256.update(path);
    sha256.update(text);
    Ok(sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_text_is_accepted_at_one_path_until_it_changes() {
        let place = tempfile::tempdir().unwrap();
        let list = place.path().join("state/faultline/trusted");
        let consent = Consent { is_given: false, list: Some(list.clone()) };
        let [file, other] = ["a\nb.toml", "other.toml"].map(|name| place.path().join(name));
        for file in [&file, &other] {
            fs::write(file, "one").unwrap();
        }
        assert!(!consent.includes(&file, "one"), "without a list");
        consent.add(&file, "one").unwrap();
        assert!(consent.check(&file, "one").is_ok() && !consent.includes(&file, "two"));
        assert!(!consent.includes(&other, "one"), "the same content at another path");
        // Its relative paths would start elsewhere.
        let linked = place.path().join("elsewhere");
        fs::create_dir(&linked).unwrap();
        std::os::unix::fs::symlink(&file, linked.join("faultline.toml")).unwrap();
        assert!(!consent.includes(&linked.join("faultline.toml"), "one"), "a link to the trusted file");
        let error = consent.check(&other, "one").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Untrusted { file: other.clone() });
        assert!(error.problem.ends_with("other.toml has not been trusted, or has changed since"), "{error}");

        consent.add(&other, "one").unwrap();
        consent.add(&file, "two").unwrap();
        assert!(consent.includes(&other, "one") && consent.includes(&file, "two") && !consent.includes(&file, "one"));
        assert_eq!(fs::read_to_string(&list).unwrap().lines().count(), 2, "one line for each path");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&list), mode(list.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn consent_for_one_command_needs_no_list() {
        let file = Path::new("/nowhere/at/all");
        assert!(Consent { is_given: true, list: None }.check(file, "").is_ok());
        let none = Consent::default();
        assert!(none.check(file, "").is_err() && none.add(file, "").is_err());
    }
}
