//! The plugin's report as a file: a place for it, and its contents afterwards.

use crate::Plugin;
use faultline_model::lens::raw::RawReport;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Directories of reports in the scratch directory.
const PREFIX: &str = "faultline-lens-";

/// A younger directory may belong to a command that has not locked it yet.
const YOUNG: Duration = Duration::from_secs(60);

/// The beginning of the plugin's messages on the emulator's standard error.
const SAYS: &str = "faultline lens: ";

/// A place for one report; the file is removed with it.
pub(super) struct ReportFile {
    /// Removed with it.
    directory: TempDir,
    path: String,
    /// The directory, locked. The lock ends with our process, however that ends.
    _lock: File,
}

impl ReportFile {
    /// A place in `scratch`. Removes the directories of commands that were killed while no keeper had theirs to remove. Fails, in words, if
    /// it cannot be created.
    pub(super) fn new(scratch: &Path) -> Result<Self, String> {
        remove_stale(scratch);
        let failed = |error: std::io::Error| {
            format!("no place for the lens's report in {}: {}", scratch.display(), error.kind())
        };
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch).map_err(failed)?;
        let lock = File::open(directory.path()).map_err(failed)?;
        // Without locks, as on some network file systems, the directory stays in use for a minute.
        let _ = lock.try_lock();
        let path = directory.path().join("report.json").into_os_string().into_string();
        // The plugin gets the path as text.
        let path =
            path.map_err(|path| format!("no report can be written to {}: its name is not UTF-8", path.display()))?;
        Ok(ReportFile { directory, path, _lock: lock })
    }

    /// `plugin`, set to write its report to [`Self::path`], with the directory that is removed if we are killed.
    pub(super) fn in_directory_of(&self, plugin: Plugin) -> Plugin {
        Plugin { directory: Some(self.directory.path().to_owned()), ..plugin }
    }

    /// The path of the report.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The report. Fails, in words, if there is none; `said` is the emulator's output, which may hold the plugin's reason.
    pub(super) fn read(&self, said: &str) -> Result<RawReport, String> {
        let Ok(bytes) = std::fs::read(&self.path) else { return Err(why_not(said)) };
        RawReport::parse(&bytes).map_err(|error| error.to_string())
    }
}

/// Removes the directories that nobody uses any more.
fn remove_stale(scratch: &Path) {
    let entries = std::fs::read_dir(scratch).into_iter().flatten().flatten();
    let reports = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for stale in reports.map(|entry| entry.path()).filter(|path| is_stale(path)) {
        // Another command may be removing it too.
        let _ = std::fs::remove_dir_all(stale);
    }
}

/// Whether a directory is not young, and not locked.
fn is_stale(directory: &Path) -> bool {
    let changed = |file: &File| file.metadata().and_then(|metadata| metadata.modified());
    let is_old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age >= YOUNG);
    File::open(directory).is_ok_and(|file| changed(&file).is_ok_and(is_old) && file.try_lock().is_ok())
}

fn why_not(said: &str) -> String {
    match said.lines().rev().find_map(|line| line.split_once(SAYS)) {
        Some((_, reason)) => format!("the lens left no report: {reason}"),
        None => "the lens left no report: the emulator ended before it could".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn directories_of_killed_commands_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let make = |name: &str, age: Duration| {
            let directory = scratch.path().join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("report.json"), "{}").unwrap();
            File::open(&directory).unwrap().set_modified(SystemTime::now() - age).unwrap();
            directory
        };
        let [old, young, other] =
            [("faultline-lens-a", 2 * YOUNG), ("faultline-lens-b", YOUNG / 2), ("mine", 2 * YOUNG)]
                .map(|(name, age)| make(name, age));
        let used = ReportFile::new(scratch.path()).unwrap();
        assert_eq!([&old, &young, &other].map(|directory| directory.exists()), [false, true, true]);
        let directory = used.directory.path().to_owned();
        File::open(&directory).unwrap().set_modified(SystemTime::now() - 2 * YOUNG).unwrap();
        ReportFile::new(scratch.path()).unwrap();
        assert!(directory.exists(), "it is locked");
        drop(used);
        assert!(!directory.exists());
    }
}
