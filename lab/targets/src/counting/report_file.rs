//! The plugin's report as a file: a place for it, and its contents afterwards.

use crate::Plugin;
use faultline_model::lens::raw::RawReport;
use std::path::Path;
use tempfile::TempDir;

/// The beginning of the plugin's messages on the emulator's standard error.
const SAYS: &str = "faultline lens: ";

/// A place for one report; the file is removed with it.
pub(super) struct ReportFile {
    /// Removed with it.
    directory: TempDir,
    path: String,
}

impl ReportFile {
    /// A place in `scratch`. Fails, in words, if it cannot be created.
    pub(super) fn new(scratch: &Path) -> Result<Self, String> {
        let directory = tempfile::Builder::new()
            .prefix("faultline-lens-")
            .tempdir_in(scratch)
            .map_err(|error| format!("no place for the lens's report in {}: {}", scratch.display(), error.kind()))?;
        let path = directory.path().join("report.json").into_os_string().into_string();
        // The plugin gets the path as text.
        let path =
            path.map_err(|path| format!("no report can be written to {}: its name is not UTF-8", path.display()))?;
        Ok(ReportFile { directory, path })
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

fn why_not(said: &str) -> String {
    match said.lines().rev().find_map(|line| line.split_once(SAYS)) {
        Some((_, reason)) => format!("the lens left no report: {reason}"),
        None => "the lens left no report: the emulator ended before it could".to_owned(),
    }
}
