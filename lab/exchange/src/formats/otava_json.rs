//! Otava's report of changes (`otava analyze --output json`): per test, the times at which metrics
//! changed, with the means before and after.
//!
//! Otava writes numbers as text: changes rounded to whole percents, others to six decimals.
//! Faultline writes unrounded levels and no p-value, because it compares a step's gain with a
//! penalty instead. An index counts a series' runs with a value, by time, like the rows of
//! `otava-csv`.
//!
//! Samples: apache-otava 0.8.0; `otava analyze local.series --since 2023-01-01 --output json` on
//! `otava-csv/series.csv`.

use crate::error::ReadError;
use crate::files::File;
use crate::format::{Content, FormatDescriptor, WrittenChanges};
use crate::json::{self, Members};
use crate::recognition::FormatMatch;
use crate::values;
use faultline_record::dataset::{DataPoint, ReportedChange, Series};
use faultline_record::time::UnixMillis;
use faultline_stats::changes::{Segment, SeriesChanges, SeriesPosition, Status, Step};
use serde::de::{Deserializer, Error, Unexpected};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::collections::{BTreeMap, HashMap};

pub(crate) static FORMAT: FormatDescriptor = FormatDescriptor {
    name: "otava-json",
    description: "Otava's report of changes (otava analyze)",
    reads: "changes: position, commit, time, means, deviations, p-value",
    writes: "Faultline's steps with levels and deviations; not p-values, ranges of steps, provisional status",
    is_directory: false,
    recognise: |glance| FormatMatch::Shape.when(glance.json_has(&["forward_change_percent"])),
    content: Content::Changes {
        read,
        write,
        instead: "find changes first, or write `otava-csv`, from which Otava finds them",
    },
};

#[derive(Serialize, Deserialize)]
struct Group {
    /// Seconds since 1970.
    time: Option<Number>,
    #[serde(default)]
    attributes: Members<Option<String>>,
    changes: Vec<Change>,
}

#[derive(Serialize, Deserialize)]
struct Change {
    metric: String,
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Number>,
    #[serde(deserialize_with = "figure")]
    forward_change_percent: String,
    #[serde(deserialize_with = "figure")]
    magnitude: String,
    #[serde(deserialize_with = "figure")]
    mean_before: String,
    #[serde(default, deserialize_with = "figure_or_none", skip_serializing_if = "Option::is_none")]
    stddev_before: Option<String>,
    #[serde(deserialize_with = "figure")]
    mean_after: String,
    #[serde(default, deserialize_with = "figure_or_none", skip_serializing_if = "Option::is_none")]
    stddev_after: Option<String>,
    #[serde(default, deserialize_with = "figure_or_none", skip_serializing)]
    pvalue: Option<String>,
}

/// A number or its text; Otava writes numbers where it does not round.
fn figure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Figure {
        Text(String),
        Number(f64),
    }
    match Figure::deserialize(deserializer)? {
        Figure::Number(number) => Ok(number.to_string()),
        Figure::Text(text) if text.parse::<f64>().is_ok() => Ok(text),
        Figure::Text(text) => Err(D::Error::invalid_value(Unexpected::Str(&text), &"a number as text")),
    }
}

fn figure_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    figure(deserializer).map(Some)
}

fn read(file: File<'_>) -> Result<Vec<ReportedChange>, ReadError> {
    let tests: Members<Vec<Group>> = json::parse(file, "Otava's report of changes")?;
    let mut changes = Vec::new();
    for (test, groups) in tests.0 {
        for group in groups {
            let commit =
                group.attributes.0.iter().find(|(name, _)| name == "commit").and_then(|(_, hash)| hash.clone());
            let time = group.time;
            changes
                .extend(group.changes.into_iter().map(|change| reported(&test, commit.clone(), time.as_ref(), change)));
        }
    }
    Ok(changes)
}

fn reported(test: &str, commit: Option<String>, time: Option<&Number>, change: Change) -> ReportedChange {
    // Text that is not a finite number counts as missing.
    let number = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
    let optional = |text: &Option<String>| text.as_deref().and_then(number);
    let milliseconds = |seconds: &Number| Some(UnixMillis((seconds.as_f64()? * 1000.0) as i64));
    ReportedChange {
        name: test.to_owned(),
        measure: Some(change.metric).filter(|metric| metric != test),
        position: change.index,
        commit,
        time: time.or(change.time.as_ref()).and_then(milliseconds),
        before: number(&change.mean_before),
        after: number(&change.mean_after),
        deviation_before: optional(&change.stddev_before),
        deviation_after: optional(&change.stddev_after),
        p: optional(&change.pvalue),
    }
}

/// The position of a test's changes: time, index and commit.
type At = (Option<UnixMillis>, u64, Option<String>);

type Groups = BTreeMap<At, Vec<Change>>;

fn write(found: &[(&Series, &SeriesChanges)]) -> WrittenChanges {
    let mut tests: Vec<(String, Groups)> = Vec::new();
    let mut places = HashMap::new();
    let (mut ranges, mut provisional) = (0, 0);
    for (series, found) in found {
        let (test, metric) = test_and_metric(series);
        let place = *places.entry(test.clone()).or_insert_with(|| {
            tests.push((test, Groups::new()));
            tests.len() - 1
        });
        let runs = Runs::of(series, &found.places);
        for (step, sides) in found.changes.steps.iter().zip(found.changes.segments.windows(2)) {
            let index = runs.index(step.by);
            let at = runs.all.get(index);
            let key = (at.and_then(|run| run.time), index as u64, at.and_then(|run| run.commit.clone()));
            tests[place].1.entry(key).or_default().push(change(&runs, &metric, step, sides));
            let inside = |place: &SeriesPosition| step.earliest < place.position && place.position < step.latest;
            ranges += usize::from(found.places.iter().any(inside));
            provisional += usize::from(step.status == Status::Provisional);
        }
    }
    let mut losses = vec!["p-values, as steps are found by their gain against a penalty".to_owned()];
    if ranges > 0 {
        losses.push(format!("the ranges in which steps lie ({ranges})"));
    }
    if provisional > 0 {
        losses.push(format!("that steps are provisional ({provisional})"));
    }
    let tests = tests.into_iter().map(|(test, groups)| (test, groups.into_iter().map(group).collect())).collect();
    WrittenChanges { text: json::text(&Members::<Vec<Group>>(tests)), losses }
}

/// Otava's names of a series: its benchmark is the test, its measure the metric.
fn test_and_metric(series: &Series) -> (String, String) {
    let test = series.tasks.map_or_else(|| series.name.clone(), |tasks| format!("{}×{tasks}", series.name));
    let metric = series.measure.clone().unwrap_or_else(|| test.clone());
    (test, metric)
}

fn group(((time, index, commit), mut changes): (At, Vec<Change>)) -> Group {
    let time = time.map(seconds);
    for change in &mut changes {
        (change.index, change.time) = (index, time.clone());
    }
    let attributes = Members(commit.map(|commit| ("commit".to_owned(), Some(commit))).into_iter().collect());
    Group { time, attributes, changes }
}

/// Seconds since 1970, as an integer if possible, like Otava.
fn seconds(at: UnixMillis) -> Number {
    let fraction = || Number::from_f64(at.0 as f64 / 1000.0);
    if at.0 % 1000 == 0 { (at.0 / 1000).into() } else { fraction().unwrap_or_else(|| (at.0 / 1000).into()) }
}

fn change(runs: &Runs<'_>, metric: &str, step: &Step, sides: &[Segment]) -> Change {
    let ratio = step.to / step.from;
    Change {
        metric: metric.to_owned(),
        index: 0,
        time: None,
        forward_change_percent: number((ratio - 1.0) * 100.0),
        magnitude: number((ratio - 1.0).abs().max((1.0 / ratio - 1.0).abs())),
        mean_before: number(step.from),
        stddev_before: runs.deviation(sides.first()),
        mean_after: number(step.to),
        stddev_after: runs.deviation(sides.last()),
        pvalue: None,
    }
}

fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { "nan".to_owned() }
}

/// A series' runs with values: by time if all have times, otherwise in their order.
struct Runs<'a> {
    all: Vec<&'a DataPoint>,
    /// Each position with the index of its first run.
    firsts: Vec<(u64, usize)>,
}

impl<'a> Runs<'a> {
    fn of(series: &'a Series, places: &[SeriesPosition]) -> Self {
        let mut all: Vec<&DataPoint> = series.points.iter().filter(|run| !run.measured.values().is_empty()).collect();
        if all.iter().all(|run| run.time.is_some()) {
            all.sort_by_key(|run| run.time);
        }
        let mut places = places.iter().peekable();
        let mut begins = |run: &DataPoint| places.next_if(|place| place.commit == run.commit && place.time == run.time);
        let firsts = all.iter().zip(0..).filter_map(|(run, index)| Some((begins(run)?.position, index))).collect();
        Runs { all, firsts }
    }

    /// The first run at or after a position.
    fn index(&self, position: u64) -> usize {
        let place = self.firsts.partition_point(|(at, _)| *at < position);
        self.firsts.get(place).map_or(self.all.len(), |(_, index)| *index)
    }

    /// The standard deviation of a segment's runs.
    fn deviation(&self, segment: Option<&Segment>) -> Option<String> {
        let segment = segment?;
        let inside = self.all.get(self.index(segment.first)..self.index(segment.last.saturating_add(1)))?;
        let values: Vec<f64> = inside.iter().map(|run| values::median(run.measured.values())).collect();
        values::deviation(&values).map(number)
    }
}
