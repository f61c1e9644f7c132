//! A made-up run of workloads that the literature has figures about, and of one that it has none about. The figures are invented, fixed, and mean nothing.

use faultline_model::cell::{Case, TaskMode};
use faultline_model::direction::Direction;
use faultline_model::estimate::Estimate;
use faultline_model::record::{RunId, RunState};
use faultline_model::summary::{Curve, Point, Progress, RunSummary, SideFigure};
use faultline_model::time::UnixMillis;
use faultline_model::verdict::CurveVerdict;
use std::collections::BTreeMap;

/// A whole suite on eight CPUs.
pub fn typical() -> RunSummary {
    use Direction::{Higher, Lower};
    let curves = vec![
        curve("self_exec:static-distinct", ("exec/s", Higher), 0.01, &[5_712.4, 11_260.0, 22_105.0, 43_118.0]),
        curve("self_exec:dynamic-shared", ("exec/s", Higher), 0.01, &[1_510.0, 2_810.0, 4_702.0, 6_914.0]),
        curve("zero_fill:base", ("fault/s", Higher), 0.01, &[1_130_000.0, 2_102_000.0, 3_620_000.0, 5_810_000.0]),
        threads(curve(
            "zero_fill:base",
            ("fault/s", Higher),
            0.03,
            &[1_121_000.0, 1_312_000.0, 1_220_000.0, 905_000.0],
        )),
        curve("path_stat:shared-dir", ("stat/s", Higher), 0.16, &[2_400_000.0, 4_100_000.0, 7_010_000.0, 9_300_000.0]),
        curve("compile:small-c", ("compilation/s", Higher), 0.01, &[24.1, 47.0, 92.3, 176.5]),
        curve("tree_build:generated", ("s", Lower), 0.016, &[12.52, 6.61, 3.74, 2.481]),
        threads(curve("map_churn:private", ("map/s", Higher), 0.01, &[1_204_000.0, 998_000.0, 412_345.6])),
        unmeasured(curve("zero_fill:huge", ("fault/s", Higher), 0.01, &[1.0, 1.0])),
    ];
    RunSummary {
        format: RunSummary::FORMAT.into(),
        run: RunId(12),
        label: None,
        started: UnixMillis(1_795_252_714_123),
        state: RunState::Finished,
        machine: "Example CPU 9000".into(),
        progress: Progress::default(),
        curves,
        warnings: Vec::new(),
        lens: None,
    }
}

/// Processes, at 1, 2, 4… tasks; half the width of each interval as a share of its median.
fn curve(case: &str, (unit, direction): (&str, Direction), half_width: f64, values: &[f64]) -> Curve {
    let (workload, variant) = case.split_once(':').unwrap();
    let points = (0u32..).zip(values).map(|(index, &value)| Point {
        tasks: 1 << index,
        value: Some(around(value, half_width)),
        speedup: None,
        efficiency: None,
        system_share: None,
        shares: None,
        repeats: Vec::new(),
        intervals: 0,
        side: side(workload, value),
        counters: Vec::new(),
        failures: Vec::new(),
    });
    Curve {
        case: Case { workload: workload.into(), variant: variant.into(), mode: TaskMode::Process },
        operation: String::new(),
        text: String::new(),
        unit: unit.into(),
        direction,
        base_tasks: Some(1),
        points: points.collect(),
        verdict: CurveVerdict::NOT_MEASURED,
        notes: BTreeMap::new(),
    }
}

fn threads(mut curve: Curve) -> Curve {
    curve.case.mode = TaskMode::Thread;
    curve
}

fn unmeasured(mut curve: Curve) -> Curve {
    for point in &mut curve.points {
        (point.value, point.side) = (None, Vec::new());
    }
    curve
}

/// A figure beside the value: some in units that the literature uses too, some in others.
fn side(workload: &str, value: f64) -> Vec<SideFigure> {
    let (name, unit, figure) = match workload {
        "zero_fill" => ("bytes_per_second", "B/s", value * 4096.0),
        "compile" => ("processes", "process/s", value * 4.0),
        "tree_build" => ("user_s", "s", value * 0.9),
        _ => ("minor_faults_per_operation", "fault/operation", 1.03),
    };
    vec![SideFigure { name: name.into(), unit: unit.into(), direction: None, estimate: around(figure, 0.01) }]
}

/// A median of six with an interval of that relative half-width.
fn around(median: f64, half_width: f64) -> Estimate {
    Estimate { median, low: median * (1.0 - half_width), high: median * (1.0 + half_width), coverage: 0.96875, n: 6 }
}
