//! What is concluded of a run: figures, a comparison of two sides, or whether the machine is fit. Computed once, from the saved record
//! alone; every face shows the same value.

use crate::error::Error;
use faultline_model::comparison::{Comparison, Fitness};
use faultline_model::lens::gate::GateReport;
use faultline_model::outcome::Outcome;
use faultline_model::record::{RunId, RunRecord};
use faultline_model::summary::RunSummary;
use faultline_stats::comparison::Settings;
use faultline_stats::sequential::concluded;
use faultline_store::Store;
use std::path::{Path, PathBuf};

/// How measuring came to its end.
#[derive(Debug)]
pub enum Measured {
    /// The run is finished and saved.
    Concluded(Box<Conclusion>),
    /// It was stopped; what was measured by then is saved.
    Stopped {
        /// The run, which can be resumed.
        run: RunId,
    },
}

/// A run, and what is concluded of it.
#[derive(Debug)]
pub struct Conclusion {
    /// The run as it is saved.
    pub record: RunRecord,
    /// The database that holds it.
    pub database: PathBuf,
    /// What it says.
    pub what: Concluded,
    /// What gates found, where it was held to any.
    pub gates: Vec<GateReport>,
}

/// What a run says.
#[derive(Debug)]
pub enum Concluded {
    /// Figures with intervals and verdicts.
    Figures(Box<RunSummary>),
    /// Which side of two is better, as far as it can be told.
    Comparison(Box<Comparison>),
    /// Whether the machine is fit to measure on.
    Fitness(Box<Fitness>),
}

impl Conclusion {
    /// Concludes a run of the database at that path.
    pub(crate) fn of(record: RunRecord, database: &Path) -> Result<Self, Error> {
        let what = if record.settings.comparison().is_some() {
            Concluded::Comparison(Box::new(compared(&record)?))
        } else {
            Concluded::Figures(Box::new(faultline_stats::summarise(&record)))
        };
        Ok(Conclusion { record, database: database.to_owned(), what, gates: Vec::new() })
    }

    /// Concludes a run that was just measured.
    pub(crate) fn of_saved(store: &Store, run: RunId) -> Result<Self, Error> {
        Self::of(store.load_run(run)?, store.path())
    }

    /// The comparison of a machine with itself, as the answer whether it is fit.
    pub(crate) fn into_fitness(self) -> Self {
        let what = match self.what {
            Concluded::Comparison(compared) => {
                Concluded::Fitness(Box::new(faultline_stats::fitness::fitness(*compared, &self.record)))
            }
            other => other,
        };
        Conclusion { what, ..self }
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.record.id
    }

    /// Whether anything failed that this machine can do.
    pub fn any_failed(&self) -> bool {
        self.record.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref()).any(Outcome::is_failure)
    }

    /// Whether every gate that it was held to is open.
    pub fn gates_are_open(&self) -> bool {
        self.gates.iter().all(GateReport::passed)
    }
}

/// The comparison that a run of two sides holds.
pub(crate) fn compared(record: &RunRecord) -> Result<Comparison, Error> {
    concluded(record, &Settings::default()).map_err(|error| {
        let why = failed_first(record).map_or_else(String::new, |why| format!("; {why}"));
        Error::failed(
            format!("run {} can't be compared: {error}{why}", record.id),
            "give each side what it needs here, and compare again",
        )
    })
}

/// The first thing that failed, with its side.
fn failed_first(record: &RunRecord) -> Option<String> {
    record.attempts.iter().find_map(|attempt| {
        let outcome = attempt.outcome.as_ref().filter(|outcome| **outcome != Outcome::Done)?;
        let item = record.plan.iter().find(|item| item.ordinal == attempt.ordinal)?;
        Some(format!("{} on side {}: {outcome}", item.cell, item.subject))
    })
}
