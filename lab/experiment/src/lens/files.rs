//! Files of a lens run, found again by path with their contents checked, and the lens's plugin.

use crate::error::Error;
use crate::places::Places;
use faultline_record::lens::settings::{LensAgain, SavedFile};
use faultline_record::record::RunId;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The file in its present state. Fails if it cannot be read.
pub(super) fn saved(path: &Path) -> Result<SavedFile, Error> {
    let unreadable = |error: std::io::Error| {
        Error::usage(format!("cannot read {}: {error}", path.display()), "name a readable file")
    };
    let whole = path.canonicalize().map_err(unreadable)?;
    let sha256 = digest(&whole).map_err(unreadable)?;
    Ok(SavedFile { path: whole.to_string_lossy().into_owned(), sha256 })
}

/// The file of a resumed run. Fails if it is missing, or if its content changed. `what`: its name
/// for messages, with an article.
pub(super) fn found_again(file: &SavedFile, what: &str, run: RunId) -> Result<PathBuf, Error> {
    let hint = format!(
        "restore it, or start a new run for the rest: the counts of run {run} are kept (`faultline show {run}`)"
    );
    let path = PathBuf::from(&file.path);
    let sha256 = digest(&path)
        .map_err(|error| Error::failed(format!("run {run} needs {what} {}: {error}", file.path), hint.clone()))?;
    if sha256 != file.sha256 {
        let problem = format!(
            "{what} {} has changed since run {run} began, so counts before and after are not comparable",
            file.path
        );
        return Err(Error::failed(problem, hint));
    }
    Ok(path)
}

/// The program or kernel of a resumed run. Fails like [`found_again`], or if the run does not name
/// it.
pub(super) fn subject_again(again: &LensAgain, what: &str, run: RunId) -> Result<PathBuf, Error> {
    match &again.subject {
        Some(subject) => found_again(subject, what, run),
        None => Err(Error::failed(
            format!("run {run} does not say what it counted"),
            "its database was changed by hand; start a new run",
        )),
    }
}

/// The digest of a file's content, in hexadecimal digits.
pub(super) fn digest(path: &Path) -> std::io::Result<String> {
    let bytes = std::fs::read(path)?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The function through which QEMU loads a plugin, in its symbol table.
const ENTRY: &[u8] = b"qemu_plugin_install\0";

/// The version of the interface to the plugin, a symbol of it; `lens/plugin/src/qemu.rs` has the
/// same number.
const INTERFACE: &[u8] = b"faultline_lens_interface_2\0";

/// The plugin's file. Fails if it is missing, is not a plugin, or belongs to another version of
/// Faultline.
pub(crate) fn find_plugin(places: &Places) -> Result<PathBuf, Error> {
    let file = places.plugin.as_ref().ok_or_else(|| {
        Error::usage("the lens's plugin is not beside the command", "`make lens` builds it; `--plugin FILE` names it")
    })?;
    if !file.is_file() {
        return Err(Error::usage(
            format!("there is no plugin {}", file.display()),
            "`make lens` builds it; `--plugin FILE` names it",
        ));
    }
    check(file, "`make lens` builds the right one; `--plugin FILE` names it")?;
    // The emulator may run in another directory, and a resumed run shows the same path.
    file.canonicalize()
        .map_err(|error| Error::failed(format!("cannot find {}: {error}", file.display()), "name it by its full path"))
}

/// The plugin of a resumed run. Fails if it is missing, changed, or of another version of
/// Faultline.
pub(super) fn plugin_again(saved: &SavedFile, run: RunId) -> Result<PathBuf, Error> {
    let file = found_again(saved, "the plugin", run)?;
    check(&file, "resume the run with the version of Faultline that began it, or start a new run")?;
    Ok(file)
}

/// Fails if the file is not a plugin, or belongs to another version of Faultline. Otherwise its
/// executions would fail for good, or the guest would wait forever at the end of its region.
fn check(file: &Path, hint: &str) -> Result<(), Error> {
    let bytes = std::fs::read(file).unwrap_or_default();
    let has = |name| memchr::memmem::find(&bytes, name).is_some();
    match (has(ENTRY), has(INTERFACE)) {
        (true, true) => Ok(()),
        (true, false) => {
            Err(Error::usage(format!("{} was built for another version of Faultline", file.display()), hint))
        }
        (false, _) => Err(Error::usage(format!("{} is not a QEMU plugin", file.display()), hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_until_it_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kernel");
        std::fs::write(&path, "one").unwrap();
        let file = saved(&path).unwrap();
        let again = || found_again(&file, "the kernel image", RunId(3)).map_err(|error| error.problem);
        assert_eq!(again(), Ok(path.canonicalize().unwrap()));
        std::fs::write(&path, "two").unwrap();
        assert!(again().unwrap_err().contains("has changed since run 3 began"));
        std::fs::remove_file(&path).unwrap();
        assert!(again().unwrap_err().starts_with("run 3 needs the kernel image /"));
    }
}
