//! What to run, and where: a target for each subject and for each of its partners.

use crate::lens::Naming;
use faultline_model::describe::WorkloadInfo;
use faultline_model::plan::{PlanItem, Settings};
use faultline_model::role::Role;
use faultline_model::subject::{Subject, SubjectIndex, SubjectKind};
use faultline_targets::Target;
use faultline_targets::network::Network;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Where a subject is measured, and where its partners run.
#[derive(Clone)]
pub struct SubjectTargets<'a> {
    /// Where it is measured.
    pub measured: &'a dyn Target,
    /// Where its partners run, at the same time and each on its own thread.
    pub partners: Vec<(Role, &'a (dyn Target + Sync))>,
    /// What joins both; `None` if nothing has to be made for that.
    pub network: Option<&'a dyn Network>,
}

impl<'a> SubjectTargets<'a> {
    /// A subject without partners.
    pub fn alone(measured: &'a dyn Target) -> Self {
        SubjectTargets { measured, partners: Vec::new(), network: None }
    }

    /// Time of each execution in addition to the workload's own: partners boot at the same time, the measured execution after them.
    pub fn overhead(&self) -> Duration {
        let partners = self.partners.iter().map(|(_, target)| target.overhead()).max();
        self.measured.overhead() + partners.unwrap_or_default()
    }
}

/// An item's subject has no target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("item {ordinal} is of subject {subject}, which is measured nowhere")]
pub struct NoTarget {
    /// The item.
    pub ordinal: u32,
    /// Its subject.
    pub subject: SubjectIndex,
}

/// The targets of the subjects of some items.
#[derive(Clone, Copy)]
pub struct Targets<'a>(Where<'a>);

#[derive(Clone, Copy)]
enum Where<'a> {
    /// All subjects are measured there.
    Shared(&'a SubjectTargets<'a>),
    /// By subject; every item's subject is among them.
    BySubject(&'a [SubjectTargets<'a>]),
}

impl<'a> Targets<'a> {
    /// All subjects are measured there.
    pub fn shared(targets: &'a SubjectTargets<'a>) -> Self {
        Targets(Where::Shared(targets))
    }

    /// The targets by subject, in the order of the subjects, for these items. Fails if the subject of an item is not among them.
    pub fn by_subject(by_subject: &'a [SubjectTargets<'a>], items: &[PlanItem]) -> Result<Self, NoTarget> {
        match items.iter().find(|item| item.subject.at() >= by_subject.len()) {
            None => Ok(Targets(Where::BySubject(by_subject))),
            Some(item) => Err(NoTarget { ordinal: item.ordinal, subject: item.subject }),
        }
    }

    /// The target of the item's subject.
    pub(crate) fn of(&self, item: &PlanItem) -> &'a dyn Target {
        self.subject(item).measured
    }

    /// The target of the partner of `item` in that role, if there is one.
    pub(crate) fn partner(&self, item: &PlanItem, role: &Role) -> Option<&'a (dyn Target + Sync)> {
        self.subject(item).partners.iter().find(|(own, _)| own == role).map(|(_, target)| *target)
    }

    /// The network between the item's measured execution and its partners.
    pub(crate) fn network(&self, item: &PlanItem) -> Option<&'a dyn Network> {
        self.subject(item).network
    }

    fn subject(&self, item: &PlanItem) -> &'a SubjectTargets<'a> {
        match self.0 {
            Where::Shared(targets) => targets,
            Where::BySubject(by_subject) => &by_subject[item.subject.at()],
        }
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

/// Path and arguments of what runs, if it is not a workload. A machine that starts by itself has none.
pub(crate) fn program<'a>(run: &PlannedRun<'a>, item: &PlanItem) -> Option<&'a [String]> {
    match &run.subjects.get(item.subject.at())?.what {
        // If time is measured, a workload runs the program.
        SubjectKind::Program { argv } if run.settings.counting().is_some() => Some(argv),
        SubjectKind::Machine { .. } => Some(&[]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_target::Scripted;
    use faultline_model::cell::{Case, Cell, TaskMode};
    use faultline_targets::Ending;

    #[test]
    fn an_item_of_a_subject_without_a_target_is_refused() {
        let item = |subject| PlanItem {
            ordinal: 7,
            block: 0,
            subject: SubjectIndex(subject),
            cell: Cell { case: Case { workload: "x".into(), variant: "y".into(), mode: TaskMode::Thread }, tasks: 1 },
            timing: None,
            seed: None,
        };
        let target = Scripted(|| Ending::Stopped.into());
        let both = [SubjectTargets::alone(&target), SubjectTargets::alone(&target)];
        assert!(Targets::by_subject(&both, &[item(0), item(1)]).is_ok());
        let refused = Targets::by_subject(&both, &[item(0), item(2)]).err().unwrap();
        assert_eq!(refused.to_string(), "item 7 is of subject C, which is measured nowhere");
    }
}
