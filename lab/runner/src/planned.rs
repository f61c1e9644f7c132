//! What to run, and where: a target for each subject and for each of its partners.

use crate::lens::Naming;
use faultline_model::describe::WorkloadInfo;
use faultline_model::plan::{PlanItem, Settings};
use faultline_model::role::Role;
use faultline_model::subject::{Subject, SubjectKind};
use faultline_targets::Target;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Where a subject is measured, and where its partners run.
#[derive(Clone)]
pub struct SubjectTargets<'a> {
    /// Where it is measured.
    pub measured: &'a dyn Target,
    /// Where its partners run, at the same time and each on its own thread.
    pub partners: Vec<(Role, &'a (dyn Target + Sync))>,
}

impl<'a> SubjectTargets<'a> {
    /// A subject without partners.
    pub fn alone(measured: &'a dyn Target) -> Self {
        SubjectTargets { measured, partners: Vec::new() }
    }

    /// Time of each execution in addition to the workload's own: partners boot at the same time, the measured execution after them.
    pub fn overhead(&self) -> Duration {
        let partners = self.partners.iter().map(|(_, target)| target.overhead()).max();
        self.measured.overhead() + partners.unwrap_or_default()
    }
}

/// The targets of each subject, in the order of the subjects; subjects may share targets.
#[derive(Clone, Copy)]
pub struct Targets<'a>(&'a [SubjectTargets<'a>]);

impl<'a> Targets<'a> {
    /// The targets by subject.
    ///
    /// # Panics
    ///
    /// Without any target.
    pub fn new(by_subject: &'a [SubjectTargets<'a>]) -> Self {
        assert!(!by_subject.is_empty(), "items run somewhere");
        Targets(by_subject)
    }

    /// The target of the item's subject, or the last target if there are fewer.
    pub(crate) fn of(&self, item: &PlanItem) -> &'a dyn Target {
        self.subject(item).measured
    }

    /// The target of the partner of `item` in that role, if there is one.
    pub(crate) fn partner(&self, item: &PlanItem, role: &Role) -> Option<&'a (dyn Target + Sync)> {
        self.subject(item).partners.iter().find(|(own, _)| own == role).map(|(_, target)| *target)
    }

    fn subject(&self, item: &PlanItem) -> &'a SubjectTargets<'a> {
        &self.0[item.subject.at().min(self.0.len() - 1)]
    }

    /// Time of an execution of `item` in addition to the workload's own.
    pub(crate) fn boot_ms(&self, item: &PlanItem) -> u64 {
        self.subject(item).overhead().as_millis() as u64
    }
}

/// What to run, and where.
#[derive(Clone, Copy)]
pub struct PlannedRun<'a> {
    /// The targets.
    pub targets: Targets<'a>,
    /// What was asked for.
    pub settings: &'a Settings,
    /// What is measured.
    pub subjects: &'a [Subject],
    /// The workloads as they described themselves at planning time.
    pub workloads: &'a [WorkloadInfo],
    /// The items that are still to be run, in order.
    pub items: &'a [PlanItem],
    /// No item starts after this time.
    pub budget: Option<Duration>,
    /// Time limit of each item, instead of the one that follows from its timing.
    pub limit: Option<Duration>,
    /// Names for what the lens counts; `None` for a run that measures time.
    pub naming: Option<&'a Naming>,
    /// How many items may run at the same time in a lens run. Where time is measured, each runs alone.
    pub jobs: NonZeroUsize,
}

/// Path and arguments of what runs, if it is not a workload. A machine that starts by itself is told nothing, so it has none.
pub(crate) fn program<'a>(run: &PlannedRun<'a>, item: &PlanItem) -> Option<&'a [String]> {
    match &run.subjects.get(item.subject.at())?.what {
        // If time is measured, a workload runs the program.
        SubjectKind::Program { argv } if run.settings.counting().is_some() => Some(argv),
        SubjectKind::Machine { .. } => Some(&[]),
        _ => None,
    }
}
