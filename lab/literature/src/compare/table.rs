//! A source's comparisons as data: its raw values go out, what a test made of them comes in.

use crate::improvement::{Improvement, improvements};
use crate::raw::Metric;
use crate::select::{UnknownName, Wanted, sources_of, unknown};
use crate::sources::{Definition, Source};
use faultline_model::direction::Direction;
use faultline_model::workload_comparison::{SuiteComparison, WorkloadComparison as Tested};

/// The comparisons of one source, all of them, and which were asked for.
#[derive(Debug)]
pub struct Table {
    pub(super) source: Source,
    /// What its author means by an improvement.
    pub(super) definition: Definition,
    pub(super) comparisons: Vec<Improvement>,
    pub(super) wanted: Wanted,
}

/// The raw values of a comparison with repeats on both sides: two or more each.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Test, machine and load.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Which way they get better.
    pub direction: Direction,
    /// The old side's repeats.
    pub before: Vec<f64>,
    /// The new side's.
    pub after: Vec<f64>,
}

/// What a test makes of a table's pairs, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// All pairs as one suite, corrected for their number: the answers.
    pub suite: SuiteComparison,
    /// Each pair as if it were the only one, at the highest level up to the suite's at which its values allow an interval: the intervals.
    pub alone: Vec<Tested>,
}

impl Table {
    /// What can be tested of it, in the order of its rows. The whole source, whichever tests were asked for: how many there are doesn't depend on who looks.
    pub fn pairs(&self) -> Vec<Pair> {
        self.comparisons.iter().filter_map(pair).collect()
    }
}

/// The tables in which a source's or test's name contains `name`; all without one.
///
/// A comparison is a rate or a wall-clock time with a value on both sides: what the authors speak of when they claim an improvement.
pub fn tables(name: Option<&str>) -> Result<Vec<Table>, UnknownName> {
    let all: Vec<Improvement> = improvements()
        .into_iter()
        .filter(|c| matches!(c.metric, Metric::Rate | Metric::Real) && c.before.is_some() && c.after.is_some())
        .collect();
    let wanted = Wanted::new(name);
    let meant: Vec<Improvement> =
        all.iter().filter(|c| wanted.holds(c.subject.source, &c.subject.test)).cloned().collect();
    if meant.is_empty() {
        return Err(unknown("comparisons", name, &all, &[]));
    }
    let table = |source: Source| {
        Some(Table {
            source,
            definition: source.definition?,
            comparisons: all.iter().filter(|c| c.subject.source == source.name).cloned().collect(),
            wanted: wanted.clone(),
        })
    };
    Ok(sources_of(&meant, &[]).into_iter().filter_map(table).collect())
}

/// The raw values, where both sides have repeats.
pub(super) fn pair(comparison: &Improvement) -> Option<Pair> {
    let [before, after] = [&comparison.before, &comparison.after].map(|side| Some(side.as_ref()?.repeats.clone()));
    let (before, after) = (before?, after?);
    let subject = &comparison.subject;
    (before.len().min(after.len()) > 1).then(|| Pair {
        name: format!("{} on {}, {}", subject.test, subject.machine, subject.load_and_note()),
        unit: comparison.unit.clone(),
        direction: comparison.metric.direction(),
        before,
        after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_what_has_repeats_on_both_sides() {
        let counted: Vec<_> = tables(None)
            .unwrap()
            .iter()
            .map(|table| (table.source.name, table.comparisons.len(), table.pairs().len()))
            .collect();
        assert_eq!(
            counted,
            [("dragonfly-2011-vm-token", 5, 2), ("dragonfly-5.4-vs-5.6", 14, 14), ("openbsd-percpu-page-cache", 9, 0)]
        );
    }

    #[test]
    fn a_name_narrows_what_is_shown_and_not_what_is_tested() {
        let all = tables(Some("dragonfly-5.4")).unwrap();
        let one = tables(Some("zero_fill")).unwrap();
        assert_eq!((one.len(), one[0].pairs()), (1, all[0].pairs()));
    }

    #[test]
    fn what_was_never_compared_is_unknown() {
        let error = tables(Some("openbsd-2019")).unwrap_err();
        assert_eq!((error.what, error.sources.len()), ("comparisons", 3));
        assert!(!error.tests.contains(&"path-stat-one-element".to_owned()), "{error}");
    }
}
