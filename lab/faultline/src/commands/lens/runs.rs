//! A run under the lens, once it is known what is to run and where: saved, run, shown, held to its gates.

use super::{gates, model};
use crate::arguments::lens::UnderLens;
use crate::commands::measure;
use crate::failure::Failure;
use crate::places;
use faultline_model::describe::WorkloadInfo;
use faultline_model::record::RunRecord;
use faultline_model::subject::Subject;
use faultline_runner::Plan;
use faultline_runner::lens::{Lens, LensRequest};
use faultline_store::{MeasuringLock, NewRun, Store};
use faultline_targets::{StopFlag, Target};
use std::path::Path;
use std::process::ExitCode;

/// What is asked for of a program, and of a kernel without its workloads.
pub(super) fn request(under: &UnderLens, cpus: Vec<u32>, ops: Option<u64>) -> LensRequest {
    let UnderLens { counting, conduct, model, gates } = under;
    LensRequest {
        workloads: Vec::new(),
        mode: None,
        cpus,
        repeats: counting.repeats,
        size: None,
        limit_ms: conduct.limit_ms(),
        seed: counting.seed_or_any(),
        settings: model::settings(model, ops, gates),
    }
}

/// What is to run.
pub(super) struct LensRun<'a> {
    /// What is counted.
    pub(super) subject: &'a Subject,
    /// The plan.
    pub(super) plan: &'a Plan,
    /// The workloads as they describe themselves; none for a program.
    pub(super) workloads: &'a [WorkloadInfo],
    /// The machine whose facts are saved.
    pub(super) target: &'a dyn Target,
    /// What counts.
    pub(super) lens: &'a dyn Lens,
    /// Its name, how it is shown, and what it is held to.
    pub(super) under: &'a UnderLens,
    /// The run that it is held against.
    pub(super) baseline: Option<&'a RunRecord>,
    /// Set by Ctrl-C.
    pub(super) stop: &'a StopFlag,
}

impl LensRun<'_> {
    /// Runs it to its end.
    pub(super) fn run(&self, db: Option<&Path>) -> Result<ExitCode, Failure> {
        let path = places::database(db)?;
        let mut store = Store::open_or_create(&path)?;
        let _lock = MeasuringLock::take(&path)?;
        let session = measure::session(&[self.target]);
        let new = NewRun {
            label: self.under.counting.label.as_deref(),
            settings: &self.plan.settings,
            subjects: std::slice::from_ref(self.subject),
            workloads: self.workloads,
            plan: &self.plan.items,
            session: &session,
        };
        let run = store.begin_run(&new)?;
        let ended = measure::measure(&mut store, run, self.target, &self.under.conduct, self.stop, Some(self.lens))?;
        if self.stop.is_set() {
            return Ok(ended);
        }
        Ok(gates::hold(&self.under.gates, self.baseline, &store.load_run(run)?, ended))
    }
}
