//! Recognises a format and reads it.

use crate::error::ReadError;
use crate::files::Files;
use crate::format::{Content, Format, Read};
use crate::formats::{FORMATS, listed};
use crate::recognition::Glance;
use crate::text::{is_utf16, quoted};
use crate::validity;
use faultline_model::dataset::{Dataset, ReportedChange};

/// The format that these files seem to be in, by their names and how they begin; none if that can't be told.
pub fn sniff(files: &Files) -> Option<Format> {
    recognise(files).ok()
}

/// The format that these files are in, by their names and how they begin. Where several formats have equal evidence, the only one in which
/// they can be read is taken. Files that are in none of the formats, or can be read in several, are an error.
pub fn recognise(files: &Files) -> Result<Format, ReadError> {
    check_readable(files)?;
    let likely = likely(files);
    let readable = || likely.iter().copied().filter(|format| can_be_read(files, format)).collect::<Vec<_>>();
    match likely.as_slice() {
        [] => Err(unrecognised(files)),
        [one] => Ok(*one),
        several => match readable().as_slice() {
            [] => Ok(several[0]),
            [one] => Ok(*one),
            readable => Err(ReadError::Ambiguous { given: files.given().to_owned(), formats: listed(readable) }),
        },
    }
}

/// The formats for which there is most evidence, in the order in which they are listed.
fn likely(files: &Files) -> Vec<Format> {
    let glance = Glance::at(files);
    let evidence = |format: &Format| Some(((format.recognise)(&glance)?, *format));
    let found: Vec<_> = FORMATS.iter().filter_map(evidence).collect();
    let most = found.iter().map(|(evidence, _)| *evidence).max();
    found.into_iter().filter(|(evidence, _)| Some(*evidence) == most).map(|(_, format)| format).collect()
}

/// Reads files in the format that is named, or else in the one that they seem to be in. Files that are not in that format, are larger than
/// [`Files::LIMIT_BYTES`], or hold changes rather than values are an error.
pub fn read(files: &Files, format: Option<Format>) -> Result<Dataset, ReadError> {
    match format {
        Some(format) => read_as(files, format),
        None => read_any(files).map(|(_, dataset)| dataset),
    }
}

/// Reads files in the format that they seem to be in, and says which that is. Errors are those of [`recognise`] and [`read`].
pub fn read_any(files: &Files) -> Result<(Format, Dataset), ReadError> {
    let format = recognise(files)?;
    let dataset = read_as(files, format).map_err(|error| error.recognised_as(format.name))?;
    Ok((format, dataset))
}

fn read_as(files: &Files, format: Format) -> Result<Dataset, ReadError> {
    check_readable(files)?;
    let dataset = match &format.content {
        Content::Values { read: Read::File(read), .. } => read(files.only(format.name)?),
        Content::Values { read: Read::Files(read), .. } => read(files),
        Content::Changes { .. } => Err(ReadError::Changes { given: files.given().to_owned() }),
    }?;
    match validity::fault(&dataset) {
        Some(fault) => {
            let expected = format!("a dataset of {format}: {}", validity::EXPECTED);
            Err(ReadError::new(files.given(), None, fault, expected))
        }
        None => Ok(dataset),
    }
}

fn can_be_read(files: &Files, format: Format) -> bool {
    match &format.content {
        Content::Values { .. } => read_as(files, format).is_ok(),
        Content::Changes { .. } => read_changes(files, format).is_ok(),
    }
}

/// Reads a report of changes in this format. A format that holds values is an error, and files that are not in it.
pub fn read_changes(files: &Files, format: Format) -> Result<Vec<ReportedChange>, ReadError> {
    check_readable(files)?;
    match &format.content {
        Content::Changes { read, .. } => read(files.only(format.name)?),
        Content::Values { .. } => {
            Err(ReadError::new(files.given(), None, format!("values of {format}"), "a report of changes"))
        }
    }
}

fn unrecognised(files: &Files) -> ReadError {
    let found = match files.opening() {
        Some(bytes) => {
            format!("it begins with {}", quoted(String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).trim()))
        }
        None => format!("a directory of {}", files.count_in_words()),
    };
    ReadError::Unrecognised { given: files.given().to_owned(), found, known: listed(FORMATS) }
}

/// An error if there is too much, nothing, or what no format is written in.
fn check_readable(files: &Files) -> Result<(), ReadError> {
    let (bytes, given) = (files.bytes(), files.given());
    if bytes > Files::LIMIT_BYTES {
        return Err(ReadError::too_large(given, Some(bytes), Files::LIMIT_BYTES));
    }
    match files.opening() {
        Some(bytes) if is_utf16(bytes) => Err(ReadError::Utf16 { file: given.to_owned() }),
        Some(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => Err(ReadError::Empty { given: given.to_owned() }),
        _ => Ok(()),
    }
}
