//! Experiments while they are under way: a bar with the current figure and the time left on a terminal, plain lines elsewhere.

use faultline_experiment::Notice;
use faultline_model::describe::WorkloadInfo;
use faultline_model::outcome::Outcome;
use faultline_model::plan::PlanItem;
use faultline_model::record::RunHead;
use faultline_report::figure;
use faultline_report::style::UNICODE;
use faultline_runner::{Observer, RunProgress, Stage};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;
use terminal_size::terminal_size_of;

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
        let words = Words {
            workloads: run.workloads.clone(),
            under_lens: run.settings.counting().is_some(),
            sides: run.settings.comparison().is_some(),
        };
        self.run = if self.quiet {
            None
        } else if std::io::stderr().is_terminal() && !is_dumb() {
            Some(Box::new(Bar::new(words)))
        } else {
            Some(Box::new(Lines { words }))
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

    fn stage(&mut self, item: &PlanItem, stage: Stage) {
        if let Some(run) = &mut self.run {
            run.stage(item, stage);
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
    faultline_report::outcome_words(outcome).chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// Minutes and hours as people say them, no finer than the estimate is: `45 s`, `2 min 10 s`, `1 h 5 min`.
fn length(length: Duration) -> String {
    let seconds = length.as_secs_f64().ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Where a workload in a guest is.
fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Boot => "boot",
        Stage::WarmUp => "warm-up",
        Stage::Region => "region",
        Stage::End => "end",
    }
}

/// What is said of a run under way, with the figures as tables show them.
struct Words {
    workloads: Vec<WorkloadInfo>,
    /// Figures are transfers per operation, whatever the unit of the rate.
    under_lens: bool,
    /// It is a comparison: each item measures a side, and it may end at the next look.
    sides: bool,
}

impl Words {
    /// What runs: with the side, `A `, in a comparison.
    fn what(&self, item: &PlanItem) -> String {
        if self.sides { format!("{} {}", item.subject, item.cell) } else { item.cell.to_string() }
    }

    fn figure(&self, item: &PlanItem, value: f64) -> String {
        let info = self.workloads.iter().find(|info| info.name == item.cell.case.workload);
        let unit = if self.under_lens {
            format!("transfers/{}", info.map_or("operation", |info| &info.operation))
        } else {
            info.map_or_else(String::new, |info| info.unit.clone())
        };
        figure::quantity(value, &unit, &UNICODE)
    }

    /// `2 min 10 s left`; before anything has ended, only what was expected is known.
    fn left(&self, progress: &RunProgress) -> String {
        let about = if progress.ended == 0 { "about " } else { "" };
        let until = if self.sides { "to the next look" } else { "left" };
        format!("{about}{} {until}", length(progress.left))
    }
}

/// One line for each item that has ended.
struct Lines {
    words: Words,
}

impl Observer for Lines {
    fn item_begins(&mut self, _: &PlanItem, _: &RunProgress) {}

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, value: Option<f64>, progress: &RunProgress) {
        let result = value.map_or_else(|| plain(outcome), |value| self.words.figure(item, value));
        let (what, left) = (self.words.what(item), self.words.left(progress));
        warn(&format!("{}/{} · {what} · {result} · {left}", progress.ended, progress.total));
    }
}

/// Columns of a terminal from which on there is room for a bar beside the words.
const ROOM_FOR_BAR: u16 = 100;

/// A line that is redrawn: counter, what runs with its figure, time left. If several items run at the same time, each has a line of its own below
/// it. What doesn't fit is cut off at the end.
struct Bar {
    lines: MultiProgress,
    bar: ProgressBar,
    words: Words,
    left: String,
    under_way: Vec<UnderWay>,
}

/// An item that runs.
struct UnderWay {
    ordinal: u32,
    /// What it is, with its figure or its stage if there is one.
    what: String,
    /// Its own line, if several run.
    line: Option<ProgressBar>,
}

impl Bar {
    fn new(words: Words) -> Self {
        let lines = MultiProgress::new();
        let bar = lines.add(ProgressBar::no_length());
        let has_room = terminal_size_of(std::io::stderr()).is_some_and(|(width, _)| width.0 >= ROOM_FOR_BAR);
        let template = if has_room { "{bar:20} {pos}/{len} · {wide_msg}" } else { "{pos}/{len} · {wide_msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar { lines, bar, words, left: String::new(), under_way: Vec::new() }
    }

    fn update(&mut self, progress: &RunProgress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.ended as u64);
        self.left = self.words.left(progress);
    }

    /// Shows this beside the item.
    fn add(&mut self, item: &PlanItem, figure: &str) {
        let what = format!("{} · {figure}", self.words.what(item));
        if let Some(running) = self.under_way.iter_mut().find(|running| running.ordinal == item.ordinal) {
            running.what = what;
        }
        self.show();
    }

    fn show(&mut self) {
        if let [only] = &mut self.under_way[..] {
            only.line.take().inspect(ProgressBar::finish_and_clear);
            self.bar.set_message(format!("{} · {}", only.what, self.left));
            return;
        }
        for item in &mut self.under_way {
            let line = item.line.get_or_insert_with(|| {
                let line = self.lines.add(ProgressBar::no_length());
                if let Ok(style) = ProgressStyle::with_template("  {wide_msg}") {
                    line.set_style(style);
                }
                line
            });
            line.set_message(item.what.clone());
        }
        self.bar.set_message(self.left.clone());
    }
}

impl Observer for Bar {
    fn item_begins(&mut self, item: &PlanItem, progress: &RunProgress) {
        self.update(progress);
        self.under_way.push(UnderWay { ordinal: item.ordinal, what: self.words.what(item), line: None });
        self.show();
    }

    fn interval(&mut self, item: &PlanItem, rate: f64) {
        if self.words.under_lens {
            return;
        }
        let figure = self.words.figure(item, rate);
        self.add(item, &figure);
    }

    fn stage(&mut self, item: &PlanItem, stage: Stage) {
        self.add(item, word(stage));
    }

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, _: Option<f64>, progress: &RunProgress) {
        self.update(progress);
        let ended = self.under_way.extract_if(.., |running| running.ordinal == item.ordinal);
        ended.filter_map(|ended| ended.line).for_each(|line| line.finish_and_clear());
        if *outcome != Outcome::Done {
            let _ = self.lines.println(format!("{}: {}", self.words.what(item), plain(outcome)));
        }
        self.show();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.under_way.drain(..).filter_map(|running| running.line).for_each(|line| line.finish_and_clear());
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::cell::{Case, Cell, TaskMode};
    use faultline_model::describe;
    use faultline_model::subject::SubjectIndex;

    fn words(sides: bool) -> Words {
        let map_churn = "faultline-describe 1 map_churn\nsummary maps\noperation map\nunit map/s\ndirection higher\nstyle loop\n\
            window_ms 200\nvariant private process base\nend\n";
        Words { workloads: vec![describe::parse(map_churn).unwrap()], under_lens: false, sides }
    }

    fn item() -> PlanItem {
        let case = Case { workload: "map_churn".into(), variant: "private".into(), mode: TaskMode::Process };
        PlanItem {
            ordinal: 0,
            block: 3,
            subject: SubjectIndex::B,
            cell: Cell { case, tasks: 2 },
            timing: None,
            seed: None,
        }
    }

    #[test]
    fn a_figure_is_written_as_in_tables() {
        assert_eq!(words(false).figure(&item(), 323_580.0), "323.6 k map/s");
        let lens = Words { under_lens: true, ..words(false) };
        assert_eq!(lens.figure(&item(), 3.2), "3.200 transfers/map");
    }

    #[test]
    fn time_left_has_one_form() {
        let left = |words: Words, ended, seconds| {
            words.left(&RunProgress { ended, total: 9, left: Duration::from_secs_f64(seconds) })
        };
        assert_eq!(left(words(false), 1, 44.2), "45 s left");
        assert_eq!(left(words(false), 0, 130.0), "about 2 min 10 s left");
        assert_eq!(left(words(false), 3, 3900.0), "1 h 5 min left");
        assert_eq!(left(words(true), 3, 60.0), "1 min 0 s to the next look");
    }

    #[test]
    fn a_line_fits_eighty_columns() {
        let words = words(true);
        let line = format!(
            "{}/{} · {} · {} · {}",
            "1000",
            "1000",
            words.what(&item()),
            words.figure(&item(), 323_580.0),
            words.left(&RunProgress { ended: 1, total: 9, left: Duration::from_secs(3599) })
        );
        assert!(line.chars().count() <= 80, "{line}");
    }
}
