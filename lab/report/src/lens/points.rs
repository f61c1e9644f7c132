//! The points of a lens run, in text, Markdown and CSV; a row for each number of CPUs of each case. In CSV, numbers are raw and per operation, and
//! shares are ratios from 0 to 1.

use crate::figure;
use crate::lens::words;
use crate::moment;
use crate::sentences;
use crate::style::Signs;
use crate::table::{self, Form, Table, number};
use faultline_model::estimate::Estimate;
use faultline_model::lens::summary::{InterruptFigures, LensCurve, LensPoint};
use faultline_model::summary::RunSummary;

/// A point with its curve.
pub(super) struct Row<'a> {
    summary: &'a RunSummary,
    curve: &'a LensCurve,
    point: &'a LensPoint,
}

/// The table of the points that are `wanted`.
pub(super) fn table<'a>(
    summary: &'a RunSummary,
    curves: &'a [LensCurve],
    wanted: fn(&LensPoint) -> bool,
) -> Table<Row<'a>> {
    let points = curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    let rows = points.filter(|(_, point)| wanted(point)).map(|(curve, point)| Row { summary, curve, point });
    Table::new(columns(), rows)
}

type Column<'a> = table::Column<Row<'a>>;

fn columns<'a>() -> Vec<Column<'a>> {
    /// Forms that have columns for intervals and false sharing.
    const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];
    vec![
        Column::csv_only("run", |row| row.summary.run.to_string()),
        Column::csv_only("label", |row| row.summary.label.clone().unwrap_or_default()),
        Column::csv_only("started_utc", |row| moment::iso(row.summary.started)),
        Column::csv_only("workload", |row| row.curve.case.workload.clone()),
        Column::csv_only("variant", |row| row.curve.case.variant.clone()),
        Column::csv_only("mode", |row| row.curve.case.mode.word().to_owned()),
        Column::csv_only("operation", |row| row.curve.operation.clone()),
        Column::right("CPUs", |row, _| row.point.cpus.to_string())
            .indented(3)
            .csv("cpus", |row| row.point.cpus.to_string()),
        Column::csv_only("n_repeats", |row| row.point.transfers.map_or(0, |transfers| transfers.n).to_string()),
        Column::csv_only("operations", |row| row.point.operations.map_or_else(String::new, |count| count.to_string())),
        Column::right("transfers", |row, _| row.figure(|transfers| figure::transfers(transfers.median)))
            .csv("transfers_per_operation_median", |row| median(row.point.transfers)),
        Column::left("interval", |row, signs| row.figure(|transfers| interval(transfers, signs))).on(ROOMY),
        Column::csv_only("transfers_per_operation_low", |row| number(row.point.transfers.map(|e| e.low))),
        Column::csv_only("transfers_per_operation_high", |row| number(row.point.transfers.map(|e| e.high))),
        Column::csv_only("transfers_coverage_ratio", |row| number(row.point.transfers.map(|e| e.coverage))),
        Column::right("false sharing", |row, signs| row.part(row.point.false_share, figure::percent, signs))
            .on(ROOMY)
            .csv("false_sharing_ratio", |row| number(row.point.false_share)),
        Column::right("interrupts", |row, signs| {
            row.part(row.interrupts(|figures| figures.transfers), figure::transfers, signs)
        })
        .on(ROOMY)
        .csv("interrupt_transfers_per_operation_median", |row| number(row.interrupts(|figures| figures.transfers))),
        Column::csv_only("interrupt_instructions_per_operation_median", |row| {
            number(row.interrupts(|figures| figures.instructions))
        }),
        Column::csv_only("capacity_misses_per_operation_median", |row| median(row.point.capacity_misses)),
        Column::csv_only("faults_per_operation_median", |row| number(row.point.faults)),
        Column::csv_only("overlap_ratio", |row| number(row.point.overlap)),
        Column::right("instructions", |row, signs| {
            row.part(row.point.instructions, |count| figure::quantity(count.median, "", signs), signs)
        })
        .csv("instructions_per_operation_median", |row| median(row.point.instructions)),
        Column::right("predicted", |row, signs| {
            let unit = format!("{}/s", row.curve.operation);
            row.part(row.point.rate, |rate| figure::quantity(rate.median, &unit, signs), signs)
        })
        .csv("predicted_operations_per_s_median", |row| median(row.point.rate)),
        Column::right("speed-up", |row, signs| row.part(row.point.speedup, figure::plain, signs))
            .csv("predicted_speedup_ratio", |row| number(row.point.speedup)),
        Column::csv_only("lines_moved", |row| row.point.lines_moved.to_string()),
        Column::csv_only("top_line", |row| row.point.lines.first().map_or_else(String::new, |line| line.name.clone())),
        Column::csv_only("top_code", |row| row.point.code.first().map_or_else(String::new, |code| code.name.clone())),
        Column::csv_only("repeats", |row| row.point.repeats.iter().map(f64::to_string).collect::<Vec<_>>().join(";")),
        Column::csv_only("seeds", |row| {
            let seed = |seed: &Option<u64>| seed.map_or_else(String::new, |seed| seed.to_string());
            row.point.seeds.iter().map(seed).collect::<Vec<_>>().join(";")
        }),
        Column::csv_only("problems", |row| {
            row.point.problems.iter().map(|problem| problem.kind()).collect::<Vec<_>>().join(";")
        }),
        Column::csv_only("failures", |row| {
            row.point.failures.iter().map(|failure| sentences::cause(&failure.cause)).collect::<Vec<_>>().join("; ")
        }),
        Column::csv_only("verdict", |row| row.curve.verdict.words().to_owned()),
        Column::right("n", |row, _| row.figure(|transfers| transfers.n.to_string())),
        Column::left("amiss", |row, _| words::amiss(row.point).join("; ")).on(&[Form::Markdown]),
    ]
}

impl Row<'_> {
    /// The point's figure as text; empty if it has none.
    fn figure(&self, words: impl Fn(Estimate) -> String) -> String {
        self.point.transfers.map_or_else(String::new, words)
    }

    /// The median of a figure of interrupts.
    fn interrupts(&self, figure: fn(&InterruptFigures) -> Estimate) -> Option<f64> {
        self.point.interrupts.as_ref().map(|figures| figure(figures).median)
    }

    /// Another value of a point that has a figure.
    fn part<T>(&self, part: Option<T>, words: impl Fn(T) -> String, signs: &Signs) -> String {
        match (self.point.transfers, part) {
            (None, _) => String::new(),
            (Some(_), None) => signs.none.to_owned(),
            (Some(_), Some(part)) => words(part),
        }
    }
}

fn interval(transfers: Estimate, signs: &Signs) -> String {
    if transfers.n < 2 {
        return signs.none.to_owned();
    }
    [transfers.low, transfers.high].map(figure::transfers).join(&format!(" {} ", signs.to))
}

fn median(estimate: Option<Estimate>) -> String {
    number(estimate.map(|estimate| estimate.median))
}
