//! Starts, resumes, evaluates and concludes measurements: runs, live comparisons, checks, searches
//! along commits, lens runs. All front ends use it.
//!
//! A front end makes a request from its user's input, and passes a [`Lab`]: paths ([`Places`]), a
//! way to make machines ready ([`Machines`]), a clock, a stop flag, and an [`Observer`]. It gets
//! back one conclusion ([`Measured`], [`Conclusion`]) and shows it. Nothing here prints, handles
//! signals, or knows a terminal; notices and errors are data ([`Notice`], [`Error`]).

mod around;
mod bench;
mod booted;
mod capabilities;
mod command_words;
mod comparison;
mod conclusion;
mod database;
mod effects;
mod error;
mod growing;
pub mod hosts;
mod installed;
pub mod jobs;
mod lab;
pub mod lens;
mod measure;
pub mod operand;
mod own_workloads;
mod partners;
mod places;
pub mod published;
mod resume;
mod run;
mod sandbox;
pub mod settings_file;
mod sides;
pub mod stored;
mod stored_comparison;
mod target;
mod trust;
pub mod variants;
pub mod whole_file;

pub use around::Around;
pub use capabilities::capabilities;
pub use command_words::{ResultsOrCommands, command_words, results_or_commands};
pub use comparison::{CheckRequest, LiveComparisonRequest, USUAL_LEVEL, check, compare};
pub use conclusion::{AppliedGate, Concluded, Conclusion, Measured};
pub use database::{
    Checked, Copied, CopyProgress, check_database, check_writable, copy_database, delete, find_run, find_the_run,
};
pub use effects::{DeclaredEffect, declared_effects};
pub use error::{Because, Error, ErrorKind};
pub use growing::{Gone, GrowingRun, MeasuringMachine, measuring_machine};
pub use installed::{InstallRequest, await_host};
pub use lab::{Lab, Notice, Observer};
pub use measure::any_seed;
pub use operand::{ImportRequest, Imported, import};
pub use places::Places;
pub use resume::{ResumeRequest, resume, run_to_resume};
pub use run::{RunRequest, TreeRequest, run};
pub use sandbox::Sandboxing;
pub use stored::{Mark, mark, place_of};
pub use stored_comparison::{
    CommitComparisons, MeasuredCommit, StoredComparisonRequest, compare_commits, compare_stored, compare_stored_runs,
};
pub use target::{GuestRuns, LocalMachines, Machines, ReadyTarget, facts, workloads};
pub use trust::Consent;
