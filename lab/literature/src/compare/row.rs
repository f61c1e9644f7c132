//! One comparison with what a test made of it, as data.

use super::table::{Judged, Table, pair};
use crate::improvement::{Improvement, Measured};
use crate::sources::Definition;
use faultline_model::workload_comparison::{Answer, Bounded, Caution, Method, WorkloadComparison as Tested};
use serde::Serialize;

/// A comparison, and what a test made of it.
#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    #[serde(flatten)]
    pub comparison: &'a Improvement,
    /// What its author means by an improvement.
    pub improvement_as: Definition,
    /// The improvement by that definition, of the means.
    pub improvement_percent: Option<f64>,
    /// Its interval, this comparison taken by itself.
    pub interval: Option<Interval>,
    /// Why there is none.
    pub no_interval: Option<String>,
    /// What the raw values say, all of the table's taken together.
    pub judgement: Option<Judgement>,
    /// What may make interval and judgement lie.
    pub cautions: Vec<Caution>,
}

/// Where the improvement lies.
#[derive(Debug, Serialize)]
pub(super) struct Interval {
    /// The test's own estimate, which isn't the ratio of the means.
    pub estimate_percent: f64,
    pub low_percent: f64,
    pub high_percent: f64,
    /// Share of such intervals that enclose the true improvement.
    pub level_ratio: f64,
    /// The test that it belongs to.
    pub method: Method,
}

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct Judgement {
    /// Corrected for all tests of the table.
    pub answer: Answer,
    /// What it would be if there were no other test. None if the values allow none at that level.
    pub answer_alone: Option<Answer>,
    /// The test that decided; none of them if there are too few values for so many tests.
    pub method: Method,
    /// Chance of a difference as great between equal sides, taken by itself.
    pub p: Option<f64>,
    /// The same, corrected.
    pub p_corrected: Option<f64>,
}

/// The rows that were asked for.
pub(super) fn rows<'a>(table: &'a Table, judged: Option<&Judged>) -> Vec<Row<'a>> {
    let mut tested = judged.into_iter().flat_map(|judged| {
        let level = judged.suite.level;
        judged.suite.workloads.iter().zip(&judged.alone).map(move |(among, alone)| (among, alone, level))
    });
    let mut rows = Vec::new();
    for comparison in &table.comparisons {
        let tested = pair(comparison).and_then(|_| tested.next());
        if table.wanted.holds(comparison.subject.source, &comparison.subject.test) {
            rows.push(row(comparison, table.definition, tested));
        }
    }
    rows
}

/// `tested`: the comparison among all, the same alone, and the suite's level.
fn row<'a>(comparison: &'a Improvement, definition: Definition, tested: Option<(&Tested, &Tested, f64)>) -> Row<'a> {
    let interval = tested.and_then(|(_, alone, _)| interval(alone, definition));
    Row {
        comparison,
        improvement_as: definition,
        improvement_percent: comparison.percent(definition),
        no_interval: interval.is_none().then(|| missing(comparison)),
        interval,
        judgement: tested.map(|(among, alone, level)| judgement(among, alone, level)),
        cautions: tested.map(|(among, alone, _)| cautions(among, alone)).unwrap_or_default(),
    }
}

/// The ratio's interval as one of the improvement: every definition rises or falls with the ratio throughout.
fn interval(tested: &Tested, definition: Definition) -> Option<Interval> {
    let Bounded { value, low, high, level } = tested.ratio?;
    let [value, low, high] = [value, low, high].map(|ratio| definition.percent(ratio, tested.direction));
    Some(Interval {
        estimate_percent: value,
        low_percent: low.min(high),
        high_percent: low.max(high),
        level_ratio: level,
        method: tested.method,
    })
}

fn missing(comparison: &Improvement) -> String {
    let n = |side: &Option<Measured>| side.as_ref().map_or(0, |side| side.n);
    match (n(&comparison.before), n(&comparison.after)) {
        (1, 1) => "one value each".to_owned(),
        (1, _) => "one value before".to_owned(),
        (_, 1) => "one value after".to_owned(),
        (before, after) => format!("{before} and {after} values allow none"),
    }
}

fn judgement(among: &Tested, alone: &Tested, level: f64) -> Judgement {
    let at_the_same_level = alone.ratio.is_some_and(|ratio| ratio.level >= level);
    Judgement {
        answer: among.answer,
        answer_alone: at_the_same_level.then_some(alone.answer),
        method: among.method,
        p: alone.p,
        p_corrected: among.p_corrected,
    }
}

/// Those of the answer, and what those of the interval add.
fn cautions(among: &Tested, alone: &Tested) -> Vec<Caution> {
    let mut cautions = among.cautions.clone();
    cautions.extend(alone.cautions.iter().filter(|caution| !among.cautions.contains(caution)).cloned());
    cautions
}

#[cfg(test)]
mod tests {
    use super::super::example::{judged, tested};
    use super::super::table::tables;
    use super::*;
    use faultline_model::direction::Direction;

    /// Rounded: `[estimate, low, high]`.
    fn ends(direction: Direction, definition: Definition, ratio: [f64; 3]) -> [f64; 3] {
        let found = interval(&tested(direction, ratio), definition).unwrap();
        [found.estimate_percent, found.low_percent, found.high_percent].map(f64::round)
    }

    #[test]
    fn an_interval_is_one_of_the_authors_improvement() {
        assert_eq!(ends(Direction::Higher, Definition::Gain, [1.2, 1.1, 1.3]), [20.0, 10.0, 30.0]);
        assert_eq!(ends(Direction::Lower, Definition::Gain, [0.8, 0.5, 1.0]), [25.0, 0.0, 100.0]);
        assert_eq!(ends(Direction::Lower, Definition::Saved, [0.8, 0.7, 0.9]), [20.0, 10.0, 30.0]);
    }

    #[test]
    fn rows_meet_their_own_tests_whichever_are_asked_for() {
        let all = &tables(Some("dragonfly-5.4")).unwrap()[0];
        let judged = judged(all);
        let of_all = rows(all, Some(&judged));
        for name in ["zero-fill", "native-kernel-build", "self-exec-static-shared"] {
            let some = &tables(Some(name)).unwrap()[0];
            let rows = rows(some, Some(&judged));
            assert_eq!(rows.len(), 2, "{name}");
            for row in rows {
                let same = of_all.iter().find(|other| other.comparison == row.comparison).unwrap();
                assert_eq!(row.interval.unwrap().estimate_percent, same.interval.as_ref().unwrap().estimate_percent);
            }
        }
    }

    #[test]
    fn a_row_without_an_interval_says_why() {
        for table in tables(None).unwrap() {
            let judged = (!table.pairs().is_empty()).then(|| judged(&table));
            for row in rows(&table, judged.as_ref()) {
                assert_eq!(row.interval.is_some(), row.no_interval.is_none());
                assert_eq!(row.judgement.is_some(), pair(row.comparison).is_some());
            }
        }
    }

    #[test]
    fn an_answer_at_a_lower_level_is_none() {
        let among = tested(Direction::Lower, [0.8, 0.7, 0.9]);
        assert_eq!(judgement(&among, &among, 0.95).answer_alone, Some(Answer::Faster));
        assert_eq!(judgement(&among, &among, 0.99).answer_alone, None);
    }
}
