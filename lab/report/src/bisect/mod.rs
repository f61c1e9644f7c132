//! The result of a bisection: steps with their commits, sizes and certainty, in text, Markdown, CSV
//! and JSON.

pub(crate) mod words;

pub use words::bisect_gate;

use crate::escape::{cut, one_line};
use crate::explained;
use crate::format::Format;
use crate::names::commit_at;
use crate::page::element;
use crate::quantity::QuantityWords;
use crate::sheet::{Sheet, in_format};
use crate::style::Style;
use crate::table::{self, Form, ResultTable};
use faultline_record::bisect::Noise;
use faultline_record::commit::CommitInfo;
use faultline_record::plan::LineSearch;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunHead;
use faultline_record::subject::{BuildResult, Subject};
use faultline_stats::bisect::{BisectResult, FoundStep};
use faultline_stats::bisect::{RevertOutcome, Share};
use maud::html as markup;
use serde::Serialize;

/// Letters of a commit's subject in a table.
const SUBJECT_LETTERS: usize = 50;

/// A bisection: the steps with their commits. Empty for a run without one.
pub fn bisect(found: &BisectResult, head: &RunHead, format: Format, style: &Style) -> String {
    let Some(search) = head.settings.bisect() else { return String::new() };
    in_format(
        format,
        style,
        |sheet| body(sheet, found, head, search),
        || Shown::of(found, head, search),
        || table(found, search).csv(),
    )
}

fn body(mut sheet: Sheet<'_>, found: &BisectResult, head: &RunHead, search: &LineSearch) -> String {
    if !found.steps.is_empty() {
        sheet.table(&table(found, search));
    }
    for sentence in words::sentences(found, head, search) {
        sheet.paragraph(None, "", &sentence);
    }
    sheet.text += &match sheet.is_markdown() {
        true => explained::markdown(found, search),
        false => explained::text(found, search, sheet.style),
    };
    sheet.text
}

/// Knowledge about the steps besides probabilities and values: sentences about layouts and
/// reverts; and as indented text the commits' files and the differences of built programs.
pub(crate) fn known_of_steps(found: &BisectResult, head: &RunHead, style: &Style) -> (Vec<String>, String) {
    let Some(search) = head.settings.bisect() else { return (Vec::new(), String::new()) };
    let sentences = words::of_layouts(found, search).chain(words::of_reverts(found, search));
    (sentences.collect(), explained::text(found, search, style))
}

/// A step and its search.
type Row<'a> = (&'a FoundStep, &'a LineSearch);

type Column<'a> = table::Column<Row<'a>>;

/// The table of the steps.
pub(crate) fn table<'a>(found: &'a BisectResult, search: &'a LineSearch) -> ResultTable<Row<'a>> {
    ResultTable::new(
        columns(search.measure.quantity(), !is_exact(found, search), search.search.layouts > 0),
        found.steps.iter().map(|step| (step, search)),
    )
}

/// True if each execution of a build has the same value.
pub(super) fn is_exact(found: &BisectResult, search: &LineSearch) -> bool {
    found.ends_show.unwrap_or(search.search.noise) == Noise::None
}

/// Steps of exact counts are certain, so only the CSV has the columns about certainty.
fn columns<'a>(quantity: Quantity, is_noisy: bool, has_layouts: bool) -> Vec<Column<'a>> {
    vec![
        Column::left("commit", |(step, search), _| words::commit_words(step, &search.line))
            .csv("commit", |row| after(row, |commit| commit.id.clone()))
            .html(|row| {
                let (step, search) = row;
                let id = after(row, |commit| commit.id.clone());
                markup! {
                    code { (words::commit_words(step, &search.line)) }
                    (element::on_forge(search.forge.as_deref(), &id))
                }
            }),
        Column::csv_option("after_commit", |(step, search)| {
            commit_at(&search.line, step.before).map(|commit| commit.id.clone())
        }),
        Column::csv_only("candidates", |(step, _)| step.candidates.len().to_string()),
        Column::right(quantity.change(), |(step, _), _| words::step_change(step)),
        Column::csv_option("before", |(step, _)| step.values.map(|[before, _]| before)),
        Column::csv_option("after", |(step, _)| step.values.map(|[_, after]| after)),
        Column::csv_option("ratio", |(step, _)| step.change.map(|change| change.ratio)),
        Column::csv_option("ratio_low", |(step, _)| step.change.map(|change| change.low)),
        Column::csv_option("ratio_high", |(step, _)| step.change.map(|change| change.high)),
        Column::right("probability", |(step, _), _| words::step_probability(step))
            .when(is_noisy)
            .csv("probability", |(step, _)| step.probability.to_string()),
        Column::csv_only("found", |(step, _)| step.found.to_string()),
        Column::left("confirmed", |(step, _), _| if step.confirmed { "yes" } else { "no" }.to_owned())
            .when(is_noisy)
            .csv("confirmed", |(step, _)| step.confirmed.to_string()),
        Column::left("what", |(step, _), _| words::label(step.label).to_owned())
            .when(is_noisy || has_layouts)
            .csv_as_shown("what"),
        Column::csv_option("layouts", |(step, _)| step.layouts.map(|tried| tried.distinct)),
        Column::csv_option("layouts_ratio_low", |(step, _)| step.under_layouts.map(|change| change.low)),
        Column::csv_option("layouts_ratio_high", |(step, _)| step.under_layouts.map(|change| change.high)),
        Column::csv_option("taken_back", |(step, _)| taken_back(step).map(|share| share.share)),
        Column::csv_option("taken_back_low", |(step, _)| taken_back(step).map(|share| share.low)),
        Column::csv_option("taken_back_high", |(step, _)| taken_back(step).map(|share| share.high)),
        Column::left("author", |row, _| after(row, |commit| one_line(&commit.author)))
            .on(Form::ROOMY)
            .csv_as_shown("author"),
        Column::left("subject", |row, _| after(row, |commit| cut(&one_line(&commit.subject), SUBJECT_LETTERS)))
            .csv("subject", |row| after(row, |commit| one_line(&commit.subject))),
    ]
}

/// A text about the first commit with the new level.
fn after((step, search): &Row<'_>, text: impl Fn(&CommitInfo) -> String) -> String {
    commit_at(&search.line, step.after).map(text).unwrap_or_default()
}

/// The share of a step that the revert of its commit undoes.
fn taken_back(step: &FoundStep) -> Option<Share> {
    match step.reverted.as_ref()?.outcome {
        RevertOutcome::Measured { taken_back, .. } => taken_back,
        _ => None,
    }
}

/// The JSON: the result with the commits that it names, and the reasons for unusable ones.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    found: &'a BisectResult,
    /// The first and the last commit.
    ends: Vec<&'a CommitInfo>,
    /// For each step, the last commit before it and the candidates.
    commits: Vec<StepCommits<'a>>,
    /// Commits that do not build.
    failed_builds: Vec<FailedBuild<'a>>,
}

#[derive(Serialize)]
struct StepCommits<'a> {
    before: Option<&'a CommitInfo>,
    candidates: Vec<&'a CommitInfo>,
}

#[derive(Serialize)]
struct FailedBuild<'a> {
    commit: &'a str,
    how: &'a str,
    output: &'a str,
}

impl<'a> Shown<'a> {
    fn of(found: &'a BisectResult, head: &'a RunHead, search: &'a LineSearch) -> Self {
        let line = &search.line;
        let commits = |step: &FoundStep| StepCommits {
            before: commit_at(line, step.before),
            candidates: step.candidates.iter().filter_map(|&position| commit_at(line, position)).collect(),
        };
        let failed = |subject: &'a Subject| match (&subject.commit, &subject.build) {
            (Some(commit), Some(BuildResult::Failed { how, output })) => {
                Some(FailedBuild { commit: &commit.id, how, output })
            }
            _ => None,
        };
        Shown {
            found,
            ends: line.commits.first().into_iter().chain(line.commits.last()).collect(),
            commits: found.steps.iter().map(commits).collect(),
            failed_builds: head.subjects.iter().filter_map(failed).collect(),
        }
    }
}

/// A step after commit 1, for tests.
#[cfg(test)]
pub(crate) fn made_up_step() -> FoundStep {
    FoundStep {
        before: 1,
        after: 2,
        candidates: vec![2],
        probability: 0.99,
        found: true,
        confirmed: true,
        change: None,
        values: None,
        label: faultline_stats::bisect::StepLabel::Inconclusive,
        under_layouts: None,
        layouts: None,
        of_environment: None,
        of_commits: None,
        reverted: None,
        explained: None,
        moved: None,
        counters: Vec::new(),
    }
}
