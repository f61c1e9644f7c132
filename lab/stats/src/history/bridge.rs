//! Bridges: commits that were measured in two surroundings. They tell what the surroundings change from what commits change.

use super::run::HistoryRun;
use super::surroundings::{Difference, Surroundings, groups};
use crate::interval::estimate;
use faultline_model::drill::Change;
use faultline_model::estimate::Estimate;
use faultline_model::history::CommitOutcome;
use faultline_model::history::quirk::{Bridge, DeclaredQuirk};
use std::collections::BTreeMap;

/// The commits of which one should be measured now, the best first, so that the newest change of the surroundings is bridged: those that were measured before it
/// and have no result after it, the newest first. Empty if nothing changed, or if a commit was measured on both sides. `runs`: those of one series, the newest
/// first. `now`: the surroundings of the next run.
pub fn bridging(runs: &[HistoryRun<'_>], now: &Surroundings<'_>, declared: &[DeclaredQuirk]) -> Vec<String> {
    let mut groups = groups(runs, declared);
    let Some(newest) = runs.first() else { return Vec::new() };
    let is_now = Difference::between(&Surroundings::of(newest.head), now, declared).is_none();
    let current = if is_now { groups.pop().map(|(_, runs)| runs).unwrap_or_default() } else { Vec::new() };
    let Some((_, before)) = groups.pop() else { return Vec::new() };
    let (before, current) = (outcomes(&before), outcomes(&current));
    let is_measured = |outcome: Option<&&CommitOutcome>| matches!(outcome, Some(CommitOutcome::Measured { .. }));
    if before.iter().any(|(id, outcome)| is_measured(Some(outcome)) && is_measured(current.get(id))) {
        return Vec::new();
    }
    let line = newest.head.settings.measured_line().map_or(&[][..], |line| &line.line.commits);
    let missing = line.iter().rev().map(|commit| &commit.id);
    let missing = missing.filter(|id| is_measured(before.get(id.as_str())) && !current.contains_key(id.as_str()));
    missing.cloned().collect()
}

/// The newest result of each commit in runs of the same surroundings, the oldest first.
pub(super) fn outcomes<'a>(runs: &[HistoryRun<'a>]) -> BTreeMap<&'a str, &'a CommitOutcome> {
    let all = runs.iter().flat_map(|run| &run.results.commits);
    all.map(|result| (result.commit.as_str(), &result.outcome)).collect()
}

/// A commit with two results; `None` if one of them has no value, or if it was 0 before. Medians are independent, so the ends of their intervals bound the ratio.
pub(super) fn bridge_of(commit: u32, before: &CommitOutcome, now: &CommitOutcome) -> Option<Bridge> {
    let (before, now) = (median(before)?, median(now)?);
    let change = Change {
        ratio: now.median / before.median,
        low: now.low / before.high,
        high: now.high / before.low,
        units: before.n.min(now.n),
    };
    let is_ratio = [change.ratio, change.low, change.high].iter().all(|ratio| ratio.is_finite() && *ratio > 0.0);
    is_ratio.then_some(Bridge { commit, before, now, change })
}

fn median(outcome: &CommitOutcome) -> Option<Estimate> {
    match outcome {
        CommitOutcome::Measured { values, .. } => estimate(values),
        CommitOutcome::Unusable(_) => None,
    }
}
