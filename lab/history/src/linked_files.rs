//! The programs and libraries of a build that is kept: the sizes of their sections and functions, and the places of their code and data.

use crate::surroundings::Words;
use faultline_model::artefact::Artefact as Measured;
use faultline_model::explained::LinkedFile;
use faultline_symbols::{Artefact, unpacked_kernel};
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

/// Where the code and data of a build are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// Each linked file: its path below the top of the build, whether it is a library, and a digest of its places.
    files: Vec<(String, bool, String)>,
}

impl Places {
    /// The places of all linked files of the build in a directory, and of the kernel if that is what is measured. Fails if a file cannot be read.
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
            // An image that is an ELF file is among them already.
            let is_new = !files.iter().any(|(path, ..)| *path == kernel.image);
            files.extend(image.filter(|_| is_new).and_then(|image| placed(kernel.image.clone(), &image)));
        }
        Ok(Places { files })
    }

    /// Whether each file of another build is there.
    pub(crate) fn has_all_of(&self, other: &Places) -> bool {
        other.files.iter().all(|(path, ..)| self.files.iter().any(|(own, ..)| own == path))
    }

    /// A digest of the places that can matter to what is measured. Of a kernel: those of its ELF file if the build keeps it, because that has symbols, otherwise of its
    /// image. Of a command: those of its program and of all libraries; if its first word is no linked file of the build, those of all linked files. `None` if there
    /// is no such file.
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

/// A linked file with a digest of its places; `None` if it is none.
fn placed(path: String, content: &[u8]) -> Option<(String, bool, String)> {
    let artefact = Artefact::parse(content)?;
    let mut words = Words::default();
    words.add(&artefact.places());
    Some((path, artefact.is_library(), words.digest()))
}

fn below(directory: &Path, path: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned()
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
            path: below(directory, path),
            bytes: content.len() as u64,
            digest: words.digest(),
            sections: artefact.sections(),
            functions: artefact.functions(),
        }
    }))
}
