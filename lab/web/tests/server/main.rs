//! The server over HTTP, on loopback, with a database of its own for each test.

mod api;
mod asked;
mod changes;
#[path = "../filled/mod.rs"]
mod filled;
mod guard;
mod jobs;
mod load;
mod outage;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../../store/tests/place/server.rs"]
mod postgres_server;
#[path = "../../../store/tests/runner/mod.rs"]
mod runner;
mod unchanged;
