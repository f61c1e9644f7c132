//! The web server: pages of a database and a JSON API over HTTP, or the pages alone as files.
//!
//! It reads the database and measures nothing; it writes only states and jobs of readers with a
//! token. A front end binds a [`Server`], shows its address, and runs it until it is stopped.
//! Nothing is printed: internal failures go to the [`ServeRequest`]'s `log`.
//!
//! Requests are bounded in connections, headers, rows of answers, concurrent reads, and time.

mod connections;
mod database;
mod export;
mod guard;
mod held;
mod histories;
mod operation;
mod page;
mod problem;
mod query;
mod routes;
mod server;
mod state;
mod timeline;
mod token;

pub use export::{ExportRequest, Exported, export_site};
pub use histories::DeclaredQuirks;
pub use server::{ServeRequest, Server};
pub use token::{NewToken, Tokens, TokensError};
