//! Lock and backup of system settings, which belong to the machine and not to a database. Only one
//! comparison at a time may change them, and a file keeps their previous values until they are
//! restored.
//!
//! An execution's keeper writes settings and restores them. This module handles the other cases:
//! two comparisons at the same time, and a kill of both the command and its keeper. The file names
//! each setting and its previous value. The measuring process holds a lock on it. So a file that is
//! not locked and not empty was left by a process that was killed.

use crate::TargetError;
use crate::system_settings::{self, Before};
use rustix::fs::{Mode, OFlags};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Directories for such files, preferably one that a reboot clears, as it resets settings.
const DIRECTORIES: [&str; 3] = ["/run/lock", "/var/run", "/tmp"];

/// Maximum size of the file in bytes, more than the settings of any comparison need.
const LONGEST_BYTES: u64 = 1 << 20;

/// Held while settings may change.
#[derive(Debug)]
pub struct SettingsGuard {
    file: File,
    before: Vec<Before>,
}

impl SettingsGuard {
    /// Takes the lock on the machine's settings, saves the contents of these files, and restores
    /// the settings that a killed process left changed. Returns the restored settings, as texts.
    /// Fails if another process holds the lock, or if a setting cannot be read or restored.
    pub fn take(files: &[String]) -> Result<(Self, Vec<String>), TargetError> {
        Self::take_in(&usual_place(), files, &system_settings::ROOTS.map(Path::new))
    }

    /// Restores the settings that a killed process left changed, and returns them as texts.
    /// Settings of a running comparison are left alone. Fails if one cannot be restored.
    pub fn put_back_leftovers() -> Result<Vec<String>, TargetError> {
        Self::put_back_leftovers_in(&usual_place(), &system_settings::ROOTS.map(Path::new))
    }

    fn put_back_leftovers_in(place: &Path, roots: &[&Path]) -> Result<Vec<String>, TargetError> {
        if !place.exists() {
            return Ok(Vec::new());
        }
        let mut file = open(place)?;
        match file.try_lock() {
            Ok(()) => recover(&mut file, place, roots),
            Err(TryLockError::WouldBlock) => Ok(Vec::new()),
            Err(TryLockError::Error(error)) => Err(unusable(place, &error)),
        }
    }

    fn take_in(place: &Path, files: &[String], roots: &[&Path]) -> Result<(Self, Vec<String>), TargetError> {
        let mut file = open(place)?;
        lock(&file)?;
        let put_back = recover(&mut file, place, roots)?;
        let refused = |problem| TargetError { problem, hint: "name readable settings of this host".to_owned() };
        let read = |path: &String| Before::read(&system_settings::find(path, roots)?);
        let before = files.iter().map(read).collect::<Result<Vec<Before>, String>>().map_err(refused)?;
        let lines: String = before.iter().map(|one| format!("{}\t{}\n", one.file.display(), one.value)).collect();
        file.write_all(lines.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| unusable(place, &error))?;
        Ok((SettingsGuard { file, before }, put_back))
    }

    /// Checks that every setting has its previous value, and restores those that do not. Fails if
    /// one cannot be restored; the file then keeps it.
    pub fn release(mut self) -> Result<(), TargetError> {
        let left = system_settings::put_back_all(&self.before);
        if !left.is_empty() {
            return Err(TargetError {
                problem: format!("system settings were not restored: {}", left.join("; ")),
                hint: "restore it by hand; the next comparison with settings tries again".to_owned(),
            });
        }
        empty(&mut self.file).map_err(|error| TargetError {
            problem: format!("cannot clear the list of settings: {error}"),
            hint: "the settings themselves were restored".to_owned(),
        })
    }
}

/// A file of the user's own, so that another user cannot make us write settings.
fn usual_place() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    let usable = |directory: &&&str| rustix::fs::access(**directory, rustix::fs::Access::WRITE_OK).is_ok();
    let directory = DIRECTORIES.iter().find(usable).unwrap_or(&DIRECTORIES[2]);
    Path::new(directory).join(format!("faultline-settings.{user}"))
}

fn open(place: &Path) -> Result<File, TargetError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(place, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(|error| unusable(place, &error.into()))?;
    let metadata = file.metadata().map_err(|error| unusable(place, &error))?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if metadata.is_file() && is_ours && metadata.permissions().mode() & 0o077 == 0 {
        return Ok(file);
    }
    Err(TargetError {
        problem: format!("{} lists settings to restore, and other users can write it", place.display()),
        hint: "check its content, then remove it".to_owned(),
    })
}

fn unusable(place: &Path, error: &std::io::Error) -> TargetError {
    TargetError {
        problem: format!("cannot keep the settings' values in {}: {error}", place.display()),
        hint: "without them a kill could leave the system changed; make the file's directory writable".to_owned(),
    }
}

fn lock(file: &File) -> Result<(), TargetError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => TargetError {
            problem: "another comparison is changing settings of this machine".to_owned(),
            hint: "only one comparison at a time may change settings: wait for it to end".to_owned(),
        },
        TryLockError::Error(error) => TargetError {
            problem: format!("cannot lock the list of settings: {error}"),
            hint: "check its directory".to_owned(),
        },
    })
}

/// Restores the settings in the file, and empties it. Returns the restored settings, as texts.
fn recover(file: &mut File, place: &Path, roots: &[&Path]) -> Result<Vec<String>, TargetError> {
    let mut text = String::new();
    file.take(LONGEST_BYTES).read_to_string(&mut text).map_err(|error| unusable(place, &error))?;
    let mut told = Vec::new();
    for (path, value) in text.lines().filter_map(|line| line.split_once('\t')) {
        let put_back =
            system_settings::find(path, roots).and_then(|file| Before { file, value: value.to_owned() }.put_back());
        put_back.map_err(|problem| TargetError {
            problem: format!("a killed comparison left the system changed: {problem}"),
            hint: format!("restore it by hand, then remove {}", place.display()),
        })?;
        told.push(format!("{path} is {value} again"));
    }
    empty(file).map_err(|error| unusable(place, &error))?;
    Ok(told)
}

fn empty(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Machine {
        directory: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let machine = Machine { directory: tempfile::tempdir().unwrap() };
            fs::create_dir(machine.path("sys")).unwrap();
            fs::write(machine.path("sys/knob"), "1\n").unwrap();
            machine
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn take(&self) -> Result<(SettingsGuard, Vec<String>), TargetError> {
            let knob = self.path("sys/knob").to_str().unwrap().to_owned();
            SettingsGuard::take_in(&self.path("list"), &[knob], &[&self.path("sys")])
        }

        fn knob(&self) -> String {
            fs::read_to_string(self.path("sys/knob")).unwrap()
        }
    }

    #[test]
    fn what_is_changed_is_put_back_at_the_end() {
        let machine = Machine::new();
        let (guard, told) = machine.take().unwrap();
        assert!(told.is_empty());
        fs::write(machine.path("sys/knob"), "7\n").unwrap();
        guard.release().unwrap();
        assert_eq!((machine.knob().as_str(), fs::read_to_string(machine.path("list")).unwrap().as_str()), ("1\n", ""));
    }

    #[test]
    fn one_that_was_killed_is_made_good_by_the_next() {
        let machine = Machine::new();
        let (guard, _) = machine.take().unwrap();
        fs::write(machine.path("sys/knob"), "7\n").unwrap();
        drop(guard);
        let (guard, told) = machine.take().unwrap();
        assert_eq!((machine.knob().as_str(), told.len()), ("1\n", 1));
        assert!(told[0].ends_with("sys/knob is 1 again"), "{told:?}");
        guard.release().unwrap();
    }

    #[test]
    fn leftovers_are_put_back_by_whoever_measures_next_and_what_is_under_way_is_left_alone() {
        let machine = Machine::new();
        let put_back = || SettingsGuard::put_back_leftovers_in(&machine.path("list"), &[&machine.path("sys")]).unwrap();
        assert!(put_back().is_empty());
        let (guard, _) = machine.take().unwrap();
        fs::write(machine.path("sys/knob"), "7\n").unwrap();
        assert!(put_back().is_empty() && machine.knob() == "7\n");
        drop(guard);
        assert_eq!((put_back().len(), machine.knob().as_str()), (1, "1\n"));
        assert!(put_back().is_empty());
    }

    #[test]
    fn two_at_once_are_refused() {
        let machine = Machine::new();
        let (guard, _) = machine.take().unwrap();
        assert!(machine.take().unwrap_err().problem.starts_with("another comparison"));
        guard.release().unwrap();
        assert!(machine.take().is_ok());
    }

    #[test]
    fn settings_that_cannot_be_restored_are_reported_and_kept() {
        let machine = Machine::new();
        let (guard, _) = machine.take().unwrap();
        fs::remove_file(machine.path("sys/knob")).unwrap();
        assert!(guard.release().unwrap_err().problem.starts_with("system settings were not restored"));
        assert!(fs::read_to_string(machine.path("list")).unwrap().contains("knob\t1"));
    }

    #[test]
    fn a_list_that_others_can_write_and_settings_elsewhere_are_refused() {
        let machine = Machine::new();
        fs::write(machine.path("list"), "").unwrap();
        fs::set_permissions(machine.path("list"), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(machine.take().unwrap_err().problem.contains("other users can write it"));
        fs::remove_file(machine.path("list")).unwrap();
        std::os::unix::fs::symlink(machine.path("sys/knob"), machine.path("list")).unwrap();
        assert!(machine.take().is_err());
        fs::remove_file(machine.path("list")).unwrap();
        fs::write(machine.path("list"), "/etc/passwd\tx\n").unwrap();
        fs::set_permissions(machine.path("list"), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(machine.take().unwrap_err().problem.contains("is not a system setting"));
    }
}
