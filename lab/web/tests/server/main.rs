//! The server over HTTP, on loopback, with a database of its own for each test.

mod api;
mod asked;
mod changes;
#[path = "../filled/mod.rs"]
mod filled;
mod guard;
mod load;
mod unchanged;
