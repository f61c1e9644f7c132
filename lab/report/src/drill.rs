//! What a search along a line of commits found: the commits, how much each changed, how sure that is, and what could not be seen.

mod explained;
mod gate;
pub(crate) mod layouts;
mod reverts;

pub(crate) use explained::step_text;
pub use gate::drill_gate;

use crate::figure;
use crate::format::Format;
use crate::json::json;
use crate::one_line::{cut, one_line};
use crate::quantity::Quantity;
use crate::style::{Style, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::commit::{CommitInfo, CommitLine, short_name};
use faultline_model::drill::reverted::{RevertOutcome, Share};
use faultline_model::drill::{Change, Drill, DrillStep, Noise, StepLabel};
use faultline_model::plan::LineSearch;
use faultline_model::record::RunHead;
use faultline_model::subject::{BuildResult, Subject};
use serde::Serialize;

/// Letters of a commit's subject that are shown in a table.
const SUBJECT_LETTERS: usize = 50;

/// What was found, with the commits. Empty for a run that searches no line.
pub fn drill(found: &Drill, head: &RunHead, format: Format, style: &Style) -> String {
    let Some(search) = head.settings.drill() else { return String::new() };
    match format {
        Format::Table => {
            let table = if found.steps.is_empty() { String::new() } else { table(found, search).text(style) };
            let sentences = sentences(found, head, search);
            table
                + &sentences.iter().map(|text| wrapped(style, text)).collect::<String>()
                + &explained::text(found, search, style)
        }
        Format::Markdown => {
            let lines: String =
                sentences(found, head, search).iter().map(|sentence| format!("{}  \n", plain(sentence))).collect();
            let explained = explained::markdown(found, search);
            let table = match found.steps.is_empty() {
                true => String::new(),
                false => format!(
                    "{}
",
                    table(found, search).markdown(&UNICODE)
                ),
            };
            format!("{table}{lines}{explained}")
        }
        Format::Json => json(&Shown::of(found, head, search)),
        Format::Csv => table(found, search).csv(),
    }
}

/// What is known of the steps besides their probabilities and values: sentences on random layouts and on the revert, and as indented text the commits' files and how
/// what was linked differs.
pub(crate) fn known_of_steps(found: &Drill, head: &RunHead, style: &Style) -> (Vec<String>, String) {
    let Some(search) = head.settings.drill() else { return (Vec::new(), String::new()) };
    let of_layouts = found.steps.iter().filter_map(|step| layouts::sentence(step, &search.line));
    let of_reverts = found.steps.iter().filter_map(|step| reverts::sentence(step, search));
    (of_layouts.chain(of_reverts).collect(), explained::text(found, search, style))
}

fn wrapped(style: &Style, text: &str) -> String {
    style.wrap(text, "", "").join("\n") + "\n"
}

/// Text whose signs mean nothing in Markdown.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        if "\\`*_{}[]<>()#+!|~&".contains(sign) {
            plain.push('\\');
        }
        plain.push(sign);
    }
    plain
}

/// A row of the table: a step and the line.
type Row<'a> = (&'a DrillStep, &'a CommitLine);

type Column<'a> = table::Column<Row<'a>>;

fn table<'a>(found: &'a Drill, search: &'a LineSearch) -> Table<Row<'a>> {
    Table::new(
        columns(Quantity::of(search), !is_exact(found, search), search.search.layouts > 0),
        found.steps.iter().map(|step| (step, &search.line)),
    )
}

/// Whether each execution of a build has the same value.
fn is_exact(found: &Drill, search: &LineSearch) -> bool {
    found.ends_show.unwrap_or(search.search.noise) == Noise::None
}

/// Of exact counts nothing is uncertain, so only the CSV has the columns that say how certain a step is.
fn columns<'a>(quantity: Quantity, is_noisy: bool, has_layouts: bool) -> Vec<Column<'a>> {
    const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];
    vec![
        Column::left("commit", |(step, line), _| commit_words(step, line))
            .csv("commit", |(step, line)| at(line, step.after).map_or_else(String::new, |commit| commit.id.clone())),
        Column::csv_only("after_commit", |(step, line)| {
            at(line, step.before).map_or_else(String::new, |commit| commit.id.clone())
        }),
        Column::csv_only("candidates", |(step, _)| step.candidates.len().to_string()),
        Column::right(quantity.change(), |(step, _), _| step_change(step)),
        Column::csv_only("before", |(step, _)| table::number(step.values.map(|[before, _]| before))),
        Column::csv_only("after", |(step, _)| table::number(step.values.map(|[_, after]| after))),
        Column::csv_only("ratio", |(step, _)| step.change.map_or_else(String::new, |change| change.ratio.to_string())),
        Column::csv_only("ratio_low", |(step, _)| {
            step.change.map_or_else(String::new, |change| change.low.to_string())
        }),
        Column::csv_only("ratio_high", |(step, _)| {
            step.change.map_or_else(String::new, |change| change.high.to_string())
        }),
        Column::right("probability", |(step, _), _| probability(step.probability))
            .when(is_noisy)
            .csv("probability", |(step, _)| step.probability.to_string()),
        Column::left("confirmed", |(step, _), _| if step.confirmed { "yes" } else { "no" }.to_owned())
            .when(is_noisy)
            .csv("confirmed", |(step, _)| step.confirmed.to_string()),
        Column::left("what", |(step, _), _| label(step.label).to_owned())
            .when(is_noisy || has_layouts)
            .csv("what", |(step, _)| label(step.label).to_owned()),
        Column::csv_only("layouts", |(step, _)| {
            step.layouts.map_or_else(String::new, |tried| tried.distinct.to_string())
        }),
        Column::csv_only("layouts_ratio_low", |(step, _)| table::number(step.under_layouts.map(|change| change.low))),
        Column::csv_only("layouts_ratio_high", |(step, _)| table::number(step.under_layouts.map(|change| change.high))),
        Column::csv_only("taken_back", |(step, _)| table::number(taken_back(step).map(|share| share.share))),
        Column::csv_only("taken_back_low", |(step, _)| table::number(taken_back(step).map(|share| share.low))),
        Column::csv_only("taken_back_high", |(step, _)| table::number(taken_back(step).map(|share| share.high))),
        Column::left("author", |(step, line), _| {
            at(line, step.after).map_or_else(String::new, |commit| one_line(&commit.author))
        })
        .on(ROOMY)
        .csv("author", |(step, line)| at(line, step.after).map_or_else(String::new, |commit| one_line(&commit.author))),
        Column::left("subject", |(step, line), _| {
            at(line, step.after).map_or_else(String::new, |commit| cut(&one_line(&commit.subject), SUBJECT_LETTERS))
        })
        .csv("subject", |(step, line)| {
            at(line, step.after).map_or_else(String::new, |commit| one_line(&commit.subject))
        }),
    ]
}

/// The part of a step that the revert of its commit takes back.
fn taken_back(step: &DrillStep) -> Option<Share> {
    match step.reverted.as_ref()?.outcome {
        RevertOutcome::Measured { taken_back, .. } => taken_back,
        _ => None,
    }
}

fn at(line: &CommitLine, position: u32) -> Option<&CommitInfo> {
    line.commits.get(position as usize)
}

fn short(line: &CommitLine, position: u32) -> String {
    at(line, position).map_or_else(String::new, |commit| short_name(&commit.id).to_owned())
}

fn commit_words(step: &DrillStep, line: &CommitLine) -> String {
    match step.candidates.len() {
        0 | 1 => short(line, step.after),
        several => format!("one of {several} up to {}", short(line, step.after)),
    }
}

/// The values before and after, if they are exact; otherwise the change with its interval.
fn step_change(step: &DrillStep) -> String {
    match (step.values, &step.change) {
        (Some([before, after]), change) => {
            let percent =
                change.map_or_else(String::new, |change| format!(" ({:+.1} %)", 100.0 * (change.ratio - 1.0)));
            format!("{} → {}{percent}", count(before), count(after))
        }
        (None, Some(change)) => change_words(change),
        (None, None) => String::new(),
    }
}

/// A count of a whole run as it is; one per operation with four digits.
fn count(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { figure::transfers(value) }
}

/// The value after, against the value before.
fn change_words(change: &Change) -> String {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    format!("{:+.1} % ({:+.1} … {:+.1})", percent(change.ratio), percent(change.low), percent(change.high))
}

/// Never rounded up to certainty.
fn probability(probability: f64) -> String {
    match 100.0 * probability {
        percent if percent > 99.9 => "> 99.9 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

fn label(label: StepLabel) -> &'static str {
    match label {
        StepLabel::Code => "code",
        StepLabel::Layout => "layout",
        StepLabel::Quirk => "surroundings",
        StepLabel::Inconclusive => "code or layout",
    }
}

fn sentences(found: &Drill, head: &RunHead, search: &LineSearch) -> Vec<String> {
    let (line, quantity) = (&search.line, Quantity::of(search));
    let mut sentences = vec![match found.unusable_end {
        Some(end) => not_searched(end, head, search),
        None => summary(found, search),
    }];
    sentences.extend(found.steps.iter().filter(|step| step.candidates.len() > 1).map(|step| candidates(step, line)));
    sentences.extend(found.slopes.iter().map(|slope| {
        format!(
            "From {} to {} {} changed by {:+.1} %, but no step was found there: many small changes{}.",
            short(line, slope.from),
            short(line, slope.to),
            quantity.name(),
            100.0 * (slope.ratio - 1.0),
            if is_exact(found, search) { "" } else { ", or noise" },
        )
    }));
    if found.unusable_end.is_none() {
        sentences.extend(found.detectable.map(|least| detectable(least, found, head, search)));
        let within = match found.longest_unseen {
            0 => None,
            1 => Some("1 commit".to_owned()),
            several => Some(format!("up to {several} commits")),
        };
        sentences.extend(
            within.map(|within| {
                format!("Changes that cancel each other within {within} with equal ends cannot be seen.")
            }),
        );
    }
    sentences.extend(found.steps.iter().filter_map(|step| layouts::sentence(step, line)));
    sentences.extend(found.steps.iter().filter_map(|step| reverts::sentence(step, search)));
    if found.steps.iter().any(|step| step.label == StepLabel::Inconclusive) {
        sentences.push(inconclusive(search.search.layouts).to_owned());
    }
    sentences
}

/// How commits were compared, and what would have been found. `least`: the smallest step that would have been.
fn detectable(least: f64, found: &Drill, head: &RunHead, search: &LineSearch) -> String {
    let (seed, wanted) = (head.settings.seed, percent(search.search.least));
    let detectable =
        format!("A single step of {} or more would have been found with a probability of 80 %.", percent(least));
    let exact = |why: String| format!("{why} Commits differ if their counts differ by {wanted} or more.");
    match (search.search.noise, found.ends_show) {
        (Noise::Any, _) => detectable,
        (Noise::None, _) => exact(format!(
            "Each commit was executed once under the lens, with the seed {seed}. Its count is exact, and that of one schedule: \
             if tasks contend, another seed may count otherwise, and so may any other commit."
        )),
        (Noise::FromEnds, Some(Noise::None)) => exact(format!(
            "Each commit was executed once under the lens, with the seed {seed}: both ends have the same count with the seed {}.",
            seed + 1
        )),
        (Noise::Seeds | Noise::FromEnds, _) => format!(
            "Counts depend on the seed, so each commit was executed under the lens with several, from {seed} on, and commits are \
             compared by all of them. {detectable}"
        ),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// What a step that is not labelled may be. `layouts`: the number of random layouts that were asked for.
fn inconclusive(layouts: u32) -> &'static str {
    if layouts == 0 {
        "code or layout: places of code and data in memory change with every build, and can make a step too. \
         `--layouts 12` measures both commits in random layouts. Read the commit before you blame it."
    } else {
        "code or layout: the random layouts do not tell which. Read the commit before you blame it."
    }
}

fn summary(found: &Drill, search: &LineSearch) -> String {
    let line = &search.line;
    let steps = match found.steps.len() {
        0 => "No step was found".to_owned(),
        1 => "1 step was found".to_owned(),
        several => format!("{several} steps were found"),
    };
    let tried = match found.trials {
        1 => "1 commit was tried".to_owned(),
        several => format!("{several} commits were tried"),
    };
    let unfinished = if found.finished { "" } else { " so far; the search is not over" };
    let known = match found.known {
        0 => String::new(),
        1 => " The result of 1 commit was known from earlier runs.".to_owned(),
        several => format!(" The results of {several} commits were known from earlier runs."),
    };
    let of_them = if found.known == 0 { " of them" } else { "" };
    format!(
        "{steps}{unfinished} in {} commits after {} up to {}: {} of `{}`. {tried}, {}{of_them} cannot be measured; {} executions.{known}",
        line.last(),
        short(line, 0),
        short(line, line.last()),
        Quantity::of(search).name(),
        one_line(&search.artefact.words()),
        found.unusable,
        found.executions,
    )
}

fn candidates(step: &DrillStep, line: &CommitLine) -> String {
    let names: Vec<String> = step.candidates.iter().map(|&position| short(line, position)).collect();
    format!(
        "The step after {} is in one of these commits, as those between cannot be measured: {}.",
        short(line, step.before),
        names.join(", ")
    )
}

/// Why nothing was searched: an end of the line cannot be measured.
fn not_searched(end: u32, head: &RunHead, search: &LineSearch) -> String {
    let line = &search.line;
    let commits = format!("{} commits after {} up to {}", line.last(), short(line, 0), short(line, line.last()));
    let which = if end == 0 { "first" } else { "last" };
    let why = match subject_at(head, search, end).and_then(|subject| subject.build.as_ref()) {
        Some(BuildResult::Failed { how, output }) => {
            let output = one_line(output);
            let cited = if output.is_empty() { String::new() } else { format!(": {output}") };
            format!("cannot be built or started: {}{cited}", one_line(how))
        }
        _ => "does not run".to_owned(),
    };
    format!("Not searched: {commits}. {}, the {which} commit, {why}", short(line, end))
}

fn subject_at<'a>(head: &'a RunHead, search: &LineSearch, position: u32) -> Option<&'a Subject> {
    let id = &at(&search.line, position)?.id;
    head.subjects.iter().find(|subject| subject.commit.as_ref().is_some_and(|commit| commit.id == *id))
}

/// What JSON has: what was found, with the commits that it names, and why others cannot be measured.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    found: &'a Drill,
    /// The first and the last commit.
    ends: Vec<&'a CommitInfo>,
    /// For each step: the last commit before it, and those of which one made it.
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
    fn of(found: &'a Drill, head: &'a RunHead, search: &'a LineSearch) -> Self {
        let line = &search.line;
        let commits = |step: &DrillStep| StepCommits {
            before: at(line, step.before),
            candidates: step.candidates.iter().filter_map(|&position| at(line, position)).collect(),
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
