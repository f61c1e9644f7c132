//! Recognises a format and reads it.

use crate::error::ReadError;
use crate::files::Files;
use crate::format::{Content, Format, Read};
use crate::formats::{FORMATS, names};
use crate::recognition::Glance;
use crate::text::quoted;
use crate::validity;
use faultline_model::dataset::{Dataset, ReportedChange};

/// The format that these files seem to be in, by their names and how they begin.
pub fn sniff(files: &Files) -> Option<Format> {
    let glance = Glance::at(files);
    let evidence = |format: &Format| Some(((format.recognise)(&glance)?, *format));
    // Of equal evidence the last is the greatest to `max_by_key`.
    FORMATS.iter().rev().filter_map(evidence).max_by_key(|(evidence, _)| *evidence).map(|(_, format)| format)
}

/// Reads files in the format that is named, or else in the one that they seem to be in.
pub fn read(files: &Files, format: Option<Format>) -> Result<Dataset, ReadError> {
    let format = recognise(files, format)?;
    let dataset = match &format.content {
        Content::Values { read: Read::File(read), .. } => read(files.only(format.name)?),
        Content::Values { read: Read::Files(read), .. } => read(files),
        Content::Changes { .. } => Err(ReadError::Changes { given: files.given().to_owned() }),
    }?;
    match validity::fault(&dataset) {
        Some(fault) => Err(ReadError::new(files.given(), None, fault, format!("finite values of {format}, each once"))),
        None => Ok(dataset),
    }
}

/// Reads a report of changes in this format. A format that holds values is an error.
pub fn read_changes(files: &Files, format: Format) -> Result<Vec<ReportedChange>, ReadError> {
    check_size(files)?;
    match &format.content {
        Content::Changes { read, .. } => read(files.only(format.name)?),
        Content::Values { .. } => {
            Err(ReadError::new(files.given(), None, format!("values of {format}"), "a report of changes"))
        }
    }
}

fn recognise(files: &Files, format: Option<Format>) -> Result<Format, ReadError> {
    check_size(files)?;
    format.or_else(|| sniff(files)).ok_or_else(|| ReadError::Unrecognised {
        given: files.given().to_owned(),
        found: match files.opening() {
            Some(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => "nothing".to_owned(),
            Some(bytes) => {
                format!("it begins with {}", quoted(String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).trim()))
            }
            None => format!("a directory of {} files", files.paths().count()),
        },
        known: names(),
    })
}

fn check_size(files: &Files) -> Result<(), ReadError> {
    let (bytes, limit) = (files.bytes(), Files::LIMIT_BYTES);
    if bytes > limit {
        return Err(ReadError::TooLarge { given: files.given().to_owned(), bytes, limit });
    }
    Ok(())
}
