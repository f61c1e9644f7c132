//! Otava's files: values read from them, and our changes written as Otava's reports.

use crate::samples::{dataset, named, sample, values};
use faultline_exchange::{Files, read, read_changes, sniff, write_changes};
use faultline_record::dataset::{DataPoint, Measured, Series};
use faultline_record::direction::Direction::Higher;
use faultline_record::direction::Effect;
use faultline_record::time::UnixMillis;
use faultline_stats::changes::{Changes, Segment, SeriesChanges, SeriesPosition, Status, Step};

#[test]
fn otava_csv() {
    let dataset = dataset(named("otava-csv"), "series.csv");
    assert_eq!(dataset.series.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), ["zero_fill", "exec_ms"]);
    assert_eq!(values(&dataset, "zero_fill")[..2], [1017.71, 997.24]);
    let first = &dataset.series[1].points[0];
    assert_eq!((first.time, first.commit.as_deref()), (Some(UnixMillis(1_700_000_000_000)), Some("a6a3a4506513")));
}

#[test]
fn otava_json() {
    let files = sample(named("otava-json"), "changes.json");
    let changes = read_changes(&files, named("otava-json")).unwrap();
    assert_eq!(changes.len(), 2);
    let change = &changes[0];
    assert_eq!((change.name.as_str(), change.measure.as_deref()), ("local.series", Some("zero_fill")));
    assert_eq!((change.position, change.commit.as_deref()), (25, Some("bd628881ad1b")));
    assert_eq!(change.time, Some(UnixMillis(1_702_160_000_000)));
    assert_eq!((change.before, change.after), (Some(999.6304), Some(1099.364571)));
    assert_eq!(read(&files, None).unwrap_err().to_string(), "changes.json: a report of changes, which holds no values");
}

/// A series of these runs, with a step between its second and third place.
fn with_a_step(points: Vec<DataPoint>, places: [SeriesPosition; 4]) -> (Series, SeriesChanges) {
    let series = Series {
        name: "zero_fill".to_owned(),
        tasks: Some(2),
        measure: None,
        unit: "fault/s".to_owned(),
        direction: Some(Higher),
        points,
    };
    let segment = |first: usize, last: usize, level| {
        let (first, last) = (places[first].position, places[last].position);
        Segment { first, last, points: 2, level, drift: None }
    };
    let step = Step {
        after: places[1].position,
        by: places[2].position,
        earliest: places[0].position,
        latest: places[2].position,
        from: 11.0,
        to: 22.0,
        effect: Effect::Better,
        status: Status::Provisional,
        gain: 30.0,
    };
    let changes = Changes {
        format: Changes::FORMAT.to_owned(),
        false_alarms: 0.05,
        false_confirmations: 0.001,
        least_change: 0.0,
        smaller: 0,
        detectable: None,
        cautions: vec![],
        segments: vec![segment(0, 1, 11.0), segment(2, 3, 21.0)],
        steps: vec![step],
    };
    let (name, unit, direction) = (series.to_string(), series.unit.clone(), series.direction);
    let found = SeriesChanges { index: 0, name, unit, direction, missing: 0, places: places.into(), changes };
    (series, found)
}

/// A run of a commit with three intervals, at a day if given.
fn run(commit: Option<&str>, day: Option<i64>, value: f64) -> DataPoint {
    DataPoint {
        commit: commit.map(str::to_owned),
        time: day.map(|day| UnixMillis(1_700_000_000_000 + day * DAY_MS)),
        ..DataPoint::of(Measured::Values(vec![value, value - 1.0, value + 7.0]))
    }
}

const DAY_MS: i64 = 86_400_000;

#[test]
fn our_changes_as_otava_json() {
    // The latest run comes first; one run failed; the commit with the step has two.
    let failed = DataPoint { measured: Measured::Missing("hung".to_owned()), ..run(Some("c0"), Some(0), 0.0) };
    let points = vec![
        run(Some("c3"), Some(3), 22.0),
        failed,
        run(Some("c0"), Some(0), 10.0),
        run(Some("c1"), Some(1), 12.0),
        run(Some("c2"), Some(2), 20.0),
        run(Some("c2"), Some(2), 21.0),
    ];
    let place = |day: i64| SeriesPosition {
        position: (day * DAY_MS) as u64,
        commit: Some(format!("c{day}")),
        time: run(None, Some(day), 0.0).time,
    };
    let (series, found) = with_a_step(points, [0, 1, 2, 3].map(place));
    let written = write_changes(&[(&series, &found)], named("otava-json")).unwrap();
    assert_eq!(written.losses[1..], ["the ranges in which steps lie (1)", "that steps are provisional (1)"]);
    assert!(written.text.contains("\"forward_change_percent\": \"100\""), "{}", written.text);
    let files = Files::one("changes.json", written.text.into_bytes());
    assert_eq!(sniff(&files), Some(named("otava-json")));
    let read = read_changes(&files, named("otava-json")).unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!((read[0].name.as_str(), &read[0].measure, read[0].position), ("zero_fill×2", &None, 2));
    assert_eq!((read[0].before, read[0].after, read[0].p), (Some(11.0), Some(22.0), None));
    assert_eq!((read[0].deviation_before, read[0].deviation_after), (Some(2f64.sqrt()), Some(1.0)));
    assert_eq!((read[0].commit.as_deref(), read[0].time), (Some("c2"), Some(UnixMillis(1_700_172_800_000))));
    let mut found = found;
    found.changes.steps[0].earliest = found.changes.steps[0].after;
    assert_eq!(
        write_changes(&[(&series, &found)], named("otava-json")).unwrap().losses.len(),
        2,
        "no place lies inside"
    );
}

#[test]
fn our_changes_without_times_as_otava_json() {
    // Consecutive runs of a commit share a position; a run without a commit has its own.
    let commits = [Some("a"), Some("a"), None, None, Some("b")];
    let runs = commits.into_iter().zip([10.0, 10.0, 12.0, 20.0, 22.0]);
    let points = runs.map(|(commit, value)| run(commit, None, value)).collect();
    let place = |position: usize, commit: Option<&str>| SeriesPosition {
        position: position as u64,
        commit: commit.map(str::to_owned),
        time: None,
    };
    let places = [place(0, Some("a")), place(1, None), place(2, None), place(3, Some("b"))];
    let (series, found) = with_a_step(points, places);
    let text = write_changes(&[(&series, &found)], named("otava-json")).unwrap().text;
    let read = read_changes(&Files::one("a", text.into_bytes()), named("otava-json")).unwrap();
    assert_eq!((read[0].position, &read[0].commit, read[0].time), (3, &None, None));
    assert_eq!(read[0].deviation_after, Some(2f64.sqrt()));
}
