//! The conclusion of a run: figures, a comparison, the fitness of the machine, or the commits that
//! made a change. It is computed once, from the saved record alone, and every front end shows the
//! same value. That of a finished run is saved until the record or the method changes.

use crate::error::{Because, Error};
use faultline_record::outcome::Outcome;
use faultline_record::plan::{ComparisonPurpose, LineSearch};
use faultline_record::record::{Conclusion as Saved, RunHead, RunId, RunRecord, RunState};
use faultline_stats::METHOD_VERSION;
use faultline_stats::bisect::{self, BisectResult, conclude_record};
use faultline_stats::comparison::{Comparison, ComparisonError, Fit, Fitness, Settings};
use faultline_stats::gate::{self, Gate};
use faultline_stats::history::{HistoryResults, results_of_record};
use faultline_stats::lens::gate::GateReport;
use faultline_stats::sequential::concluded;
use faultline_stats::summary::RunSummary;
use faultline_store::{Store, StoreError};

/// The end of a measurement.
#[derive(Debug)]
pub enum Measured {
    /// The run is finished and saved.
    Concluded(Box<Conclusion>),
    /// The run was stopped; everything measured so far is saved.
    Stopped {
        /// The run, which can be resumed.
        run: RunId,
    },
}

/// The extent to which a run was measured.
pub(crate) enum Ended {
    /// The run is finished.
    ToTheEnd,
    /// A stop was requested.
    Stopped,
}

/// A run and its conclusion.
#[derive(Debug)]
pub struct Conclusion {
    /// The run, without its attempts.
    pub head: RunHead,
    /// Name of its database, for people.
    pub database: String,
    /// The result.
    pub what: Concluded,
    /// Results of its gates.
    pub gates: Vec<GateReport>,
    /// Number of failed attempts, except unsupported ones.
    failed: u32,
}

/// The result of a run.
#[derive(Debug)]
pub enum Concluded {
    /// Figures with intervals and verdicts.
    Figures(Box<RunSummary>),
    /// The better side, as far as it can be decided.
    Comparison(Box<Comparison>),
    /// Fitness of the machine for measuring.
    Fitness(Box<Fitness>),
    /// The commits of a line that changed what is measured.
    Bisect(Box<BisectResult>),
    /// The results of commits of a history.
    History(Box<HistoryResults>),
}

impl Measured {
    /// A run that was just measured; concluded if it has ended. Fails if the database cannot be
    /// read, or if the sides cannot be compared.
    pub(crate) fn of(ended: &Ended, store: &mut Store, run: RunId) -> Result<Self, Error> {
        Ok(match ended {
            Ended::ToTheEnd => Measured::Concluded(Box::new(Conclusion::of(store, run)?)),
            Ended::Stopped => Measured::Stopped { run },
        })
    }

    /// As [`Measured::of`], with the run's record as of now.
    pub(crate) fn of_record(ended: &Ended, store: &mut Store, record: &RunRecord) -> Result<Self, Error> {
        Ok(match ended {
            Ended::ToTheEnd => Measured::Concluded(Box::new(Conclusion::of_record(store, record)?)),
            Ended::Stopped => Measured::Stopped { run: record.id },
        })
    }
}

impl Conclusion {
    /// Concludes a run: takes the saved conclusion, or computes it from the record. Fails if the
    /// database cannot be read, or if the sides cannot be compared.
    pub(crate) fn of(store: &mut Store, run: RunId) -> Result<Self, Error> {
        let head = store.load_head(run)?;
        Self::conclude(store, head, None)
    }

    /// Concludes a run from its record and saves the conclusion. If it cannot be saved, it is
    /// computed again later. Fails if the sides cannot be compared, or if the database cannot be
    /// read.
    pub(crate) fn of_record(store: &mut Store, record: &RunRecord) -> Result<Self, Error> {
        Self::conclude(store, record.head.clone(), Some(record))
    }

    /// The conclusion of a comparison, a search or a history, or else the figures of one subject.
    /// `record`: the record to use instead of what is saved.
    fn conclude(store: &mut Store, head: RunHead, record: Option<&RunRecord>) -> Result<Self, Error> {
        let (run, settings) = (head.id, &head.settings);
        let what = if let Some(comparison) = settings.comparison() {
            if comparison.purpose == ComparisonPurpose::Check {
                let fitness = |record: &RunRecord| Ok(faultline_stats::fitness::fitness(compared(record)?, record));
                Concluded::Fitness(kept_or_computed(store, run, record, Store::load_run, fitness)?)
            } else {
                Concluded::Comparison(kept_or_computed(store, run, record, Store::load_run, compared)?)
            }
        } else if settings.bisect().is_some() {
            let found = |record: &RunRecord| conclude_record(record).ok_or_else(|| says_no_commits(run));
            Concluded::Bisect(kept_or_computed(store, run, record, Store::load_run, found)?)
        } else if settings.history().is_some() {
            let results = |record: &RunRecord| results_of_record(record).ok_or_else(|| says_no_commits(run));
            // A history may have millions of samples, and its results need only the totals of each
            // execution.
            let load = Store::load_run_without_samples;
            Concluded::History(kept_or_computed(store, run, record, load, results)?)
        } else {
            let figures = |record: &RunRecord| Ok(faultline_stats::summarise(record));
            Concluded::Figures(kept_or_computed(store, run, record, Store::load_run, figures)?)
        };
        let failed = store.failed_attempts(run)?;
        Ok(Conclusion { head, database: store.name(), what, gates: Vec::new(), failed })
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.head.id
    }

    /// The gate of a comparison or search, applied to the conclusion; `None` without a gate.
    pub fn gate(&self) -> Option<AppliedGate<'_>> {
        let settings = &self.head.settings;
        match &self.what {
            Concluded::Comparison(comparison) => match settings.comparison()?.purpose {
                ComparisonPurpose::Gate(when_inconclusive) => {
                    Some(AppliedGate::Comparison(Gate::of_comparison(comparison, when_inconclusive)))
                }
                ComparisonPurpose::Answer | ComparisonPurpose::Check => None,
            },
            Concluded::Bisect(found) => {
                let search = settings.bisect()?;
                let gate = Gate::of_search(found, &search.search, search.gate?);
                Some(AppliedGate::Search { gate, search })
            }
            _ => None,
        }
    }

    /// True if nothing failed (unsupported workloads and commits that a search skips are no
    /// failures), the machine is fit, and every gate passed.
    pub fn is_well(&self) -> bool {
        let succeeded = match &self.what {
            Concluded::Figures(_) | Concluded::Comparison(_) => self.failed == 0,
            Concluded::Fitness(fitness) => fitness.fit != Fit::Unfit,
            Concluded::Bisect(found) => found.unusable_end.is_none(),
            // A commit that cannot be measured is a result.
            Concluded::History(_) => true,
        };
        succeeded && self.gates.iter().all(GateReport::passed) && self.gate().is_none_or(|gate| gate.is_open())
    }
}

/// The saved conclusion of this version of the method, unless a record is given. Otherwise computes
/// it, and saves it if the run has ended. `load`: the record, with as much as `compute` needs.
fn kept_or_computed<T: Saved>(
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

/// A gate applied to a conclusion.
#[derive(Debug)]
pub enum AppliedGate<'a> {
    /// A comparison's gate.
    Comparison(Gate<gate::Finding<'a>>),
    /// The gate of a search along a line of commits.
    Search {
        /// The findings.
        gate: Gate<bisect::gate::Finding<'a>>,
        /// The search.
        search: &'a LineSearch,
    },
}

impl AppliedGate<'_> {
    /// True if it passes.
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
        let (why, because) = match failed_first(record) {
            Some(failure) => ("a side has no value".to_owned(), Some(failure)),
            None => (error.to_string(), first_unmatched(&error)),
        };
        let problem = format!("run {} can't be compared: {why}", record.id);
        Error::unanswerable(problem, "give each side what it needs here, and compare again").because(because)
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

/// The first difference between what two sides have.
pub(crate) fn first_unmatched(error: &ComparisonError) -> Option<Because> {
    match error {
        ComparisonError::NothingInCommon { unmatched } => unmatched.first().cloned().map(Because::Unmatched),
        _ => None,
    }
}
