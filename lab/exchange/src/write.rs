//! Writes a dataset, or steps, in a format.

use crate::error::WriteError;
use crate::format::{Content, Format};
use crate::formats::FORMATS;
use crate::reduction::Reduction;
use crate::written::{Written, WrittenChanges};
use faultline_model::changes::SeriesChanges;
use faultline_model::dataset::{Dataset, Series};

/// Writes a dataset. Fails if the format can hold none of its benchmarks, or needs information that is missing.
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
    use crate::format::{FormatDescriptor, Read};

    static ONLY_READ: FormatDescriptor = FormatDescriptor {
        name: "only-read",
        description: "a format that is not written",
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
