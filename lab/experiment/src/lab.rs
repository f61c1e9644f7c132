//! The environment of every experiment, and the events that it reports.

use crate::error::Error;
use crate::own_workloads;
use crate::places::Places;
use crate::target::Machines;
use faultline_record::machine::Machine;
use faultline_record::recipe::Recipe;
use faultline_record::record::{RunHead, RunId};
use faultline_runner::Clock;
use faultline_stats::history::Prospect;
use faultline_targets::{SettingsGuard, StopFlag};
use std::path::PathBuf;

/// The environment of an experiment, provided by the front end that starts it.
pub struct Lab<'a> {
    /// The paths.
    pub places: &'a Places,
    /// Makes machines ready, for every kind of run.
    pub machines: &'a dyn Machines,
    /// The clock for budgets, and for the times that are saved.
    pub clock: &'a dyn Clock,
    /// Ends the experiment when it is set; everything measured so far remains saved.
    pub stop: &'a StopFlag,
    /// Receives events.
    pub observer: &'a mut dyn Observer,
}

impl Lab<'_> {
    /// Restores system settings that a killed comparison left changed. A running comparison keeps
    /// its own. Fails if one cannot be restored.
    pub(crate) fn put_back_leftovers(&mut self) -> Result<(), Error> {
        self.tell_put_back(SettingsGuard::put_back_leftovers()?);
        Ok(())
    }

    /// Reports, once, that builds or programs of a recipe run without a sandbox because this system
    /// has none.
    pub fn note_sandbox(&mut self, recipe: &Recipe) -> Result<(), Error> {
        let sandboxing = &self.places.sandboxing;
        if sandboxing.is_wanted_for(recipe)
            && let Some(why) = self.places.lack_of_sandbox()?
            && sandboxing.is_unreported()
        {
            self.observer.notice(&Notice::NoSandbox { why: why.to_owned() });
        }
        Ok(())
    }

    /// Reports what making a machine ready takes: a boot or a connection, or on this host, if it
    /// has none, a build of the command's own workloads.
    pub(crate) fn note_machine(&mut self, machine: &Machine, places: &Places) {
        if !machine.is_here() {
            self.observer.notice(&Notice::AwaitingMachine { machine: machine.to_string() });
        }
        if machine.is_here() && places.builds_workloads() {
            self.observer.notice(&Notice::BuildingWorkloads { compiler: own_workloads::COMPILER.to_owned() });
        }
    }

    /// Reports that a guest boots before the first execution.
    pub(crate) fn note_boot(&mut self) {
        self.observer.notice(&Notice::Booting);
    }

    /// Reports the settings that were restored after a kill.
    pub(crate) fn tell_put_back(&mut self, settings: Vec<String>) {
        for setting in settings {
            self.observer.notice(&Notice::SettingPutBack { setting });
        }
    }
}

/// Receives events: items and their figures ([`faultline_runner::Observer`]), the run that they
/// belong to, and notices.
pub trait Observer: faultline_runner::Observer {
    /// Items of this run are measured from now on.
    fn measuring_begins(&mut self, run: &RunHead);

    /// No more items are measured for now, because the run has ended or is being evaluated.
    fn measuring_ends(&mut self);

    /// A notice for the user.
    fn notice(&mut self, notice: &Notice);
}

/// A notice for the user. The front end writes its text.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A system setting was restored that a killed comparison had left changed.
    SettingPutBack {
        /// The setting, and its restored value.
        setting: String,
    },
    /// The workloads are being built: for a side, or because none are beside the command.
    BuildingWorkloads {
        /// The compiler.
        compiler: String,
    },
    /// A tool of a build is asked for its version, which may take long if the tool hangs.
    AskingTool {
        /// The command.
        command: String,
    },
    /// All tools of a build have answered.
    ToolsAsked,
    /// A machine boots, or a connection to it is made, before the first execution.
    AwaitingMachine {
        /// The machine, as in `--on`.
        machine: String,
    },
    /// A guest boots.
    Booting,
    /// A set-up command runs.
    SettingUp {
        /// The command.
        command: String,
    },
    /// Commands are executed to warm up.
    WarmingUp {
        /// Number of executions of each.
        executions: u32,
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
        /// Its number, from 1: on the line that is searched, or among those that a history
        /// measures.
        number: usize,
        /// Number of commits there.
        of: usize,
        /// Commits that the search built before it; `None` for a history.
        tried: Option<usize>,
    },
    /// The build of a commit is being linked with a random layout.
    LinkingCommit {
        /// The commit.
        commit: String,
        /// The layout, from 0.
        layout: u32,
        /// Maximum number of layouts.
        most: u32,
    },
    /// A stopped run of the same history continues before a new one begins.
    ContinuingHistory {
        /// The run.
        run: RunId,
    },
    /// The conclusions that a history allows after its commits are measured.
    HistoryProspect {
        /// The subject.
        subject: String,
        /// Number of tasks.
        tasks: u32,
        /// The conclusions.
        prospect: Prospect,
        /// Number of commits from which some are picked.
        available: u32,
    },
    /// A change at the newest commits of a history is suspected; these commits are measured now.
    StepSuspected {
        /// Number of commits.
        commits: usize,
    },
    /// Another command builds in the same directory; the next build waits for it.
    AwaitingBuild {
        /// The directory.
        directory: PathBuf,
    },
    /// A side of a comparison is being built.
    BuildingSide {
        /// The side.
        side: String,
    },
    /// The working tree of a repository is compared.
    WorkingTree {
        /// The commit of its `HEAD`.
        commit: String,
        /// Number of files that differ from it.
        changed: usize,
        /// Those that the commit does not have.
        new: Vec<String>,
        /// Submodules whose own changes are left out.
        edited: Vec<String>,
    },
    /// The run to resume is already finished.
    FinishedAlready {
        /// The run.
        run: RunId,
    },
    /// Builds and programs of commits run without a sandbox, because this system has none.
    NoSandbox {
        /// The reason.
        why: String,
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
