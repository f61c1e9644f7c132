//! The page of a history: its course as a plot, its steps, and its commits as a table that the plot is linked to.

use super::badge;
use super::between::{between, range, said};
use super::frame::page_with;
use super::live;
use super::mark_form::mark_form;
use crate::history::words;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::page::delivery::{Site, pinned};
use crate::page::document::table;
use crate::page::value;
use crate::style::UNICODE;
use faultline_model::changes::ChangeCaution;
use faultline_model::commit::short_name;
use faultline_model::history::{HistorySeries, HistoryStep, StepBasis};
use faultline_model::time::UnixMillis;
use faultline_model::timeline::{CommitMark, Timeline};
use maud::{Markup, html as markup};
use std::collections::BTreeSet;

/// Rows of the table of commits. The script shows those of the plot's range, as many at most.
const ROWS: usize = 200;
/// Letters of a commit's subject.
const LETTERS: usize = 90;

/// The smallest changes of steps that a page offers, in percent.
pub const OFFERED_THRESHOLDS: [f64; 9] = [0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];

/// What of a history is in files beside its page, which answer what a server would be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelineFiles {
    /// Commits in a file of commits; 0 if the page has all of them.
    pub chunk: u32,
    /// Positions of the pairs of commits that are compared, the older one first.
    pub pairs: BTreeSet<[u32; 2]>,
}

/// What the page shows.
#[derive(Debug, Clone)]
pub struct TimelinePage<'a> {
    /// The history.
    pub series: &'a HistorySeries,
    /// What of it is drawn.
    pub timeline: &'a Timeline,
    /// Number of tasks and identifier of this history and those of the same subject and measure, by tasks.
    pub siblings: Vec<(u32, &'a str)>,
    /// Whether the reader may set states.
    pub may_mark: bool,
    /// Whether one of its runs is not finished. Then a page of a server stays up to date by itself.
    pub goes_on: bool,
    /// What is in files beside the page; `None` of a server.
    pub files: Option<&'a TimelineFiles>,
}

/// The page.
pub fn timeline_page(shown: &TimelinePage<'_>, site: &Site) -> String {
    let (series, timeline) = (shown.series, shown.timeline);
    let about = markup! {
        p.machine { code { (words::subject(series)) } ": " (words::measured(series)) }
        @if shown.siblings.len() > 1 {
            nav aria-label="Numbers of tasks" {
                @for (tasks, id) in &shown.siblings {
                    @if *tasks == series.tasks { span.here aria-current="page" { (words::tasks(series, *tasks)) } }
                    @else { a href=(site.history(id)) { (words::tasks(series, *tasks)) } }
                }
            }
        }
    };
    let parts = markup! {
        (live::line(shown.goes_on, site))
        (course(shown, site))
        (quirks(timeline))
        (steps(shown, site))
        (commits(series, timeline, site))
        section #reading aria-labelledby="reading-title" {
            h2 #reading-title { "How to read this" }
            ul {
                @for sentence in words::sentences_beside_legend(series) { li { (sentence) } }
                li { "In the plot the line joins the medians of neighbouring commits, the band is their interval, faint dots are single executions, and crosses at the bottom are commits that cannot be measured." }
                @if has_boots(timeline) { li { "Executions in every second boot of the machine are squares, to the right of the others." } }
                @if has_layouts(series, timeline) {
                    li { "Plus signs to the left of the line are executions in random layouts, those of neighbouring seeds beside each other. They have no part in the line; a step is labelled by them." }
                }
                li { "The line is interrupted at commits that cannot be measured, and dotted where commits between have no result." }
                li { "An upright line is the first commit of a new level, the stripe around it the 95 % range in which the step lies. It is solid for a certain step, dashed for one that is provisional or may come from the surroundings or the layout, dotted for a quirk and for a step of the layout." }
                @if !timeline.quirks.is_empty() { li { "Bars with letters at the bottom are the commits that were measured in the surroundings of a quirk." } }
                @if !timeline.related.is_empty() {
                    li { "Other histories can be drawn in the same plot, each with a number, a mark and a colour. Their commits lie at the same commits of this line, or between those of their neighbours. Relative values are multiples of each history's first measured commit, a single value with its own error." }
                }
                li { "Where there are more commits than pixels, the band reaches from the lowest to the highest commit of each pixel: no extreme is left out. A cross is then a pixel with commits that cannot be measured." }
            }
        }
    };
    page_with(site, &one_line(&series.subject), about, parts, Some(timeline))
}

/// Whether executions of several boots are drawn.
fn has_boots(timeline: &Timeline) -> bool {
    timeline.marks.iter().any(|mark| !mark.boots.is_empty())
}

/// Whether executions in random layouts are drawn, or will be in a smaller range.
fn has_layouts(series: &HistorySeries, timeline: &Timeline) -> bool {
    timeline.marks.iter().any(|mark| !mark.layouts.is_empty())
        || series.steps.steps.iter().any(|step| step.layouts.is_some())
}

fn course(shown: &TimelinePage<'_>, site: &Site) -> Markup {
    let timeline = shown.timeline;
    let (before, after) = site.run_parts();
    let (history_before, history_after) = site.history_parts();
    let thresholds = OFFERED_THRESHOLDS.map(|percent| percent.to_string()).join(" ");
    let chunk = shown.files.map(|files| files.chunk);
    let pairs =
        shown.files.map(|files| files.pairs.iter().map(|[a, b]| format!("{a}-{b}")).collect::<Vec<_>>().join(" "));
    markup! {
        section #course aria-labelledby="course-title" {
            h2 #course-title { "Course" }
            @if timeline.commits == 0 { p.nothing { "It has no commits yet." } } @else {
                div #toolbar.toolbar role="group" aria-label="What the plot shows" hidden {}
                p #chart-keys.hint {
                    "In the plot: arrow keys move between commits, Enter pins the figures of one, Escape closes them; + and - zoom, 0 shows all; up and down lead to the next of several histories. "
                    "Drag across the plot or the strip to choose a range. With Shift a drag moves it; with Ctrl the wheel zooms."
                }
                p #threshold.hint role="status" hidden {}
                p #left-out.hint role="status" hidden {}
                figure.timeline data-answers=(site.answers(&timeline.id)) data-chunk=[chunk] data-thresholds=(thresholds)
                    data-compare=(site.comparisons(&timeline.id)) data-across=[site.comparison_across()] data-pairs=[pairs]
                    data-history-before=(history_before) data-history-after=(history_after) data-run-before=(before) data-run-after=(after) data-executions=(site.executions_part()) {
                    div.strip {}
                    ul #series.series hidden {}
                    div.chart aria-label={ "Course of " (timeline.commits) " commits, " (timeline.steps.len()) " steps" } aria-describedby="chart-keys" {
                        noscript { p.nothing { "The plot needs JavaScript. The tables hold the same figures." } }
                    }
                }
            }
        }
    }
}

/// The letters of quirks, with what they stand for.
fn quirks(timeline: &Timeline) -> Markup {
    markup! {
        @if !timeline.quirks.is_empty() {
            section #quirks aria-labelledby="quirks-title" {
                h2 #quirks-title { "Quirks" }
                p.hint { "Changes of the surroundings, not of the commits. The plot has their letters." }
                dl.quirks {
                    @for quirk in &timeline.quirks { dt { (quirk.letter) } dd { (quirk.what) } }
                }
            }
        }
    }
}

fn steps(shown: &TimelinePage<'_>, site: &Site) -> Markup {
    let series = shown.series;
    let head = markup! {
        th scope="col" { "first commit" }
        th scope="col" { "date" }
        th.number scope="col" { "change" }
        th scope="col" { "what" }
        th scope="col" { "state" }
        th.number scope="col" { "from" }
        th.number scope="col" { "to" }
        th scope="col" { "95 % range" }
        th scope="col" { "commits between" }
        th scope="col" { "commit's subject" }
    };
    let body = markup! { @for step in series.steps.steps.iter().rev() { (step_row(step, shown, site)) } };
    markup! {
        section #steps aria-labelledby="steps-title" {
            h2 #steps-title { "Steps" }
            @if series.steps.steps.is_empty() { p.nothing { (without_steps(series)) } }
            @else { (table("Steps, the newest first", false, head, body)) }
        }
    }
}

/// Why there are no steps: only a search that could find some says that there are none.
fn without_steps(series: &HistorySeries) -> &'static str {
    match &series.steps.basis {
        StepBasis::TooShort { .. } => "Not searched: too few commits have results.",
        StepBasis::Noisy { cautions, .. } if cautions.iter().any(ChangeCaution::withholds) => {
            "Inconclusive: the noise is of a kind in which no step is reported."
        }
        StepBasis::Noisy { .. } | StepBasis::Exact | StepBasis::Seeds { .. } => "No step was found.",
    }
}

fn step_row(step: &HistoryStep, shown: &TimelinePage<'_>, site: &Site) -> Markup {
    let (series, id) = (shown.series, shown.timeline.id.as_str());
    let commit = series.commit(step.by);
    markup! {
        tr {
            th scope="row" { @if let Some(commit) = commit { a href=(pinned("", &commit.id)) { code { (short_name(&commit.id)) } } } }
            td { @if let Some(commit) = commit { (moment::day(UnixMillis(commit.committed_s.saturating_mul(1000)))) } }
            td.number { (words::change(step, &UNICODE)) }
            td { (badge::kind(step)) }
            td {
                (badge::state(step))
                (said(series, step))
                @if shown.may_mark { (mark_form(id, series, step, site)) }
            }
            td.number { (value::data(step.from, &words::quantity(series, step.from, &UNICODE))) }
            td.number { (value::data(step.to, &words::quantity(series, step.to, &UNICODE))) }
            td { (range(series, step)) }
            td {
                (between(series, step, ""))
                (compare_link(step, shown, site))
            }
            td { @if let Some(commit) = commit { (cut(&one_line(&commit.subject), LETTERS)) } }
        }
    }
}

/// What leads to the comparison of the commits on both sides of a step.
fn compare_link(step: &HistoryStep, shown: &TimelinePage<'_>, site: &Site) -> Markup {
    let (id, sides) = (shown.timeline.id.as_str(), [step.after, step.by]);
    let name = |position| shown.series.commit(position).map_or("", |commit| commit.id.as_str());
    let address = match shown.files {
        None => Some(site.compare_commits(id, name(step.after), name(step.by))),
        Some(files) => files.pairs.contains(&sides).then(|| site.compared_positions(id, sides)),
    };
    markup! { @if let Some(address) = address { a href=(address) { "Compare both sides" } } }
}

fn commits(series: &HistorySeries, timeline: &Timeline, site: &Site) -> Markup {
    let head = markup! {
        th scope="col" { "commit" }
        th scope="col" { "date" }
        th.number scope="col" { "value" }
        th scope="col" { "interval" }
        th.number scope="col" { "n" }
        th.number scope="col" { "run" }
        th scope="col" { "author" }
        th scope="col" { "subject" }
    };
    let newest = timeline.marks.iter().rev().take(ROWS);
    let body = markup! { @for mark in newest { (commit_row(series, mark, site)) } };
    markup! {
        section #commits aria-labelledby="commits-title" {
            h2 #commits-title { "Commits" }
            p #shown.hint role="status" {
                @if timeline.marks.is_empty() { "There are too many commits here to list them: choose a shorter range." }
                @else { "The newest " (timeline.marks.len().min(ROWS)) " of " (timeline.marks.len()) " commits in the plot." }
            }
            (table("Commits in the plot, the newest first", false, head, body))
        }
    }
}

fn commit_row(series: &HistorySeries, mark: &CommitMark, site: &Site) -> Markup {
    // Exact values have no interval.
    let interval = mark.value.filter(|_| series.counted.is_none());
    markup! {
        tr data-position=(mark.position) {
            th scope="row" { a href=(pinned("", &mark.commit)) { code { (short_name(&mark.commit)) } } }
            td { (moment::day(UnixMillis(mark.committed_s.saturating_mul(1000)))) }
            td.number {
                @match mark.value {
                    Some(estimate) => (value::data(estimate.median, &words::quantity(series, estimate.median, &UNICODE))),
                    None if mark.why.is_empty() => (value::none()),
                    None => (mark.why),
                }
            }
            td { (value::interval(interval, &series.unit)) }
            td.number { (value::n(mark.value)) }
            td.number { @if let Some(run) = mark.run { a href=(site.run(run)) { (run) } } @else { (value::none()) } }
            td { (cut(&one_line(&mark.author), LETTERS)) }
            td { (cut(&one_line(&mark.subject), LETTERS)) }
        }
    }
}
