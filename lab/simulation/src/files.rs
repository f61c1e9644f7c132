//! Where a simulated experiment has its files: in memory, if possible.

use crate::death::DATABASE;
use faultline_experiment::Places;
use faultline_store::Store;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A file system in memory, if there is one.
const IN_MEMORY: &str = "/dev/shm";

/// A directory for the files of one seed, removed with the value. Fails if it cannot be created.
pub(crate) fn root() -> io::Result<TempDir> {
    let memory = Path::new(IN_MEMORY);
    let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("faultline-simulation-").tempdir_in(above)
}

/// A database without runs, made once. Fails if it cannot be created.
pub(crate) fn empty_database(root: &Path) -> Result<&'static [u8], String> {
    static EMPTY: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let make = || {
        let path = root.join(DATABASE);
        drop(Store::open_or_create(&path).map_err(in_words)?);
        std::fs::read(&path).map_err(in_words)
    };
    EMPTY.get_or_init(make).as_deref().map_err(Clone::clone)
}

/// The paths of an experiment: it has a database, and nothing else of this host.
pub(crate) fn places(database: &Path) -> Places {
    Places {
        keeper: "/".into(),
        workloads: None,
        sources: None,
        guest: None,
        emulator: None,
        kernel: None,
        plugin: None,
        scratch: "/".into(),
        cache: None,
        data: None,
        database: Some(database.to_owned()),
        settings: None,
    }
}

/// An error in words.
pub(crate) fn in_words(error: impl Display) -> String {
    error.to_string()
}
