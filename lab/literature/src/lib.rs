//! The literature's figures: read from `published/`, improvements recomputed from the raw values and tested, claims held against them.
//!
//! `published/README.md` says what the files hold and where it comes from. Nothing here judges whether two machines can be compared:
//! [`beside`] puts figures side by side and says so.

mod answers;
mod beside;
mod claims;
mod document;
mod estimates;
mod figures;
mod footnotes;
mod improvement;
mod raw;
mod selection;
mod sources;
mod words;

pub use answers::answers;
pub use beside::beside;
pub use figures::figures;
pub use selection::UnknownName;
