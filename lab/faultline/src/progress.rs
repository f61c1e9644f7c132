//! A run while it is under way: a bar with the current figure and the time left on a terminal, plain lines elsewhere.

use faultline_model::describe::WorkloadInfo;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunRecord;
use faultline_runner::{Observer, RunProgress};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;

use crate::failure::warn;

/// The way to show a run on standard error.
pub(crate) fn shown(record: &RunRecord, quiet: bool) -> Box<dyn Observer + '_> {
    let units = Units { workloads: &record.workloads, under_lens: record.settings.lens().is_some() };
    let sides = record.settings.comparison().is_some();
    if quiet {
        Box::new(Nothing)
    } else if std::io::stderr().is_terminal() && !is_dumb() {
        Box::new(Bar::new(record, units, sides))
    } else {
        Box::new(Lines { units, sides })
    }
}

/// A terminal on which a line can't be drawn again.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// What comes from a workload may hold anything; a terminal must not obey it.
fn plain(outcome: &Outcome) -> String {
    outcome.to_string().chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// What runs: with the side, `A `, in a comparison.
fn what(item: &PlanItem, sides: bool) -> String {
    if sides { format!("{} {}", item.subject, item.cell) } else { item.cell.to_string() }
}

/// Writes figures with the units of their workloads.
struct Units<'a> {
    workloads: &'a [WorkloadInfo],
    /// Figures are transfers per operation, whatever the unit of the rate.
    under_lens: bool,
}

impl Units<'_> {
    /// Four significant digits and the unit.
    fn figure(&self, item: &PlanItem, value: f64) -> String {
        let info = self.workloads.iter().find(|info| info.name == item.cell.case.workload);
        if self.under_lens {
            let operation = info.map_or("operation", |info| &info.operation);
            return format!("{value:.3} transfers/{operation}");
        }
        let unit = info.map_or("", |info| &info.unit);
        if value >= 1e4 { format!("{value:.3e} {unit}") } else { format!("{value:.4} {unit}") }
    }
}

/// `--quiet`.
struct Nothing;

impl Observer for Nothing {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}
    fn interval(&mut self, _: &PlanItem, _: f64) {}
    fn item_ends(&mut self, _: &PlanItem, _: &Outcome, _: Option<f64>, _: &RunProgress) {}
}

/// One line for each item that has ended.
struct Lines<'a> {
    units: Units<'a>,
    sides: bool,
}

impl Observer for Lines<'_> {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, value: Option<f64>, progress: &RunProgress) {
        let result = value.map_or_else(|| plain(outcome), |value| self.units.figure(item, value));
        warn(&format!(
            "[{}/{}] {} repeat {}: {result}; {} left",
            progress.ended,
            progress.total,
            what(item, self.sides),
            item.block + 1,
            HumanDuration(progress.left)
        ));
    }
}

/// A bar that is redrawn.
struct Bar<'a> {
    bar: ProgressBar,
    units: Units<'a>,
    sides: bool,
    left: String,
}

impl<'a> Bar<'a> {
    fn new(record: &RunRecord, units: Units<'a>, sides: bool) -> Self {
        let bar = ProgressBar::no_length();
        let template = "run {prefix} {bar:24} {pos}/{len} {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(record.id.to_string());
        Bar { bar, units, sides, left: String::new() }
    }

    fn update(&self, progress: &RunProgress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.ended as u64);
    }
}

impl Observer for Bar<'_> {
    fn item_begins(&mut self, item: &PlanItem, progress: &RunProgress) {
        self.update(progress);
        self.left = HumanDuration(progress.left).to_string();
        self.bar.set_message(format!("{} left, {}", self.left, what(item, self.sides)));
    }

    fn interval(&mut self, item: &PlanItem, rate: f64) {
        if self.units.under_lens {
            return;
        }
        let figure = self.units.figure(item, rate);
        self.bar.set_message(format!("{} left, {} {figure}", self.left, what(item, self.sides)));
    }

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, _: Option<f64>, progress: &RunProgress) {
        self.update(progress);
        if *outcome != Outcome::Done {
            self.bar.println(format!("{}: {}", what(item, self.sides), plain(outcome)));
        }
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
