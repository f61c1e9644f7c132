//! Agreement of steps with people's annotations: the Turing Change Point Dataset (van den Burg and
//! Williams, arXiv 2003.06222).
//!
//! The series are not part of this repository. `FAULTLINE_TCPD` names a directory that contains, at
//! any depth, `annotations.json` and the series' JSON files, such as a clone of the data set's
//! repository. Run with `cargo test -- --ignored`; fails without the data.

use faultline_record::direction::Direction;
use faultline_stats::changes::{Observation, Settings, changes};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum distance of a step from an annotation, in points.
const MARGIN: usize = 5;

/// The annotations of each person.
type Marks = Vec<BTreeSet<usize>>;

fn json_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            json_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

fn marks(annotations: &Value, name: &str) -> Option<Marks> {
    let people = annotations.get(name)?.as_object()?;
    let places =
        |marked: &Value| Some(marked.as_array()?.iter().filter_map(|place| Some(place.as_u64()? as usize)).collect());
    people.values().map(places).collect()
}

/// The values of a one-dimensional series; `None` for missing ones.
fn values(series: &Value) -> Option<Vec<Option<f64>>> {
    let [one] = series.get("series")?.as_array()?.as_slice() else { return None };
    Some(one.get("raw")?.as_array()?.iter().map(Value::as_f64).collect())
}

fn found(values: &[Option<f64>]) -> BTreeSet<usize> {
    let at = |(i, value): (usize, &Option<f64>)| Some(Observation { position: i as u64, value: (*value)? });
    let observations: Vec<Observation> = values.iter().enumerate().filter_map(at).collect();
    let steps =
        changes(&observations, &Settings::new(Direction::Higher)).map_or_else(|_| Vec::new(), |found| found.steps);
    steps.iter().map(|step| step.by as usize).collect()
}

/// Annotations with a step near them, each step counted once.
fn hits(marks: &BTreeSet<usize>, steps: &BTreeSet<usize>) -> f64 {
    let mut left = steps.clone();
    let mut hit = |mark: &&usize| {
        let nearest = left
            .iter()
            .filter(|step| step.abs_diff(**mark) <= MARGIN)
            .min_by_key(|step| step.abs_diff(**mark))
            .copied();
        nearest.is_some_and(|nearest| left.remove(&nearest))
    };
    marks.iter().filter(|mark| hit(mark)).count() as f64
}

/// F1 as defined by the data set's authors: precision against all annotations together, recall
/// against each person's, with the beginning counted as an annotation.
fn f1(people: &Marks, steps: &BTreeSet<usize>) -> f64 {
    let begun = |places: &BTreeSet<usize>| places.iter().copied().chain([0]).collect::<BTreeSet<usize>>();
    let steps = begun(steps);
    let people: Marks = people.iter().map(begun).collect();
    let all: BTreeSet<usize> = people.iter().flatten().copied().collect();
    let precision = hits(&all, &steps) / steps.len() as f64;
    let recall = people.iter().map(|marks| hits(marks, &steps) / marks.len() as f64).sum::<f64>() / people.len() as f64;
    2.0 * precision * recall / (precision + recall)
}

/// Covering as defined by the authors: how well found segments match each person's segments,
/// weighted by length.
fn cover(people: &Marks, steps: &BTreeSet<usize>, points: usize) -> f64 {
    let segments = |places: &BTreeSet<usize>| {
        let mut bounds: Vec<usize> = places.iter().copied().filter(|place| (1..points).contains(place)).collect();
        bounds.insert(0, 0);
        bounds.push(points);
        bounds.windows(2).map(|bounds| (bounds[0], bounds[1])).collect::<Vec<_>>()
    };
    let ours = segments(steps);
    let likeness = |(from, to): (usize, usize), other: &(usize, usize)| {
        let common = to.min(other.1).saturating_sub(from.max(other.0));
        common as f64 / (to.max(other.1) - from.min(other.0)) as f64
    };
    let of_person = |marks: &BTreeSet<usize>| {
        let best = |theirs: (usize, usize)| ours.iter().map(|ours| likeness(theirs, ours)).fold(0.0, f64::max);
        segments(marks).into_iter().map(|theirs| (theirs.1 - theirs.0) as f64 * best(theirs)).sum::<f64>()
            / points as f64
    };
    people.iter().map(of_person).sum::<f64>() / people.len() as f64
}

#[test]
fn scores_are_those_of_a_worked_example() {
    let people = vec![BTreeSet::from([50]), BTreeSet::new()];
    let none = BTreeSet::new();
    assert!((f1(&people, &none) - 6.0 / 7.0).abs() < 1e-12 && (cover(&people, &none, 100) - 0.75).abs() < 1e-12);
    assert!((f1(&people, &BTreeSet::from([54])) - 1.0).abs() < 1e-12);
    assert!((cover(&people, &BTreeSet::from([50]), 100) - 0.75).abs() < 1e-12);
}

#[test]
#[ignore = "needs the Turing Change Point Dataset, which FAULTLINE_TCPD names"]
fn steps_are_where_people_mark_them() {
    let directory = std::env::var_os("FAULTLINE_TCPD").map(PathBuf::from);
    let directory = directory.expect("FAULTLINE_TCPD names a directory with the Turing Change Point Dataset");
    let mut files = Vec::new();
    json_files(&directory, &mut files);
    let annotations = files.iter().find(|path| path.ends_with("annotations.json")).and_then(|path| read(path));
    let annotations = annotations.expect("the directory holds annotations.json");
    let mut scores = BTreeMap::new();
    for path in &files {
        let Some(series) = read(path) else { continue };
        let Some((name, values)) = series.get("name").and_then(Value::as_str).zip(values(&series)) else { continue };
        let Some(people) = marks(&annotations, name) else { continue };
        let steps = found(&values);
        let none = BTreeSet::new();
        let of = |steps: &BTreeSet<usize>| [f1(&people, steps), cover(&people, steps, values.len())];
        let ([f1, cover], [f1_of_none, cover_of_none]) = (of(&steps), of(&none));
        println!("{name}: F1 {f1:.3}, cover {cover:.3}, {steps:?}");
        scores.insert(name.to_owned(), [f1, cover, f1_of_none, cover_of_none]);
    }
    let count = scores.len() as f64;
    let [f1, cover, f1_of_none, cover_of_none]: [f64; 4] =
        std::array::from_fn(|i| scores.values().map(|scores: &[f64; 4]| scores[i]).sum::<f64>() / count);
    println!(
        "{count} series: F1 {f1:.3}, cover {cover:.3}; without any step F1 {f1_of_none:.3}, cover {cover_of_none:.3}"
    );
    assert!(count >= 30.0 && f1 >= 0.76 && cover >= 0.67, "{count} series: F1 {f1}, cover {cover}");
}
