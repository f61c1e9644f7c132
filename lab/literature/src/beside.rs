//! Your own run and the literature's figures next to each other, workload by workload. Shows whose figure it is, and does not say which is better.

use super::document::{Document, Headed, Heading, MARKDOWN, Spacing, View};
use super::improvement::{Improvement, Measured, improvements};
use super::raw::{Metric, SingleFigure, single_figures};
use super::words::{mean_and_farthest, raw};
use faultline_model::cell::{Case, TaskMode};
use faultline_model::estimate::Estimate;
use faultline_model::summary::{Curve, RunSummary};
use faultline_report::figure::{Scale, printed};
use faultline_report::one_line::one_line;
use faultline_report::style::{Signs, UNICODE};
use faultline_report::table::{self, Table};
use faultline_report::{Format, Style};
use serde::Serialize;

/// Name and version of the JSON.
const FORMAT: &str = "faultline-beside-published/1";

/// Shown above the figures.
const CAUTION: &str =
    "Other machines, kernels, compilers and programs: these figures are shown side by side, but are not comparable.";

/// Workload, its variant (empty: any), and the similar tests in the literature.
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

/// Builds in the literature; all of them are similar to `tree_build`.
const BUILDS: [&str; 5] = ["buildworld", "buildkernel", "native-kernel-build", "kernel-build", "libLLVM-build"];

/// A figure of your own run or of the literature.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    /// The curve that it belongs to: `self_exec:static-shared (processes)`.
    curve: String,
    /// `this run`, or the source's name.
    whose: String,
    /// The figure's name there: test, or side figure.
    test: String,
    /// Machine and release.
    machine: String,
    /// Number of tasks, if it is known.
    tasks: Option<u32>,
    /// Median of your own repeats; for the literature the mean, or the single figure.
    figure: f64,
    unit: String,
    /// Lower end of your own interval; for the literature the lowest repeat. `high` is the same upwards.
    low: f64,
    high: f64,
    /// Probability that your own interval covers the true median.
    coverage: Option<f64>,
    /// Number of repeats, if the source states it.
    n: Option<u32>,
    note: String,
    /// As text, with unit.
    #[serde(skip)]
    words: String,
}

type Column<'a> = table::Column<&'a Row>;

/// The run's figures and the literature's, curve by curve.
#[derive(Serialize)]
struct Beside {
    format: &'static str,
    caution: &'static str,
    rows: Vec<Row>,
}

/// The run's curves with similar figures of the literature, shown at the numbers of tasks at which they were measured. Workloads without
/// figures in the literature are left out.
pub fn beside(summary: &RunSummary, format: Format, style: &Style) -> String {
    let signs = if format == Format::Table { style.signs() } else { &UNICODE };
    Beside { format: FORMAT, caution: CAUTION, rows: rows(summary, signs) }.written(format, style)
}

impl View for Beside {
    fn tell(&self, document: &mut Document<'_>) {
        if self.rows.is_empty() {
            return document.line("The literature here has no figures for this run's workloads.");
        }
        document.caution(self.caution);
        document.table_with_headings(columns(), &self.rows.iter().collect::<Vec<_>>(), Spacing::Open);
    }

    fn records(&self) -> String {
        Table::new(columns(), &self.rows).csv()
    }
}

impl Headed for &Row {
    fn heading(&self) -> Heading {
        Heading { title: self.curve.clone(), about: Vec::new() }
    }
}

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::left("curve", |row, _| row.curve.clone()).on(MARKDOWN).csv("curve", |row| row.curve.clone()),
        Column::left("whose", |row, _| row.whose.clone()).indented(2).csv("whose", |row| row.whose.clone()),
        Column::left("test", |row, _| row.test.clone()).csv("test", |row| row.test.clone()),
        Column::left("machine", |row, _| row.machine.clone()).csv("machine", |row| row.machine.clone()),
        Column::right("tasks", |row, _| raw(row.tasks)).csv("tasks", |row| raw(row.tasks)),
        Column::csv_only("unit", |row| row.unit.clone()),
        Column::right("figure", |row, _| row.words.clone()).csv("figure", |row| row.figure.to_string()),
        Column::csv_only("low", |row| row.low.to_string()),
        Column::csv_only("high", |row| row.high.to_string()),
        Column::csv_only("coverage_ratio", |row| raw(row.coverage)),
        Column::right("n", |row, _| raw(row.n)).csv("n_repeats", |row| raw(row.n)),
        Column::left("note", |row, _| row.note.clone()).csv("note", |row| row.note.clone()),
    ]
}

fn rows(summary: &RunSummary, signs: &Signs) -> Vec<Row> {
    let literature = (improvements(), single_figures());
    let mut rows = Vec::new();
    for curve in &summary.curves {
        let tests = kin(&curve.case);
        let mut theirs: Vec<Row> =
            literature.0.iter().filter(|c| fits(c, &tests)).flat_map(|c| of_improvement(curve, c, signs)).collect();
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

/// The literature's tests that are similar to a case.
fn kin(case: &Case) -> Vec<&'static str> {
    if case.workload == "tree_build" {
        return BUILDS.to_vec();
    }
    let like = |kin: &&Kin| kin.0 == case.workload && (kin.1.is_empty() || kin.1 == case.variant);
    KIN.iter().filter(like).flat_map(|kin| kin.2.iter().copied()).collect()
}

/// Rates, bandwidths and builds' real times. The seconds of a zero-fill program are not comparable without the amount of its work.
fn fits(improvement: &Improvement, tests: &[&str]) -> bool {
    let test = improvement.subject.test.as_str();
    let metric = match improvement.metric {
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

fn of_improvement(curve: &Curve, improvement: &Improvement, signs: &Signs) -> Vec<Row> {
    let row = |side: &Measured| Row {
        curve: name(curve),
        whose: improvement.subject.source.to_owned(),
        test: improvement.subject.test.clone(),
        machine: format!("{}, {}", improvement.subject.machine, side.release),
        tasks: Some(improvement.subject.tasks),
        figure: side.mean,
        unit: improvement.unit.clone(),
        low: side.lowest,
        high: side.highest,
        coverage: None,
        n: Some(side.n as u32),
        note: improvement.subject.load_and_note(),
        words: mean_and_farthest(Some(side), &improvement.unit, signs),
    };
    improvement.sides().map(row).collect()
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
