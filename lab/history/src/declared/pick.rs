//! Which commits of a repository are measured.

use faultline_model::artefact::Release;
use faultline_model::plan::CommitOrder;
use serde::Deserialize;

/// Which commits of a repository, or which releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Commits of a branch.
    Branch {
        /// Its newest commit, as git names it.
        newest: String,
        /// The oldest commit, as git names it; the first of the branch if `None`.
        since: Option<String>,
        /// Which of them.
        pick: Pick,
        /// Which commits belong to it.
        walk: Walk,
    },
    /// Named commits, the oldest first.
    Named(Vec<String>),
    /// Releases instead of commits, the oldest first.
    Releases(Vec<Release>),
}

impl Which {
    /// Whether what was measured decides which commits are measured next.
    pub fn is_adaptive(&self) -> bool {
        self.adaptive().is_some()
    }

    /// How its commits follow each other.
    pub(crate) fn order(&self) -> CommitOrder {
        match self {
            Which::Branch { walk: Walk::Full, .. } => CommitOrder::Branches,
            Which::Branch { walk: Walk::FirstParent, .. } | Which::Named(_) | Which::Releases(_) => CommitOrder::Line,
        }
    }

    /// How many commits adaptive picking measures at most in one call; `None` of any other way to pick.
    pub(crate) fn adaptive(&self) -> Option<u32> {
        match self {
            Which::Branch { pick: Pick::Adaptive { most }, .. } => Some(*most),
            Which::Branch { .. } | Which::Named(_) | Which::Releases(_) => None,
        }
    }

    /// The releases; none if it has commits.
    pub(crate) fn releases(&self) -> &[Release] {
        match self {
            Which::Releases(releases) => releases,
            Which::Branch { .. } | Which::Named(_) => &[],
        }
    }
}

/// Which commits of a branch are picked. Its newest commit always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Pick {
    /// Every one whose distance from the oldest is a multiple of this number; 1: all.
    Every(u32),
    /// The last of each day, in UTC.
    Day,
    /// The last of each week, which begins on Monday.
    Week,
    /// The last of each month.
    Month,
    /// Those that tags name.
    Tags,
    /// Those that tell most about where steps are, given what was measured.
    Adaptive {
        /// At most so many in one call of `history run`.
        most: u32,
    },
}

impl Pick {
    /// Commits that adaptive picking measures at most, unless another number is asked for.
    pub(super) const USUAL_MOST: u32 = 32;
}

impl TryFrom<String> for Pick {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number =
            text.strip_prefix("every ").and_then(|number| number.trim().parse().ok()).filter(|number| *number > 0);
        match (text.as_str(), number) {
            ("all", _) => Ok(Pick::Every(1)),
            ("day", _) => Ok(Pick::Day),
            ("week", _) => Ok(Pick::Week),
            ("month", _) => Ok(Pick::Month),
            ("tags", _) => Ok(Pick::Tags),
            ("adaptive", _) => Ok(Pick::Adaptive { most: Pick::USUAL_MOST }),
            (_, Some(number)) => Ok(Pick::Every(number)),
            _ => Err(format!(
                "'{}' picks no commits; write all, every N, day, week, month, tags or adaptive",
                text.escape_debug()
            )),
        }
    }
}

/// Which commits belong to a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Walk {
    /// The first parent of each commit: a merge is one commit, with all that it brought.
    #[default]
    FirstParent,
    /// All ancestors, in an order in which parents come before their children.
    Full,
}
