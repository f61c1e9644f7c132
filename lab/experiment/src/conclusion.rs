//! The conclusion of a run: figures, a comparison of two sides, whether the machine is fit, or which commits made a change. It is computed once, from the saved record
//! alone, and every front end shows the same value. For a finished run it is saved in the database until the record or the method changes.

use crate::error::{Because, Error};
use faultline_model::comparison::{Comparison, Fit, Fitness};
use faultline_model::drill::{self, Drill};
use faultline_model::gate::{self, Gate};
use faultline_model::history::HistoryResults;
use faultline_model::lens::gate::GateReport;
use faultline_model::outcome::Outcome;
use faultline_model::plan::{ComparisonPurpose, LineSearch, RunKind};
use faultline_model::record::{RunHead, RunId, RunRecord, RunState};
use faultline_model::summary::RunSummary;
use faultline_stats::METHOD_VERSION;
use faultline_stats::comparison::{ComparisonError, Settings};
use faultline_stats::drill::conclude_record;
use faultline_stats::history::results_of_record;
use faultline_stats::sequential::concluded;
use faultline_store::{Kept, Store, StoreError};

/// How measuring ended.
#[derive(Debug)]
pub enum Measured {
    /// The run is finished and saved.
    Concluded(Box<Conclusion>),
    /// It was stopped; everything measured so far is saved.
    Stopped {
        /// The run, which can be resumed.
        run: RunId,
    },
}

/// How far a run was measured.
pub(crate) enum Ended {
    /// It is finished.
    ToTheEnd,
    /// A stop was requested.
    Stopped,
}

/// A run, and its conclusion.
#[derive(Debug)]
pub struct Conclusion {
    /// The run, without its attempts.
    pub head: RunHead,
    /// The name of the database that holds it, for people.
    pub database: String,
    /// The result.
    pub what: Concluded,
    /// The results of gates, if it had any.
    pub gates: Vec<GateReport>,
    /// Attempts that failed; unsupported ones are not included.
    failed: u32,
}

/// The result of a run.
#[derive(Debug)]
pub enum Concluded {
    /// Figures with intervals and verdicts.
    Figures(Box<RunSummary>),
    /// Which side is better, as far as this can be decided.
    Comparison(Box<Comparison>),
    /// Whether the machine is fit to measure on.
    Fitness(Box<Fitness>),
    /// Which commits of a line changed a program's time or counts.
    Drill(Box<Drill>),
    /// The results of commits of a history.
    History(Box<HistoryResults>),
}

impl Measured {
    /// A run that was just measured; concluded if it has ended. Fails if the database cannot be read, or if the sides cannot be compared.
    pub(crate) fn of(ended: &Ended, store: &mut Store, run: RunId) -> Result<Self, Error> {
        Ok(match ended {
            Ended::ToTheEnd => Measured::Concluded(Box::new(Conclusion::of(store, run)?)),
            Ended::Stopped => Measured::Stopped { run },
        })
    }

    /// The same, with the run's record as it is now.
    pub(crate) fn of_record(ended: &Ended, store: &mut Store, record: &RunRecord) -> Result<Self, Error> {
        Ok(match ended {
            Ended::ToTheEnd => Measured::Concluded(Box::new(Conclusion::of_record(store, record)?)),
            Ended::Stopped => Measured::Stopped { run: record.id },
        })
    }
}

impl Conclusion {
    /// Concludes a run: takes the saved conclusion, or computes it from the record. Fails if the database cannot be read, or if the sides cannot be compared.
    pub(crate) fn of(store: &mut Store, run: RunId) -> Result<Self, Error> {
        let head = store.load_head(run)?;
        Self::conclude(store, head, None)
    }

    /// Concludes a run from its record, and saves the conclusion. If it cannot be saved, it is computed again when it is needed again. Fails if the
    /// sides cannot be compared, or the database cannot be read.
    pub(crate) fn of_record(store: &mut Store, record: &RunRecord) -> Result<Self, Error> {
        Self::conclude(store, record.head.clone(), Some(record))
    }

    /// The conclusion of the run's kind. `record`: what to compute it from, whatever is saved.
    fn conclude(store: &mut Store, head: RunHead, record: Option<&RunRecord>) -> Result<Self, Error> {
        let run = head.id;
        let what = match head.settings.kind {
            RunKind::Comparison(ref settings) if settings.purpose == ComparisonPurpose::Check => {
                let fitness = |record: &RunRecord| Ok(faultline_stats::fitness::fitness(compared(record)?, record));
                Concluded::Fitness(kept_or_computed(store, run, record, Store::load_run, fitness)?)
            }
            RunKind::Comparison(_) => {
                Concluded::Comparison(kept_or_computed(store, run, record, Store::load_run, compared)?)
            }
            RunKind::Timed(_) | RunKind::Lens(_) => {
                let figures = |record: &RunRecord| Ok(faultline_stats::summarise(record));
                Concluded::Figures(kept_or_computed(store, run, record, Store::load_run, figures)?)
            }
            RunKind::Drill(_) => {
                let found = |record: &RunRecord| conclude_record(record).ok_or_else(|| says_no_commits(run));
                Concluded::Drill(kept_or_computed(store, run, record, Store::load_run, found)?)
            }
            RunKind::History(_) => {
                let results = |record: &RunRecord| results_of_record(record).ok_or_else(|| says_no_commits(run));
                // A history may have millions of samples, and its results need the totals of each execution alone.
                let load = Store::load_run_without_samples;
                Concluded::History(kept_or_computed(store, run, record, load, results)?)
            }
        };
        let failed = store.failed_attempts(run)?;
        Ok(Conclusion { head, database: store.name(), what, gates: Vec::new(), failed })
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.head.id
    }

    /// The gate of a comparison or a search with what it found of the conclusion; `None` if it was asked for none.
    pub fn gate(&self) -> Option<AppliedGate<'_>> {
        match (&self.what, &self.head.settings.kind) {
            (Concluded::Comparison(comparison), RunKind::Comparison(settings)) => match settings.purpose {
                ComparisonPurpose::Gate(when_inconclusive) => {
                    Some(AppliedGate::Comparison(Gate::of_comparison(comparison, when_inconclusive)))
                }
                ComparisonPurpose::Answer | ComparisonPurpose::Check => None,
            },
            (Concluded::Drill(found), RunKind::Drill(search)) => {
                let gate = Gate::of_search(found, &search.search, search.gate?);
                Some(AppliedGate::Search { gate, search })
            }
            _ => None,
        }
    }

    /// Whether the answer is what was hoped for: nothing failed (unsupported workloads and commits that a search skips are no failures), the machine is fit,
    /// and every gate passed.
    pub fn is_well(&self) -> bool {
        let succeeded = match &self.what {
            Concluded::Figures(_) | Concluded::Comparison(_) => self.failed == 0,
            Concluded::Fitness(fitness) => fitness.fit != Fit::Unfit,
            Concluded::Drill(drill) => drill.unusable_end.is_none(),
            // A commit that cannot be measured is a result.
            Concluded::History(_) => true,
        };
        succeeded && self.gates.iter().all(GateReport::passed) && self.gate().is_none_or(|gate| gate.is_open())
    }
}

/// The conclusion that this version of the method saved, unless a record is given. Otherwise it is computed, and saved if the run has ended. `load`: the
/// record, with as much of it as `compute` needs.
fn kept_or_computed<T: Kept>(
    store: &mut Store,
    run: RunId,
    record: Option<&RunRecord>,
    load: impl FnOnce(&Store, RunId) -> Result<RunRecord, StoreError>,
    compute: impl FnOnce(&RunRecord) -> Result<T, Error>,
) -> Result<Box<T>, Error> {
    let loaded;
    let record = match record {
        Some(record) => record,
        None => {
            if let Some(kept) = store.load_conclusion(run, METHOD_VERSION)? {
                return Ok(Box::new(kept));
            }
            loaded = load(store, run)?;
            &loaded
        }
    };
    let conclusion = compute(record)?;
    let _ = (record.state == RunState::Finished).then(|| store.save_conclusion(run, METHOD_VERSION, &conclusion));
    Ok(Box::new(conclusion))
}

/// What a gate found of a conclusion.
#[derive(Debug)]
pub enum AppliedGate<'a> {
    /// Of a comparison.
    Comparison(Gate<gate::Finding<'a>>),
    /// Of a search along a line of commits.
    Search {
        /// What it found.
        gate: Gate<drill::gate::Finding<'a>>,
        /// What was searched.
        search: &'a LineSearch,
    },
}

impl AppliedGate<'_> {
    /// Whether it passes.
    pub fn is_open(&self) -> bool {
        match self {
            AppliedGate::Comparison(gate) => gate.is_open(),
            AppliedGate::Search { gate, .. } => gate.is_open(),
        }
    }
}

fn says_no_commits(run: RunId) -> Error {
    Error::unanswerable(
        format!("run {run} does not say which commits it measures"),
        "its database was changed by hand; start a new run",
    )
}

/// The comparison of a run with two sides. Fails if nothing can be compared.
fn compared(record: &RunRecord) -> Result<Comparison, Error> {
    concluded(record, &Settings::default()).map_err(|error| {
        let left_out = first_unmatched(&error);
        let problem = format!("run {} can't be compared: {error}", record.id);
        Error::unanswerable(problem, "give each side what it needs here, and compare again")
            .because(left_out.into_iter().chain(failed_first(record)))
    })
}

/// The first failure, with its side.
fn failed_first(record: &RunRecord) -> Option<Because> {
    record.attempts.iter().find_map(|attempt| {
        let outcome = attempt.outcome.clone().filter(|outcome| *outcome != Outcome::Done)?;
        let item = record.plan.iter().find(|item| item.ordinal == attempt.ordinal)?;
        Some(Because::Ended { cell: item.cell.clone(), side: item.subject, outcome })
    })
}

/// The first of what two sides do not have in common.
pub(crate) fn first_unmatched(error: &ComparisonError) -> Option<Because> {
    match error {
        ComparisonError::NothingInCommon { unmatched } => unmatched.first().cloned().map(Because::Unmatched),
        _ => None,
    }
}
