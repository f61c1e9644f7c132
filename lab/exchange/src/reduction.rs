//! Removes from a dataset, step by step, everything that a format cannot hold, and reports each
//! loss as text.
//!
//! The result equals the dataset that a reader of the written files gets. Each format lists its
//! steps.

use crate::error::WriteError;
use crate::values;
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series, Summed};
use faultline_record::direction::Direction;
use faultline_record::facts::FactValue;
use faultline_record::time::UnixMillis;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// The remaining dataset with the losses.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    pub(crate) dataset: Dataset,
    pub(crate) losses: Vec<String>,
    /// The losses that removed whole benchmarks.
    left_out: Vec<String>,
}

impl Reduction {
    pub(crate) fn of(dataset: &Dataset) -> Result<Self, WriteError> {
        match values::fault(dataset) {
            Some(fault) => Err(WriteError::new(
                format!("the dataset has {fault}"),
                "no format can hold this; make the dataset again from its source",
            )),
            None => Ok(Reduction { dataset: dataset.clone(), losses: Vec::new(), left_out: Vec::new() }),
        }
    }

    /// Ends the steps of `format`. Fails if no benchmark is left, or if two have the same identity.
    pub(crate) fn ready(self, format: &str) -> Result<Self, WriteError> {
        if self.dataset.series.is_empty() {
            let why = if self.left_out.is_empty() { "none".to_owned() } else { self.left_out.join("; ") };
            return Err(WriteError::new(
                format!("no benchmark that {format} can hold; there are {why}"),
                "`faultline` holds everything",
            ));
        }
        match values::fault(&self.dataset) {
            Some(fault) => Err(WriteError::new(
                format!("{format} cannot distinguish all benchmarks: it would have {fault}"),
                "write them one by one, or as `faultline`, which holds everything",
            )),
            None => Ok(self),
        }
    }

    fn lost(&mut self, n: usize, what: impl FnOnce(usize) -> String) {
        if n > 0 {
            self.losses.push(what(n));
        }
    }

    /// Applies a step to each point. The step returns true if it changed the point.
    fn each_point(mut self, step: impl Fn(&mut DataPoint) -> bool, what: &str) -> Self {
        let points = self.dataset.series.iter_mut().flat_map(|series| &mut series.points);
        let changed = points.map(step).filter(|changed| *changed).count();
        self.lost(changed, |n| format!("{what} ({n} {})", runs(n)));
        self
    }

    /// Applies a step to each benchmark. The step returns true if it changed the benchmark.
    pub(crate) fn each_series(mut self, step: impl Fn(&mut Series) -> bool, what: &str) -> Self {
        let changed = self.dataset.series.iter_mut().map(step).filter(|changed| *changed).count();
        self.lost(changed, |n| format!("{what} ({n} {})", benchmarks(n)));
        self
    }

    pub(crate) fn facts(mut self, kept: impl Fn(&str, &FactValue) -> bool) -> Self {
        let facts = &mut self.dataset.facts.0;
        let before = facts.len();
        facts.retain(|key, value| kept(key, value));
        let gone = before - facts.len();
        self.lost(gone, |n| format!("facts about the machine ({n})"));
        self
    }

    pub(crate) fn no_facts(self) -> Self {
        self.facts(|_, _| false)
    }

    pub(crate) fn no_commits(self) -> Self {
        self.each_point(|point| point.commit.take().is_some(), "commits")
    }

    pub(crate) fn commits(self, held: impl Fn(&str) -> Option<String>) -> Self {
        self.each_point(
            |point| {
                let after = point.commit.as_deref().and_then(&held);
                replace(&mut point.commit, after)
            },
            "commits as they were named",
        )
    }

    pub(crate) fn no_times(self) -> Self {
        self.each_point(|point| point.time.take().is_some(), "times")
    }

    pub(crate) fn times(self, kept: impl Fn(UnixMillis) -> bool) -> Self {
        self.each_point(
            |point| {
                let after = point.time.filter(|time| kept(*time));
                replace(&mut point.time, after)
            },
            "times beyond the calendar",
        )
    }

    /// Rounds times down to seconds; the first second of 1970 means no time.
    pub(crate) fn whole_seconds(self) -> Self {
        self.each_point(
            |point| {
                let before = point.time;
                let second = before.and_then(|at| at.0.checked_sub(at.0.rem_euclid(1000)));
                point.time = second.filter(|second| *second != 0).map(UnixMillis);
                point.time != before
            },
            "fractions of seconds in times",
        )
    }

    pub(crate) fn boots(self, kept: impl Fn(&DataPoint) -> bool) -> Self {
        self.each_point(
            |point| point.boot.is_some() && !kept(point) && point.boot.take().is_some(),
            "which boot a run was of",
        )
    }

    pub(crate) fn no_boots(self) -> Self {
        self.boots(|_| false)
    }

    pub(crate) fn no_order(self) -> Self {
        self.each_point(|point| point.order.take().is_some(), "the order in which runs were made")
    }

    /// Removes runs without a value from benchmarks that may not keep them.
    pub(crate) fn missing(mut self, kept: impl Fn(&Series) -> bool) -> Self {
        let mut gone = 0;
        for series in &mut self.dataset.series {
            if !kept(series) {
                let before = series.points.len();
                series.points.retain(|point| !point.measured.values().is_empty());
                gone += before - series.points.len();
            }
        }
        self.lost(gone, |n| format!("runs without a value ({n} {})", runs(n)));
        self
    }

    pub(crate) fn no_missing(self) -> Self {
        self.missing(|_| false)
    }

    pub(crate) fn reasons(self, held: impl Fn(&str) -> String) -> Self {
        self.each_point(
            |point| match &mut point.measured {
                Measured::Missing(why) => replace(why, held(why)),
                _ => false,
            },
            "why a run has no value",
        )
    }

    /// Replaces summaries by single values, except those to be kept.
    pub(crate) fn summaries(self, kept: impl Fn(&Summed) -> bool) -> Self {
        self.each_point(
            |point| match &point.measured {
                Measured::Summary(summed) if !kept(summed) => {
                    point.measured = Measured::Values(vec![summed.value]);
                    true
                }
                _ => false,
            },
            "that a figure summarises several values",
        )
    }

    pub(crate) fn no_summaries(self) -> Self {
        self.summaries(|_| false)
    }

    /// Removes parts of summaries; `what` names the parts.
    pub(crate) fn summed(self, held: impl Fn(Summed) -> Summed, what: &str) -> Self {
        self.each_point(
            |point| match &mut point.measured {
                Measured::Summary(summed) => {
                    let after = held(*summed);
                    std::mem::replace(summed, after) != after
                }
                _ => false,
            },
            what,
        )
    }

    /// Replaces the values of a run by the figure that the step returns, if any; `what` names the
    /// loss.
    pub(crate) fn figures(self, figure: impl Fn(&Measured) -> Option<Measured>, what: &str) -> Self {
        self.each_point(
            |point| match figure(&point.measured) {
                Some(figure) => replace(&mut point.measured, figure),
                None => false,
            },
            what,
        )
    }

    /// Replaces each run's intervals by their median: a format without intervals would read each
    /// interval as a run.
    pub(crate) fn medians(self) -> Self {
        self.figures(
            |measured| match measured {
                Measured::Values(values) if values.len() > 1 => Some(Measured::Values(vec![values::median(values)])),
                _ => None,
            },
            "the intervals of runs: their median is kept",
        )
    }

    /// Merges runs with equal keys into the first of them. Drops runs without a value if another
    /// has one.
    pub(crate) fn merged<K: Hash + Eq>(mut self, key: impl Fn(&DataPoint) -> K, what: &str) -> Self {
        let mut gone = 0;
        for series in &mut self.dataset.series {
            let before = series.points.len();
            let mut places = HashMap::new();
            let mut merged: Vec<DataPoint> = Vec::with_capacity(before);
            for point in series.points.drain(..) {
                match places.entry(key(&point)) {
                    Entry::Vacant(place) => {
                        place.insert(merged.len());
                        merged.push(point);
                    }
                    Entry::Occupied(place) => join(&mut merged[*place.get()].measured, point.measured),
                }
            }
            gone += before - merged.len();
            series.points = merged;
        }
        self.lost(gone, |n| format!("{what} ({n} {} more)", runs(n)));
        self
    }

    /// Keeps the runs of each benchmark with the commit and time of its last run.
    pub(crate) fn last_commit(mut self) -> Self {
        let mut gone = 0;
        for series in &mut self.dataset.series {
            let Some(last) = series.points.last() else {
                continue;
            };
            let (commit, time) = (last.commit.clone(), last.time);
            let before = series.points.len();
            series.points.retain(|point| point.commit == commit && point.time == time);
            gone += before - series.points.len();
        }
        self.lost(gone, |n| format!("history: only the last measurement is kept ({n} {} left out)", runs(n)));
        self
    }

    pub(crate) fn fold_tasks(self) -> Self {
        self.each_series(
            |series| match series.tasks.take() {
                Some(tasks) => {
                    series.name = format!("{}×{tasks}", series.name);
                    true
                }
                None => false,
            },
            "numbers of tasks, which go into names",
        )
    }

    pub(crate) fn fold_measures(self, between: char) -> Self {
        self.each_series(
            |series| match series.measure.take() {
                Some(measure) => {
                    series.name = format!("{}{between}{measure}", series.name);
                    true
                }
                None => false,
            },
            "measures, which go into names",
        )
    }

    pub(crate) fn names(self, held: impl Fn(&str) -> String) -> Self {
        self.each_series(
            |series| {
                let held = held(&series.name);
                replace(&mut series.name, held)
            },
            "names as they were",
        )
    }

    pub(crate) fn measures(self, held: impl Fn(&Series) -> Option<String>) -> Self {
        self.each_series(
            |series| {
                let held = held(series);
                replace(&mut series.measure, held)
            },
            "names of measures as they were",
        )
    }

    /// Changes the names and numbers of tasks of benchmarks.
    pub(crate) fn identities(self, held: impl Fn(&Series) -> (String, Option<u32>)) -> Self {
        self.each_series(
            |series| {
                let (name, tasks) = held(series);
                replace(&mut series.name, name) | replace(&mut series.tasks, tasks)
            },
            "names as they were",
        )
    }

    pub(crate) fn units(self, held: impl Fn(&Series) -> String) -> Self {
        self.each_series(
            |series| {
                let held = held(series);
                replace(&mut series.unit, held)
            },
            "units as they were",
        )
    }

    pub(crate) fn directions(self, held: impl Fn(&Series) -> Option<Direction>) -> Self {
        self.each_series(
            |series| {
                let held = held(series);
                replace(&mut series.direction, held)
            },
            "which direction is better",
        )
    }

    /// Removes benchmarks; `why` describes them.
    pub(crate) fn only(mut self, kept: impl Fn(&Series) -> bool, why: &str) -> Self {
        let before = self.dataset.series.len();
        self.dataset.series.retain(kept);
        let gone = before - self.dataset.series.len();
        if gone > 0 {
            let left_out = format!("{why} ({gone} {})", benchmarks(gone));
            self.left_out.push(left_out.clone());
            self.losses.push(left_out);
        }
        self
    }

    /// Removes benchmarks without runs.
    pub(crate) fn no_empty(self) -> Self {
        self.only(|series| !series.points.is_empty(), "benchmarks without a run")
    }

    /// Sorts benchmarks or their runs as the format requires.
    pub(crate) fn arranged(mut self, arrange: impl FnOnce(&mut Dataset)) -> Self {
        let before = self.dataset.series.clone();
        arrange(&mut self.dataset);
        if self.dataset.series != before {
            self.losses.push("the order of benchmarks or runs".to_owned());
        }
        self
    }
}

/// Replaces a value. Returns true if it differed.
fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}

fn join(into: &mut Measured, from: Measured) {
    match (&mut *into, from) {
        (_, Measured::Missing(_) | Measured::Failed(_)) => {}
        (Measured::Missing(_) | Measured::Failed(_), from) => *into = from,
        (Measured::Values(values), from) => values.extend(from.values()),
        (Measured::Summary(summed), from) => {
            let mut values = vec![summed.value];
            values.extend(from.values());
            *into = Measured::Values(values);
        }
    }
}

fn runs(n: usize) -> &'static str {
    if n == 1 { "run" } else { "runs" }
}

fn benchmarks(n: usize) -> &'static str {
    if n == 1 { "benchmark" } else { "benchmarks" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(points: Vec<Measured>) -> Dataset {
        Dataset::of(vec![Series {
            name: "a".to_owned(),
            tasks: Some(2),
            measure: None,
            unit: "s".to_owned(),
            direction: None,
            points: points.into_iter().map(DataPoint::of).collect(),
        }])
    }

    fn measured(reduction: &Reduction) -> Vec<Measured> {
        reduction.dataset.series[0].points.iter().map(|point| point.measured.clone()).collect()
    }

    #[test]
    fn a_step_without_loss_reports_nothing() {
        let reduction = Reduction::of(&dataset(vec![Measured::Values(vec![1.0])])).unwrap();
        let reduction = reduction.no_facts().no_commits().no_boots().no_missing().no_summaries().medians();
        assert!(reduction.losses.is_empty());
        assert_eq!(measured(&reduction), [Measured::Values(vec![1.0])]);
    }

    #[test]
    fn a_step_reports_its_loss() {
        let reduction =
            Reduction::of(&dataset(vec![Measured::Values(vec![1.0, 2.0]), Measured::Missing("hung".to_owned())]));
        let reduction = reduction.unwrap().medians().no_missing().fold_tasks();
        assert_eq!(
            reduction.losses,
            [
                "the intervals of runs: their median is kept (1 run)",
                "runs without a value (1 run)",
                "numbers of tasks, which go into names (1 benchmark)"
            ]
        );
        assert_eq!(reduction.dataset.series[0].name, "a×2");
        assert_eq!(measured(&reduction), [Measured::Values(vec![1.5])]);
    }

    #[test]
    fn merging_keeps_values_and_drops_failures() {
        let summed = Summed { value: 3.0, low: None, high: None, deviation: None, n: None };
        let runs = vec![
            Measured::Missing("hung".to_owned()),
            Measured::Summary(summed),
            Measured::Missing("hung".to_owned()),
            Measured::Values(vec![1.0, 2.0]),
        ];
        let reduction = Reduction::of(&dataset(runs)).unwrap().merged(|_| (), "runs");
        assert_eq!(measured(&reduction), [Measured::Values(vec![3.0, 1.0, 2.0])]);
        assert_eq!(reduction.losses, ["runs (3 runs more)"]);
    }

    #[test]
    fn benchmarks_that_become_one_are_refused() {
        let mut both = dataset(vec![Measured::Values(vec![1.0])]);
        both.series.push(Series { tasks: Some(3), ..both.series[0].clone() });
        let error = Reduction::of(&both).unwrap().names(|_| "b".to_owned()).ready("lkp");
        assert!(error.is_ok());
        let error = Reduction::of(&both).unwrap().identities(|_| ("b".to_owned(), None)).ready("lkp");
        assert_eq!(
            error.unwrap_err().problem,
            "lkp cannot distinguish all benchmarks: it would have two benchmarks 'b'"
        );
    }
}
