//! Two commits, of one history or of two, compared: their results, the commits and steps between them, and what the runs recorded of both.

use super::badge;
use super::between::{commits_between, range, said};
use super::frame::page_with;
use super::jobs::ask_form;
use crate::drill::{known_of_steps, step_text};
use crate::explained::Item;
use crate::history::moved::{Per, differences};
use crate::history::words;
use crate::lens::totals;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::page::comparison_parts;
use crate::page::delivery::{Site, pinned};
use crate::page::document::table;
use crate::page::value;
use crate::sentences::{outcome, worded_comparison};
use crate::style::{Style, UNICODE};
use faultline_model::commit::{CommitLine, short_name};
use faultline_model::drill::Drill;
use faultline_model::explained::StepExplained;
use faultline_model::history::change::Source;
use faultline_model::history::compared::{ComparedCommits, ComparedValues};
use faultline_model::history::{HistoryPoint, HistorySeries, HistoryStep, NotMeasured, PointResult};
use faultline_model::lens::comparison::CellComparison;
use faultline_model::record::{RunHead, RunId};
use faultline_model::subject::SubjectIndex;
use faultline_model::time::UnixMillis;
use maud::{Markup, html as markup};
use std::collections::BTreeSet;

/// Commits that are listed.
const LISTED: usize = 200;
/// Lines of data, and places in code, that are listed.
const DIFFERENCES: usize = 25;
/// Letters of a commit's subject, and of a name.
const LETTERS: usize = 120;

/// One of the two commits.
#[derive(Debug, Clone, Copy)]
pub struct PointSide<'a> {
    /// Identifier of its history.
    pub id: &'a str,
    /// Its history.
    pub series: &'a HistorySeries,
    /// Its position there.
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

/// What the page shows.
#[derive(Debug, Clone)]
pub struct PointsPage<'a> {
    /// The two commits: A, then B.
    pub sides: [PointSide<'a>; 2],
    /// The comparison, B against A; or in words why there is none.
    pub compared: Result<&'a ComparedCommits, String>,
    /// What searches found at the steps between them.
    pub searches: &'a [Searched],
    /// What was saved of the steps between them when they were measured.
    pub differences: &'a [StepDiffers],
    /// Whether the reader may ask that a commit is measured again.
    pub may_ask: bool,
}

impl<'a> PointsPage<'a> {
    /// The history of both; `None` if each has its own.
    fn history(&self) -> Option<&'a HistorySeries> {
        let [a, b] = self.sides;
        (a.id == b.id).then_some(a.series)
    }
}

/// A search along the commits of a history, with what it found.
#[derive(Debug, Clone)]
pub struct Searched {
    /// Its run.
    pub head: RunHead,
    /// What it found.
    pub found: Drill,
}

/// What lies between the commits of a step: files, and built programs.
#[derive(Debug, Clone)]
pub struct StepDiffers {
    /// The position of the step's first commit with the new level, in the history.
    pub by: u32,
    /// The line of commits in which `found` has positions.
    pub line: CommitLine,
    /// What was saved.
    pub found: StepExplained,
}

/// The page.
pub fn points_page(shown: &PointsPage<'_>, site: &Site) -> String {
    let [a, b] = shown.sides;
    let subject = match shown.history() {
        None if a.series.subject != b.series.subject => {
            format!("{} and {}", one_line(&a.series.subject), one_line(&b.series.subject))
        }
        _ => one_line(&a.series.subject),
    };
    let title = format!("{subject}: {} → {}", a.name(), b.name());
    let about = markup! {
        @match shown.history() {
            Some(series) => {
                p.machine { code { (words::subject(series)) } ": " (words::measured(series)) }
                nav aria-label="Belongs to this history" { a href=(site.history(a.id)) { "The whole history" } }
            }
            None => {
                @for (letter, side) in ["A", "B"].iter().zip(&shown.sides) {
                    p.machine { (letter) ": " code { (words::subject(side.series)) } ": " (words::measured(side.series)) }
                }
                nav aria-label="Belong to these histories" {
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
        _ => page_with(site, &title, about, parts, None::<&()>),
    }
}

/// What lies between two commits of one history.
fn way(shown: &PointsPage<'_>, series: &HistorySeries, site: &Site) -> Markup {
    let history = site.history(shown.sides[0].id);
    let [a, b] = shown.sides.map(|side| side.position);
    markup! {
        section #between aria-labelledby="between-title" {
            h2 #between-title { "Commits after the older one, up to the newer one" }
            (commits_between(series, [a.min(b), a.max(b)], LISTED, &history))
            p.hint {
                "These are the commits of the history's line. The files and the built programs that differ are saved at each step, by "
                code { "faultline history run" } " and by searches; " code { "faultline history changes" } " reads them from the repository."
            }
        }
        (steps(shown, series, &history, site))
    }
}

/// Each commit with its result, and what leads to its raw executions.
fn sides(shown: &PointsPage<'_>, site: &Site) -> Markup {
    let are_two = shown.history().is_none();
    let head = markup! {
        th scope="col" { "side" }
        th scope="col" { "commit" }
        @if are_two { th scope="col" { "history" } }
        th scope="col" { "date" }
        th.number scope="col" { "value" }
        th scope="col" { "interval" }
        th.number scope="col" { "n" }
        th scope="col" { "run" }
        th scope="col" { "author" }
        th scope="col" { "subject" }
    };
    let subjects = shown.compared.as_ref().ok().map(|compared| compared.subjects);
    let body = markup! {
        @for (place, side) in shown.sides.iter().enumerate() {
            @if let Some(point) = side.point() {
                (side_row(["A", "B"][place], point, subjects.map(|of| of[place]), side, are_two, site))
            }
        }
    };
    markup! {
        section #sides aria-labelledby="sides-title" {
            h2 #sides-title { "Both commits" }
            (table("The two commits", false, head, body))
            @if shown.may_ask {
                @for (letter, side) in ["A", "B"].iter().zip(&shown.sides) {
                    @if let Some(point) = side.point() {
                        (ask_form(side.id, "measure", &point.commit.id, &format!("Measure {letter} again"), site))
                    }
                }
            }
            @for (letter, side) in ["A", "B"].iter().zip(&shown.sides) {
                @if let Some(HistoryPoint { result: PointResult::Unusable(why), .. }) = side.point() { (unusable(letter, why)) }
            }
        }
    }
}

fn side_row(
    letter: &str,
    point: &HistoryPoint,
    subject: Option<SubjectIndex>,
    side: &PointSide<'_>,
    has_history: bool,
    site: &Site,
) -> Markup {
    let (series, history, commit) = (side.series, site.history(side.id), &point.commit);
    let estimate = match &point.result {
        PointResult::Measured { estimate, .. } => Some(*estimate),
        PointResult::Unusable(_) | PointResult::None => None,
    };
    let why = words::why(&point.result);
    markup! {
        tr {
            th scope="row" { (letter) }
            td { a href=(pinned(&history, &commit.id)) { code { (short_name(&commit.id)) } } }
            @if has_history { td { a href=(history) { (words::measured(series)) } } }
            td { (moment::day(UnixMillis(commit.committed_s.saturating_mul(1000)))) }
            td.number {
                @match estimate {
                    Some(estimate) => (value::data(estimate.median, &words::quantity(series, estimate.median, &UNICODE))),
                    None if why.is_empty() => (value::none()),
                    None => (why),
                }
            }
            // Exact values have no interval.
            td { (value::interval(estimate.filter(|_| series.counted.is_none()), &series.unit)) }
            td.number { (value::n(estimate)) }
            td { (run_links(point.run, subject, site)) }
            td { (cut(&one_line(&commit.author), LETTERS)) }
            td { (cut(&one_line(&commit.subject), LETTERS)) }
        }
    }
}

fn run_links(run: Option<RunId>, subject: Option<SubjectIndex>, site: &Site) -> Markup {
    markup! {
        @match run {
            None => (value::none()),
            Some(run) => {
                a href=(site.run(run)) { (run) } ", "
                a href=(subject.map_or_else(|| site.executions(run), |subject| site.executions_of(run, subject))) { "raw executions" }
            }
        }
    }
}

/// Why a commit has no value, with what its build or its program said last.
fn unusable(letter: &str, why: &NotMeasured) -> Markup {
    let ended = why.execution.as_ref();
    let output = why.build.as_ref().map(|build| build.output.as_str()).or(ended.and_then(|ended| ended.last_output()));
    markup! {
        h3 { (letter) " cannot be measured" }
        @if let Some(build) = &why.build { p { "Build: " (one_line(&build.how)) } }
        @if let Some(ended) = ended { p { "Execution: " (one_line(&outcome(ended))) } }
        @if let Some(output) = output {
            div.scroll tabindex="0" role="region" aria-label={ "Last output of " (letter) } { pre.text { (output) } }
        }
    }
}

/// The steps between the two commits, with what is known of each.
fn steps(shown: &PointsPage<'_>, series: &HistorySeries, history: &str, site: &Site) -> Markup {
    let [a, b] = shown.sides.map(|side| side.position);
    let (from, to) = (a.min(b), a.max(b));
    let between: Vec<&HistoryStep> = series.steps.steps.iter().filter(|step| step.by > from && step.by <= to).collect();
    markup! {
        section #steps aria-labelledby="steps-title" {
            h2 #steps-title { "Steps between them" }
            @if between.is_empty() { p.nothing { "No step of the history begins here." } }
            @else if series.counted.is_none() {
                p.hint { "A step says by how much the level of the values changes; the comparison says how much better B is, so its percentage is another one." }
            }
            ul {
                @for step in between {
                    li {
                        a href=(pinned(history, series.commit(step.by).map_or("", |commit| commit.id.as_str()))) {
                            code { (series.commit(step.by).map_or("", |commit| short_name(&commit.id))) }
                        }
                        " " (words::change(step, &UNICODE)) " " (badge::kind(step)) " " (badge::state(step)) " 95 % range: " (range(series, step))
                        (said(series, step))
                        @let found: Vec<Found> = searches(step).into_iter().map(|run| Found::of(run, shown)).collect();
                        @for one in &found { (search(one, site)) }
                        // A search that explains the step knows its commits one by one.
                        @if found.iter().all(|one| one.explained.is_empty()) { (differing(shown.differences.iter().find(|one| one.by == step.by))) }
                    }
                }
            }
        }
    }
}

/// What a search found, in words: what came of random layouts and of a revert, and the files and the built programs that differ.
struct Found {
    run: RunId,
    sentences: Vec<String>,
    explained: String,
}

impl Found {
    fn of(run: RunId, shown: &PointsPage<'_>) -> Self {
        let searched = shown.searches.iter().find(|one| one.head.id == run);
        let known = searched.map(|one| known_of_steps(&one.found, &one.head, &Style { unicode: true, ..Style::PLAIN }));
        let (sentences, explained) = known.unwrap_or_default();
        Found { run, sentences, explained }
    }
}

fn search(Found { run, sentences, explained }: &Found, site: &Site) -> Markup {
    markup! {
        p { a href=(site.run(*run)) { "Search " (run) } @if !explained.is_empty() { ": the files and the built programs that differ" } }
        @for sentence in sentences { p { (sentence) } }
        @if !explained.is_empty() {
            div.scroll tabindex="0" role="region" aria-label={ "What search " (run) " found" } { pre.text { (explained) } }
        }
    }
}

/// What was saved of a step when it was measured.
fn differing(saved: Option<&StepDiffers>) -> Markup {
    let Some(StepDiffers { line, found, .. }) = saved else {
        return markup! { p.hint { "No files and built programs were saved of this step: its run is of an older version, its builds were gone, or kernels were given." } };
    };
    let text = step_text(found, line, &Style { unicode: true, ..Style::PLAIN });
    markup! {
        p { "The files and the built programs that differ:" }
        div.scroll tabindex="0" role="region" aria-label="Files and built programs that differ" { pre.text { (text) } }
    }
}

/// The searches that looked at a step.
pub fn searches(step: &HistoryStep) -> BTreeSet<RunId> {
    let run = |source: &Source| match source {
        Source::Search { run } => Some(*run),
        Source::Person { .. } => None,
    };
    step.state.log.iter().filter_map(|event| run(&event.source)).collect()
}

/// What the lens counted otherwise.
fn counted(counts: &CellComparison, per: Per) -> Markup {
    let items = differences(counts, per, DIFFERENCES, &UNICODE);
    markup! {
        section #counts aria-labelledby="counts-title" {
            h2 #counts-title { "What was counted" }
            p { (one_line(&totals(counts, &UNICODE))) }
            @if items.is_empty() { p.nothing { "No line of data and no place in the code moved more or less." } }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Data and code" {
                    pre.text { (Item::all_text(&items, &Style { unicode: true, ..Style::PLAIN })) }
                }
            }
        }
    }
}
