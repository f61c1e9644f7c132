//! The version of the method: a digest of the sources that decide a conclusion, which are those of
//! this crate and of `record`.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The directories of the sources, relative to the package, where cargo runs this program. `record`
/// is a link to the sources of `record`; a package for crates.io has a copy of them.
const SOURCES: [&str; 2] = ["src", "record"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for directory in SOURCES {
        println!("cargo::rerun-if-changed={directory}");
        add_files(Path::new(directory), &mut files)?;
    }
    files.sort();
    let mut digest = FNV_OFFSET;
    for file in files {
        digest = fnv(digest, file.to_string_lossy().as_bytes());
        digest = fnv(digest, &fs::read(&file)?);
    }
    // Databases keep the version in a signed integer of 32 bits.
    println!("cargo::rustc-env=FAULTLINE_METHOD={}", digest >> 33);
    Ok(())
}

/// Adds the files in a directory and below.
fn add_files(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { add_files(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// The digest of nothing, by the function of Fowler, Noll and Vo (FNV-1a, 64 bits).
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// A digest continued with the length of a text and its bytes.
fn fnv(digest: u64, text: &[u8]) -> u64 {
    let length = (text.len() as u64).to_le_bytes();
    length.iter().chain(text).fold(digest, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
