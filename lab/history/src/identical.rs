//! Builds that do the same: what is kept of them is the same but for stamps, which are build identifiers and debugging information. They share their results.

use crate::surroundings::Words;
use faultline_symbols::Artefact;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A digest of everything below a directory: paths, modes, targets of symbolic links, and contents. Of linked files that is what is loaded, without stamps. Fails if a file
/// cannot be read.
pub(crate) fn digest(directory: &Path) -> io::Result<String> {
    let mut words = Words::default();
    add(directory, directory, &mut words)?;
    Ok(words.digest())
}

fn add(directory: &Path, top: &Path, words: &mut Words) -> io::Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        words.add(path.strip_prefix(top).unwrap_or(&path).as_os_str().as_bytes());
        if kind.is_symlink() {
            words.add(fs::read_link(&path)?.as_os_str().as_bytes());
            continue;
        }
        words.add(&entry.metadata()?.permissions().mode().to_le_bytes());
        if kind.is_dir() {
            add(&path, top, words)?;
        } else if kind.is_file() {
            words.add(&without_stamps(fs::read(&path)?));
        }
    }
    Ok(())
}

fn without_stamps(content: Vec<u8>) -> Vec<u8> {
    let loaded = Artefact::parse(&content).map(|artefact| artefact.loaded());
    loaded.unwrap_or(content)
}
