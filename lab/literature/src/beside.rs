//! One's own run and the literature's figures next to each other, workload by workload. Says whose figure is whose, and not which is better.

use super::improvement::{Improvement, Measured, improvements};
use super::raw::{Metric, SingleFigure, single_figures};
use super::words::mean;
use faultline_model::cell::{Case, TaskMode};
use faultline_model::summary::{Curve, Estimate, RunSummary};
use faultline_report::Format;
use faultline_report::Style;
use faultline_report::figure::{Scale, printed};
use faultline_report::grid::{Grid, Side, csv};
use faultline_report::json::json;
use faultline_report::one_line::one_line;
use faultline_report::style::{Signs, Tone, UNICODE};
use serde::Serialize;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-beside-published/1";

/// What stands above the figures.
const CAUTION: &str = "Other machines, kernels, compilers and programs: these figures stand side by side and are not comparable as they are.";

/// Workload, what its variant must contain, and the literature's tests that do the like.
type Kin = (&'static str, &'static str, &'static [&'static str]);

const KIN: [Kin; 9] = [
    ("self_exec", "static-distinct", &["self-exec-static-distinct"]),
    ("self_exec", "static-shared", &["self-exec-static-shared"]),
    ("self_exec", "dynamic-distinct", &["self-exec-dynamic-distinct"]),
    ("self_exec", "dynamic-shared", &["self-exec-dynamic-shared"]),
    ("zero_fill", "", &["zero-fill", "allocate-and-retire"]),
    ("fault_existing", "", &["fault-existing-page"]),
    ("path_stat", "distinct", &["path-stat-one-element"]),
    ("path_stat", "shared-dir", &["path-stat-two-elements-one-shared"]),
    ("compile", "", &["concurrent-compile"]),
];

/// The literature's builds: all of them are kin of `tree_build`.
const BUILDS: [&str; 5] = ["buildworld", "buildkernel", "native-kernel-build", "kernel-build", "libLLVM-build"];

/// A figure of one's own or of the literature.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    /// The curve that it stands beside: `self_exec:static-shared (processes)`.
    curve: String,
    /// `this run`, or the source's name.
    whose: String,
    /// The figure's name there: test, or side figure.
    test: String,
    /// Machine and release.
    machine: String,
    /// Number of tasks, where it is known.
    tasks: Option<u32>,
    /// Median of one's own repeats; mean, or the single figure, of the literature.
    figure: f64,
    unit: String,
    /// Interval of one's own, lowest and highest repeat of the literature.
    low: f64,
    high: f64,
    /// Probability with which one's own interval covers the true median.
    coverage: Option<f64>,
    /// Number of repeats, where the source says it.
    n: Option<u32>,
    note: String,
    /// In words, with unit.
    #[serde(skip)]
    words: String,
}

#[derive(Serialize)]
struct Beside {
    format: &'static str,
    caution: &'static str,
    rows: Vec<Row>,
}

/// Lays the run's curves beside the literature's figures for the like. The literature's figures are shown at the numbers of tasks that they were measured at. Workloads that the literature has
/// nothing about are left out.
pub fn beside(summary: &RunSummary, format: Format, style: &Style) -> String {
    let signs = if format == Format::Table { style.signs() } else { &UNICODE };
    let rows = rows(summary, signs);
    match format {
        Format::Json => json(&Beside { format: FORMAT, caution: CAUTION, rows }),
        Format::Csv => records(&rows),
        _ if rows.is_empty() => "The literature here has nothing beside this run's workloads.\n".to_owned(),
        Format::Markdown => format!("{CAUTION}\n\n{}", grid(&rows, true).markdown()),
        Format::Table => text(&rows, style),
    }
}

fn rows(summary: &RunSummary, signs: &Signs) -> Vec<Row> {
    let literature = (improvements(), single_figures());
    let mut rows = Vec::new();
    for curve in &summary.curves {
        let tests = kin(&curve.case);
        let mut theirs: Vec<Row> =
            literature.0.iter().filter(|c| fits(c, &tests)).flat_map(|c| of_comparison(curve, c, signs)).collect();
        let single = literature.1.iter().filter(|figure| tests.contains(&figure.test.as_str()));
        theirs.extend(single.map(|figure| of_single(curve, figure, signs)));
        if !theirs.is_empty() {
            rows.extend(own(curve, signs));
            rows.append(&mut theirs);
        }
    }
    rows
}

/// `zero_fill:base (threads)`.
fn name(curve: &Curve) -> String {
    let tasks = match curve.case.mode {
        TaskMode::Process => "processes",
        TaskMode::Thread => "threads",
    };
    format!("{} ({tasks})", one_line(&curve.case.to_string()))
}

/// The literature's tests that do the like of a case.
fn kin(case: &Case) -> Vec<&'static str> {
    if case.workload == "tree_build" {
        return BUILDS.to_vec();
    }
    let like = |kin: &&Kin| kin.0 == case.workload && (kin.1.is_empty() || kin.1 == case.variant);
    KIN.iter().filter(like).flat_map(|kin| kin.2.iter().copied()).collect()
}

/// Rates, bandwidths and builds' real times; the seconds of a zero-fill program say nothing without its amount of work.
fn fits(comparison: &Improvement, tests: &[&str]) -> bool {
    let test = comparison.subject.test.as_str();
    let metric = match comparison.metric {
        Metric::Rate | Metric::Bandwidth => true,
        Metric::Real => BUILDS.contains(&test),
        Metric::User | Metric::System => false,
    };
    metric && tests.contains(&test)
}

/// The run's own figures for a curve: its values, and side figures in units that the literature uses too.
fn own(curve: &Curve, signs: &Signs) -> Vec<Row> {
    let mut rows = Vec::new();
    for point in &curve.points {
        let side = point.side.iter().filter(|side| matches!(side.unit.as_str(), "B/s" | "process/s"));
        let value = point.value.iter().map(|value| (curve.case.to_string(), curve.unit.clone(), *value));
        let side = side.map(|side| (side.name.clone(), side.unit.clone(), side.estimate));
        for (test, unit, estimate) in value.chain(side) {
            rows.push(own_row(curve, point.tasks, test, unit, &estimate, signs));
        }
    }
    rows
}

fn own_row(curve: &Curve, tasks: u32, test: String, unit: String, estimate: &Estimate, signs: &Signs) -> Row {
    let scale = Scale::of(estimate.median, &unit, signs);
    let words = format!("{} ({})", scale.quantity(estimate.median), scale.span(estimate.low, estimate.high, signs));
    Row {
        curve: name(curve),
        whose: "this run".to_owned(),
        test,
        machine: String::new(),
        tasks: Some(tasks),
        figure: estimate.median,
        low: estimate.low,
        high: estimate.high,
        coverage: Some(estimate.coverage),
        n: Some(estimate.n),
        note: format!("median, interval of {:.1} %", estimate.coverage * 100.0),
        words,
        unit,
    }
}

fn of_comparison(curve: &Curve, comparison: &Improvement, signs: &Signs) -> Vec<Row> {
    let row = |side: &Measured| Row {
        curve: name(curve),
        whose: comparison.subject.source.to_owned(),
        test: comparison.subject.test.clone(),
        machine: format!("{}, {}", comparison.subject.machine, side.release),
        tasks: Some(comparison.subject.tasks),
        figure: side.mean,
        unit: comparison.unit.clone(),
        low: side.lowest,
        high: side.highest,
        coverage: None,
        n: Some(side.n as u32),
        note: comparison.subject.load_and_note(),
        words: mean(Some(side), &comparison.unit, signs),
    };
    [&comparison.before, &comparison.after].into_iter().flatten().map(row).collect()
}

fn of_single(curve: &Curve, figure: &SingleFigure, signs: &Signs) -> Row {
    Row {
        curve: name(curve),
        whose: figure.source.clone(),
        test: figure.test.clone(),
        machine: figure.machine.clone(),
        tasks: None,
        figure: figure.value,
        unit: figure.unit.clone(),
        low: figure.value,
        high: figure.value,
        coverage: None,
        n: None,
        note: figure.note.clone(),
        words: printed(figure.value, &figure.unit, signs),
    }
}

fn text(rows: &[Row], style: &Style) -> String {
    let mut text = String::new();
    for line in style.wrap(CAUTION, "", "") {
        text.push_str(&format!("{}\n", style.paint(Tone::Middling, &line)));
    }
    let lines = grid(rows, false).lines();
    text.push_str(&format!("\n{}\n", style.paint(Tone::Title, &lines[0])));
    let mut curve = None;
    for (row, line) in rows.iter().zip(&lines[1..]) {
        if curve != Some(&row.curve) {
            curve = Some(&row.curve);
            text.push_str(&format!("\n{}\n", style.paint(Tone::Title, &row.curve)));
        }
        text.push_str(&format!("{line}\n"));
    }
    text
}

fn grid(rows: &[Row], with_curve: bool) -> Grid {
    let mut columns =
        if with_curve { vec![("curve", Side::Left), ("whose", Side::Left)] } else { vec![("  whose", Side::Left)] };
    columns.extend([
        ("test", Side::Left),
        ("machine", Side::Left),
        ("tasks", Side::Right),
        ("figure", Side::Right),
        ("n", Side::Right),
        ("note", Side::Left),
    ]);
    let mut grid = Grid::new(&columns);
    for row in rows {
        let mut cells =
            if with_curve { vec![row.curve.clone(), row.whose.clone()] } else { vec![format!("  {}", row.whose)] };
        cells.extend([
            row.test.clone(),
            row.machine.clone(),
            row.tasks.map(|tasks| tasks.to_string()).unwrap_or_default(),
            row.words.clone(),
            row.n.map(|n| n.to_string()).unwrap_or_default(),
            row.note.clone(),
        ]);
        grid.row(cells);
    }
    grid
}

fn records(rows: &[Row]) -> String {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    csv(
        [
            "curve",
            "whose",
            "test",
            "machine",
            "tasks",
            "unit",
            "figure",
            "low",
            "high",
            "coverage_ratio",
            "n_repeats",
            "note",
        ],
        rows.iter().map(|row| {
            [
                row.curve.clone(),
                row.whose.clone(),
                row.test.clone(),
                row.machine.clone(),
                row.tasks.map(|tasks| tasks.to_string()).unwrap_or_default(),
                row.unit.clone(),
                row.figure.to_string(),
                row.low.to_string(),
                row.high.to_string(),
                number(row.coverage),
                row.n.map(|n| n.to_string()).unwrap_or_default(),
                row.note.clone(),
            ]
        }),
    )
}
