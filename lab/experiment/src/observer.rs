//! What an experiment reports while it is running, for whoever shows it.

use faultline_model::record::{RunHead, RunId};
use std::path::PathBuf;

/// Receives events: items and their figures ([`faultline_runner::Observer`]), the run that they belong to, and notices.
pub trait Observer: faultline_runner::Observer {
    /// From now on, items of this run are measured.
    fn measuring_begins(&mut self, run: &RunHead);

    /// No more items are measured for now, because the run has ended or is being evaluated.
    fn measuring_ends(&mut self);

    /// Something that a user should know.
    fn notice(&mut self, notice: &Notice);
}

/// Something that a user should know. The front end writes its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A system setting was restored that a killed comparison had left changed.
    SettingPutBack {
        /// The setting, and its restored value.
        setting: String,
    },
    /// The workloads are being built for a side.
    BuildingWorkloads {
        /// The compiler.
        compiler: String,
    },
    /// A file is being installed on a host, which reboots then.
    InstallingOnHost {
        /// The host.
        host: String,
        /// The file.
        artefact: PathBuf,
    },
    /// A commit is being built.
    BuildingCommit {
        /// The commit.
        commit: String,
        /// Its place on the line that is searched, from 0.
        position: u32,
        /// The last place.
        last: u32,
        /// Number of commits that were tried before it.
        tried: usize,
    },
    /// The build of a commit is being linked with a random layout.
    LinkingCommit {
        /// The commit.
        commit: String,
        /// The layout, from 0.
        layout: u32,
        /// The greatest number of layouts.
        most: u32,
    },
    /// A commit of a history is being built.
    BuildingCommitOfHistory {
        /// The commit.
        commit: String,
        /// Its place among those that the run measures, from 1.
        number: usize,
        /// How many the run measures.
        of: usize,
    },
    /// A run of the same history that was stopped goes on before a new one begins.
    ContinuingHistory {
        /// The run.
        run: RunId,
    },
    /// A side of a comparison is being built.
    BuildingSide {
        /// The side.
        side: String,
    },
    /// The run to resume is already finished.
    FinishedAlready {
        /// The run.
        run: RunId,
    },
    /// Addresses of a program are shown instead of names.
    NoSymbols {
        /// The program's file.
        program: PathBuf,
    },
    /// Source lines and members of a kernel are not available.
    NoDebugInformation {
        /// The kernel's ELF file.
        vmlinux: PathBuf,
    },
}
