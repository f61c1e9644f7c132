//! The losses that each format reports for one dataset.

use crate::samples::named;
use faultline_exchange::{FORMATS, Format, write};
use faultline_record::dataset::{DataPoint, Dataset, Measured, Series, Summed};
use faultline_record::direction::Direction;
use faultline_record::time::UnixMillis;

/// Two commits with two boots each, of one of Faultline's workloads.
fn history() -> Dataset {
    let points = (0..4u32).map(|run| DataPoint {
        commit: Some(format!("c{}", run / 2)),
        time: Some(UnixMillis(1_700_000_000_000 + i64::from(run / 2) * 86_400_000)),
        boot: Some(run.to_string()),
        order: Some(u64::from(run)),
        measured: Measured::Values(vec![f64::from(run), f64::from(run) + 0.5]),
    });
    let mut dataset = Dataset::of(vec![Series {
        name: "zero_fill:base".to_owned(),
        tasks: Some(2),
        measure: None,
        unit: "fault/s".to_owned(),
        direction: Some(Direction::Higher),
        points: points.collect(),
    }]);
    dataset.facts.text("host.name", "bench-1");
    dataset
}

/// The losses, or the reason for refusal.
fn losses(format: Format) -> Vec<String> {
    write(&history(), format).map_or_else(|error| vec![error.problem], |written| written.losses)
}

#[test]
fn our_own_format_loses_nothing() {
    assert_eq!(losses(named("faultline")), [] as [&str; 0]);
}

#[test]
fn formats_for_a_history_keep_it() {
    assert_eq!(
        losses(named("openbsd-data")),
        [
            "commits (4 runs)",
            "which boot a run was of (4 runs)",
            "the order in which runs were made (4 runs)",
            "numbers of tasks, which go into names (1 benchmark)",
        ]
    );
    assert_eq!(
        losses(named("asv")),
        [
            "which boot a run was of (4 runs)",
            "numbers of tasks, which go into names (1 benchmark)",
            "which values of a commit were of one run (2 runs more)",
        ]
    );
    assert_eq!(
        losses(named("otava-csv")),
        [
            "facts about the machine (1)",
            "which boot a run was of (4 runs)",
            "the order in which runs were made (4 runs)",
            "the intervals of runs: their median is kept (4 runs)",
            "numbers of tasks, which go into names (1 benchmark)",
            "units as they were (1 benchmark)",
            "which direction is better (1 benchmark)",
        ]
    );
    assert_eq!(
        losses(named("go-bench")),
        [
            "facts about the machine (1)",
            "which boot a run was of (4 runs)",
            "the order in which runs were made (4 runs)",
            "the intervals of runs: their median is kept (4 runs)",
            "names as they were (1 benchmark)",
            "names of measures as they were (1 benchmark)",
        ]
    );
}

#[test]
fn formats_for_one_moment_say_that_history_goes() {
    let commits_and_boots = [
        "facts about the machine (1)",
        "commits (4 runs)",
        "times (4 runs)",
        "which boot a run was of (4 runs)",
        "the order in which runs were made (4 runs)",
    ];
    for (format, others) in [
        (
            named("will-it-scale"),
            vec![
                "names of measures as they were (1 benchmark)",
                "the intervals of runs: their median is kept (4 runs)",
                "units as they were (1 benchmark)",
            ],
        ),
        (named("openbsd-result"), vec!["numbers of tasks, which go into names (1 benchmark)"]),
        (
            named("lkp"),
            vec![
                "the intervals of runs: their median is kept (4 runs)",
                "numbers of tasks, which go into names (1 benchmark)",
                "units as they were (1 benchmark)",
                "which direction is better (1 benchmark)",
            ],
        ),
    ] {
        assert_eq!(losses(format), [&commits_and_boots[..], &others].concat(), "{format}");
    }
}

#[test]
fn what_has_no_intervals_gets_the_values_of_runs() {
    for format in [named("otava-csv"), named("go-bench"), named("will-it-scale"), named("lkp")] {
        let held = write(&history(), format).unwrap().held;
        let runs: Vec<_> = held.series[0].points.iter().map(|point| point.measured.values()).collect();
        assert_eq!(runs, [[0.25], [1.25], [2.25], [3.25]], "{format}");
    }
}

#[test]
fn bencher_keeps_a_figure_of_what_was_measured_last() {
    let written = write(&history(), named("bencher")).unwrap();
    let history = "history: only the last measurement is kept (2 runs left out)";
    assert!(written.losses.iter().any(|loss| loss == history), "{:?}", written.losses);
    let last = Summed { value: 2.75, low: Some(2.0), high: Some(3.5), deviation: None, n: None };
    assert_eq!(written.held.series[0].points[0].measured, Measured::Summary(last));
}

#[test]
fn what_has_no_place_is_refused_with_the_reason() {
    assert_eq!(
        losses(named("hyperfine")),
        [
            "no benchmark that hyperfine can hold; there are measures other than a command's times in seconds, user, system \
          and memory (1 benchmark)"
        ]
    );
    assert_eq!(
        losses(named("criterion")),
        ["no benchmark that criterion can hold; there are benchmarks that are not in nanoseconds (1 benchmark)"]
    );
    assert_eq!(losses(named("otava-json")), ["otava-json holds changes, not values"]);
}

#[test]
fn a_dataset_that_none_can_hold_is_refused() {
    let mut dataset = history();
    dataset.series.push(dataset.series[0].clone());
    assert_eq!(write(&dataset, named("lkp")).unwrap_err().problem, "the dataset has two benchmarks 'zero_fill:base×2'");
    let mut dataset = history();
    dataset.series[0].points[0].measured = Measured::Values(vec![f64::NAN]);
    assert!(write(&dataset, named("faultline")).unwrap_err().problem.contains("not a finite number"));
    dataset.series[0].points[0].measured = Measured::Values(vec![]);
    assert!(write(&dataset, named("faultline")).unwrap_err().problem.contains("no value"));
    for format in FORMATS.iter().copied().filter(|format| *format != named("faultline")) {
        let error = write(&Dataset::of(vec![]), format).unwrap_err();
        assert!(!error.problem.is_empty() && !error.hint.is_empty());
    }
}

#[test]
fn a_format_that_needs_more_says_so() {
    let mut dataset = history();
    dataset.series[0].points[0].time = None;
    assert!(write(&dataset, named("otava-csv")).unwrap_err().problem.contains("needs the time of each run"));
    assert!(write(&dataset, named("asv")).unwrap_err().problem.contains("by commit and the commit's time"));
    dataset.series[0].tasks = None;
    assert!(write(&dataset, named("will-it-scale")).unwrap_err().problem.contains("without a number of tasks"));
    assert!(write(&dataset, named("criterion")).unwrap_err().problem.contains("not in nanoseconds"));
}
