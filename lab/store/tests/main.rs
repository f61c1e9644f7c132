//! Tests of the store, on a file and on a PostgreSQL server.

mod conclusions;
mod copy;
mod executions;
mod jobs;
mod place;
mod queries;
mod runner;
mod servers;
mod store;
