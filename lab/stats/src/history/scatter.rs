//! The scatter of a commit's values: within one layout and boot, between layouts, and between
//! boots. Values are compared within a run only.

use crate::bisect::sum_of_squares;
use crate::history::causes::{BootSpread, LayoutResults};
use crate::history::runs::{HistoryRun, newest_of};
use crate::history::{CommitOutcome, HistoryPoint, HistorySeries, HistorySteps, StepBasis};
use faultline_record::record::RunId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// Number of a run's nearest commits on each side of a step that show the scatter there. For counts
/// the nearest one alone, because the step is the difference of two.
const COMMITS_A_SIDE: usize = 5;

/// A run's values of commits in several layouts or boots, by position among the points.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunScatter(BTreeMap<u32, CommitScatter>);

/// The values of a commit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CommitScatter {
    /// The values of its own layout.
    own: Vec<f64>,
    /// The boot of each; empty if boots are not distinguished.
    boots: Vec<u32>,
    /// Its random layouts.
    pub(super) layouts: Option<LayoutResults>,
}

/// The scatter of each run with any, of commits measured in the environment of their points. A
/// bridge over a quirk was also measured in other environments, where it does not have the step's
/// values.
pub(super) fn scatter(points: &[HistoryPoint], runs: &[HistoryRun<'_>]) -> Vec<RunScatter> {
    let placed: BTreeMap<&str, (u32, u32)> =
        (0..).zip(points).map(|(at, point)| (point.commit.id.as_str(), (at, point.environment))).collect();
    // A run without values of points is no evidence about the series.
    let environments: BTreeMap<RunId, u32> =
        points.iter().filter_map(|point| Some((point.run?, point.environment))).collect();
    let of_run = |run: &HistoryRun<'_>| {
        let of_commit = run.results.commits.iter().filter_map(|result| match &result.outcome {
            CommitOutcome::Measured { values, boots, layouts, .. } if !boots.is_empty() || layouts.is_some() => {
                let (position, of_point) = placed.get(result.commit.as_str())?;
                let scatter = CommitScatter { own: values.clone(), boots: boots.clone(), layouts: layouts.clone() };
                (environments.get(&run.head.id) == Some(of_point)).then_some((*position, scatter))
            }
            CommitOutcome::Measured { .. } | CommitOutcome::Unusable(_) => None,
        });
        RunScatter(of_commit.collect())
    };
    runs.iter().map(of_run).filter(|run| !run.0.is_empty()).collect()
}

/// The commits on both sides of a step, up to the neighbouring steps.
pub(super) struct Sides {
    before: RangeInclusive<u32>,
    after: RangeInclusive<u32>,
    most: usize,
}

impl Sides {
    /// The sides of a step by index. `last`: the last position.
    pub(super) fn of(found: &HistorySteps, number: usize, last: u32) -> Self {
        let step = &found.steps[number];
        let first = number.checked_sub(1).map_or(0, |before| found.steps[before].latest);
        let last = found.steps.get(number + 1).map_or(last, |next| next.earliest);
        let most = match found.basis {
            StepBasis::Noisy { .. } | StepBasis::TooShort { .. } => COMMITS_A_SIDE,
            StepBasis::Exact | StepBasis::Seeds { .. } => 1,
        };
        Sides { before: first.min(step.earliest)..=step.earliest, after: step.latest..=last.max(step.latest), most }
    }

    /// The positions before the step, back to the step before it.
    pub(super) fn before(&self) -> RangeInclusive<u32> {
        self.before.clone()
    }

    /// The positions after the step, up to the next one.
    pub(super) fn after(&self) -> RangeInclusive<u32> {
        self.after.clone()
    }

    /// A run's values of the nearest commits before and after.
    pub(super) fn of_run<'a>(&self, run: &'a RunScatter) -> [Vec<&'a CommitScatter>; 2] {
        let before = run.0.range(self.before()).rev().take(self.most).map(|(_, commit)| commit).collect();
        let after = run.0.range(self.after()).take(self.most).map(|(_, commit)| commit).collect();
        [before, after]
    }

    /// The commits of all runs.
    pub(super) fn all<'a>(&self, runs: &'a [RunScatter]) -> Vec<&'a CommitScatter> {
        runs.iter().flat_map(|run| self.of_run(run)).flatten().collect()
    }
}

/// Logarithms of the values in one layout and boot, by layout (`None`: the commit's own) and boot.
type Cells = BTreeMap<(Option<u32>, u32), Vec<f64>>;

impl CommitScatter {
    fn cells(&self) -> Cells {
        let mut cells = Cells::new();
        for (at, value) in self.own.iter().enumerate() {
            cells.entry((None, self.boots.get(at).copied().unwrap_or(0))).or_default().push(value.ln());
        }
        for sample in self.layouts.iter().flat_map(|layouts| &layouts.samples) {
            cells.entry((Some(sample.layout), sample.boot)).or_default().push(sample.value.ln());
        }
        cells
    }
}

/// Variance of values of one layout within one boot; `None` with too few. If each execution has its
/// own boot, boots are part of it.
pub(super) fn within(commits: &[&CommitScatter]) -> Option<f64> {
    let cells: Vec<Cells> = commits.iter().map(|commit| commit.cells()).collect();
    let by_layout = |cells: &Cells| {
        let mut merged: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
        cells.iter().for_each(|((layout, _), values)| merged.entry(*layout).or_default().extend(values));
        merged.into_values().collect::<Vec<_>>()
    };
    let of_boots = pooled(&cells.iter().flat_map(|cells| cells.values().cloned()).collect::<Vec<_>>());
    of_boots.or_else(|| pooled(&cells.iter().flat_map(by_layout).collect::<Vec<_>>()))
}

/// The variance of values around the mean of their group; `None` if no group has two.
fn pooled(groups: &[Vec<f64>]) -> Option<f64> {
    let squares: f64 = groups.iter().map(|group| sum_of_squares(group)).sum();
    let free: usize = groups.iter().map(|group| group.len().saturating_sub(1)).sum();
    (free > 0).then(|| squares / free as f64).filter(|variance| variance.is_finite())
}

/// Variance between random layouts of one commit: that of their means, without that of the
/// executions of one layout; `None` with fewer than two layouts. A value is compared with the
/// commit's own layout in the same boot, if measured there.
pub(super) fn between_layouts(commits: &[&CommitScatter], within: f64) -> Option<f64> {
    let of_commit = |commit: &&CommitScatter| {
        let cells = commit.cells();
        let reference = |boot: u32| cells.get(&(None, boot)).map(|values| mean(values));
        let own = mean(&commit.own.iter().map(|value| value.ln()).collect::<Vec<f64>>());
        let mut by_layout: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for ((layout, boot), values) in &cells {
            let Some(layout) = layout else { continue };
            let reference = reference(*boot).unwrap_or(own);
            by_layout.entry(*layout).or_default().extend(values.iter().map(|value| value - reference));
        }
        excess(by_layout.into_values().collect(), within)
    };
    averaged(commits.iter().filter_map(of_commit))
}

/// Variation of one build between boots; `None` if no commit was measured in several boots, or if
/// each boot executed it once.
pub(super) fn step_boots(sides: &Sides, runs: &[RunScatter]) -> Option<BootSpread> {
    let commits = sides.all(runs);
    let of_commit = |commit: &&CommitScatter| -> Vec<Vec<f64>> {
        commit.cells().into_iter().filter(|((layout, _), _)| layout.is_none()).map(|(_, values)| values).collect()
    };
    let groups: Vec<Vec<Vec<f64>>> = commits.iter().map(of_commit).filter(|boots| boots.len() > 1).collect();
    if !groups.iter().flatten().any(|boot| boot.len() > 1) {
        return None;
    }
    let within = within(&commits)?;
    let boots: BTreeSet<u32> = commits.iter().flat_map(|commit| commit.boots.iter().copied()).collect();
    let between = averaged(groups.into_iter().filter_map(|boots| excess(boots, within)))?;
    Some(BootSpread { boots: boots.len() as u32, between: between.max(0.0).sqrt(), within: within.sqrt() })
}

/// Variance between the means of groups, without that of the values within them; with its degrees
/// of freedom. `None` with fewer than two groups.
fn excess(groups: Vec<Vec<f64>>, within: f64) -> Option<(f64, f64)> {
    let number = groups.len() as f64;
    let means: Vec<f64> = groups.iter().map(|group| mean(group)).collect();
    let noise = groups.iter().map(|group| within / group.len() as f64).sum::<f64>() / number;
    let free = number - 1.0;
    let variance = sum_of_squares(&means) / free - noise;
    (free > 0.0 && variance.is_finite()).then_some((variance, free))
}

/// The weighted mean of variances; `None` for none.
fn averaged(variances: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weights) =
        variances.fold((0.0, 0.0), |(sum, weights), (variance, weight)| (sum + weight * variance, weights + weight));
    (weights > 0.0).then(|| sum / weights)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The evidence about steps besides the points of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesEvidence {
    /// The evidence that finds them.
    pub(super) found_by: FoundBy,
    /// The scatter of each run.
    pub(super) scatter: Vec<RunScatter>,
}

/// The evidence that finds steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FoundBy {
    /// For times: the positions among the points of each run, ascending. A step at the border of
    /// two runs may be theirs.
    Times(Vec<Vec<u32>>),
    /// For counts: the counts of each point, one for each seed; none for a point without a count.
    Counts(Vec<Vec<f64>>),
}

/// The evidence of the runs of a series, newest first.
pub fn evidence(series: &HistorySeries, runs: &[HistoryRun<'_>]) -> SeriesEvidence {
    let found_by = if series.quantity.is_counted() {
        FoundBy::Counts(counts(&series.points, runs))
    } else {
        FoundBy::Times(measured_by(&series.points, runs))
    };
    SeriesEvidence { found_by, scatter: scatter(&series.points, runs) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::causes::LayoutSample;
    use crate::history::{CommitResult, HistoryResults, PointResult, example};

    /// A step between two commits with these values and boots of each.
    fn boots_of(values: &[f64], boots: &[u32]) -> Option<BootSpread> {
        let commit = || CommitScatter { own: values.to_vec(), boots: boots.to_vec(), layouts: None };
        let runs = [RunScatter([(0, commit()), (1, commit())].into())];
        step_boots(&Sides { before: 0..=0, after: 1..=1, most: 5 }, &runs)
    }

    #[test]
    fn values_vary_between_boots_and_within_one() {
        // Means of the logarithms of three boots: 0, 0.1 and 0.2; within each ±0.01.
        let values: Vec<f64> =
            [0.0, 0.1, 0.2].iter().flat_map(|level| [level - 0.01, level + 0.01]).map(f64::exp).collect();
        let spread = boots_of(&values, &[0, 0, 1, 1, 2, 2]).unwrap();
        assert_eq!(spread.boots, 3);
        assert!((spread.within - 0.01 * 2f64.sqrt()).abs() < 1e-9, "{spread:?}");
        assert!((spread.between - (0.01f64 - 0.0001).sqrt()).abs() < 1e-9, "{spread:?}");
    }

    #[test]
    fn a_commit_that_bridges_a_quirk_says_nothing_about_its_old_environment() {
        let point = |position: u32, run, environment| HistoryPoint {
            commit: example::commit(position),
            run: Some(RunId(run)),
            environment,
            result: PointResult::None,
        };
        // Commit 1 was measured before the quirk and after it.
        let points = [point(0, 1, 0), point(1, 2, 1), point(2, 2, 1)];
        let layouts = LayoutResults { tried: 0, unchanged: 0, failed: 0, samples: Vec::new() };
        let result = |position: u32| CommitResult {
            commit: example::commit(position).id,
            outcome: CommitOutcome::Measured {
                values: vec![1.0],
                same_as: None,
                boots: Vec::new(),
                layouts: Some(layouts.clone()),
            },
        };
        let [old, new, without_value] = [(1, vec![0, 1]), (2, vec![1, 2]), (3, vec![0])].map(|(id, commits)| {
            let mut record = example::begun(&commits, 1);
            record.head.id = RunId(id);
            (record, HistoryResults { commits: commits.into_iter().map(result).collect(), ..HistoryResults::default() })
        });
        let runs = [&without_value, &new, &old].map(|(record, results)| HistoryRun { head: &record.head, results });
        let positions: Vec<Vec<u32>> =
            scatter(&points, &runs).iter().map(|run| run.0.keys().copied().collect()).collect();
        assert_eq!(positions, [vec![1, 2], vec![0]]);
    }

    #[test]
    fn boots_that_executed_once_or_are_one_are_not_reported() {
        assert_eq!(boots_of(&[1.0, 1.1, 1.2], &[0, 1, 2]), None);
        assert_eq!(boots_of(&[1.0, 1.1, 1.2], &[]), None);
    }

    #[test]
    fn a_layout_is_compared_with_the_own_one_in_the_same_boot() {
        // Both layouts equal the own one; only the second boot is slower.
        let sample = |layout: u32, boot: u32, value: f64| LayoutSample { layout, boot, value };
        let samples = vec![sample(0, 0, 1.0), sample(0, 0, 1.0), sample(1, 1, 2.0), sample(1, 1, 2.0)];
        let layouts = Some(LayoutResults { tried: 2, unchanged: 0, failed: 0, samples });
        let commit = CommitScatter { own: vec![1.0, 2.0], boots: vec![0, 1], layouts };
        assert_eq!(between_layouts(&[&commit], 0.0), Some(0.0));
        assert_eq!(within(&[&commit]), Some(0.0));
    }
}
