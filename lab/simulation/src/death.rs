//! A kill: the process disappears at one moment, and only its files remain, in their state at that moment.
//!
//! The files are copied at that moment, and the rest of the life is unwound. Clean-up that runs then happens to files that nobody opens again.
//! A kill in the middle of a write leaves only the beginning of its addition to the write-ahead log.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The panic payload that unwinds a life.
pub(crate) struct Killed;

/// Name of the database in its directory.
pub(crate) const DATABASE: &str = "faultline.sqlite";

/// When a kill may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nothing is being written.
    Between,
    /// The last write may be incomplete; nobody has been told that it is complete.
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

    /// How many kills happened in the middle of a write.
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
