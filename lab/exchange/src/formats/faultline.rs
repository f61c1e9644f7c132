//! Our own JSON: the dataset itself.

use crate::error::ReadError;
use crate::files::File;
use crate::json;
use crate::reduction::Reduction;
use crate::write::Written;
use faultline_model::dataset::Dataset;

pub(crate) fn read(file: File<'_>) -> Result<Dataset, ReadError> {
    json::parse(file, Dataset::FORMAT)
}

pub(crate) fn write(whole: Reduction) -> Written {
    Written::file("dataset.json", json::text(&whole.dataset), whole)
}
