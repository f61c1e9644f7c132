//! Other tools' result formats: reads them into a [`Dataset`](faultline_record::dataset::Dataset)
//! and writes datasets in them.
//!
//! The input and output are file names with contents; this crate opens no files. Writing reports
//! what a format cannot hold. A format is one file in `formats` and one line in its list.

mod convert;
mod error;
mod files;
mod format;
mod formats;
mod gather;
mod json;
mod quotes;
mod recognition;
mod reduction;
mod text;
mod values;

pub use convert::{read, read_any, read_changes, recognise, sniff, write, write_changes};
pub use error::{ReadError, WriteError};
pub use files::Files;
pub use format::{Format, FormatDescriptor, Written, WrittenChanges};
pub use formats::{FORMATS, UnknownFormat};
