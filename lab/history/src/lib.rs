//! The history of what is measured: commits of a repository, their files, and their builds.
//!
//! The user's repository and its checkout are only read. Files are checked out, and built, in a place of ours.

mod adaptive;
mod archive;
pub mod bisect;
pub mod build;
mod commands;
mod commits;
pub mod declared;
pub mod drill;
pub mod explain;
mod identical;
pub mod jobs;
mod line_files;
mod linked;
mod linked_files;
pub mod linker;
pub mod mark;
pub mod measure;
pub mod notify;
mod now;
pub mod over;
mod picked;
mod releases;
mod relink;
pub mod repository;
mod resume;
mod revert;
mod room;
pub mod run;
pub mod source;
mod subject;
mod surroundings;
mod tools_again;
pub mod try_patches;
mod undone;
mod web_hook;
mod workshop;

pub use commits::{Commits, Walked};
pub use relink::{Relink, Relinked};
pub use resume::resume;
pub use undone::{Revert, Reverted};
pub use workshop::Workshop;
