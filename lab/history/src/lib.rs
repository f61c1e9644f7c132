//! The history of what is measured: commits of a repository, their files, and their builds.
//!
//! The user's repository and its checkout are only read. Files are checked out, and built, in a place of ours.

pub mod bisect;
pub mod build;
mod commands;
pub mod repository;
mod resume;
mod room;
mod surroundings;
pub mod try_patches;
mod workshop;

pub use resume::resume;
pub use workshop::Workshop;
