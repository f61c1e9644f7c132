//! Starts, resumes, evaluates and concludes measurements: runs, live comparisons, checks, searches along commits, runs under the lens. All front ends use it.
//!
//! A front end makes a request from its user's input, and passes a [`Lab`]: paths ([`Places`]), a way to make machines ready ([`Machines`]),
//! a clock, a stop flag, and an [`Observer`]. It gets back one conclusion ([`Measured`], [`Conclusion`]) and shows it. Nothing here prints,
//! handles signals, or knows a terminal; notices and errors are data ([`Notice`], [`Error`]).

mod booted;
mod check;
mod command_words;
mod commit_comparison;
mod comparison;
mod conclusion;
mod database;
mod delete;
mod error;
mod failing_target;
mod growing;
pub mod hosts;
mod imports;
pub mod install;
mod installed;
pub mod jobs;
mod lab;
pub mod lens;
mod mark;
mod measure;
mod measuring_machine;
mod observer;
pub mod operand;
mod partners;
mod places;
mod results_or_commands;
mod resumable;
mod resume;
mod run;
mod run_names;
pub mod settings_file;
mod sides;
pub mod stored;
mod stored_comparison;
pub mod stored_executions;
mod target;
pub mod variants;
pub mod whole_file;

pub use check::{CheckRequest, check};
pub use command_words::command_words;
pub use commit_comparison::{CommitComparisons, MeasuredCommit, compare_commits};
pub use comparison::{LiveComparisonRequest, USUAL_LEVEL, compare};
pub use conclusion::{AppliedGate, Concluded, Conclusion, Measured};
pub use database::{Copied, CopyProgress, check_writable, copy_database};
pub use delete::delete;
pub use error::{Because, Error, ErrorKind};
pub use growing::{Gone, GrowingRequest, GrowingRun};
pub use imports::{ImportRequest, Imported, import};
pub use installed::await_host;
pub use lab::Lab;
pub use mark::{Mark, mark, place_of};
pub use measuring_machine::{MeasuringMachine, measuring_machine};
pub use observer::{Notice, Observer};
pub use places::Places;
pub use results_or_commands::{ResultsOrCommands, results_or_commands};
pub use resume::{ResumeRequest, resume, run_to_resume};
pub use run::{RunRequest, TreeRequest, run};
pub use run_names::{find_run, find_the_run};
pub use stored_comparison::{StoredComparisonRequest, compare_stored, compare_stored_runs};
pub use target::{GuestRuns, LocalMachines, Machines, ReadyTarget, facts, workloads};
