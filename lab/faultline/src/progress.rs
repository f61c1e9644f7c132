//! Experiments while they are under way: a bar with the current figure and the time left on a terminal, plain lines elsewhere.

use faultline_experiment::Notice;
use faultline_model::describe::WorkloadInfo;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::{RunHead, RunId};
use faultline_runner::{Observer, RunProgress};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;

use crate::failure::warn;
use crate::notice;

/// Shows experiments on standard error.
pub(crate) struct Shown {
    quiet: bool,
    /// The way to show the run that is measured.
    run: Option<Box<dyn Observer>>,
}

impl Shown {
    /// Nothing is under way yet. `quiet`: no progress, but what a user should know.
    pub(crate) fn new(quiet: bool) -> Self {
        Shown { quiet, run: None }
    }
}

impl faultline_experiment::Observer for Shown {
    fn measuring_begins(&mut self, run: &RunHead) {
        let units = Units { workloads: run.workloads.clone(), under_lens: run.settings.lens().is_some() };
        let sides = run.settings.comparison().is_some();
        self.run = if self.quiet {
            None
        } else if std::io::stderr().is_terminal() && !is_dumb() {
            Some(Box::new(Bar::new(run.id, units, sides)))
        } else {
            Some(Box::new(Lines { units, sides }))
        };
    }

    fn measuring_ends(&mut self) {
        self.run = None;
    }

    fn notice(&mut self, notice: &Notice) {
        warn(&notice::words(notice));
    }
}

impl Observer for Shown {
    fn item_begins(&mut self, item: &PlanItem, progress: &RunProgress) {
        if let Some(run) = &mut self.run {
            run.item_begins(item, progress);
        }
    }

    fn interval(&mut self, item: &PlanItem, rate: f64) {
        if let Some(run) = &mut self.run {
            run.interval(item, rate);
        }
    }

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, value: Option<f64>, progress: &RunProgress) {
        if let Some(run) = &mut self.run {
            run.item_ends(item, outcome, value, progress);
        }
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
struct Units {
    workloads: Vec<WorkloadInfo>,
    /// Figures are transfers per operation, whatever the unit of the rate.
    under_lens: bool,
}

impl Units {
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

/// One line for each item that has ended.
struct Lines {
    units: Units,
    sides: bool,
}

impl Observer for Lines {
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
struct Bar {
    bar: ProgressBar,
    units: Units,
    sides: bool,
    left: String,
}

impl Bar {
    fn new(run: RunId, units: Units, sides: bool) -> Self {
        let bar = ProgressBar::no_length();
        let template = "run {prefix} {bar:24} {pos}/{len} {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(run.to_string());
        Bar { bar, units, sides, left: String::new() }
    }

    fn update(&self, progress: &RunProgress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.ended as u64);
    }
}

impl Observer for Bar {
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

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
