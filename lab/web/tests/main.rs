//! Tests of the server over HTTP on loopback, and of exported files. Each has a separate database.

mod api;
mod changes;
mod export;
mod filled;
mod formats;
mod guard;
mod histories;
mod jobs;
mod load;
mod memory;
mod outage;
#[expect(dead_code, reason = "only the store's own tests use the rest")]
#[path = "../../store/tests/place/server.rs"]
mod postgres;
#[path = "../../store/tests/runner/mod.rs"]
mod runner;
mod served;
mod unchanged;
