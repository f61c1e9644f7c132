//! The programs and libraries of a build that is kept, with the sizes of their sections and functions.

use crate::surroundings::Words;
use faultline_model::explained::LinkedFile;
use faultline_symbols::Artefact;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Larger files are not read.
const MOST_BYTES: u64 = 1 << 30;

/// All linked files below a directory. Symbolic links are not followed. Fails if a file cannot be read.
pub(crate) fn linked_files(directory: &Path) -> io::Result<Vec<LinkedFile>> {
    paths(directory)?.into_iter().filter_map(|path| read(directory, &path).transpose()).collect()
}

/// The paths of files that begin like linked ones.
pub(crate) fn paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut below) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = below.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                below.push(entry.path());
            } else if kind.is_file() && begins_like_one(&entry.path())? {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn begins_like_one(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(Artefact::HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(Artefact::is_likely(&head))
}

/// What a file has, if it is linked.
fn read(directory: &Path, path: &Path) -> io::Result<Option<LinkedFile>> {
    if path.metadata()?.len() > MOST_BYTES {
        return Ok(None);
    }
    let content = fs::read(path)?;
    Ok(Artefact::parse(&content).map(|artefact| {
        let mut words = Words::default();
        words.add(&content);
        LinkedFile {
            path: path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned(),
            bytes: content.len() as u64,
            digest: words.digest(),
            sections: artefact.sections(),
            functions: artefact.functions(),
        }
    }))
}
