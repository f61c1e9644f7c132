//! Files of a build: sizes of sections and functions of its programs and libraries, addresses of
//! their code and data, and a digest of everything except stamps (build identifiers, debugging
//! information). Builds with the same digest share their results.

use crate::tools::Words;
use faultline_record::artefact::Artefact as Measured;
use faultline_record::explained::LinkedFile;
use faultline_symbols::{Artefact, unpacked_kernel};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Files above this size are skipped.
const MOST_BYTES: u64 = 1 << 30;

/// All linked files below a directory. Symbolic links are not followed. Fails if a file cannot be
/// read.
pub(crate) fn linked_files(directory: &Path) -> io::Result<Vec<LinkedFile>> {
    paths(directory)?.into_iter().filter_map(|path| read(directory, &path).transpose()).collect()
}

/// Paths of files that begin like ELF files and are not too large to read.
pub(crate) fn paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut below) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = below.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                below.push(entry.path());
            } else if kind.is_file() && entry.metadata()?.len() <= MOST_BYTES && begins_like_one(&entry.path())? {
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

/// Addresses of the code and data of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// For each linked file: its path in the build, whether it is a library, and a digest of its
    /// addresses.
    files: Vec<(String, bool, String)>,
}

impl Places {
    /// Addresses in all linked files of a build, and in the kernel if that is measured. Fails if a
    /// file cannot be read.
    pub(crate) fn of_build(directory: &Path, measured: &Measured) -> io::Result<Self> {
        let mut files = Vec::new();
        for path in paths(directory)? {
            files.extend(placed(below(directory, &path), &fs::read(&path)?));
        }
        if let Some(kernel) = measured.kernel() {
            let image = match fs::read(directory.join(&kernel.image)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                image => unpacked_kernel(&image?),
            };
            // An image that is an ELF file is already included.
            let is_new = !files.iter().any(|(path, ..)| *path == kernel.image);
            files.extend(image.filter(|_| is_new).and_then(|image| placed(kernel.image.clone(), &image)));
        }
        Ok(Places { files })
    }

    /// True if each file of another build is present.
    pub(crate) fn has_all_of(&self, other: &Places) -> bool {
        other.files.iter().all(|(path, ..)| self.files.iter().any(|(own, ..)| own == path))
    }

    /// Digest of the addresses that can affect the measured artefact; `None` if there is no such
    /// file. For a kernel: its ELF file if the build keeps it, because that has symbols, otherwise
    /// its image. For a command: its program and all libraries, or all linked files if its first
    /// word is no linked file.
    pub(crate) fn of_artefact(&self, measured: &Measured) -> Option<String> {
        match measured {
            Measured::Command(words) => self.of_command(words.first().map_or("", String::as_str)),
            Measured::Kernel(kernel) => {
                let digest = |file: &String| {
                    self.files.iter().find(|(path, ..)| path == file).map(|(.., digest)| digest.clone())
                };
                kernel.vmlinux.as_ref().and_then(digest).or_else(|| digest(&kernel.image))
            }
        }
    }

    fn of_command(&self, word: &str) -> Option<String> {
        let program = word.trim_start_matches("./");
        let is_there = self.files.iter().any(|(path, ..)| path == program);
        let those = self.files.iter().filter(|(path, is_library, _)| !is_there || *is_library || path == program);
        let mut words = Words::default();
        let mut number = 0;
        for (path, _, digest) in those {
            words.add(path.as_bytes());
            words.add(digest.as_bytes());
            number += 1;
        }
        (number > 0).then(|| words.digest())
    }
}

/// A linked file with the digest of its addresses; `None` for other files.
fn placed(path: String, content: &[u8]) -> Option<(String, bool, String)> {
    let artefact = Artefact::parse(content)?;
    let mut words = Words::default();
    words.add(&artefact.places());
    Some((path, artefact.is_library(), words.digest()))
}

fn below(directory: &Path, path: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned()
}

/// Sizes of a linked file; `None` for other files.
fn read(directory: &Path, path: &Path) -> io::Result<Option<LinkedFile>> {
    let content = fs::read(path)?;
    Ok(Artefact::parse(&content).map(|artefact| {
        let mut words = Words::default();
        words.add(&content);
        LinkedFile {
            path: below(directory, path),
            bytes: content.len() as u64,
            digest: words.digest(),
            sections: artefact.sections(),
            functions: artefact.functions(),
            code: artefact.code(),
        }
    }))
}

/// Digest of everything below a directory: paths, modes, targets of symbolic links, contents.
/// Linked files count without stamps. Fails if a file cannot be read.
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
            add_file(&path, words)?;
        }
    }
    Ok(())
}

fn add_file(path: &Path, words: &mut Words) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut content = Vec::new();
    file.by_ref().take(MOST_BYTES).read_to_end(&mut content)?;
    if (content.len() as u64) < MOST_BYTES {
        words.add(&without_stamps(content));
        return Ok(());
    }
    while !content.is_empty() {
        words.add(&content);
        content.clear();
        file.by_ref().take(MOST_BYTES).read_to_end(&mut content)?;
    }
    Ok(())
}

fn without_stamps(content: Vec<u8>) -> Vec<u8> {
    let loaded = Artefact::parse(&content).map(|artefact| artefact.loaded());
    loaded.unwrap_or(content)
}
