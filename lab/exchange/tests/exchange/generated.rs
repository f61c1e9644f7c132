//! Generated datasets of all kinds.

use faultline_record::dataset::{DataPoint, Dataset, Measured, Series, Summed};
use faultline_record::direction::Direction;
use faultline_record::facts::{FactValue, Facts};
use faultline_record::time::UnixMillis;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use std::collections::HashSet;

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z_]{1,6}",
        1 => "[A-Za-z/ .:×,(){}\"'=#@-]{0,8}",
        1 => "[a-zA-Z]{1,3}-[0-9]{1,11}",
        1 => "\\PC{0,6}",
        1 => any::<String>(),
        2 => "[ab]\\([12], [12]\\)",
        1 => Just("version".to_owned()),
        1 => Just("time".to_owned()),
        1 => Just("commit ".to_owned()),
        1 => Just("stats_source".to_owned()),
        1 => Just("new/new".to_owned()),
    ]
}

fn measure() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        5 => Just(None),
        3 => prop::sample::select(vec!["processes", "processes_idle", "threads", "threads_idle", "user", "system", "memory"])
            .prop_map(|name| Some(name.to_owned())),
        2 => prop::sample::select(vec!["B/op", "MB/s", "latency", "Throughput", "unknown", "ns/op", ""])
            .prop_map(|name| Some(name.to_owned())),
        2 => word().prop_map(Some),
    ]
}

fn unit() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec!["s", "ns", "ns/op", "fault/s", "ops/s", "%", "B", "", "seconds"]).prop_map(str::to_owned),
        1 => word(),
    ]
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..1e9,
        2 => (0u32..1000).prop_map(f64::from),
        1 => prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL,
        1 => Just(-1.0),
    ]
}

fn measured() -> impl Strategy<Value = Measured> {
    let summed = (value(), option::of(value()), option::of(value()), option::of(value()), option::of(any::<u32>()))
        .prop_map(|(value, low, high, deviation, n)| Measured::Summary(Summed { value, low, high, deviation, n }));
    let why = prop_oneof![
        Just("failed".to_owned()),
        Just("skipped".to_owned()),
        Just("NOEXIT  Command failed".to_owned()),
        any::<String>()
    ];
    prop_oneof![
        6 => vec(value(), 1..5).prop_map(Measured::Values),
        1 => summed,
        1 => why.prop_map(Measured::Missing),
    ]
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => (1_700_000_000i64..1_700_000_009).prop_map(|seconds| seconds * 1000),
        2 => 1_700_000_000_000i64..1_700_000_009_000,
        1 => Just(0),
        1 => any::<i64>(),
    ]
}

/// `known`: every run has a commit and a time.
fn point(known: bool) -> impl Strategy<Value = DataPoint> {
    let present = if known { 0.999 } else { 0.6 };
    let commit = prop_oneof![
        9 => prop::sample::select(vec!["c0ffee00", "c0ffee01", "deadbeef", "c0ffee00aa"]).prop_map(str::to_owned),
        1 => word(),
    ];
    let boot = prop_oneof![Just("1".to_owned()), Just("1700000000/1700000003".to_owned()), word()];
    let time = if known { (1_700_000_000_000i64..1_700_000_009_000).boxed() } else { time().boxed() };
    (
        option::weighted(present, commit),
        option::weighted(present, time),
        option::weighted(0.2, boot),
        option::weighted(0.2, any::<u64>()),
        measured(),
    )
        .prop_map(|(commit, time, boot, order, measured)| DataPoint {
            commit,
            time: time.map(UnixMillis),
            boot,
            order,
            measured,
        })
}

fn series(known: bool) -> impl Strategy<Value = Series> {
    let direction = option::of(prop_oneof![Just(Direction::Higher), Just(Direction::Lower)]);
    let tasks = option::of(prop_oneof![5 => 0u32..5, 1 => any::<u32>()]);
    (word(), tasks, measure(), unit(), direction, vec(point(known), 0..6)).prop_map(
        |(name, tasks, measure, unit, direction, mut points)| {
            if TIMES.contains(&unit.as_str()) {
                points.iter_mut().for_each(not_below_zero);
            }
            Series { name, tasks, measure, unit, direction, points }
        },
    )
}

/// The generated units of time.
const TIMES: [&str; 4] = ["s", "ns", "ns/op", "seconds"];

/// Removes negative times, which every format refuses.
fn not_below_zero(point: &mut DataPoint) {
    match &mut point.measured {
        Measured::Values(values) => values.iter_mut().for_each(|value| *value = value.abs()),
        Measured::Summary(summed) => summed.value = summed.value.abs(),
        Measured::Missing(_) | Measured::Failed(_) => {}
    }
}

fn facts() -> impl Strategy<Value = Facts> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "host.name",
            "cpu.model",
            "cpu.logical",
            "asv.os",
            "asv.python",
            "asv.environment",
            "go.goos",
            "go.pkg"
        ])
        .prop_map(str::to_owned),
        word(),
    ];
    let value = prop_oneof![
        any::<bool>().prop_map(FactValue::Flag),
        any::<i64>().prop_map(FactValue::Count),
        value().prop_map(FactValue::Real),
        word().prop_map(FactValue::Text),
        Just(FactValue::Text("unknown".to_owned())),
    ];
    btree_map(key, value, 0..4).prop_map(Facts)
}

fn of(known: bool) -> impl Strategy<Value = Dataset> {
    (facts(), vec(series(known), 0..7)).prop_map(|(facts, mut series)| {
        let mut seen = HashSet::new();
        series.retain(|series| seen.insert((series.name.clone(), series.tasks, series.measure.clone())));
        Dataset { facts, ..Dataset::of(series) }
    })
}

/// Any valid dataset.
pub fn datasets() -> impl Strategy<Value = Dataset> {
    prop_oneof![of(false), of(true)]
}
