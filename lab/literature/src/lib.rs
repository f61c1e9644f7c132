//! The literature's figures: read from `published/`, with improvements recomputed from the raw values, tested, and compared with the claims.
//!
//! `published/README.md` says what the files hold and where their data come from. Nothing here decides whether two machines are comparable:
//! [`beside`] shows figures side by side, with that caution.

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
