//! Which pairs of a history's commits are compared in files. There are as many pairs as the square of the commits, so their number is bounded.

use faultline_model::history::{HistorySeries, PointResult};
use std::collections::BTreeSet;

/// Up to `most` pairs of measured commits by their positions, the older one first. Both sides of each step come first, then neighbours, then all pairs among the
/// newest commits.
pub(super) fn pairs(series: &HistorySeries, most: usize) -> BTreeSet<[u32; 2]> {
    let is_measured = |position: u32| {
        series.points.get(position as usize).is_some_and(|point| matches!(point.result, PointResult::Measured { .. }))
    };
    let newest_first: Vec<u32> = (0..series.points.len() as u32).rev().filter(|at| is_measured(*at)).collect();
    let sides = series.steps.steps.iter().rev().map(|step| [step.after, step.by]);
    let sides = sides.filter(|pair| pair.iter().all(|at| is_measured(*at)));
    let neighbours = newest_first.windows(2).map(|two| [two[1], two[0]]);
    let all = (1..newest_first.len()).flat_map(|older| (0..older).map(move |newer| [older, newer]));
    let all = all.map(|places| places.map(|place| newest_first[place]));
    let mut chosen = BTreeSet::new();
    for pair in sides.chain(neighbours).chain(all) {
        if chosen.len() >= most {
            break;
        }
        chosen.insert(pair);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::commit::CommitInfo;
    use faultline_model::estimate::Estimate;
    use faultline_model::history::{HistoryPoint, HistorySteps, StepBasis};

    fn point(at: usize, is_measured: bool) -> HistoryPoint {
        let estimate = Estimate { median: 1.0, low: 1.0, high: 1.0, coverage: 1.0, n: 1 };
        let commit = CommitInfo { id: at.to_string(), ..CommitInfo::default() };
        let result = if is_measured { PointResult::Measured { estimate, same_as: None } } else { PointResult::None };
        HistoryPoint { commit, result, run: None, surroundings: 0 }
    }

    fn series(measured: &[bool]) -> HistorySeries {
        let points = measured.iter().enumerate().map(|(at, is_measured)| point(at, *is_measured)).collect();
        HistorySeries {
            format: String::new(),
            subject: String::new(),
            repository: String::new(),
            command: Vec::new(),
            workload: None,
            has_releases: false,
            counted: None,
            unit: "s".to_owned(),
            tasks: 1,
            host: None,
            conditions: String::new(),
            runs: Vec::new(),
            left_out: Vec::new(),
            points,
            quirks: Vec::new(),
            unplaced_quirks: Vec::new(),
            steps: HistorySteps {
                basis: StepBasis::Exact,
                least_change: 0.01,
                steps: Vec::new(),
                unjudged: 0,
                unplaced: 0,
            },
            moved: Vec::new(),
        }
    }

    #[test]
    fn neighbours_come_first_and_only_measured_commits_are_paired() {
        let series = series(&[true, true, false, true, true]);
        assert_eq!(pairs(&series, 0), BTreeSet::new());
        assert_eq!(pairs(&series, 2), BTreeSet::from([[1, 3], [3, 4]]));
        assert_eq!(pairs(&series, 4), BTreeSet::from([[0, 1], [1, 3], [3, 4], [1, 4]]));
        assert_eq!(pairs(&series, 100).len(), 6);
    }

    #[test]
    fn a_history_with_one_result_or_none_has_no_pairs() {
        assert!(pairs(&series(&[]), 9).is_empty() && pairs(&series(&[false, true]), 9).is_empty());
    }
}
