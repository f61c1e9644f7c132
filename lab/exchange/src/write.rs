//! Writes a dataset in a format, and says what the format couldn't hold.

use crate::error::WriteError;
use crate::format::Format;
use crate::formats::*;
use crate::reduction::Reduction;
use faultline_model::changes::SeriesChanges;
use faultline_model::dataset::{Dataset, Series};

/// Files to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Paths, parted by `/`, with texts; paths never lead out of their directory.
    pub files: Vec<(String, String)>,
    /// What reading the files gives again.
    pub held: Dataset,
    /// What the files don't hold, in words; empty if they hold everything.
    pub losses: Vec<String>,
}

/// A report of changes to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenChanges {
    /// Its text.
    pub text: String,
    /// What it doesn't hold, in words.
    pub losses: Vec<String>,
}

/// Writes a dataset. A format that could hold none of its benchmarks, or needs what is not known, is an error.
pub fn write(dataset: &Dataset, format: Format) -> Result<Written, WriteError> {
    let whole = Reduction::of(dataset)?;
    match format {
        Format::WillItScale => will_it_scale::write(whole),
        Format::OpenbsdResult => openbsd_result::write(whole),
        Format::OpenbsdData => openbsd_data::write(whole),
        Format::Asv => asv::write(whole),
        Format::OtavaCsv => otava_csv::write(whole),
        Format::OtavaJson => Err(WriteError::new(
            "otava-json holds changes, not values",
            "find changes first, or write `otava-csv`, from which Otava finds them",
        )),
        Format::Bencher => bencher::write(whole),
        Format::Hyperfine => hyperfine::write(whole),
        Format::GoBench => go_bench::write(whole),
        Format::Criterion => criterion::write(whole),
        Format::Lkp => lkp::write(whole),
        Format::Faultline => Ok(faultline::write(whole)),
    }
}

/// Writes a report of the changes found in these series.
pub fn write_changes(found: &[(&Series, &SeriesChanges)]) -> WrittenChanges {
    otava_json::write(found)
}

impl Written {
    /// One file.
    pub(crate) fn file(name: &str, text: String, reduced: Reduction) -> Self {
        Written { files: vec![(name.to_owned(), text)], held: reduced.dataset, losses: reduced.losses }
    }
}
