//! What a run reports while it is running, for whoever shows it.

use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use std::time::Duration;

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunProgress {
    /// Items of this session that have ended.
    pub ended: usize,
    /// Items of this session.
    pub total: usize,
    /// Estimate of the time until the end.
    pub left: Duration,
}

/// Where a workload in a guest under the lens is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The guest boots.
    Boot,
    /// The workload sets up.
    WarmUp,
    /// The region of interest has begun.
    Region,
    /// It is over.
    End,
}

/// Receives events as they happen. It must be quick, because it is called while workloads run.
pub trait Observer {
    /// An item is about to start.
    fn item_begins(&mut self, item: &PlanItem, progress: &RunProgress);

    /// An interval of the item has ended, with this rate in operations per second.
    fn interval(&mut self, item: &PlanItem, rate: f64);

    /// A workload in a guest under the lens has come to this stage. Nothing is known of the stages of other programs.
    fn stage(&mut self, _item: &PlanItem, _stage: Stage) {}

    /// The item has ended. `value`: its rate, or its first measure.
    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, value: Option<f64>, progress: &RunProgress);
}
