//! A lens run with a plan and a target: saved, measured, concluded, checked against its gates.

use super::request::{Gates, UnderLens};
use super::{gates, model};
use crate::conclusion::{Conclusion, Ended, Measured};
use crate::database::MeasuringStore;
use crate::error::Error;
use crate::lab::Lab;
use crate::measure;
use faultline_record::describe::WorkloadInfo;
use faultline_record::lens::settings::LensAgain;
use faultline_record::record::{RunId, RunRecord};
use faultline_record::subject::Subject;
use faultline_runner::lens::{LensRequest, Naming};
use faultline_runner::{Plan, SubjectTargets};
use faultline_store::{NewRun, Store};
use faultline_targets::Target;
use faultline_targets::counting::Counting;
use faultline_targets::host::machines_at_once;
use std::num::NonZeroUsize;

/// The request for a program, or for a kernel without its workloads.
pub(super) fn request(under: &UnderLens, cpus: Vec<u32>, again: LensAgain) -> LensRequest {
    LensRequest {
        workloads: Vec::new(),
        mode: None,
        cpus,
        repeats: under.repeats,
        size: None,
        memory_bytes: None,
        limit_ms: under.limit_ms,
        seed: under.seed,
        settings: model::settings(&under.model, &under.gates, under.operations, again),
    }
}

/// A lens run before its save.
pub(super) struct LensRun<'a> {
    /// The plan.
    pub(super) plan: &'a Plan,
    /// The subject.
    pub(super) subject: &'a Subject,
    /// The workloads' descriptions; none for a program.
    pub(super) workloads: &'a [WorkloadInfo],
    /// The target that counts.
    pub(super) target: &'a dyn Target,
    /// Names for what is counted.
    pub(super) naming: &'a Naming,
    /// Label, gates and other shared settings.
    pub(super) under: &'a UnderLens,
    /// The baseline.
    pub(super) baseline: Option<&'a RunRecord>,
}

impl LensRun<'_> {
    /// Executes the run. Fails if the database cannot be written, or if its gates cannot be
    /// applied.
    pub(super) fn run(&self, lab: &mut Lab<'_>) -> Result<Measured, Error> {
        if lab.stop.is_set() {
            return Err(Error::stopped());
        }
        let mut database = MeasuringStore::open_or_create(lab.places)?;
        let new = NewRun {
            label: self.under.label.as_deref(),
            settings: &self.plan.settings,
            subjects: std::slice::from_ref(self.subject),
            workloads: self.workloads,
            plan: &self.plan.items,
            session: &measure::session(&[self.target], lab.clock),
        };
        let store = &mut database.store;
        let run = store.begin_run(&new)?;
        let counting = ToTheGates {
            target: self.target,
            naming: self.naming,
            jobs: self.under.jobs,
            limit_ms: None,
            gates: &self.under.gates,
            baseline: self.baseline,
        };
        counting.run(store, run, lab)
    }
}

/// The rest of a lens run, up to its gates.
pub(super) struct ToTheGates<'a> {
    /// The target that counts.
    pub(super) target: &'a dyn Target,
    /// Names for what is counted.
    pub(super) naming: &'a Naming,
    /// Maximum number of parallel executions; as many as fit on this host if `None`.
    pub(super) jobs: Option<NonZeroUsize>,
    /// Time limit of each execution instead of the run's own.
    pub(super) limit_ms: Option<u64>,
    pub(super) gates: &'a Gates,
    /// The baseline.
    pub(super) baseline: Option<&'a RunRecord>,
}

impl ToTheGates<'_> {
    /// Executes the missing items of a run, concludes it, and applies its gates: budgets and a
    /// baseline. Fails if the database cannot be written.
    pub(super) fn run(&self, store: &mut Store, run: RunId, lab: &mut Lab<'_>) -> Result<Measured, Error> {
        let lens = measure::UnderLens { naming: self.naming, jobs: jobs(self.target, self.jobs) };
        match measure::to_the_end(store, run, &SubjectTargets::alone(self.target), self.limit_ms, Some(lens), lab)? {
            Ended::Stopped => Ok(Measured::Stopped { run }),
            Ended::ToTheEnd => {
                let record = store.load_run(run)?;
                let mut conclusion = Conclusion::of_record(store, &record)?;
                conclusion.gates = gates::hold(self.gates, self.baseline, &record, self.naming)?;
                Ok(Measured::Concluded(Box::new(conclusion)))
            }
        }
    }
}

/// Number of executions that a target counts at the same time: as requested, or as many as fit on
/// this host.
pub(crate) fn jobs(target: &dyn Target, asked: Option<NonZeroUsize>) -> NonZeroUsize {
    match target.counting().and_then(Counting::room_bytes) {
        Some(bytes_each) => asked.unwrap_or_else(|| machines_at_once(bytes_each)),
        None => NonZeroUsize::MIN,
    }
}
