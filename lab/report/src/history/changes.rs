//! The steps of histories, with what lies between the commits of each.

use super::{ROOMY, ends, layouts, moved, quirks, sentences, sheets, words};
use crate::explained::{Item, files, linked};
use crate::format::Format;
use crate::json::json;
use crate::moment;
use crate::one_line::{cut, one_line};
use crate::sheet::Sheet;
use crate::style::{Signs, Style, UNICODE};
use crate::table::{self, Table};
use faultline_model::commit::{CommitInfo, short_name};
use faultline_model::history::moved::StepMoved;
use faultline_model::history::quirk::Quirk;
use faultline_model::history::{Author, Between, HistorySeries, HistoryStep, StepBasis};
use faultline_model::time::UnixMillis;
use serde::Serialize;

/// Commits that are listed below a step.
const LISTED_COMMITS: usize = 10;

/// Authors that are named below a step.
const NAMED: usize = 3;

/// Letters of a commit's subject, and of a name.
const LETTERS: usize = 72;

/// The steps of each series.
pub fn history_changes(all: &[HistorySeries], format: Format, style: &Style) -> String {
    match format {
        Format::Table => sheets(all, style, |series, sheet| {
            if !series.steps.steps.is_empty() {
                sheet.text += &table(series).text(style);
            }
            sentences(series, sheet);
            series.steps.steps.iter().for_each(|step| explain(series, step, sheet));
        }),
        Format::Markdown => all.iter().map(markdown).collect(),
        Format::Json => json(&all.iter().map(Shown::of).collect::<Vec<_>>()),
        Format::Csv => Table::new(columns(), all.iter().flat_map(rows)).csv(),
    }
}

/// What was said of a step, and what lies between its commits, below its title.
fn explain(series: &HistorySeries, step: &HistoryStep, sheet: &mut Sheet<'_>) {
    let items: Vec<Item> = items(series, step, sheet.style.signs()).into_iter().map(Item::below).collect();
    if items.is_empty() {
        return;
    }
    let [after, by] = ends(series, step);
    sheet.line("");
    sheet.titled(&format!("{after} … {by}"), &lies_between(step));
    sheet.text += &Item::all_text(&items, sheet.style);
}

fn markdown(series: &HistorySeries) -> String {
    let mut text = super::markdown(series, &table(series).markdown(&UNICODE));
    for step in &series.steps.steps {
        let items = items(series, step, &UNICODE);
        if items.is_empty() {
            continue;
        }
        let [after, by] = ends(series, step);
        text += &format!("{after} … {by}{}\n\n", words::plain(&lies_between(step)));
        text += &Item::all_markdown(&items);
        text += "\n";
    }
    text
}

/// What was said, what moved, the commits, the files, and what was linked.
fn items(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> Vec<Item> {
    let said = words::log(series, step, signs).into_iter().map(|text| Item::new(0, text));
    let between = step.between.iter().flat_map(|between| items_between(series, step, between, signs));
    said.chain(moved::items(series, step, signs)).chain(between).collect()
}

fn items_between(series: &HistorySeries, step: &HistoryStep, between: &Between, signs: &Signs) -> Vec<Item> {
    let commits = listed(between).map(commit_words).chain(more(between)).map(|text| Item::new(0, text));
    let files = files(&between.files, signs);
    commits.chain(files).chain(linked(&between.linked, &ends(series, step), signs)).collect()
}

fn listed(between: &Between) -> impl Iterator<Item = &CommitInfo> {
    between.commits.iter().take(LISTED_COMMITS)
}

fn more(between: &Between) -> Option<String> {
    let more = (between.count as usize).saturating_sub(LISTED_COMMITS.min(between.commits.len()));
    (more > 0).then(|| format!("and {more} more"))
}

fn commit_words(commit: &CommitInfo) -> String {
    format!(
        "{} {} ({})",
        short_name(&commit.id),
        cut(&one_line(&commit.subject), LETTERS),
        cut(&one_line(&commit.author), LETTERS)
    )
}

/// What follows a step's title: how many commits lie between its ends, and whose, if that was looked up.
fn lies_between(step: &HistoryStep) -> String {
    let Some(between) = &step.between else { return String::new() };
    let author = |author: &Author| format!("{} ({})", cut(&one_line(&author.name), LETTERS), author.commits);
    let authors: Vec<String> = between.authors.iter().take(NAMED).map(author).collect();
    let others = between.authors.len().saturating_sub(NAMED);
    let others = if others == 0 { String::new() } else { format!(" and {others} more") };
    let commits = if between.count == 1 { "commit" } else { "commits" };
    format!(": {} {commits} by {}{others}", between.count, authors.join(", "))
}

/// A step with its series.
type Row<'a> = (&'a HistorySeries, &'a HistoryStep);

fn rows(series: &HistorySeries) -> impl Iterator<Item = Row<'_>> {
    series.steps.steps.iter().map(move |step| (series, step))
}

fn table(series: &HistorySeries) -> Table<Row<'_>> {
    Table::new(columns(), rows(series))
}

type Column<'a> = table::Column<Row<'a>>;

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::csv_only("history", |(series, _)| series.subject.clone()),
        Column::csv_only("tasks", |(series, _)| series.tasks.to_string()),
        Column::left("after", |row, _| ends(row.0, row.1)[0].clone())
            .csv("after", |(series, step)| id(series, step.after)),
        Column::left("by", |row, _| ends(row.0, row.1)[1].clone()).csv("by", |(series, step)| id(series, step.by)),
        Column::left("date", |(series, step), _| {
            series
                .commit(step.by)
                .map_or_else(String::new, |commit| moment::day(UnixMillis(commit.committed_s.saturating_mul(1000))))
        }),
        Column::csv_only("earliest", |(series, step)| id(series, step.earliest)),
        Column::csv_only("latest", |(series, step)| id(series, step.latest)),
        Column::right("commits", |(_, step), signs: &Signs| {
            step.between.as_ref().map_or_else(|| signs.none.to_owned(), |between| between.count.to_string())
        })
        .csv("commits", |(_, step)| {
            step.between.as_ref().map_or_else(String::new, |between| between.count.to_string())
        }),
        Column::right("from", |(series, step), signs| words::quantity(series, step.from, signs))
            .csv("from", |(_, step)| step.from.to_string()),
        Column::right("to", |(series, step), signs| words::quantity(series, step.to, signs))
            .csv("to", |(_, step)| step.to.to_string()),
        Column::csv_only("unit", |(series, _)| series.unit.clone()),
        Column::right("change", |(_, step), signs| words::change(step, signs)),
        Column::left("what", |(_, step), _| words::kind(step)).csv("what", |(_, step)| words::kind(step)),
        Column::csv_only("cause", |(_, step)| quirks::cause_word(step).to_owned()),
        Column::csv_only("layouts", |(_, step)| layouts::word(step).to_owned()),
        Column::left("state", |(_, step), _| step.state.now.word().to_owned())
            .csv("state", |(_, step)| step.state.now.word().to_owned()),
        Column::left("95 % range", |(series, step), signs| range(series, step, signs)).on(ROOMY),
    ]
}

fn id(series: &HistorySeries, position: u32) -> String {
    series.commit(position).map_or_else(String::new, |commit| commit.id.clone())
}

/// Where the step may lie; nothing of exact values, whose place is certain.
fn range(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> String {
    if series.steps.basis == StepBasis::Exact {
        return String::new();
    }
    let short = |position| series.commit(position).map_or_else(String::new, |commit| short_name(&commit.id).to_owned());
    format!("{} {} {}", short(step.earliest), signs.to, short(step.latest))
}

/// What JSON has of a series: its steps, with the commits that they name.
#[derive(Serialize)]
struct Shown<'a> {
    format: &'static str,
    subject: &'a str,
    tasks: u32,
    unit: &'a str,
    quirks: &'a [Quirk],
    #[serde(flatten)]
    steps: &'a faultline_model::history::HistorySteps,
    /// What the lens counted otherwise at steps.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    moved: &'a [StepMoved],
    /// For each step, the commits at `after`, `by`, `earliest` and `latest`.
    commits: Vec<[Option<&'a CommitInfo>; 4]>,
}

impl<'a> Shown<'a> {
    fn of(series: &'a HistorySeries) -> Self {
        let commits = |step: &'a HistoryStep| {
            [step.after, step.by, step.earliest, step.latest].map(|position| series.commit(position))
        };
        Shown {
            format: "faultline-history-changes/1",
            subject: &series.subject,
            tasks: series.tasks,
            unit: &series.unit,
            quirks: &series.quirks,
            steps: &series.steps,
            moved: &series.moved,
            commits: series.steps.steps.iter().map(commits).collect(),
        }
    }
}
