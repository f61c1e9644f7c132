//! Reads and writes datasets and reports of changes in any format.

use crate::error::{ReadError, WriteError};
use crate::files::Files;
use crate::format::{Content, Format, Read, Written, WrittenChanges};
use crate::formats::{FORMATS, listed};
use crate::recognition::Glance;
use crate::reduction::Reduction;
use crate::text::{is_utf16, quoted};
use crate::values;
use faultline_record::dataset::{Dataset, ReportedChange, Series};
use faultline_stats::changes::SeriesChanges;

/// The format of these files, as [`recognise`] finds it; `None` instead of an error.
pub fn sniff(files: &Files) -> Option<Format> {
    recognise(files).ok()
}

/// Recognises a format by file names and the beginning of the file. If several formats match
/// equally well, returns the only one that can read the files. Fails if no format matches, or
/// several can read them.
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

/// The formats that match best, in the order of [`FORMATS`].
fn likely(files: &Files) -> Vec<Format> {
    let glance = Glance::at(files);
    let evidence = |format: &Format| Some(((format.recognise)(&glance)?, *format));
    let found: Vec<_> = FORMATS.iter().filter_map(evidence).collect();
    let most = found.iter().map(|(evidence, _)| *evidence).max();
    found.into_iter().filter(|(evidence, _)| Some(*evidence) == most).map(|(_, format)| format).collect()
}

/// Reads files in the given format, or in the recognised one. Fails if the files are malformed,
/// larger than [`Files::LIMIT_BYTES`], or hold changes instead of values.
pub fn read(files: &Files, format: Option<Format>) -> Result<Dataset, ReadError> {
    match format {
        Some(format) => read_as(files, format),
        None => read_any(files).map(|(_, dataset)| dataset),
    }
}

/// Recognises the format, reads the files, and returns both. Fails like [`recognise`] and [`read`].
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
    match values::fault(&dataset) {
        Some(fault) => {
            let expected = format!("a dataset of {format}: {}", values::VALID);
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

/// Reads a report of changes. Fails if the format holds values, or the file is malformed.
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
    ReadError::Unrecognised { given: files.given().to_owned(), found }
}

/// Fails for input that is too large, empty or UTF-16.
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

/// Writes a dataset. Fails if the format can hold none of its benchmarks, or requires missing
/// information.
pub fn write(dataset: &Dataset, format: Format) -> Result<Written, WriteError> {
    let whole = Reduction::of(dataset)?;
    match &format.content {
        Content::Values { write: Some(write), .. } => write(whole),
        Content::Values { write: None, .. } => {
            Err(WriteError::new(format!("{format} can be read but not written"), "`faultline` holds everything"))
        }
        Content::Changes { instead, .. } => {
            Err(WriteError::new(format!("{format} holds changes, not values"), *instead))
        }
    }
}

/// Writes a report of the steps found in these series. Fails if the format holds values.
pub fn write_changes(found: &[(&Series, &SeriesChanges)], format: Format) -> Result<WrittenChanges, WriteError> {
    let Content::Changes { write, .. } = &format.content else {
        let others: Vec<String> =
            FORMATS.iter().filter(|format| format.holds_changes()).map(|format| format!("`--to {format}`")).collect();
        let hint = format!("{}, or `--format json`", others.join(", "));
        return Err(WriteError::new(format!("{format} cannot hold steps"), hint));
    };
    Ok(write(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::FormatDescriptor;

    static ONLY_READ: FormatDescriptor = FormatDescriptor {
        name: "only-read",
        description: "a format that is not written",
        reads: "nothing",
        writes: "",
        is_directory: false,
        recognise: |_| None,
        content: Content::Values { read: Read::Files(|_| Ok(Dataset::of(Vec::new()))), write: None },
    };

    #[test]
    fn a_format_that_is_only_read_is_not_written() {
        assert!(!ONLY_READ.is_written());
        let error = write(&Dataset::of(Vec::new()), &ONLY_READ).unwrap_err();
        assert_eq!(error.to_string(), "only-read can be read but not written");
    }

    #[test]
    fn steps_are_refused_where_there_is_no_place_for_them() {
        let error = write_changes(&[], &ONLY_READ).unwrap_err();
        assert_eq!(error.to_string(), "only-read cannot hold steps");
        assert_eq!(error.hint, "`--to otava-json`, or `--format json`");
    }
}
