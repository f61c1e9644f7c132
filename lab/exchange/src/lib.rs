//! Other tools' result formats: reads them into a [`Dataset`](faultline_model::dataset::Dataset), and writes one in them.
//!
//! Bytes and names of files come in, texts and names of files go out; nothing here touches a file. What a format can't hold is
//! said in words with what was written. Comparing values, and finding steps, belongs to `stats`.

mod csv_error;
mod decimal;
mod direction;
mod error;
mod figures;
mod files;
mod format;
mod formats;
mod gather;
mod json;
mod moment;
mod read;
mod recognition;
mod reduction;
mod text;
mod validity;
mod write;
mod written;

pub use error::{ReadError, WriteError};
pub use files::Files;
pub use format::{Format, FormatDescriptor};
pub use formats::{FORMATS, UnknownFormat};
pub use read::{read, read_any, read_changes, recognise, sniff};
pub use write::{write, write_changes};
pub use written::{Written, WrittenChanges};
