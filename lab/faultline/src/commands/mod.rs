//! One file per command. Commands that do the same with other arguments share a file.

pub(crate) mod bisect;
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod exchange;
pub(crate) mod export_site;
pub(crate) mod facts;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod lens;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod published;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod try_patches;
pub(crate) mod workloads;

mod building;
mod measuring;
mod present;
