//! Rows of an answer, a page at a time: commits of a history, workloads of a run.

use crate::problem::Problem;
use crate::query::Query;
use faultline_model::history::{HistorySeries, HistoryStep, HistorySteps};
use std::ops::Range;

/// A page of rows, as a client asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Number of its first row, from 0.
    pub(crate) from: usize,
    /// Maximum number of its rows.
    pub(crate) limit: usize,
}

impl Rows {
    /// From the parameters `from` and `limit`. Fails if one is out of its bounds.
    pub(crate) fn parse(query: &Query, usual: usize, most: usize) -> Result<Self, Problem> {
        Ok(Rows {
            from: query.number("from", 0, u32::MAX)?.unwrap_or(0) as usize,
            limit: query.number("limit", 1, most)?.unwrap_or(usual),
        })
    }

    /// The range of these rows among `all`, and where the next page begins, if there is one.
    pub(crate) fn among(self, all: usize) -> (Range<usize>, Option<usize>) {
        let begin = self.from.min(all);
        let end = begin.saturating_add(self.limit).min(all);
        (begin..end, (end < all).then_some(end))
    }

    /// These rows of all, and where the next page begins, if there is one.
    pub(crate) fn of<T>(self, all: Vec<T>) -> (Vec<T>, Option<usize>) {
        let (range, next) = self.among(all.len());
        (all.into_iter().skip(range.start).take(range.len()).collect(), next)
    }
}

/// A history with a range of its commits, and the steps at them, to be sent as data. Places of commits remain those in the whole history: its tables and sentences are made
/// of the whole ([`faultline_report::history_part`]).
pub(crate) fn commits_of(whole: &HistorySeries, range: &Range<usize>) -> HistorySeries {
    let is_in_it = |step: &&HistoryStep| range.contains(&(step.by as usize));
    let steps = whole.steps.steps.iter().filter(is_in_it).cloned().collect();
    HistorySeries {
        format: whole.format.clone(),
        subject: whole.subject.clone(),
        repository: whole.repository.clone(),
        command: whole.command.clone(),
        workload: whole.workload.clone(),
        has_releases: whole.has_releases,
        counted: whole.counted,
        unit: whole.unit.clone(),
        tasks: whole.tasks,
        host: whole.host.clone(),
        conditions: whole.conditions.clone(),
        runs: whole.runs.clone(),
        left_out: whole.left_out.clone(),
        points: whole.points[range.clone()].to_vec(),
        quirks: whole.quirks.clone(),
        unplaced_quirks: whole.unplaced_quirks.clone(),
        steps: HistorySteps { steps, ..whole.steps.clone() },
        moved: whole.moved.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let page = |from, limit| Rows { from, limit }.of((0..5).collect::<Vec<_>>());
        assert_eq!(page(0, 2), (vec![0, 1], Some(2)));
        assert_eq!(page(4, 2), (vec![4], None));
        assert_eq!(page(3, 2), (vec![3, 4], None));
        assert_eq!(page(9, usize::MAX), (vec![], None));
    }
}
