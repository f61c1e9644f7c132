//! Commits of a repository over time: their files, their builds, and the runs that measure them.
//!
//! The user's repository and its checkout are only read. Files are checked out and built in our own
//! directory.

mod archive;
pub mod bisect;
pub mod build;
pub mod ci;
mod commits;
pub mod compare_trees;
pub mod declared;
pub mod explain;
pub mod history_run;
pub mod jobs;
mod lacking;
mod linked_files;
pub mod linker;
pub mod notify;
pub mod over;
mod pick;
pub mod repository;
pub mod request;
mod run;
pub mod source;
mod source_lines;
mod tools;
pub mod try_patches;
pub mod two_builds;
mod workshop;

pub use commits::{Build, Commits, Pick, Relink, Relinked, Revert, Reverted, Walk, Walked, Which};
pub use run::{continue_run, resume};
pub use workshop::Workshop;
