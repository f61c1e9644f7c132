//! The part of a history that belongs to one commit.

use faultline_record::dataset::{DataPoint, Dataset, Series};
use std::collections::BTreeSet;

/// Error of a selection by commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// No point has this commit.
    #[error("there is no value of a commit '{commit}'")]
    Unknown {
        /// The requested commit.
        commit: String,
    },
    /// Several commits begin with it.
    #[error("'{commit}' is ambiguous: {}", candidates.join(", "))]
    Ambiguous {
        /// The requested commit.
        commit: String,
        /// The commits.
        candidates: Vec<String>,
    },
}

/// The points of the commit named `commit`, or of the only commit that begins with it. Series
/// without such points are left out. Fails if there is no such commit, or if several begin with it.
pub fn at_commit(dataset: &Dataset, commit: &str) -> Result<Dataset, CommitError> {
    let points = dataset.series.iter().flat_map(|series| &series.points);
    let named: BTreeSet<&str> =
        points.filter_map(|point| point.commit.as_deref()).filter(|name| name.starts_with(commit)).collect();
    let candidates: Vec<&str> = if named.contains(commit) { vec![commit] } else { named.into_iter().collect() };
    let &[commit] = candidates.as_slice() else {
        let commit = commit.to_owned();
        return Err(match candidates.is_empty() {
            true => CommitError::Unknown { commit },
            false => CommitError::Ambiguous { commit, candidates: candidates.into_iter().map(str::to_owned).collect() },
        });
    };
    let of_it = |point: &&DataPoint| point.commit.as_deref() == Some(commit);
    let picked = dataset
        .series
        .iter()
        .map(|series| Series { points: series.points.iter().filter(of_it).cloned().collect(), ..series.clone() });
    let series = picked.filter(|series| !series.points.is_empty()).collect();
    Ok(Dataset { series, ..dataset.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::dataset::Measured;

    fn history(commits: &[&str]) -> Dataset {
        let point = |commit: &&str| DataPoint {
            commit: Some((*commit).to_owned()),
            ..DataPoint::of(Measured::Values(vec![commit.len() as f64]))
        };
        let series = |name: &str, points| Series {
            name: name.to_owned(),
            tasks: None,
            measure: None,
            unit: "s".to_owned(),
            direction: None,
            points,
        };
        Dataset::of(vec![
            series("all", commits.iter().map(point).collect()),
            series("first", commits.iter().take(1).map(point).collect()),
        ])
    }

    #[test]
    fn a_beginning_that_fits_one_commit_is_enough() {
        let picked = at_commit(&history(&["abc1", "abd2", "abd2", "x"]), "abd").unwrap();
        assert_eq!((picked.series.len(), picked.series[0].points.len()), (1, 2));
        let whole = at_commit(&history(&["ab", "abc"]), "ab").unwrap();
        assert_eq!(whole.series[0].points.len(), 1, "a whole name is no beginning of another");
    }

    #[test]
    fn what_fits_none_or_several_is_refused() {
        let error = at_commit(&history(&["abc1", "abd2"]), "ab").unwrap_err();
        assert_eq!(error.to_string(), "'ab' is ambiguous: abc1, abd2");
        assert_eq!(at_commit(&history(&["a"]), "b").unwrap_err().to_string(), "there is no value of a commit 'b'");
    }
}
