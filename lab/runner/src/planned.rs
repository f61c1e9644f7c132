//! Inputs of a planned run: a target for each subject and for each of its partners.

use crate::lens::Naming;
use faultline_record::describe::WorkloadInfo;
use faultline_record::outcome::Outcome;
use faultline_record::plan::{PlanItem, Settings};
use faultline_record::role::Role;
use faultline_record::subject::{Subject, SubjectIndex, SubjectKind};
use faultline_targets::Target;
use faultline_targets::network::Network;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Targets of a subject and of its partners.
#[derive(Clone)]
pub struct SubjectTargets<'a> {
    /// The subject's target.
    pub measured: &'a dyn Target,
    /// The partners' targets. They run at the same time, each on its own thread.
    pub partners: Vec<(Role, &'a (dyn Target + Sync))>,
    /// The network between both; `None` if nothing has to be made for it.
    pub network: Option<&'a dyn Network>,
    /// Names for the lens's counts; `None` for a run that measures time.
    pub naming: Option<&'a Naming>,
}

impl<'a> SubjectTargets<'a> {
    /// A subject without partners.
    pub fn alone(measured: &'a dyn Target) -> Self {
        SubjectTargets { measured, partners: Vec::new(), network: None, naming: None }
    }

    /// A subject on a target that counts, with names for what is counted.
    pub fn counting(measured: &'a dyn Target, naming: &'a Naming) -> Self {
        SubjectTargets { naming: Some(naming), ..SubjectTargets::alone(measured) }
    }

    /// Time of each execution in addition to the workload's own: partners boot at the same time,
    /// the measured execution after them.
    pub fn overhead(&self) -> Duration {
        let partners = self.partners.iter().map(|(_, target)| target.overhead()).max();
        self.measured.overhead() + partners.unwrap_or_default()
    }
}

/// Error: an item's subject has no target.
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
    /// One target for all subjects.
    Shared(&'a SubjectTargets<'a>),
    /// Targets by subject; every item's subject is among them.
    BySubject(&'a [SubjectTargets<'a>]),
    /// As above, of some subjects.
    OfSome(&'a [(SubjectIndex, SubjectTargets<'a>)]),
}

impl<'a> Targets<'a> {
    /// One target for all subjects.
    pub fn shared(targets: &'a SubjectTargets<'a>) -> Self {
        Targets(Where::Shared(targets))
    }

    /// Targets in the order of the subjects, for these items. Fails if the subject of an item is
    /// not among them.
    pub fn by_subject(by_subject: &'a [SubjectTargets<'a>], items: &[PlanItem]) -> Result<Self, NoTarget> {
        match items.iter().find(|item| item.subject.at() >= by_subject.len()) {
            None => Ok(Targets(Where::BySubject(by_subject))),
            Some(item) => Err(NoTarget { ordinal: item.ordinal, subject: item.subject }),
        }
    }

    /// Targets of some subjects, for these items. Fails if the subject of an item is not among
    /// them.
    pub fn of_some(some: &'a [(SubjectIndex, SubjectTargets<'a>)], items: &[PlanItem]) -> Result<Self, NoTarget> {
        match items.iter().find(|item| some.iter().all(|(subject, _)| *subject != item.subject)) {
            None => Ok(Targets(Where::OfSome(some))),
            Some(item) => Err(NoTarget { ordinal: item.ordinal, subject: item.subject }),
        }
    }

    /// Names for the counts of the item's subject; `None` where time is measured.
    pub(crate) fn naming(&self, item: &PlanItem) -> Option<&'a Naming> {
        self.subject(item).naming
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
            Where::OfSome(some) => {
                let of_item = some.iter().find(|(subject, _)| *subject == item.subject);
                &of_item.expect("the subject of every item is among them").1
            }
        }
    }

    /// Time of an execution of `item` in addition to the workload's own.
    pub(crate) fn boot_ms(&self, item: &PlanItem) -> u64 {
        self.subject(item).overhead().as_millis() as u64
    }
}

/// Inputs of a planned run.
#[derive(Clone, Copy)]
pub struct PlannedRun<'a> {
    /// The targets.
    pub targets: Targets<'a>,
    /// The requested settings.
    pub settings: &'a Settings,
    /// The measured subjects.
    pub subjects: &'a [Subject],
    /// The workloads' descriptions at planning time.
    pub workloads: &'a [WorkloadInfo],
    /// The remaining items, in order.
    pub items: &'a [PlanItem],
    /// No item starts after this time.
    pub budget: Option<Duration>,
    /// Time limit of each item, instead of the one that follows from its timing.
    pub limit: Option<Duration>,
    /// Number of items that may run at the same time in a lens run. Where time is measured, each
    /// runs alone.
    pub jobs: NonZeroUsize,
}

impl<'a> PlannedRun<'a> {
    /// Items of a run that measures time, with the time limit of its settings.
    pub fn timed(
        targets: Targets<'a>,
        settings: &'a Settings,
        subjects: &'a [Subject],
        workloads: &'a [WorkloadInfo],
        items: &'a [PlanItem],
    ) -> Self {
        let limit = settings.limit_ms.map(Duration::from_millis);
        let jobs = NonZeroUsize::MIN;
        PlannedRun { targets, settings, subjects, workloads, items, budget: None, limit, jobs }
    }
}

/// Path and arguments of the program, if it is not a workload. A machine that starts by itself has
/// none.
pub(crate) fn program<'a>(run: &PlannedRun<'a>, item: &PlanItem) -> Option<&'a [String]> {
    match &run.subjects.get(item.subject.at())?.what {
        // If time is measured, a workload runs the program.
        SubjectKind::Program { argv } if run.settings.counting().is_some() => Some(argv),
        SubjectKind::Machine { .. } => Some(&[]),
        _ => None,
    }
}

/// Reason for the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// Every item has ended.
    Finished,
    /// A stop was requested; the remaining items can run later.
    Stopped,
    /// A system setting, named by the text, could not be restored. Later executions would be
    /// measured with it.
    LeftChanged(String),
    /// The connection to a host was lost, for the reason in the text; the remaining items can run
    /// later.
    ConnectionLost(String),
    /// The lab failed, for the cause in the text; the remaining items can run later.
    LabFailed(String),
    /// The time budget was used up before these items, by ordinal, could start.
    BudgetUsed(Vec<u32>),
    /// An execution failed in a run that ends then. These items, by ordinal, were left.
    EndedAtFailure(Vec<u32>),
}

impl Completion {
    /// The end of a run after an attempt that is no result; `None` if the run continues.
    pub fn after(outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Interrupted => Some(Completion::Stopped),
            Outcome::LabFailed { text } => Some(Completion::LabFailed(text.clone())),
            Outcome::LeftChanged { text } => Some(Completion::LeftChanged(text.clone())),
            Outcome::ConnectionLost { text } => Some(Completion::ConnectionLost(text.clone())),
            Outcome::PartnerFailed { outcome, .. } => Completion::after(outcome),
            _ => None,
        }
    }

    /// Changes it to `other`. A setting that could not be restored remains the reason.
    pub(crate) fn change_to(&mut self, other: Completion) {
        if !matches!(self, Completion::LeftChanged(_)) {
            *self = other;
        }
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunProgress {
    /// Ended items of this session.
    pub ended: usize,
    /// Items of this session.
    pub total: usize,
    /// Estimate of the time until the end.
    pub left: Duration,
}

/// Stage of a workload in a guest under the lens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The guest boots.
    Boot,
    /// The workload sets up.
    WarmUp,
    /// The region of interest has begun.
    Region,
    /// The region of interest has ended.
    End,
}

/// Receiver of events as they happen. It must be quick, because it is called while workloads run.
pub trait Observer {
    /// An item is about to start.
    fn item_begins(&mut self, item: &PlanItem, progress: &RunProgress);

    /// An interval of the item has ended, with this rate in operations per second.
    fn interval(&mut self, item: &PlanItem, rate: f64);

    /// A workload in a guest under the lens has reached this stage. Stages of other programs are
    /// unknown.
    fn stage(&mut self, _item: &PlanItem, _stage: Stage) {}

    /// The item has ended. `value`: its rate, or its first measure.
    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, value: Option<f64>, progress: &RunProgress);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_target::Scripted;
    use faultline_record::cell::{Case, Cell, TaskMode};
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
        let second = [(SubjectIndex(1), SubjectTargets::alone(&target))];
        assert!(Targets::of_some(&second, &[item(1)]).is_ok() && Targets::of_some(&second, &[item(0)]).is_err());
        let refused = Targets::by_subject(&both, &[item(0), item(2)]).err().unwrap();
        assert_eq!(refused.to_string(), "item 7 is of subject C, which is measured nowhere");
    }
}
