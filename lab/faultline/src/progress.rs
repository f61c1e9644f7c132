//! Progress of experiments on standard error: a bar on a terminal, plain lines elsewhere; and their
//! notices.

use faultline_experiment::Notice;
use faultline_record::commit::short_name;
use faultline_record::describe::WorkloadInfo;
use faultline_record::outcome::Outcome;
use faultline_record::plan::PlanItem;
use faultline_record::record::RunHead;
use faultline_record::subject::{BuildResult, Subject};
use faultline_report::escape::one_line;
use faultline_report::style::UNICODE;
use faultline_report::{counted, figure, outcome_words};
use faultline_runner::{Observer, RunProgress, Stage};
use faultline_stats::history::Prospect;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use terminal_size::terminal_size_of;

use crate::failure::warn;

/// Progress on standard error.
pub(crate) struct Shown {
    quiet: bool,
    /// The display of the current run.
    run: Option<Box<dyn Observer>>,
    /// The time of the last line of progress, shared with the display.
    last_line: Rc<Cell<Option<Instant>>>,
    /// Dropped with the first event.
    silence: Option<Silence>,
}

impl Shown {
    /// No experiment yet. `quiet`: notices only.
    pub(crate) fn new(quiet: bool) -> Self {
        Shown {
            quiet,
            run: None,
            last_line: Rc::default(),
            silence: (!quiet).then(|| Silence::begin(PREPARING.to_owned())),
        }
    }

    /// For commands that measure nothing: notices only, with those that `quiet` leaves out.
    pub(crate) fn of_looking() -> Self {
        Shown { quiet: false, ..Shown::new(true) }
    }
}

/// Longest time until the first line.
const LONGEST_SILENCE: Duration = Duration::from_secs(3);

/// The reason of a silence that no event explains.
const PREPARING: &str = "preparing the measurement";

/// The time until the next event: a line names the reason if it is long.
struct Silence(#[expect(dead_code, reason = "its drop ends the wait")] Sender<()>);

impl Silence {
    fn begin(reason: String) -> Self {
        let (ended, wait) = channel();
        std::thread::spawn(move || {
            if wait.recv_timeout(LONGEST_SILENCE) == Err(RecvTimeoutError::Timeout) {
                warn(&reason);
            }
        });
        Silence(ended)
    }
}

impl faultline_experiment::Observer for Shown {
    fn measuring_begins(&mut self, run: &RunHead) {
        self.silence = None;
        let words = Words {
            workloads: run.workloads.clone(),
            under_lens: run.settings.counting().is_some(),
            extent: Extent::of(run),
        };
        self.run = if self.quiet {
            None
        } else if std::io::stderr().is_terminal() && !is_dumb() {
            Some(Box::new(Bar::new(words)))
        } else {
            Some(Box::new(Lines { words, last: self.last_line.clone() }))
        };
    }

    fn measuring_ends(&mut self) {
        self.run = None;
    }

    fn notice(&mut self, notice: &Notice) {
        let only_if_long = match notice {
            Notice::AskingTool { .. } | Notice::AwaitingMachine { .. } | Notice::Booting => Some(notice_words(notice)),
            _ => None,
        };
        let is_shown_at_once = only_if_long.is_none() && *notice != Notice::ToolsAsked;
        self.silence = only_if_long.filter(|_| !self.quiet).map(Silence::begin);
        if !is_shown_at_once {
            return;
        }
        let is_progress = matches!(
            notice,
            Notice::BuildingCommit { .. }
                | Notice::BuildingSide { .. }
                | Notice::LinkingCommit { .. }
                | Notice::HistoryProspect { .. }
                | Notice::SettingUp { .. }
                | Notice::WarmingUp { .. }
        );
        if !(self.quiet && is_progress) {
            warn(&notice_words(notice));
        }
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

/// True for a terminal that cannot redraw a line.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// An outcome without unsafe characters, which may come from the workload.
fn plain(outcome: &Outcome) -> String {
    one_line(&outcome_words(outcome))
}

/// A duration at the precision of an estimate: `45 s`, `2 min 10 s`, `1 h 5 min`.
fn length(length: Duration) -> String {
    let seconds = length.as_secs_f64().ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The present parts in one line.
fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The word for a stage of a workload in a guest.
fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Boot => "boot",
        Stage::WarmUp => "warm-up",
        Stage::Region => "region",
        Stage::End => "end",
    }
}

/// The texts of a run's progress, with figures as in tables.
struct Words {
    workloads: Vec<WorkloadInfo>,
    /// True for a lens run: figures are transfers per operation, for programs per run.
    under_lens: bool,
    extent: Extent,
}

/// The known extent of a run.
enum Extent {
    /// The whole plan.
    Plan,
    /// A comparison: each item measures a side, and it may end at the next look.
    NextLook,
    /// A search: results decide what is measured next.
    Search {
        /// Each subject's commit and random layout.
        subjects: Vec<String>,
        /// Number of commits tried.
        tried: usize,
    },
    /// A history: each item measures a commit.
    History {
        /// Each subject's commit.
        subjects: Vec<String>,
    },
}

impl Extent {
    fn of(run: &RunHead) -> Self {
        if run.settings.bisect().is_some() {
            let own = run.subjects.iter().filter(|subject| layout(subject).is_none() && subject.commit.is_some());
            return Extent::Search { subjects: run.subjects.iter().map(subject_words).collect(), tried: own.count() };
        }
        if run.settings.history().is_some() {
            return Extent::History { subjects: run.subjects.iter().map(subject_words).collect() };
        }
        if run.settings.comparison().is_some() { Extent::NextLook } else { Extent::Plan }
    }
}

/// The commit of a subject with its random layout; the name of a subject that is not a commit.
fn subject_words(subject: &Subject) -> String {
    if subject.commit.is_none() {
        return subject.name.clone();
    }
    let commit = short_name(&subject.name);
    layout(subject).map_or_else(|| commit.to_owned(), |layout| format!("{commit}, layout {}", layout + 1))
}

/// The random layout of a search's subject; `None` for a commit's own build.
fn layout(subject: &Subject) -> Option<u32> {
    match subject.build {
        Some(BuildResult::Relinked { layout, .. }) => Some(layout),
        _ => None,
    }
}

impl Words {
    /// The running item: in a comparison with its side, in a search or history the commit.
    fn what(&self, item: &PlanItem) -> String {
        match &self.extent {
            Extent::Plan => item.cell.to_string(),
            Extent::NextLook => format!("{} {}", item.subject, item.cell),
            Extent::Search { subjects, .. } | Extent::History { subjects } => {
                subjects.get(item.subject.at()).cloned().unwrap_or_default()
            }
        }
    }

    /// The position: `3/240`; in a search `execution 13, 5 commits tried`.
    fn place(&self, item: &PlanItem, progress: &RunProgress) -> String {
        match &self.extent {
            Extent::Plan | Extent::NextLook | Extent::History { .. } => {
                format!("{}/{}", progress.ended, progress.total)
            }
            Extent::Search { tried, .. } => {
                let things = if *tried == 1 { "commit" } else { "commits" };
                format!("execution {}, {tried} {things} tried", item.ordinal + 1)
            }
        }
    }

    fn figure(&self, item: &PlanItem, value: f64) -> String {
        let info = self.workloads.iter().find(|info| info.name == item.cell.case.workload);
        let unit = if self.under_lens {
            info.map_or_else(|| "transfers".to_owned(), |info| format!("transfers/{}", info.operation))
        } else {
            info.map_or_else(String::new, |info| info.unit.clone())
        };
        figure::quantity(value, &unit, &UNICODE)
    }

    /// The remaining time: `2 min 10 s left`; an estimate from the plan until the first item has
    /// ended. `None` for a search, whose end is unknown.
    fn left(&self, progress: &RunProgress) -> Option<String> {
        let until = match self.extent {
            Extent::Plan | Extent::History { .. } => "left",
            Extent::NextLook => "to the next look",
            Extent::Search { .. } => return None,
        };
        let about = if progress.ended == 0 { "about " } else { "" };
        Some(format!("{about}{} {until}", length(progress.left)))
    }

    /// The line for an item that begins or has ended.
    fn line(&self, item: &PlanItem, result: String, progress: &RunProgress) -> String {
        joined([Some(self.place(item, progress)), Some(self.what(item)), Some(result), self.left(progress)])
    }
}

/// The differences of a working tree from its commit: also unwanted new files, and left out ones.
fn working_tree(commit: &str, changed: usize, new: &[String], edited: &[String]) -> String {
    let mut text = format!("the working tree differs from {commit} in {}", counted(changed as u64, "file"));
    for (what, names) in [("new and not ignored", new), ("left out, changes in submodules", edited)] {
        let (first, others) = names.split_at(names.len().min(3));
        let first = first.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
        text.push_str(&match others.len() {
            0 if first.is_empty() => String::new(),
            0 => format!("; {what}: {first}"),
            more => format!("; {what}: {first} and {more} more"),
        });
    }
    text
}

/// Shortest time between two lines of progress.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// Lines of items that have ended: at most one a minute, and each failure.
struct Lines {
    words: Words,
    last: Rc<Cell<Option<Instant>>>,
}

impl Observer for Lines {
    fn item_begins(&mut self, item: &PlanItem, progress: &RunProgress) {
        if self.last.get().is_none() {
            self.last.set(Some(Instant::now()));
            warn(&self.words.line(item, "begins".to_owned(), progress));
        }
    }

    fn interval(&mut self, _: &PlanItem, _: f64) {}

    fn item_ends(&mut self, item: &PlanItem, outcome: &Outcome, value: Option<f64>, progress: &RunProgress) {
        let is_due = self.last.get().is_none_or(|last| last.elapsed() >= BETWEEN_LINES);
        if !is_due && *outcome == Outcome::Done {
            return;
        }
        self.last.set(Some(Instant::now()));
        let result = value.map_or_else(|| plain(outcome), |value| self.words.figure(item, value));
        warn(&self.words.line(item, result, progress));
    }
}

/// Width of a terminal with room for a bar beside the text.
const ROOM_FOR_BAR: u16 = 100;

/// A line that is redrawn: position, running item with its figure, time left. Parallel items have
/// lines of their own below it. Text that does not fit is cut off.
struct Bar {
    lines: MultiProgress,
    bar: ProgressBar,
    words: Words,
    place: String,
    left: Option<String>,
    running_items: Vec<Running>,
}

/// A running item.
struct Running {
    ordinal: u32,
    /// The item, with its figure or stage if known.
    what: String,
    /// The item's own line, if several run.
    line: Option<ProgressBar>,
}

impl Bar {
    fn new(words: Words) -> Self {
        let lines = MultiProgress::new();
        let bar = lines.add(ProgressBar::no_length());
        let has_room = terminal_size_of(std::io::stderr()).is_some_and(|(width, _)| width.0 >= ROOM_FOR_BAR);
        let has_end = !matches!(words.extent, Extent::Search { .. });
        let template = if has_room && has_end { "{bar:20} {wide_msg}" } else { "{wide_msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar { lines, bar, words, place: String::new(), left: None, running_items: Vec::new() }
    }

    fn update(&mut self, item: &PlanItem, progress: &RunProgress) {
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.ended as u64);
        self.place = self.words.place(item, progress);
        self.left = self.words.left(progress);
    }

    /// Shows a figure beside the item.
    fn add(&mut self, item: &PlanItem, figure: &str) {
        let what = format!("{} · {figure}", self.words.what(item));
        if let Some(running) = self.running_items.iter_mut().find(|running| running.ordinal == item.ordinal) {
            running.what = what;
        }
        self.show();
    }

    fn show(&mut self) {
        let (place, left) = (Some(self.place.clone()), self.left.clone());
        if let [only] = &mut self.running_items[..] {
            only.line.take().inspect(ProgressBar::finish_and_clear);
            self.bar.set_message(joined([place, Some(only.what.clone()), left]));
            return;
        }
        for item in &mut self.running_items {
            let line = item.line.get_or_insert_with(|| {
                let line = self.lines.add(ProgressBar::no_length());
                if let Ok(style) = ProgressStyle::with_template("  {wide_msg}") {
                    line.set_style(style);
                }
                line
            });
            line.set_message(item.what.clone());
        }
        self.bar.set_message(joined([place, left]));
    }
}

impl Observer for Bar {
    fn item_begins(&mut self, item: &PlanItem, progress: &RunProgress) {
        self.update(item, progress);
        self.running_items.push(Running { ordinal: item.ordinal, what: self.words.what(item), line: None });
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
        self.update(item, progress);
        let ended = self.running_items.extract_if(.., |running| running.ordinal == item.ordinal);
        ended.filter_map(|ended| ended.line).for_each(|line| line.finish_and_clear());
        if *outcome != Outcome::Done {
            let _ = self.lines.println(format!("{}: {}", self.words.what(item), plain(outcome)));
        }
        self.show();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.running_items.drain(..).filter_map(|running| running.line).for_each(|line| line.finish_and_clear());
        self.bar.finish_and_clear();
    }
}

/// A notice in one line.
fn notice_words(notice: &Notice) -> String {
    match notice {
        Notice::SettingPutBack { setting } => {
            format!("restored a setting that a killed comparison had left changed: {setting}")
        }
        Notice::InstallingOnHost { host, artefact } => {
            format!("installing {} on {host}, which reboots then", artefact.display())
        }
        Notice::AskingTool { command } => format!("waiting for `{}`", one_line(command)),
        Notice::Booting => "waiting for the guest to boot".to_owned(),
        Notice::AwaitingMachine { machine } => format!("waiting for {}", one_line(machine)),
        Notice::ToolsAsked => "the tools have answered".to_owned(),
        Notice::SettingUp { command } => format!("setup: {}", one_line(command)),
        Notice::WarmingUp { executions: 1 } => "warm-up: 1 execution of each command".to_owned(),
        Notice::WarmingUp { executions } => format!("warm-up: {executions} executions of each command"),
        Notice::BuildingWorkloads { compiler } => format!("building the workloads with {compiler}"),
        Notice::BuildingCommit { commit, number, of, tried: Some(tried) } => {
            format!("building commit {} ({number} of {of} from the old end; {tried} tried so far)", short_name(commit))
        }
        Notice::BuildingCommit { commit, number, of, tried: None } => {
            format!("building commit {} ({number} of {of})", short_name(commit))
        }
        Notice::LinkingCommit { commit, layout, most } => {
            format!("linking commit {} with layout {} of at most {most}", short_name(commit), layout + 1)
        }
        Notice::HistoryProspect { subject, tasks, prospect, available } => {
            format!("{subject} at {tasks}: {}", prospect_words(prospect, *available))
        }
        Notice::StepSuspected { commits } => {
            format!("a change at the newest commits is suspected; commits measured to find out: {commits}")
        }
        Notice::ContinuingHistory { run } => format!("run {run} is unfinished; it continues first"),
        Notice::AwaitingBuild { directory } => {
            format!(
                "waiting for another command that builds in {}; `--work DIR` names another directory",
                directory.display()
            )
        }
        Notice::NoSandbox { why } => {
            format!("builds and programs of commits run without a sandbox, because {why}")
        }
        Notice::BuildingSide { side } => format!("building {side}"),
        Notice::WorkingTree { commit, changed, new, edited } => working_tree(commit, *changed, new, edited),
        Notice::FinishedAlready { run } => format!("run {run} is already finished"),
        Notice::NoSymbols { program } => {
            format!(
                "hint: {} has no symbols, so addresses are shown instead of names; build it with `-g`",
                program.display()
            )
        }
        Notice::NoDebugInformation { vmlinux } => format!(
            "hint: {} has no debugging information, so source lines and members are not shown; build the kernel with CONFIG_DEBUG_INFO",
            vmlinux.display()
        ),
    }
}

/// The steps that a history can show. `available`: number of commits from which some are picked.
fn prospect_words(prospect: &Prospect, available: u32) -> String {
    match prospect {
        Prospect::TooFew { commits, needed } => {
            let remedy = match available >= *needed {
                true => format!("`pick = \"all\"` in faultline.toml picks {available}"),
                false => {
                    "measure counts (`measure = \"instructions\"`), or compare two commits with `faultline bisect`"
                        .to_owned()
                }
            };
            format!(
                "no step can be found yet: that needs {needed} measured commits, and after this run there are {commits}; {remedy}"
            )
        }
        Prospect::Noisy { commits, needed, deviations, detectable } => {
            let size = match detectable {
                Some(share) => format!("about {:.1} %, by the noise of earlier runs", 100.0 * share),
                None => format!("about {deviations:.1} times the noise between commits"),
            };
            format!(
                "steps can be found: {commits} commits ({needed} are required); smallest detectable step with 5 or more commits on each \
                 side (80 % power): {size}"
            )
        }
        Prospect::Counted { commits, least } => format!(
            "steps can be found: {commits} commits, of 2 needed; smallest step between neighbours: {:.1} %",
            100.0 * least
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::cell::{Case, Cell, TaskMode};
    use faultline_record::describe;
    use faultline_record::subject::SubjectIndex;

    #[test]
    fn a_history_says_what_it_will_show() {
        let too_few = Prospect::TooFew { commits: 3, needed: 12 };
        let words = |available| prospect_words(&too_few, available);
        assert!(words(20).ends_with("there are 3; `pick = \"all\"` in faultline.toml picks 20"), "{}", words(20));
        assert!(words(5).contains("`measure = \"instructions\"`"));
        let noisy = |detectable| Prospect::Noisy { commits: 20, needed: 12, deviations: 3.12, detectable };
        assert!(prospect_words(&noisy(None), 20).contains("20 commits (12 are required)"));
        assert!(prospect_words(&noisy(None), 20).ends_with("about 3.1 times the noise between commits"));
        assert!(prospect_words(&noisy(Some(0.024)), 20).ends_with("about 2.4 %, by the noise of earlier runs"));
        let counted = Prospect::Counted { commits: 2, least: 0.01 };
        assert!(prospect_words(&counted, 2).ends_with("smallest step between neighbours: 1.0 %"));
    }

    fn words(extent: Extent) -> Words {
        let map_churn = "faultline-describe 1 map_churn\nsummary maps\noperation map\nunit map/s\ndirection higher\nstyle loop\n\
            window_ms 200\nvariant private process base\nend\n";
        Words { workloads: vec![describe::parse(map_churn).unwrap()], under_lens: false, extent }
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
        assert_eq!(words(Extent::Plan).figure(&item(), 323_580.0), "323.6 k map/s");
        let lens = Words { under_lens: true, ..words(Extent::Plan) };
        assert_eq!(lens.figure(&item(), 3.2), "3.200 transfers/map");
    }

    #[test]
    fn time_left_has_one_form() {
        let left = |words: Words, ended, seconds| {
            words.left(&RunProgress { ended, total: 9, left: Duration::from_secs_f64(seconds) }).unwrap()
        };
        assert_eq!(left(words(Extent::Plan), 1, 44.2), "45 s left");
        assert_eq!(left(words(Extent::Plan), 0, 130.0), "about 2 min 10 s left");
        assert_eq!(left(words(Extent::Plan), 3, 3900.0), "1 h 5 min left");
        assert_eq!(left(words(Extent::NextLook), 3, 60.0), "1 min 0 s to the next look");
    }

    #[test]
    fn a_search_counts_executions_and_commits_and_names_no_end() {
        let subjects = vec!["aaaaaaaaaaaa".to_owned(), "bbbbbbbbbbbb".to_owned(), "bbbbbbbbbbbb, layout 1".to_owned()];
        let words = words(Extent::Search { subjects, tried: 2 });
        let progress = RunProgress { ended: 4, total: 4, left: Duration::ZERO };
        let item = PlanItem { ordinal: 12, ..item() };
        assert_eq!(
            words.line(&item, "1.2 s".to_owned(), &progress),
            "execution 13, 2 commits tried · bbbbbbbbbbbb · 1.2 s"
        );
        let of_layout = PlanItem { subject: SubjectIndex(2), ..item };
        assert_eq!(
            words.line(&of_layout, "1.2 s".to_owned(), &progress),
            "execution 13, 2 commits tried · bbbbbbbbbbbb, layout 1 · 1.2 s"
        );
    }

    #[test]
    fn a_line_fits_eighty_columns() {
        let words = words(Extent::NextLook);
        let progress = RunProgress { ended: 1000, total: 1000, left: Duration::from_secs(3599) };
        let line = words.line(&item(), words.figure(&item(), 323_580.0), &progress);
        assert!(line.chars().count() <= 80, "{line}");
    }
}
