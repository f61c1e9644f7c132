//! `faultline.toml`: its text, and errors with the line. What its tables mean belongs to whoever reads them.

use crate::error::Error;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// The default file.
pub const USUAL_FILE: &str = "faultline.toml";

/// Maximum number of bytes that are read from it.
const MOST_BYTES: u64 = 1 << 20;

/// A file's text, up to more bytes than anyone needs. Fails if it cannot be read.
pub fn read(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Parses its text. `hint`: what its tables are. Fails with the line of the first error.
pub fn parse<T: DeserializeOwned>(text: &str, file: &Path, hint: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let problem = error.message().lines().next().unwrap_or_default();
        refused(text, file, error.span().unwrap_or_default(), problem, hint)
    })
}

/// The error for something at a place in the text: the file, the line, and the problem.
pub fn refused(text: &str, file: &Path, at: Range<usize>, problem: &str, hint: &str) -> Error {
    let line = 1 + text.bytes().take(at.start).filter(|byte| *byte == b'\n').count();
    Error::usage(format!("{}:{line}: {problem}", file.display()), hint)
}
