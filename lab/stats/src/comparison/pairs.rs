//! Pairs the series of two sides.

use super::recorded::Recorded;
use crate::two_sample::no_ratio;
use crate::unmatched::{Letter, Unmatched, UnmatchedReason};
use faultline_record::dataset::{Dataset, Series};
use faultline_record::direction::Direction;
use faultline_record::failure::Failure;
use std::collections::BTreeSet;

/// A series that both sides have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    /// Name of the case, without its number of tasks.
    pub(crate) name: String,
    /// Number of tasks.
    pub(crate) tasks: Option<u32>,
    /// Unit of both.
    pub(crate) unit: String,
    /// Better direction.
    pub(crate) direction: Direction,
    /// Index of the first side's series.
    pub(crate) a: usize,
    /// Index of the second side's series.
    pub(crate) b: usize,
}

/// The pairs of two sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Pairs {
    /// In the first side's order.
    pub(crate) pairs: Vec<Pair>,
    /// Series that are not compared, with reasons.
    pub(crate) unmatched: Vec<Unmatched>,
}

/// Pairs series of the same name, tasks and measure; if each side has only one name, the names may
/// differ. `direction` is used if neither side has one.
pub(crate) fn pairs(a: &Dataset, b: &Dataset, recorded: &dyn Recorded, direction: Option<Direction>) -> Pairs {
    let one_each = names(a).len() == 1 && names(b).len() == 1;
    let belong =
        |a: &Series, b: &Series| (a.name == b.name || one_each) && a.tasks == b.tasks && a.measure == b.measure;
    let mut found = Pairs::default();
    let mut taken = BTreeSet::new();
    for (index, series) in a.series.iter().enumerate() {
        let Some(other) = b.series.iter().position(|other| belong(series, other)) else {
            found.unmatched.push(unmatched(series, UnmatchedReason::OneSideOnly { side: Letter::A }));
            continue;
        };
        taken.insert(other);
        let first_failure = |side, series| recorded.failures(side, series).into_iter().next();
        match pair([series, &b.series[other]], [&|| first_failure(0, index), &|| first_failure(1, other)], direction) {
            Ok((name, direction)) => {
                let (tasks, unit) = (series.tasks, series.unit.clone());
                found.pairs.push(Pair { name, tasks, unit, direction, a: index, b: other });
            }
            Err(reason) => found.unmatched.push(unmatched(series, reason)),
        }
    }
    let left = b.series.iter().enumerate().filter(|(index, _)| !taken.contains(index));
    found.unmatched.extend(left.map(|(_, series)| unmatched(series, UnmatchedReason::OneSideOnly { side: Letter::B })));
    found
}

fn names(dataset: &Dataset) -> BTreeSet<&str> {
    dataset.series.iter().map(|series| series.name.as_str()).collect()
}

/// A series of one side that is not compared.
pub(super) fn unmatched(series: &Series, reason: UnmatchedReason) -> Unmatched {
    Unmatched { name: series.name.clone(), tasks: series.tasks, measure: series.measure.clone(), reason }
}

/// The first failure of a side's series.
type FirstFailure<'a> = &'a dyn Fn() -> Option<Failure>;

/// The pair's name and direction. Fails with the reason why the two series are not a pair.
fn pair(
    [a, b]: [&Series; 2],
    first_failures: [FirstFailure<'_>; 2],
    direction: Option<Direction>,
) -> Result<(String, Direction), UnmatchedReason> {
    if a.unit != b.unit {
        return Err(UnmatchedReason::UnitsDiffer { units: [a.unit.clone(), b.unit.clone()] });
    }
    let direction = match (a.direction, b.direction) {
        (Some(a), Some(b)) if a != b => return Err(UnmatchedReason::DirectionsDiffer),
        (a, b) => a.or(b).or(direction).ok_or(UnmatchedReason::DirectionUnknown)?,
    };
    usable(a, Letter::A, first_failures[0])?;
    usable(b, Letter::B, first_failures[1])?;
    let name = if a.name == b.name { a.name.clone() } else { format!("{} → {}", a.name, b.name) };
    let measure = a.measure.as_ref().map(|measure| format!(" {measure}")).unwrap_or_default();
    Ok((format!("{name}{measure}"), direction))
}

/// Fails for a series without values, or with a value that has no usable ratio.
fn usable(series: &Series, side: Letter, first_failure: FirstFailure<'_>) -> Result<(), UnmatchedReason> {
    let mut values = series.points.iter().flat_map(|point| point.measured.values()).peekable();
    if values.peek().is_none() {
        return Err(UnmatchedReason::NoValue { side, failure: first_failure() });
    }
    values.find_map(|&value| no_ratio(side, value)).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::recorded::Plain;
    use faultline_record::dataset::{DataPoint, Measured};
    use faultline_record::failure::FailureCause;

    fn series(name: &str, tasks: u32, unit: &str) -> Series {
        Series {
            name: name.to_owned(),
            tasks: Some(tasks),
            measure: None,
            unit: unit.to_owned(),
            direction: Some(Direction::Lower),
            points: vec![DataPoint::of(Measured::Values(vec![1.0]))],
        }
    }

    fn of(a: Vec<Series>, b: Vec<Series>) -> Pairs {
        matched(&Dataset::of(a), &Dataset::of(b), None)
    }

    fn matched(a: &Dataset, b: &Dataset, direction: Option<Direction>) -> Pairs {
        pairs(a, b, &Plain([a, b]), direction)
    }

    /// Names with tasks, and why they are not compared.
    fn left_out(found: &Pairs) -> Vec<(String, UnmatchedReason)> {
        let named = |one: &Unmatched| (format!("{}×{}", one.name, one.tasks.unwrap()), one.reason.clone());
        found.unmatched.iter().map(named).collect()
    }

    fn only_on(side: Letter, name: &str) -> (String, UnmatchedReason) {
        (name.to_owned(), UnmatchedReason::OneSideOnly { side })
    }

    fn places(found: &Pairs) -> Vec<(usize, usize)> {
        found.pairs.iter().map(|pair| (pair.a, pair.b)).collect()
    }

    #[test]
    fn the_same_name_tasks_and_measure_belong_together() {
        let found = of(
            vec![series("x", 1, "s"), series("x", 2, "s"), series("y", 1, "s")],
            vec![series("z", 1, "s"), series("x", 2, "s"), series("x", 1, "s")],
        );
        assert_eq!(places(&found), [(0, 2), (1, 1)]);
        assert_eq!(left_out(&found), [only_on(Letter::A, "y×1"), only_on(Letter::B, "z×1")]);
    }

    #[test]
    fn one_case_on_each_side_goes_together_by_tasks() {
        let found = of(vec![series("x", 1, "s"), series("x", 2, "s")], vec![series("y", 2, "s"), series("y", 4, "s")]);
        assert_eq!((places(&found), found.pairs[0].name.as_str()), (vec![(1, 0)], "x → y"));
        assert_eq!(left_out(&found), [only_on(Letter::A, "x×1"), only_on(Letter::B, "y×4")]);
    }

    #[test]
    fn unmatched_series_are_reported() {
        let reason = |b: Series| left_out(&of(vec![series("x", 1, "s")], vec![b])).remove(0).1;
        let units = ["s".to_owned(), String::new()];
        assert_eq!(reason(series("x", 1, "")), UnmatchedReason::UnitsDiffer { units });
        let other_way = Series { direction: Some(Direction::Higher), ..series("x", 1, "s") };
        assert_eq!(reason(other_way), UnmatchedReason::DirectionsDiffer);
        let (side, least, greatest) = (Letter::B, 1e-150, 1e150);
        let zero = Series { points: vec![DataPoint::of(Measured::Values(vec![2.0, 0.0]))], ..series("x", 1, "s") };
        assert_eq!(reason(zero), UnmatchedReason::NoRatio { side, value: 0.0, least, greatest });
        let hung = Series { points: vec![DataPoint::of(Measured::Missing("hung".into()))], ..series("x", 1, "s") };
        let failure = Some(Failure { block: None, cause: FailureCause::Told { words: "hung".into() } });
        assert_eq!(reason(hung), UnmatchedReason::NoValue { side, failure });
        let vast = Series { points: vec![DataPoint::of(Measured::Values(vec![1e308]))], ..series("x", 1, "s") };
        assert_eq!(reason(vast), UnmatchedReason::NoRatio { side, value: 1e308, least, greatest });
    }

    #[test]
    fn a_direction_given_stands_in_for_one_unknown() {
        let blank = || Dataset::of(vec![Series { direction: None, ..series("x", 1, "s") }]);
        assert_eq!(left_out(&matched(&blank(), &blank(), None))[0].1, UnmatchedReason::DirectionUnknown);
        assert_eq!(matched(&blank(), &blank(), Some(Direction::Higher)).pairs[0].direction, Direction::Higher);
        let known = Dataset::of(vec![series("x", 1, "s")]);
        assert_eq!(matched(&blank(), &known, Some(Direction::Higher)).pairs[0].direction, Direction::Lower);
    }
}
