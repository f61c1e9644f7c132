//! What lies between two commits: commits, authors.

use super::Repository;
use faultline_experiment::{Error, Lab};
use faultline_model::commit::CommitInfo;
use faultline_model::history::{Author, Between};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Commits that lead to one and not to another.
#[derive(Debug)]
pub struct CommitsBetween {
    /// The commits, the newest first; at most [`Between::MOST_COMMITS`].
    pub commits: Vec<CommitInfo>,
    /// Number of all commits.
    pub count: u32,
    /// The authors of the listed commits, those with most commits first.
    pub authors: Vec<Author>,
}

impl Repository {
    /// The commits that lead to `new` and not to `old`. Fails if a commit is not there any more, or if git does not work.
    pub fn commits_between(&self, old: &str, new: &str, lab: &Lab<'_>) -> Result<CommitsBetween, Error> {
        let range = format!("{old}..{new}");
        let counted = self.git.run(&["rev-list", "--count", &range, "--"], "count commits", lab)?;
        let most = format!("--max-count={}", Between::MOST_COMMITS);
        let commits = self.log(&["--topo-order", &most, &range], lab)?;
        Ok(CommitsBetween {
            count: counted.first().and_then(|count| count.trim().parse().ok()).unwrap_or(commits.len() as u32),
            authors: authors(&commits),
            commits,
        })
    }
}

fn authors(commits: &[CommitInfo]) -> Vec<Author> {
    let mut by_name: BTreeMap<&str, u32> = BTreeMap::new();
    for commit in commits {
        *by_name.entry(&commit.author).or_default() += 1;
    }
    let mut authors: Vec<Author> =
        by_name.into_iter().map(|(name, commits)| Author { name: name.to_owned(), commits }).collect();
    authors.sort_by_key(|author| Reverse(author.commits));
    authors
}
