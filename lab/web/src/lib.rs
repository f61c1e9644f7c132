//! The pages of a database, and a JSON API: served over HTTP, or the pages alone as files.
//!
//! It reads, never measures, and writes only what a reader with a token says of a change. A front end binds a [`Server`], says where it listens, and runs it until it is told to stop. Nothing here prints: what
//! fails inside goes to the [`ServeRequest`]'s `log`.
//!
//! What a client may ask for is bounded: connections, headers, rows of an answer, reads of the database at once, and the time of each.

mod api;
mod asked_range;
mod changes;
mod clock;
mod compared;
mod export;
mod guard;
mod held;
mod histories;
mod hosts;
mod log;
mod page;
mod pages;
mod problem;
mod query;
mod quirks;
mod reading;
mod refused;
mod related;
mod rows;
mod said;
mod samples;
mod server;
mod state;
mod thresholds;
mod timeline;
mod token;
mod unchanged;

pub use export::{ExportRequest, Exported, export_site};
pub use quirks::DeclaredQuirks;
pub use server::{ServeRequest, Server};
pub use token::{NewToken, Tokens, TokensError};
