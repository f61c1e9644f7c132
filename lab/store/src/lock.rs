//! Locks of whoever measures, or does jobs.
//!
//! Only one run at a time measures on a machine into a database: two runs would disturb each other's figures. For a file, the lock is the operating system's, on
//! another file next to the database. For a database on a server, it is the server's, and names the machine: other machines may measure at the same time. Then each run
//! has a lock too, so that one process at a time measures it.
//!
//! One worker at a time on a machine does the jobs of a database, by a lock of the same kind.
//!
//! All locks are released when the process ends, for any reason.

use crate::Store;
use crate::connection::Connection;
use crate::error::StoreError;
use crate::location::Location;
use crate::server::{self, Held};
use faultline_model::record::RunId;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Held while a run measures, or a worker does jobs. That of a server lasts as long as the store that took it.
#[derive(Debug)]
pub struct MachineLock {
    _file: Option<File>,
}

/// What only one process at a time does on a machine.
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

    /// The lock's name on a server. `server::is_free` writes names of runs.
    fn on_server(self) -> String {
        match self {
            Alone::Measure => format!("machine {}", machine()),
            Alone::DoJobs => format!("jobs of {}", machine()),
        }
    }

    /// Another process holds it.
    fn held_by(self, who: &str, place: impl std::fmt::Display) -> StoreError {
        match self {
            Alone::Measure => StoreError::failed(
                format!("another run{who} is measuring into {place}"),
                "two runs at the same time disturb each other: wait for it to end",
            ),
            Alone::DoJobs => StoreError::failed(
                format!("another worker{who} does the jobs of {place} on this machine"),
                "one at a time measures: let that one do them, or end it",
            ),
        }
    }
}

impl Store {
    /// Takes the lock of whoever measures on this machine. Fails if another process holds it (the error names that process), or if the lock file cannot be opened.
    pub fn lock_measuring(&self) -> Result<MachineLock, StoreError> {
        self.lock(Alone::Measure)
    }

    /// Takes the lock of whoever does jobs on this machine. Fails likewise.
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

    /// Makes sure that no other process measures the run, as long as the store is open. Fails if one does, and names it.
    pub(crate) fn hold_run(&self, run: RunId) -> Result<(), StoreError> {
        let held = hold_run(&self.connection, run).map_err(self.failed("lock a run in"))?;
        match held {
            Held::ByUs => Ok(()),
            Held::ByOther(holder) => Err(StoreError::run_is_measured(run, &holder)),
        }
    }
}

/// Takes the lock of a run until the store is closed. A file needs none, because one process at a time measures into it.
pub(crate) fn hold_run(connection: &Connection, run: RunId) -> crate::connection::Result<Held> {
    match connection {
        Connection::Sqlite(_) => Ok(Held::ByUs),
        Connection::Postgres(_) => server::hold(connection, &name_of(run)),
    }
}

/// Takes the lock of a run until the transaction ends, likewise.
pub(crate) fn hold_run_in(transaction: &Connection, run: RunId) -> crate::connection::Result<Held> {
    match transaction {
        Connection::Sqlite(_) => Ok(Held::ByUs),
        Connection::Postgres(_) => server::hold_until_the_transaction_ends(transaction, &name_of(run)),
    }
}

/// The lock's name; `server::is_free` writes it too.
fn name_of(run: RunId) -> String {
    format!("run {}", run.0)
}

/// Identifies the machine, also for processes in containers: the boot of its kernel, or else its name.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| host_name(), |boot| boot.trim().to_owned())
}

/// The name of the machine, which stays when it boots.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Locks the file next to the database at `path`.
fn lock_file(path: &Path, alone: Alone) -> Result<File, StoreError> {
    let lock_path = lock_path(path, alone);
    let failed = |error: std::io::Error| {
        StoreError::unusable(
            format!("cannot lock {}: {error}", lock_path.display()),
            "`--db FILE` names a database in a place that can be written",
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

/// The file next to the database itself, even if a symbolic link was named: one database has one lock.
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

/// The process that holds the lock file, in brackets; empty if it is not known.
fn holder(file: &mut File) -> String {
    let mut holder = String::new();
    let known = file.read_to_string(&mut holder).is_ok() && !holder.is_empty();
    if known { format!(" (process {holder})") } else { String::new() }
}
