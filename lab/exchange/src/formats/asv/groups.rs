//! Finds series that are one benchmark in asv: `name(p1)` and `name(p2)` are `name` with a parameter.
//!
//! asv's benchmark is the part of a name before the first bracket. The contents of the brackets are written as one
//! parameter, even if there were several, so that reading it returns the same name.

use super::VERSION_KEY;
use faultline_model::dataset::Series;
use std::collections::{HashMap, HashSet};

/// The most series that are combined: asv shows all combinations on one page.
const MOST: usize = 1000;

/// Benchmarks that have parameters.
#[derive(Debug, Default)]
pub(super) struct Groups(HashSet<String>);

impl Groups {
    /// Finds the benchmarks among these series. All series of a benchmark have one unit, and no series without brackets has the same name.
    pub(super) fn of(series: &[Series]) -> Self {
        let plain: HashSet<&str> =
            series.iter().map(|series| series.name.as_str()).filter(|name| parts(name).is_none()).collect();
        let mut members: HashMap<&str, Vec<&Series>> = HashMap::new();
        for series in series {
            if let Some((benchmark, _)) = parts(&series.name) {
                members.entry(benchmark).or_default().push(series);
            }
        }
        let together = |benchmark: &str, members: &[&Series]| {
            benchmark != VERSION_KEY
                && !plain.contains(benchmark)
                && members.len() <= MOST
                && members.iter().all(|series| series.unit == members[0].unit && series.name.len() <= MOST)
        };
        let kept = members.into_iter().filter(|(benchmark, members)| together(benchmark, members));
        Groups(kept.map(|(benchmark, _)| benchmark.to_owned()).collect())
    }

    /// The benchmark of a series, and its parameter.
    pub(super) fn split<'a>(&self, name: &'a str) -> (&'a str, Option<&'a str>) {
        match parts(name) {
            Some((benchmark, parameter)) if self.0.contains(benchmark) => (benchmark, Some(parameter)),
            _ => (name, None),
        }
    }
}

fn parts(name: &str) -> Option<(&str, &str)> {
    let (benchmark, rest) = name.split_once('(')?;
    let parameter = rest.strip_suffix(')')?;
    (!benchmark.is_empty()).then_some((benchmark, parameter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, unit: &str) -> Series {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Series { name, tasks: None, measure: None, unit, direction: None, points: vec![] }
    }

    #[test]
    fn what_stands_in_brackets_is_the_parameter() {
        let groups =
            Groups::of(&["a(1, 'x')", "a(2, (3))", "b(1)", "b", "version(1)", "(1)"].map(|name| series(name, "s")));
        assert_eq!(groups.split("a(1, 'x')"), ("a", Some("1, 'x'")));
        assert_eq!(groups.split("a(2, (3))"), ("a", Some("2, (3)")));
        for name in ["b(1)", "b", "version(1)", "(1)", "a"] {
            assert_eq!(groups.split(name), (name, None));
        }
        let groups = Groups::of(&[series("a(1)", "s"), series("a(2)", "ms")]);
        assert_eq!(groups.split("a(1)"), ("a(1)", None));
    }
}
