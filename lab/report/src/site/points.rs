//! The page that compares two commits of one or two histories: results, commits and steps between
//! them, and records.

use super::steps::{self, ask_form, commits_between, log, range};
use super::{page, page_with};
use crate::bisect::known_of_steps;
use crate::comparison::words::sentence;
use crate::escape::{cut, one_line};
use crate::explained::{Item, Per, differences, step_text};
use crate::history::words;
use crate::lens::compare::tone;
use crate::lens::totals;
use crate::page::comparison_parts;
use crate::page::delivery::{Site, pinned};
use crate::page::document::{preformatted, section};
use crate::page::element::{self, none};
use crate::sentences::{outcome, worded_comparison};
use crate::style::{Style, Tone, UNICODE};
use crate::table::{Column, ResultTable};
use faultline_record::change_event::Source;
use faultline_record::commit::{CommitLine, short_name};
use faultline_record::explained::StepExplained;
use faultline_record::record::{RunHead, RunId};
use faultline_record::subject::SubjectIndex;
use faultline_stats::bisect::BisectResult;
use faultline_stats::estimate::Estimate;
use faultline_stats::history::{
    ComparedCommits, ComparedValues, HistoryPoint, HistorySeries, HistoryStep, NotMeasured, PointResult,
};
use faultline_stats::lens::comparison::CellComparison;
use maud::{Markup, html as markup};
use std::collections::BTreeSet;

/// Commits listed.
const LISTED: usize = 200;
/// Lines of data, and places in code, listed.
const DIFFERENCES: usize = 25;
/// Letters of a commit's subject, and of a name.
const LETTERS: usize = 120;

/// One of the two commits.
#[derive(Debug, Clone, Copy)]
pub struct PointSide<'a> {
    /// Identifier of the history.
    pub id: &'a str,
    /// The history.
    pub series: &'a HistorySeries,
    /// The position in the history.
    pub position: u32,
}

impl<'a> PointSide<'a> {
    fn point(&self) -> Option<&'a HistoryPoint> {
        self.series.points.get(self.position as usize)
    }

    fn name(&self) -> &'a str {
        self.series.commit(self.position).map_or("", |commit| short_name(&commit.id))
    }
}

/// Content of the page.
#[derive(Debug, Clone)]
pub struct PointsPage<'a> {
    /// The two commits: A, then B.
    pub sides: [PointSide<'a>; 2],
    /// The comparison of B with A, or the reason why there is none.
    pub compared: Result<&'a ComparedCommits, String>,
    /// Bisections of the steps between them.
    pub searches: &'a [Searched],
    /// Differences saved for the steps between them when they were measured.
    pub differences: &'a [StepDiffers],
    /// True if the reader may request new measurements.
    pub may_ask: bool,
}

impl<'a> PointsPage<'a> {
    /// The common history; `None` if each commit has its own.
    fn history(&self) -> Option<&'a HistorySeries> {
        let [a, b] = self.sides;
        (a.id == b.id).then_some(a.series)
    }
}

/// A bisection with its result.
#[derive(Debug, Clone)]
pub struct Searched {
    /// The run.
    pub head: RunHead,
    /// The result.
    pub found: BisectResult,
}

/// The files and built programs that differ between the commits of a step.
#[derive(Debug, Clone)]
pub struct StepDiffers {
    /// The position of the step's first commit with the new level, in the history.
    pub by: u32,
    /// The line of commits to which the positions in `found` refer.
    pub line: CommitLine,
    /// The saved differences.
    pub found: StepExplained,
}

/// The page that compares two commits.
pub fn points_page(shown: &PointsPage<'_>, site: &Site) -> String {
    let [a, b] = shown.sides;
    let subject = match shown.history() {
        None if a.series.subject != b.series.subject => {
            format!("{} and {}", one_line(&a.series.subject), one_line(&b.series.subject))
        }
        _ => one_line(&a.series.subject),
    };
    let title = format!("{subject}: {} → {}", a.name(), b.name());
    let answer = match &shown.compared {
        Err(why) => (Tone::Middling, format!("Not compared: {why}.")),
        Ok(ComparedCommits { values: ComparedValues::Timed(compared), .. }) => sentence(compared, &UNICODE),
        Ok(ComparedCommits { values: ComparedValues::Counted(counts), .. }) => {
            (tone(counts), totals(counts, &UNICODE) + ".")
        }
    };
    let about = markup! {
        (element::answer(answer))
        @match shown.history() {
            Some(series) => {
                p.machine { code { (words::subject(series)) } ": " (words::measured(series)) }
                nav aria-label="Related pages" { a href=(site.history(a.id)) { "The whole history" } }
            }
            None => {
                @for (letter, side) in ["A", "B"].iter().zip(&shown.sides) {
                    p.machine { (letter) ": " code { (words::subject(side.series)) } ": " (words::measured(side.series)) }
                }
                nav aria-label="Related pages" {
                    @for (letter, side) in ["A", "B"].iter().zip(&shown.sides) { a href=(site.history(side.id)) { "The history of " (letter) } }
                }
            }
        }
    };
    let parts = markup! {
        (sides(shown, site))
        @if let Some(series) = shown.history() { (way(shown, series, site)) }
        @match &shown.compared {
            Err(why) => section { p.nothing { "Not compared: " (one_line(why)) "." } },
            Ok(ComparedCommits { values: ComparedValues::Timed(compared), .. }) => (comparison_parts(compared)),
            Ok(ComparedCommits { values: ComparedValues::Counted(counts), .. }) => (counted(counts, Per::of(a.series.workload.is_some()))),
        }
    };
    match &shown.compared {
        Ok(ComparedCommits { values: ComparedValues::Timed(compared), .. }) => {
            page_with(site, &title, about, parts, Some(&worded_comparison(compared)))
        }
        _ => page(site, &title, about, parts),
    }
}

/// The commits and steps between two commits of one history.
fn way(shown: &PointsPage<'_>, series: &HistorySeries, site: &Site) -> Markup {
    let history = site.history(shown.sides[0].id);
    let [a, b] = shown.sides.map(|side| side.position);
    let commits = markup! {
        (commits_between(series, [a.min(b), a.max(b)], LISTED, &history))
        p.hint {
            "These are the commits of the history's line. Files and built programs that differ are saved at each step by "
            code { "faultline history run" } " and by bisections; " code { "faultline history changes" }
            " reads them from the repository."
        }
    };
    markup! {
        (section("between", "Commits after the older one, up to the newer one", commits))
        (section("steps", "Steps between them", steps(shown, series, &history, site)))
    }
}

/// A side of the table of both commits.
struct SideRow<'a> {
    letter: &'static str,
    side: &'a PointSide<'a>,
    point: &'a HistoryPoint,
    subject: Option<SubjectIndex>,
    site: &'a Site,
}

impl SideRow<'_> {
    fn estimate(&self) -> Option<Estimate> {
        match &self.point.result {
            PointResult::Measured { estimate, .. } => Some(*estimate),
            PointResult::Unusable(_) | PointResult::None => None,
        }
    }
}

fn side_columns<'a>(are_two: bool) -> Vec<Column<SideRow<'a>>> {
    type Row<'a> = SideRow<'a>;
    vec![
        Column::<Row<'_>>::left("side", |row, _| row.letter.to_owned()).row_heading(),
        Column::page("commit", |row: &Row<'_>| {
            let id = &row.point.commit.id;
            markup! {
                (element::commit(&pinned(&row.site.history(row.side.id), id), id))
                (element::on_forge(row.side.series.forge.as_deref(), id))
            }
        }),
        Column::page("history", |row: &Row<'_>| {
            markup! { a href=(row.site.history(row.side.id)) { (words::measured(row.side.series)) } }
        })
        .when(are_two),
        Column::left("date", |row: &Row<'_>, _| element::day(&row.point.commit)),
        Column::page_right("value", |row: &Row<'_>| value(row.side.series, row.point)),
        // Exact values have no interval.
        Column::page("interval", |row: &Row<'_>| {
            let series = row.side.series;
            element::interval(row.estimate().filter(|_| !series.quantity.is_counted()), &series.unit)
        }),
        Column::page_right("n", |row: &Row<'_>| element::n(row.estimate())),
        Column::page("run", |row: &Row<'_>| {
            let Some(run) = row.point.run else { return none() };
            let executions =
                row.subject.map_or_else(|| row.site.executions(run), |subject| row.site.executions_of(run, subject));
            markup! { a href=(row.site.run(run)) { (run) } ", " a href=(executions) { "raw executions" } }
        }),
        Column::left("author", |row: &Row<'_>, _| cut(&one_line(&row.point.commit.author), LETTERS)),
        Column::left("subject", |row: &Row<'_>, _| cut(&one_line(&row.point.commit.subject), LETTERS)),
    ]
}

/// The value of a commit, or the reason why it has none.
pub(crate) fn value(series: &HistorySeries, point: &HistoryPoint) -> Markup {
    match (&point.result, words::why(&point.result)) {
        (PointResult::Measured { estimate, .. }, _) => {
            element::data(estimate.median, &words::quantity(series, estimate.median, &UNICODE))
        }
        (_, "") => none(),
        (_, why) => markup! { (why) },
    }
}

/// Both commits with their results and links to their raw executions.
fn sides(shown: &PointsPage<'_>, site: &Site) -> Markup {
    let letters = || ["A", "B"].into_iter().zip(&shown.sides);
    let subjects = shown.compared.as_ref().ok().map(|compared| compared.subjects);
    let rows = letters().enumerate().filter_map(|(place, (letter, side))| {
        Some(SideRow { letter, side, point: side.point()?, subject: subjects.map(|of| of[place]), site })
    });
    let content = markup! {
        (ResultTable::new(side_columns(shown.history().is_none()), rows).html("The two commits"))
        @for (letter, side) in letters().filter(|_| shown.may_ask) {
            @if let Some(point) = side.point() {
                (ask_form(side.id, "measure", &point.commit.id, &format!("Measure {letter} again"), site))
            }
        }
        @for (letter, side) in letters() {
            @if let Some(HistoryPoint { result: PointResult::Unusable(why), .. }) = side.point() { (unusable(letter, why)) }
        }
    };
    section("sides", "Both commits", content)
}

/// The reason for a commit without a value, with the last output of its build or program.
fn unusable(letter: &str, why: &NotMeasured) -> Markup {
    let ended = why.execution.as_ref();
    let output = why.build.as_ref().map(|build| build.output.as_str()).or(ended.and_then(|ended| ended.last_output()));
    markup! {
        h3 { (letter) " cannot be measured" }
        @if let Some(build) = &why.build { p { "Build: " (one_line(&build.how)) } }
        @if let Some(ended) = ended { p { "Execution: " (one_line(&outcome(ended))) } }
        @if let Some(output) = output { (preformatted(&format!("Last output of {letter}"), output)) }
    }
}

/// The steps between the two commits, with their records.
fn steps(shown: &PointsPage<'_>, series: &HistorySeries, history: &str, site: &Site) -> Markup {
    let [a, b] = shown.sides.map(|side| side.position);
    let (from, to) = (a.min(b), a.max(b));
    let between: Vec<&HistoryStep> = series.steps.steps.iter().filter(|step| step.by > from && step.by <= to).collect();
    markup! {
        @if between.is_empty() { p.nothing { "No step of the history begins here." } }
        @else if !series.quantity.is_counted() {
            p.hint {
                "A step's percentage is the change of level; the comparison's is estimated from pairs of values. They differ."
            }
        }
        ul { @for step in between { li { (step_item(shown, series, step, history, site)) } } }
    }
}

fn step_item(shown: &PointsPage<'_>, series: &HistorySeries, step: &HistoryStep, history: &str, site: &Site) -> Markup {
    let id = series.commit(step.by).map_or("", |commit| commit.id.as_str());
    let found: Vec<(RunId, Vec<String>, String)> = searches(step).into_iter().map(|run| found(run, shown)).collect();
    let saved = shown.differences.iter().find(|one| one.by == step.by);
    markup! {
        (element::commit(&pinned(history, id), id)) (element::on_forge(series.forge.as_deref(), id)) " " (words::change(step, &UNICODE)) " " (steps::kind(step)) " "
        (steps::state(step)) " 95 % range: " (range(series, step))
        (log(series, step))
        @for (run, sentences, explained) in &found {
            p {
                a href=(site.run(*run)) { "Bisection " (run) }
                @if !explained.is_empty() { ": the files and the built programs that differ" }
            }
            @for sentence in sentences { p { (sentence) } }
            @if !explained.is_empty() { (preformatted(&format!("Result of bisection {run}"), explained)) }
        }
        // A bisection that explains the step knows its commits one by one.
        @if found.iter().all(|(_, _, explained)| explained.is_empty()) { (differing(saved)) }
    }
}

/// The result of a bisection in words: about layouts and the revert, and the files and built
/// programs that differ.
fn found(run: RunId, shown: &PointsPage<'_>) -> (RunId, Vec<String>, String) {
    let searched = shown.searches.iter().find(|one| one.head.id == run);
    let known = searched.map(|one| known_of_steps(&one.found, &one.head, &Style::PLAIN));
    let (sentences, explained) = known.unwrap_or_default();
    (run, sentences, explained)
}

/// The differences saved for a step when it was measured.
fn differing(saved: Option<&StepDiffers>) -> Markup {
    let Some(StepDiffers { line, found, .. }) = saved else {
        return markup! {
            p.hint {
                "No files and built programs were saved for this step: its builds were gone, or kernels were given."
            }
        };
    };
    markup! {
        p { "The files and the built programs that differ:" }
        (preformatted("Files and built programs that differ", &step_text(found, line, &Style::PLAIN)))
    }
}

/// The bisections of a step.
pub fn searches(step: &HistoryStep) -> BTreeSet<RunId> {
    let run = |source: &Source| match source {
        Source::Search { run } => Some(*run),
        Source::Person { .. } => None,
    };
    step.state.log.iter().filter_map(|event| run(&event.source)).collect()
}

/// The differences counted by the lens.
fn counted(counts: &CellComparison, per: Per) -> Markup {
    let items = differences(counts, per, DIFFERENCES, &UNICODE);
    let content = markup! {
        p { (one_line(&totals(counts, &UNICODE))) }
        @if items.is_empty() { p.nothing { "No line of data and no place in the code moved more or less." } }
        @else { (preformatted("Data and code", &Item::all_text(&items, &Style::PLAIN))) }
    };
    section("counts", "Counts", content)
}
