//! What somebody is told of a confirmed change of a history.

use super::change::ChangeEvent;
use super::{HistorySeries, HistoryStep};
use crate::changes::Effect;
use crate::commit::CommitInfo;
use serde::{Deserialize, Serialize};

/// A confirmed change. `format` is [`ChangeNotice::FORMAT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeNotice {
    /// Name and version of this structure.
    pub format: String,
    /// The subject's name.
    pub subject: String,
    /// The directory of the repository.
    pub repository: String,
    /// Words of the command that is measured; none of kernels.
    pub command: Vec<String>,
    /// The workload that kernels ran; `None` of programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Copies of the command that run at once, or its threads.
    pub tasks: u32,
    /// What is measured: `time`, or a count of the lens.
    pub measure: String,
    /// Unit of the values.
    pub unit: String,
    /// The level before it.
    pub from: f64,
    /// The level after it.
    pub to: f64,
    /// Whether it makes the program better.
    pub effect: Effect,
    /// The last measured commit before it.
    pub after: CommitInfo,
    /// The first measured commit with the new level.
    pub by: CommitInfo,
    /// Who confirmed it, and by which commits.
    pub confirmed: ChangeEvent,
}

impl ChangeNotice {
    /// Value of `format`.
    pub const FORMAT: &'static str = "faultline-change-notice/1";

    /// The notice of a step of a series; `None` if nobody confirmed it, or if the series does not have its commits.
    pub fn of(series: &HistorySeries, step: &HistoryStep) -> Option<Self> {
        Some(ChangeNotice {
            format: Self::FORMAT.to_owned(),
            subject: series.subject.clone(),
            repository: series.repository.clone(),
            command: series.command.clone(),
            workload: series.workload.clone(),
            tasks: series.tasks,
            measure: series.counted.map_or("time", |count| count.word()).to_owned(),
            unit: series.unit.clone(),
            from: step.from,
            to: step.to,
            effect: step.effect,
            after: series.commit(step.after)?.clone(),
            by: series.commit(step.by)?.clone(),
            confirmed: step.state.last()?.clone(),
        })
    }
}
