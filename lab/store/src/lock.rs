//! Only one run at a time measures into a database: two runs would disturb each other's figures.
//!
//! The lock is the operating system's, on a file next to the database. It is released when the process ends, for any reason.

use crate::error::StoreError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Held while a run measures.
#[derive(Debug)]
pub struct MeasuringLock {
    _file: File,
}

impl MeasuringLock {
    /// Takes the lock of the database at `path`. Fails if another process holds it (the error names that process), or if the lock file cannot be opened.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        let lock_path = lock_path(path);
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
            Err(TryLockError::WouldBlock) => return Err(held(path, &mut file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        write_holder(&mut file).map_err(failed)?;
        Ok(MeasuringLock { _file: file })
    }
}

/// The file next to the database itself, even if a symbolic link was named: one database has one lock.
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(".lock");
    PathBuf::from(name)
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

fn held(path: &Path, file: &mut File) -> StoreError {
    let mut holder = String::new();
    let known = file.read_to_string(&mut holder).is_ok() && !holder.is_empty();
    let who = if known { format!(" (process {holder})") } else { String::new() };
    StoreError::failed(
        format!("another run{who} is measuring into {}", path.display()),
        "two runs at the same time disturb each other: wait for it to end",
    )
}
