//! Files of an experiment, in memory if possible, and how they survive kills and refused writes.
//!
//! A kill copies the files and unwinds the rest of the life, whose clean-up then affects files that
//! are not opened again. A kill in the middle of a write leaves only the start of its addition to
//! the write-ahead log. A trigger makes the database refuse writes, like one on a full disk.

use faultline_experiment::{Consent, Places, Sandboxing};
use faultline_store::Store;
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rusqlite::Connection;
use std::cell::Cell;
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};
use tempfile::TempDir;

/// The panic payload that unwinds a life.
pub(crate) struct Killed;

/// Name of the database in its directory.
pub(crate) const DATABASE: &str = "faultline.sqlite";

/// A moment at which a kill may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nothing is being written.
    Between,
    /// The last write may be incomplete, and its completion has not been reported.
    Writing,
}

/// The files of an experiment, from life to life.
#[derive(Debug)]
pub(crate) struct Disk {
    root: PathBuf,
    life: Cell<u32>,
    /// Length of the write-ahead log just before the kill.
    log_bytes: Cell<u64>,
    torn: Cell<u32>,
}

impl Disk {
    /// Files below `root`, none yet. Fails if the directory cannot be created.
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        let disk = Disk { root: root.to_owned(), life: Cell::new(0), log_bytes: Cell::new(0), torn: Cell::new(0) };
        fs::create_dir(disk.directory())?;
        Ok(disk)
    }

    fn directory(&self) -> PathBuf {
        self.root.join(self.life.get().to_string())
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.directory().join(DATABASE)
    }

    fn log(&self) -> PathBuf {
        self.directory().join(format!("{DATABASE}-wal"))
    }

    /// Number of kills in the middle of a write.
    pub(crate) fn torn(&self) -> u32 {
        self.torn.get()
    }

    /// Records the length of the log.
    pub(crate) fn note_log(&self) {
        self.log_bytes.set(self.log().metadata().map_or(0, |log| log.len()));
    }

    /// Leaves a copy of this life's files for the next life. Fails if they cannot be copied.
    pub(crate) fn leave(&self, moment: Moment, random: &mut ChaCha8Rng) -> io::Result<()> {
        let (old, noted) = (self.directory(), self.log_bytes.get());
        self.life.set(self.life.get() + 1);
        fs::create_dir(self.directory())?;
        for entry in fs::read_dir(old)? {
            let path = entry?.path();
            fs::copy(&path, self.directory().join(path.file_name().unwrap_or_default()))?;
        }
        let now = self.log().metadata().map_or(0, |log| log.len());
        if moment == Moment::Writing && now > noted {
            self.torn.set(self.torn.get() + 1);
            File::options().write(true).open(self.log())?.set_len(random.random_range(noted..now))?;
        }
        Ok(())
    }
}

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

/// Paths of an experiment: a database, and nothing else of this host.
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
        sandboxing: Sandboxing::wanted(false),
        consent: Consent::default(),
    }
}

/// An error in words.
pub(crate) fn in_words(error: impl Display) -> String {
    error.to_string()
}

/// Error of the database when it refuses.
pub(crate) const REFUSED: &str = "refused by the simulation";

/// The writes that may be refused: every way of writing a run.
const WRITES: [&str; 10] = [
    "INSERT ON sample",
    "INSERT ON note",
    "INSERT ON counter",
    "INSERT ON attempt",
    "UPDATE ON attempt",
    "INSERT ON session",
    "INSERT ON subject",
    "INSERT ON item",
    "UPDATE ON item",
    "UPDATE ON run",
];

/// Number of samples and measures.
const FIGURES: &str = "(SELECT count(*) FROM sample) + (SELECT count(*) FROM measure)";

/// Makes the database refuse one kind of write, once it holds `figures` more samples and measures
/// than now. Fails if the trigger cannot be created.
pub(crate) fn refuse_writes(database: &Path, figures: u32, random: &mut ChaCha8Rng) -> rusqlite::Result<()> {
    let Some(write) = WRITES.choose(random) else { return Ok(()) };
    let connection = Connection::open(database)?;
    let there: i64 = connection.query_row(&format!("SELECT {FIGURES}"), [], |row| row.get(0))?;
    connection.execute_batch(&format!(
        "CREATE TRIGGER refusal BEFORE {write} WHEN {FIGURES} >= {}
         BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END",
        there + i64::from(figures)
    ))
}

/// Makes the database accept writes. Fails if the trigger cannot be removed.
pub(crate) fn accept_writes(database: &Path) -> rusqlite::Result<()> {
    Connection::open(database)?.execute_batch("DROP TRIGGER IF EXISTS refusal")
}
