//! The literature's figures: read from `published/`, improvements recomputed from the raw values, claims held against them.
//!
//! What the files hold and where it comes from is told in `published/README.md`. Nothing here judges whether two machines
//! can be compared: [`beside`] lays figures next to each other and says so. Nothing here tests a difference either: [`Table::pairs`] gives the raw
//! values out, and [`compared`] shows what came of them.

mod beside;
mod claims;
mod compare;
mod comparison;
mod markdown;
mod raw;
mod records;
mod remarks;
mod select;
mod show;
mod sources;
mod text;
mod words;

pub use beside::beside;
pub use compare::{Judged, Pair, Table, compared, tables};
pub use select::UnknownName;
pub use show::published;
