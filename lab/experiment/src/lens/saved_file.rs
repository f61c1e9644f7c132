//! Files that a lens run depends on: found again by path, with their contents checked.

use crate::error::Error;
use faultline_model::lens::settings::{LensAgain, SavedFile};
use faultline_model::record::RunId;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The file in its present state. Fails if it cannot be read.
pub(super) fn saved(path: &Path) -> Result<SavedFile, Error> {
    let unreadable = |error: std::io::Error| {
        Error::usage(format!("cannot read {}: {error}", path.display()), "name a file that can be read")
    };
    let whole = path.canonicalize().map_err(unreadable)?;
    let sha256 = digest(&whole).map_err(unreadable)?;
    Ok(SavedFile { path: whole.to_string_lossy().into_owned(), sha256 })
}

/// The file of a resumed run. Fails if it is missing, or if its contents changed. `what`: its name for messages, with an article.
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

/// The program or kernel of a resumed run. Fails like [`found_again`], or if the run does not say which it is.
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
