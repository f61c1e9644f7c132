//! Faultline's own JSON: the dataset itself.

use crate::error::{ReadError, WriteError};
use crate::files::File;
use crate::format::{Content, FormatDescriptor, Read, Written};
use crate::json;
use crate::recognition::FormatMatch;
use crate::reduction::Reduction;
use faultline_record::dataset::Dataset;

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "faultline",
    description: "dataset.json: everything Faultline knows of the values",
    reads: "everything",
    writes: "everything",
    is_directory: false,
    recognise: |glance| FormatMatch::Mark.when(glance.json_has(&[Dataset::FORMAT])),
    content: Content::Values { read: Read::File(read), write: Some(write) },
};

fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    json::parse(file, Dataset::FORMAT)
}

fn write(whole: Reduction) -> Result<Written, WriteError> {
    Ok(Written::file("dataset.json", json::text(&whole.dataset), whole))
}
