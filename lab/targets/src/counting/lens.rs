//! The lens: its plugin, the modelled machine, and the memory that a machine under it takes.

use super::MachineModel;
use crate::lack::{self, Lack};
use crate::qemu::QemuMachine;
use crate::{Ending, Plugin, scratch_directory};
use faultline_lens_format::RawReport;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// The lens: its plugin and the modelled machine.
#[derive(Debug, Clone)]
pub struct Lens {
    /// The plugin's file.
    pub plugin: PathBuf,
    /// The machine, except for its number of CPUs.
    pub model: MachineModel,
    /// Directory for reports.
    pub scratch: PathBuf,
}

impl Lens {
    /// The plugin for a machine of `cpus` CPUs, as facts show it: without the path of a report.
    pub(super) fn described(&self, cpus: u32, is_whole: bool) -> Plugin {
        self.model.plugin(&self.plugin, cpus, "REPORT", is_whole)
    }

    /// The plugin for a machine of `cpus` CPUs, and the file of its report. Fails, with a text, if
    /// the machine is impossible or the file cannot be created.
    pub(super) fn attached(&self, cpus: u32, is_whole: bool) -> Result<(Plugin, ReportFile), String> {
        let file = ReportFile::new(&self.scratch)?;
        let plugin = file.in_directory_of(self.model.plugin(&self.plugin, cpus, file.path(), is_whole));
        Ok((plugin, file))
    }
}

/// Memory of an emulator in addition to the guest's: its buffer for translated code, and the
/// plugin's tables.
pub(super) const EMULATOR_BYTES: u64 = 1 << 30;

/// Maximum memory of this host that the largest of these machines takes, in bytes.
pub(super) fn most_room_bytes(machines: &[QemuMachine]) -> u64 {
    let guest = machines.iter().map(|machine| machine.request().shape.memory_mib() << 20).max();
    EMULATOR_BYTES + guest.unwrap_or_default()
}

/// Name prefix of report directories in the scratch directory.
const PREFIX: &str = "faultline-lens-";

/// Minimum age of a stale directory: a younger one may belong to a command that has not locked it
/// yet.
const YOUNG: Duration = Duration::from_secs(60);

/// Prefix of the plugin's messages on the emulator's standard error.
const SAYS: &str = "faultline lens: ";

/// A file for one report, removed on drop.
pub(super) struct ReportFile {
    /// Removed on drop.
    directory: TempDir,
    path: String,
    watch: lack::Watch,
    /// The directory, locked. The lock ends with our process, however it ends.
    _lock: File,
}

impl ReportFile {
    /// Creates a file in `scratch`. Removes directories that killed commands left without a keeper.
    /// Fails, with a text, if the file cannot be created.
    pub(super) fn new(scratch: &Path) -> Result<Self, String> {
        remove_stale(scratch);
        let failed = |error: std::io::Error| {
            format!("cannot create the lens's report in {}: {}", scratch.display(), error.kind())
        };
        let directory = scratch_directory::create(PREFIX, scratch).map_err(failed)?;
        let lock = File::open(directory.path()).map_err(failed)?;
        // Without locks, as on some network file systems, the directory counts as used for a
        // minute.
        let _ = lock.try_lock();
        let path = directory.path().join("report.json").into_os_string().into_string();
        // The plugin gets the path as text.
        let path =
            path.map_err(|path| format!("no report can be written to {}: its name is not UTF-8", path.display()))?;
        Ok(ReportFile { directory, path, watch: lack::Watch::begin(), _lock: lock })
    }

    /// `plugin`, set to write to [`Self::path`], with the directory that the keeper removes if we
    /// are killed.
    pub(super) fn in_directory_of(&self, plugin: Plugin) -> Plugin {
        Plugin { directory: Some(self.directory.path().to_owned()), ..plugin }
    }

    /// Path of the report.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Reads the report. Fails, with a text, if there is none. `said`: the emulator's output, which
    /// may contain the plugin's reason.
    pub(super) fn read(&self, said: &str) -> Result<RawReport, String> {
        let Ok(bytes) = std::fs::read(&self.path) else { return Err(why_not(said)) };
        RawReport::parse(&bytes).map_err(|error| error.to_string())
    }

    /// The ending of an execution with this report. A report that is missing because this host
    /// lacks something is a failure of the host.
    pub(super) fn judged<T>(&self, ending: Ending, report: &Result<T, String>) -> Ending {
        let is_missing = report.is_err() && matches!(ending, Ending::Exited { status: 0, .. });
        match is_missing.then(|| self.watch.lack(&[self.directory.path()])).flatten() {
            Some(Lack { text, .. }) => Ending::LabFailed { text },
            None => ending,
        }
    }
}

/// Removes the directories that are no longer used.
fn remove_stale(scratch: &Path) {
    let entries = std::fs::read_dir(scratch).into_iter().flatten().flatten();
    let reports = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for stale in reports.map(|entry| entry.path()).filter(|path| is_stale(path)) {
        // Another command may be removing it too.
        let _ = std::fs::remove_dir_all(stale);
    }
}

/// True for a directory that is neither young nor locked.
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
