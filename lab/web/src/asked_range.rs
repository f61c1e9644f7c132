//! A range of a history, as a client asks for it.

use crate::problem::Problem;
use crate::query::Query;
use std::ops::Range;

/// Buckets, if the width is not known.
const USUAL_WIDTH: usize = 1000;
const MOST_WIDTH: usize = 4000;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// First and last position; those of the history if they are not given.
    pub(crate) from: Option<u32>,
    pub(crate) to: Option<u32>,
    /// Pixels.
    pub(crate) width: usize,
}

impl Asked {
    /// From the parameters `from`, `to` and `width`. Fails if one is out of its bounds.
    pub(crate) fn parse(query: &Query) -> Result<Self, Problem> {
        let asked = Asked {
            from: query.number("from", 0, u32::MAX)?,
            to: query.number("to", 0, u32::MAX)?,
            width: query.number("width", 1, MOST_WIDTH)?.unwrap_or(USUAL_WIDTH),
        };
        match (asked.from, asked.to) {
            (Some(from), Some(to)) if from > to => {
                Err(Problem::bad_request("`from` is after `to`", "both are positions of commits, the oldest is 0"))
            }
            _ => Ok(asked),
        }
    }

    /// The positions among so many commits.
    pub(crate) fn range(&self, commits: usize) -> Range<usize> {
        let end = self.to.map_or(commits, |to| to as usize + 1).min(commits);
        (self.from.unwrap_or(0) as usize).min(end)..end
    }
}
