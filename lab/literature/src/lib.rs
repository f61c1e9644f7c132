//! The literature's figures: read from `published/`, improvements recomputed from the raw values, claims held against them.
//!
//! `published/README.md` says what the files hold and where it comes from. Nothing here judges whether two machines can be compared:
//! [`beside`] puts figures side by side and says so.

mod beside;
mod claims;
mod compare;
mod improvement;
mod markdown;
mod raw;
mod records;
mod select;
mod show;
mod sources;
mod text;
mod words;

pub use beside::beside;
pub use compare::{Judged, Pair, Table, compared, tables};
pub use select::UnknownName;
pub use show::published;
