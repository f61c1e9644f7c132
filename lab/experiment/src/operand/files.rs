//! Figures in files and directories of other tools, of any format that is known.

use crate::error::Error;
use faultline_exchange::{Files, Format as Foreign, ReadError};
use faultline_model::dataset::Dataset;
use faultline_targets::search_path::is_executable;
use std::io::Read;
use std::path::{Path, PathBuf};

/// As much of a file as shows whether it is text.
const BEGINNING_BYTES: u64 = 4096;

/// Most files of a directory: a long history of asv's.
const MOST_FILES: usize = 100_000;

/// How far below the directory files are looked for.
const MOST_DEPTH: usize = 16;

/// Whether the file is in a format that can be read.
pub(crate) fn is_known_format(path: &Path) -> bool {
    let found = files(path).map(|files| faultline_exchange::recognise(&files));
    matches!(found, Ok(Ok(_) | Err(ReadError::Ambiguous { .. })))
}

/// The figures of a file or directory, and their format.
pub fn read(path: &Path, from: Option<Foreign>) -> Result<(Foreign, Dataset), Error> {
    let files = files(path)?;
    let found = match from {
        Some(format) => faultline_exchange::read(&files, from).map(|dataset| (format, dataset)),
        None => faultline_exchange::read_any(&files),
    };
    found.map_err(|error| match error {
        ReadError::Unrecognised { .. } if is_program(path) => program(path),
        error => Error::usage(error.to_string(), error.hint()),
    })
}

fn program(path: &Path) -> Error {
    Error::usage(
        format!("{} is a program, not a file of figures", path.display()),
        "compare two programs as commands: `faultline compare './old ARGS' './new ARGS'`",
    )
}

/// Whether it can be executed, or holds what no text does.
fn is_program(path: &Path) -> bool {
    path.is_file() && (is_executable(path) || read_most(path, BEGINNING_BYTES).is_ok_and(|bytes| bytes.contains(&0)))
}

/// A file or directory with its content. One of more than [`Files::LIMIT_BYTES`] is refused with its size, and not read.
fn files(path: &Path) -> Result<Files, Error> {
    if path.is_dir() { directory(path) } else { file(path) }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::usage(format!("cannot read {}: {error}", path.display()), "name a file or directory that can be read")
}

fn too_large(path: &Path, bytes: Option<u64>) -> Error {
    let error = ReadError::too_large(path.display().to_string(), bytes, Files::LIMIT_BYTES);
    Error::usage(error.to_string(), error.hint())
}

fn file(path: &Path) -> Result<Files, Error> {
    let size = path.metadata().map_err(|error| unreadable(path, &error))?.len();
    if size > Files::LIMIT_BYTES {
        return Err(if is_executable(path) { program(path) } else { too_large(path, Some(size)) });
    }
    let bytes = read_most(path, Files::LIMIT_BYTES + 1).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > Files::LIMIT_BYTES {
        // A pipe or a device: how much would follow is not known.
        return Err(too_large(path, None));
    }
    Ok(Files::one(path.display().to_string(), bytes))
}

fn directory(path: &Path) -> Result<Files, Error> {
    let found = files_below(path)?;
    let size = found.iter().map(|(_, size)| size).sum();
    if size > Files::LIMIT_BYTES {
        return Err(too_large(path, Some(size)));
    }
    let mut contents = Vec::with_capacity(found.len());
    for (file, size) in found {
        let bytes = read_most(&file, size).map_err(|error| unreadable(&file, &error))?;
        let relative = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
        contents.push((relative, bytes));
    }
    Ok(Files::directory(path.display().to_string(), contents))
}

/// The files below a directory with their sizes.
fn files_below(path: &Path) -> Result<Vec<(PathBuf, u64)>, Error> {
    let mut found = Vec::new();
    let mut waiting: Vec<(PathBuf, usize)> = vec![(path.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))? {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            let kind = entry.metadata().map_err(|error| unreadable(&entry.path(), &error))?;
            if kind.is_dir() && depth < MOST_DEPTH {
                waiting.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                found.push((entry.path(), kind.len()));
                if found.len() > MOST_FILES {
                    return Err(unreadable(path, &"it holds over 100,000 files"));
                }
            }
        }
    }
    Ok(found)
}

/// The beginning of a file, up to `most` bytes: also of one that has no end.
fn read_most(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
