//! What an experiment tells while it is under way, for whoever shows it.

use faultline_model::record::{RunHead, RunId};
use std::path::PathBuf;

/// Is told what happens, as it happens: items and their figures ([`faultline_runner::Observer`]), which run they belong to, and notices.
pub trait Observer: faultline_runner::Observer {
    /// Items of this run are measured from now on.
    fn measuring_begins(&mut self, run: &RunHead);

    /// No more items are measured for now: the run has ended, or is looked at.
    fn measuring_ends(&mut self);

    /// Something that a user should know.
    fn notice(&mut self, notice: &Notice);
}

/// Something that a user should know. Its words are the face's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A setting of the system was put back that a comparison had left changed when it was killed.
    SettingPutBack {
        /// The setting, and what it is again.
        setting: String,
    },
    /// The workloads are being built for a side.
    BuildingWorkloads {
        /// The compiler.
        compiler: String,
    },
    /// The run to resume is finished already.
    FinishedAlready {
        /// The run.
        run: RunId,
    },
    /// Addresses of a program will stand for names.
    NoSymbols {
        /// The program's file.
        program: PathBuf,
    },
    /// There will be no source lines and members of a kernel.
    NoDebugInformation {
        /// The kernel's ELF file.
        vmlinux: PathBuf,
    },
}
