//! The page of a history: its plot, its steps, and its commits as a table linked to the plot.

use super::steps::{StepPlace, TimelineFiles};
use super::{live_line, page_with, steps};
use crate::escape::{cut, one_line};
use crate::history::{self, words};
use crate::names::counted;
use crate::page::delivery::Site;
use crate::page::document::{chart, reading, section};
use crate::page::element;
use crate::style::{Tone, UNICODE};
use faultline_record::commit::short_name;
use faultline_record::direction::Effect;
use faultline_record::forge::commits_of_page;
use faultline_stats::history::{Certainty, HistorySeries};
use faultline_stats::timeline::Timeline;
use maud::{Markup, html as markup};

/// Rows of the table of commits. The script shows the rows of the plot's range, with the same
/// limit.
const ROWS: usize = 200;

/// Letters of a commit's subject in the answer.
const SUBJECT_LETTERS: usize = 72;

/// The smallest steps that a page offers, in percent.
pub const OFFERED_THRESHOLDS: [f64; 9] = [0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];

/// Content of the page of a history.
#[derive(Debug, Clone)]
pub struct TimelinePage<'a> {
    /// The history.
    pub series: &'a HistorySeries,
    /// The drawn part of it.
    pub timeline: &'a Timeline,
    /// This history and others of the same subject and measure: number of tasks and identifier, by
    /// tasks.
    pub siblings: Vec<(u32, &'a str)>,
    /// True if the reader may set states.
    pub may_mark: bool,
    /// True if one of its runs is not finished. The page of a server then updates itself.
    pub goes_on: bool,
    /// Files beside the page; `None` for a server.
    pub files: Option<&'a TimelineFiles>,
}

/// The page of a history.
pub fn timeline_page(shown: &TimelinePage<'_>, site: &Site) -> String {
    let (series, timeline) = (shown.series, shown.timeline);
    let about = markup! {
        (element::answer(answer(series)))
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
    let place = StepPlace { id: &timeline.id, site, may_mark: shown.may_mark, files: shown.files };
    let table = history::changes_table(series, &place);
    let list = markup! {
        @if series.steps.steps.is_empty() { p.nothing { (steps::without_step(series).1) } }
        @else { (table.html("Steps, newest first")) }
    };
    let parts = markup! {
        (live_line(shown.goes_on, site))
        (section("course", "Course", course(shown, site)))
        (quirks(timeline))
        (section("steps", "Steps", list))
        (section("commits", "Commits", commits(series, timeline, site)))
        (reading(explanation(series, timeline)))
    };
    page_with(site, &one_line(&series.subject), about, parts, Some(timeline))
}

/// The answer in one sentence: the newest step with its commit.
fn answer(series: &HistorySeries) -> (Tone, String) {
    let measured = series.points.iter().filter(|point| point.value().is_some()).count();
    let commits = counted(measured as u64, "measured commit");
    let steps = &series.steps.steps;
    let Some(newest) = steps.last() else {
        let (_, sentence) = steps::without_step(series);
        return (Tone::Quiet, format!("{sentence} There are {commits}."));
    };
    let tone = match (newest.certainty(), newest.effect) {
        (Certainty::Certain, Effect::Worse) => Tone::Bad,
        (Certainty::Certain, Effect::Better) => Tone::Good,
        _ => Tone::Middling,
    };
    let at = series.commit(newest.by).map_or_else(String::new, |commit| {
        format!(" at {} ({})", short_name(&commit.id), cut(&commit.subject, SUBJECT_LETTERS))
    });
    let steps = counted(steps.len() as u64, "step");
    (tone, format!("{steps} in {commits}; the newest: {}{at}.", words::step(newest, &UNICODE)))
}

fn explanation(series: &HistorySeries, timeline: &Timeline) -> Vec<String> {
    let has_boots = timeline.marks.iter().any(|mark| !mark.boots.is_empty());
    let has_layouts = timeline.marks.iter().any(|mark| !mark.layouts.is_empty())
        || series.steps.steps.iter().any(|step| step.layouts.is_some());
    let of_page = [
        (
            true,
            "Plot: the line joins the medians of neighbouring commits; the band is their interval; faint dots are single \
             executions; crosses at the bottom are commits that cannot be measured.",
        ),
        (true, "Triangles at the border: an interval or an execution reaches beyond the plot."),
        (has_boots, "Executions in every second boot of the machine are squares, to the right of the others."),
        (
            has_layouts,
            "Plus signs to the left of the line are executions in random layouts, neighbouring seeds side by side. They do \
             not count for the line; they decide the label of a step.",
        ),
        (
            true,
            "The line is interrupted at commits that cannot be measured, and dotted where commits in between have no \
             result.",
        ),
        (
            true,
            "An upright line is the first commit of a new level; the stripe around it is the 95 % range of the step. Solid: \
             certain. Dashed: provisional, or perhaps caused by environment or layout. Dotted: a quirk, or a step of the \
             layout.",
        ),
        (
            !timeline.quirks.is_empty(),
            "Bars with letters at the bottom are the commits measured in the environment of a quirk.",
        ),
        (
            !timeline.related.is_empty(),
            "Other histories can be drawn in the same plot, each with a number, a mark and a colour. Their commits are at the \
             same commits of this line, or between those of their neighbours. Relative values are multiples of each \
             history's first measured commit, a single value with its own error.",
        ),
        (
            true,
            "With more commits than pixels, the band spans the lowest to the highest commit of each pixel: no extreme is left \
             out. A cross is then a pixel with commits that cannot be measured.",
        ),
    ];
    let of_page = of_page.into_iter().filter(|(applies, _)| *applies).map(|(_, sentence)| sentence.to_owned());
    words::sentences_beside_legend(series).into_iter().chain(of_page).collect()
}

fn course(shown: &TimelinePage<'_>, site: &Site) -> Markup {
    let timeline = shown.timeline;
    let (before, after) = site.run_parts();
    let (history_before, history_after) = site.history_parts();
    let thresholds = OFFERED_THRESHOLDS.map(|percent| percent.to_string()).join(" ");
    let chunk = shown.files.map(|files| files.chunk);
    let pairs =
        shown.files.map(|files| files.pairs.iter().map(|[a, b]| format!("{a}-{b}")).collect::<Vec<_>>().join(" "));
    let commits = counted(timeline.commits, "commit");
    let label = format!("Course of {commits}, {}", counted(timeline.steps.len() as u64, "step"));
    markup! {
        @if timeline.commits == 0 { p.nothing { "It has no commits yet." } } @else {
            div #toolbar.toolbar role="group" aria-label="Display" hidden {}
            p #chart-keys.hint {
                "Keys in the plot: arrows move between commits, Enter pins the figures of a commit, Escape closes them; + and - \
                 zoom, 0 shows all; up and down move between histories. Drag across the plot or the strip to choose a range; \
                 Shift and drag moves it; Ctrl and the wheel zoom."
            }
            p #threshold.hint role="status" hidden {}
            p #left-out.hint role="status" hidden {}
            figure.timeline data-answers=(site.answers(&timeline.id)) data-chunk=[chunk] data-thresholds=(thresholds)
                data-compare=(site.comparisons(&timeline.id)) data-across=[site.comparison_across()] data-pairs=[pairs]
                data-forge=[shown.series.forge.as_deref().and_then(commits_of_page)] data-history-before=(history_before) data-history-after=(history_after) data-run-before=(before)
                data-run-after=(after) data-executions=(site.executions_part()) {
                div.strip {}
                ul #series.series hidden {}
                (chart("", None, &label))
            }
        }
    }
}

/// The letters of quirks with their meaning.
fn quirks(timeline: &Timeline) -> Markup {
    let content = markup! {
        p.hint { "Changes of the environment, not of the commits. The plot shows their letters." }
        dl.quirks { @for quirk in &timeline.quirks { dt { (quirk.letter) } dd { (quirk.what) } } }
    };
    markup! { @if !timeline.quirks.is_empty() { (section("quirks", "Quirks", content)) } }
}

fn commits(series: &HistorySeries, timeline: &Timeline, site: &Site) -> Markup {
    let newest = timeline.marks.iter().rev().take(ROWS).map(|mark| mark.position);
    markup! {
        p #shown.hint role="status" {
            @if timeline.marks.is_empty() { "Too many commits to list. Choose a shorter range." }
            @else { "The newest " (timeline.marks.len().min(ROWS)) " of " (timeline.marks.len()) " commits in the plot." }
        }
        (history::page_table(series, newest, site).html("Commits in the plot, newest first"))
    }
}
