//! Which series of two sides belong together.

use crate::two_sample::no_ratio;
use faultline_model::dataset::{Dataset, Measured, Series};
use faultline_model::direction::Direction;
use std::collections::BTreeSet;

/// A series of either side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    /// Name of the case, without its number of tasks.
    pub(crate) name: String,
    /// Number of tasks.
    pub(crate) tasks: Option<u32>,
    /// Unit of both.
    pub(crate) unit: String,
    /// Which way is better.
    pub(crate) direction: Direction,
    /// Index of the first side's series.
    pub(crate) a: usize,
    /// Index of the second side's.
    pub(crate) b: usize,
}

/// What of two sides belongs together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Pairs {
    /// By the first side's order.
    pub(crate) pairs: Vec<Pair>,
    /// What isn't compared, and why.
    pub(crate) unmatched: Vec<String>,
}

/// Pairs series of the same name, tasks and measure; of sides that hold one name each, whatever the names are. `direction` stands in where neither
/// side has one.
pub(crate) fn pairs(a: &Dataset, b: &Dataset, direction: Option<Direction>) -> Pairs {
    let one_each = names(a).len() == 1 && names(b).len() == 1;
    let belong =
        |a: &Series, b: &Series| (a.name == b.name || one_each) && a.tasks == b.tasks && a.measure == b.measure;
    let mut found = Pairs::default();
    let mut taken = BTreeSet::new();
    for (index, series) in a.series.iter().enumerate() {
        let Some(other) = b.series.iter().position(|other| belong(series, other)) else {
            found.unmatched.push(format!("{series}: on the first side only"));
            continue;
        };
        taken.insert(other);
        match pair(series, &b.series[other], direction) {
            Ok((name, direction)) => {
                let (tasks, unit) = (series.tasks, series.unit.clone());
                found.pairs.push(Pair { name, tasks, unit, direction, a: index, b: other });
            }
            Err(reason) => found.unmatched.push(format!("{series}: {reason}")),
        }
    }
    let left = b.series.iter().enumerate().filter(|(index, _)| !taken.contains(index));
    found.unmatched.extend(left.map(|(_, series)| format!("{series}: on the second side only")));
    found
}

fn names(dataset: &Dataset) -> BTreeSet<&str> {
    dataset.series.iter().map(|series| series.name.as_str()).collect()
}

/// The pair's name and direction, or why it is none.
fn pair(a: &Series, b: &Series, direction: Option<Direction>) -> Result<(String, Direction), String> {
    if a.unit != b.unit {
        let word = |unit: &str| if unit.is_empty() { "unknown".to_owned() } else { format!("'{unit}'") };
        return Err(format!("the units differ: {} and {}", word(&a.unit), word(&b.unit)));
    }
    let direction = match (a.direction, b.direction) {
        (Some(a), Some(b)) if a != b => return Err("the sides don't agree on which way is better".to_owned()),
        (a, b) => a.or(b).or(direction).ok_or("it isn't known which way is better")?,
    };
    usable(a, "first")?;
    usable(b, "second")?;
    let name = if a.name == b.name { a.name.clone() } else { format!("{} → {}", a.name, b.name) };
    let measure = a.measure.as_ref().map(|measure| format!(" {measure}")).unwrap_or_default();
    Ok((format!("{name}{measure}"), direction))
}

/// Refuses a series without values, or with one that no ratio can be made of.
fn usable(series: &Series, side: &str) -> Result<(), String> {
    let mut values = series.points.iter().flat_map(|point| point.measured.values()).peekable();
    if values.peek().is_none() {
        let why = first_failure(series).map_or_else(String::new, |failure| format!(" ({failure})"));
        return Err(format!("the {side} side has no value{why}"));
    }
    match values.find_map(|&value| no_ratio(value)) {
        Some(why) => Err(format!("the {side} side has {why}")),
        None => Ok(()),
    }
}

fn first_failure(series: &Series) -> Option<&str> {
    series.points.iter().find_map(|point| match &point.measured {
        Measured::Missing(text) => Some(text.as_str()),
        Measured::Values(_) | Measured::Summary(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::dataset::DataPoint;

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
        pairs(&Dataset::of(a), &Dataset::of(b), None)
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
        assert_eq!(found.unmatched, ["y×1: on the first side only", "z×1: on the second side only"]);
    }

    #[test]
    fn one_case_on_each_side_goes_together_by_tasks() {
        let found = of(vec![series("x", 1, "s"), series("x", 2, "s")], vec![series("y", 2, "s"), series("y", 4, "s")]);
        assert_eq!((places(&found), found.pairs[0].name.as_str()), (vec![(1, 0)], "x → y"));
        assert_eq!(found.unmatched, ["x×1: on the first side only", "y×4: on the second side only"]);
    }

    #[test]
    fn what_cannot_be_laid_side_by_side_is_told() {
        let reason = |b: Series| of(vec![series("x", 1, "s")], vec![b]).unmatched;
        assert_eq!(reason(series("x", 1, "")), ["x×1: the units differ: 's' and unknown"]);
        let other_way = Series { direction: Some(Direction::Higher), ..series("x", 1, "s") };
        assert_eq!(reason(other_way), ["x×1: the sides don't agree on which way is better"]);
        let zero = Series { points: vec![DataPoint::of(Measured::Values(vec![2.0, 0.0]))], ..series("x", 1, "s") };
        assert_eq!(reason(zero), ["x×1: the second side has the value 0: ratios need finite values above 0"]);
        let hung = Series { points: vec![DataPoint::of(Measured::Missing("hung".into()))], ..series("x", 1, "s") };
        assert_eq!(reason(hung), ["x×1: the second side has no value (hung)"]);
        let vast = Series { points: vec![DataPoint::of(Measured::Values(vec![1e308]))], ..series("x", 1, "s") };
        assert_eq!(reason(vast), ["x×1: the second side has the value 1e308: ratios need values from 1e-150 to 1e150"]);
    }

    #[test]
    fn a_direction_given_stands_in_for_one_unknown() {
        let blank = || Dataset::of(vec![Series { direction: None, ..series("x", 1, "s") }]);
        assert_eq!(pairs(&blank(), &blank(), None).unmatched, ["x×1: it isn't known which way is better"]);
        assert_eq!(pairs(&blank(), &blank(), Some(Direction::Higher)).pairs[0].direction, Direction::Higher);
        let known = Dataset::of(vec![series("x", 1, "s")]);
        assert_eq!(pairs(&blank(), &known, Some(Direction::Higher)).pairs[0].direction, Direction::Lower);
    }
}
