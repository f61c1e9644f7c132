//! Commits and steps of a history as marks of a timeline, with their words.

use crate::history::words;
use crate::style::UNICODE;
use faultline_model::changes::Effect;
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep, PointResult};
use faultline_model::timeline::{CommitMark, StepMark};

/// A commit at a position, with the values of its executions.
pub fn commit_mark(position: u32, point: &HistoryPoint, values: &[f64]) -> CommitMark {
    let value = match &point.result {
        PointResult::Measured { estimate, .. } => Some(*estimate),
        PointResult::Unusable(_) | PointResult::None => None,
    };
    CommitMark {
        position,
        commit: point.commit.id.clone(),
        committed_s: point.commit.committed_s,
        author: point.commit.author.clone(),
        subject: point.commit.subject.clone(),
        run: point.run,
        value,
        values: values.to_vec(),
        why: words::why(&point.result).to_owned(),
    }
}

/// A step.
pub fn step_mark(series: &HistorySeries, step: &HistoryStep) -> StepMark {
    let id = |position| series.commit(position).map_or_else(String::new, |commit| commit.id.clone());
    StepMark {
        after: step.after,
        by: step.by,
        earliest: step.earliest,
        latest: step.latest,
        from: step.from,
        to: step.to,
        commits: [id(step.after), id(step.by)],
        change: words::change(step, &UNICODE),
        what: words::kind(step),
        is_better: step.effect == Effect::Better,
    }
}
