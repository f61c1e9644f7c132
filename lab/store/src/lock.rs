//! Locks for measuring and for doing jobs.
//!
//! One run at a time measures on a machine into a database, because two would disturb each other.
//! For a file, the lock is the operating system's, on a file beside the database. For a server, it
//! is an advisory lock named after the machine, so other machines may measure at the same time;
//! each run then has a lock too, so that one process at a time measures it.
//!
//! One worker at a time on a machine does the jobs of a database, with a lock of the same kind.
//!
//! All locks are released when the process ends, for any reason.

use crate::connection::Connection;
use crate::error::StoreError;
use crate::server::{self, Held};
use crate::{Location, Store};
use faultline_record::record::RunId;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A lock held while a run measures, or a worker does jobs. A server's lock lasts as long as the
/// store that took it.
#[derive(Debug)]
pub struct MachineLock {
    _file: Option<File>,
}

/// An activity of one process at a time on a machine.
#[derive(Debug, Clone, Copy)]
enum Alone {
    Measure,
    DoJobs,
}

impl Alone {
    /// The end of the lock file's name.
    fn suffix(self) -> &'static str {
        match self {
            Alone::Measure => ".lock",
            Alone::DoJobs => ".jobs.lock",
        }
    }

    /// The lock's name on a server.
    fn on_server(self) -> String {
        match self {
            Alone::Measure => format!("machine {}", machine()),
            Alone::DoJobs => format!("jobs of {}", machine()),
        }
    }

    /// Refusal because another process holds the lock.
    fn held_by(self, who: &str, place: impl std::fmt::Display) -> StoreError {
        match self {
            Alone::Measure => StoreError::unusable(
                format!("another run{who} is measuring into {place}"),
                "wait until it ends: two runs at the same time disturb each other",
            ),
            Alone::DoJobs => StoreError::unusable(
                format!("another worker{who} does the jobs of {place} on this machine"),
                "one worker at a time measures: leave the jobs to it, or stop it",
            ),
        }
    }
}

impl Store {
    /// Takes the lock for measuring on this machine. Fails if another process holds it (the error
    /// names it), or if the lock file cannot be opened.
    pub fn lock_measuring(&self) -> Result<MachineLock, StoreError> {
        self.lock(Alone::Measure)
    }

    /// Takes the lock for doing jobs on this machine. Fails like [`Store::lock_measuring`].
    pub fn lock_jobs(&self) -> Result<MachineLock, StoreError> {
        self.lock(Alone::DoJobs)
    }

    fn lock(&self, alone: Alone) -> Result<MachineLock, StoreError> {
        match &self.location {
            Location::File(path) => Ok(MachineLock { _file: Some(lock_file(path, alone)?) }),
            Location::Server(_) => {
                let held = server::hold(&self.connection, &alone.on_server());
                match held.map_err(self.failed("lock"))? {
                    Held::ByUs => Ok(MachineLock { _file: None }),
                    Held::ByOther(holder) => Err(alone.held_by(&format!(" ({holder})"), &self.location)),
                }
            }
        }
    }

    /// Takes the lock of a run until the store is closed. Fails if another process holds it, and
    /// names it.
    pub(crate) fn hold_run(&self, run: RunId) -> Result<(), StoreError> {
        let held = hold_run(&self.connection, run).map_err(self.failed("lock a run in"))?;
        match held {
            Held::ByUs => Ok(()),
            Held::ByOther(holder) => Err(StoreError::run_is_measured(run, &holder)),
        }
    }
}

/// Takes the lock of a run until the store is closed. A file needs none: only one process measures
/// into it.
pub(crate) fn hold_run(connection: &Connection, run: RunId) -> crate::connection::Result<Held> {
    match connection {
        Connection::Sqlite(_) => Ok(Held::ByUs),
        Connection::Postgres(_) => server::hold(connection, &name_of(run)),
    }
}

/// Takes the lock of a run until the transaction ends. A file needs none.
pub(crate) fn hold_run_in(transaction: &Connection, run: RunId) -> crate::connection::Result<Held> {
    match transaction {
        Connection::Sqlite(_) => Ok(Held::ByUs),
        Connection::Postgres(_) => server::hold_until_the_transaction_ends(transaction, &name_of(run)),
    }
}

/// Name of a run's lock. `server::is_free` spells it too.
fn name_of(run: RunId) -> String {
    format!("run {}", run.0)
}

/// Identity of the machine, the same in all its containers: the boot ID of its kernel, or else its
/// name.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| host_name(), |boot| boot.trim().to_owned())
}

/// Name of the machine, which survives a reboot.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Locks the file beside the database at `path`.
fn lock_file(path: &Path, alone: Alone) -> Result<File, StoreError> {
    let lock_path = lock_path(path, alone);
    let failed = |error: std::io::Error| {
        StoreError::unusable(
            format!("cannot lock {}: {error}", lock_path.display()),
            "`--db FILE` names another database",
        )
    };
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&lock_path);
    let mut file = open.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(alone.held_by(&holder(&mut file), path.display())),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    write_holder(&mut file).map_err(failed)?;
    Ok(file)
}

/// The lock file, beside the database itself even if `path` is a symbolic link: one database has
/// one lock.
fn lock_path(path: &Path, alone: Alone) -> PathBuf {
    let mut name = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(alone.suffix());
    PathBuf::from(name)
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

/// The process that holds the lock file, in brackets; empty if unknown.
fn holder(file: &mut File) -> String {
    let mut holder = String::new();
    let known = file.read_to_string(&mut holder).is_ok() && !holder.is_empty();
    if known { format!(" (process {holder})") } else { String::new() }
}
