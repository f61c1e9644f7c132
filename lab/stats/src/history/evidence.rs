//! What the runs of a series say about its steps, besides the values of its commits.

use super::newest::newest_of;
use super::run::HistoryRun;
use super::scatter::{RunScatter, scatter};
use faultline_model::history::{CommitOutcome, HistoryPoint, HistorySeries};
use std::collections::BTreeMap;

/// What steps are decided by, besides the points of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What they are found by.
    pub(super) found_by: FoundBy,
    /// What each run measured of its commits in several layouts or boots.
    pub(super) scatter: Vec<RunScatter>,
}

/// What steps are found by.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FoundBy {
    /// Of times: the positions among the points that each run measured, ascending. A step at the border of two runs may be theirs.
    Times(Vec<Vec<u32>>),
    /// Of counts: those of each point, one for each seed; none of a point without a count.
    Counts(Vec<Vec<f64>>),
}

/// The evidence of the runs of a series, the newest first.
pub fn evidence(series: &HistorySeries, runs: &[HistoryRun<'_>]) -> Evidence {
    let found_by = match series.counted {
        None => FoundBy::Times(measured_by(&series.points, runs)),
        Some(_) => FoundBy::Counts(counts(&series.points, runs)),
    };
    Evidence { found_by, scatter: scatter(&series.points, runs) }
}

fn measured_by(points: &[HistoryPoint], runs: &[HistoryRun<'_>]) -> Vec<Vec<u32>> {
    let positions: BTreeMap<&str, u32> = points.iter().map(|point| point.commit.id.as_str()).zip(0..).collect();
    let measured = |run: &HistoryRun<'_>| {
        let measured = run.results.commits.iter();
        let measured = measured.filter(|result| matches!(result.outcome, CommitOutcome::Measured { .. }));
        let mut found: Vec<u32> =
            measured.filter_map(|result| positions.get(result.commit.as_str()).copied()).collect();
        found.sort_unstable();
        found
    };
    runs.iter().map(measured).collect()
}

fn counts(points: &[HistoryPoint], runs: &[HistoryRun<'_>]) -> Vec<Vec<f64>> {
    let newest = newest_of(runs);
    let counts = |point: &HistoryPoint| match newest.get(point.commit.id.as_str()) {
        Some((_, CommitOutcome::Measured { values, .. })) => values.clone(),
        Some((_, CommitOutcome::Unusable(_))) | None => Vec::new(),
    };
    points.iter().map(counts).collect()
}
