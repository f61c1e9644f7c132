//! The steps of histories, with what lies between the commits of each.

use super::causes::{cause_word, layout_word};
use super::{ends, sentences, series_by_series, words};
use crate::escape::{cut, one_line};
use crate::explained::{Item, files, linked, moved_items};
use crate::format::Format;
use crate::page::delivery::pinned;
use crate::page::element;
use crate::sheet::{Sheet, in_format};
use crate::site::steps::{self, StepPlace, subject_and_author};
use crate::style::{Signs, Style};
use crate::table::{self, Form, ResultTable};
use faultline_record::commit::{CommitInfo, short_name};
use faultline_stats::history::{Author, Between, HistorySeries, HistoryStep, Quirk, StepBasis, StepMoved};
use maud::html as markup;
use serde::Serialize;

/// Commits listed below a step.
const LISTED_COMMITS: usize = 10;

/// Authors named below a step.
const NAMED: usize = 3;

/// Letters of a commit's subject, and of a name.
const LETTERS: usize = 72;

/// The steps of each series.
pub fn history_changes(all: &[HistorySeries], format: Format, style: &Style) -> String {
    in_format(
        format,
        style,
        |sheet| series_by_series(all, sheet, body),
        || all.iter().map(Shown::of).collect::<Vec<_>>(),
        || ResultTable::new(columns(), all.iter().flat_map(rows)).csv(),
    )
}

fn body(series: &HistorySeries, sheet: &mut Sheet<'_>) {
    if !series.steps.steps.is_empty() {
        sheet.table(&table(series));
    }
    sentences(series, sheet);
    for step in &series.steps.steps {
        let items = items(series, step, sheet.style.signs());
        if items.is_empty() {
            continue;
        }
        let [after, by] = ends(series, step);
        sheet.space();
        sheet.titled(&format!("{after} … {by}"), &lies_between(step));
        if sheet.is_markdown() {
            sheet.block(Item::all_markdown(&items).trim_end());
        } else {
            let items: Vec<Item> = items.into_iter().map(Item::below).collect();
            sheet.text += &Item::all_text(&items, sheet.style);
        }
    }
}

/// Log, moved data and code, commits, files, and built programs of a step.
fn items(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> Vec<Item> {
    let said = words::log(series, step, signs).into_iter().map(|text| Item::new(0, text));
    let between = step.between.iter().flat_map(|between| items_between(series, step, between, signs));
    said.chain(moved_items(series, step, signs)).chain(between).collect()
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
    format!("{} {}", short_name(&commit.id), subject_and_author(commit))
}

/// Suffix of a step's title: number of commits between its ends, and their authors, if known.
fn lies_between(step: &HistoryStep) -> String {
    let Some(between) = &step.between else { return String::new() };
    let author = |author: &Author| format!("{} ({})", cut(&one_line(&author.name), LETTERS), author.commits);
    // A release has no author.
    let known: Vec<&Author> = between.authors.iter().filter(|author| !author.name.is_empty()).collect();
    let authors: Vec<String> = known.iter().take(NAMED).map(|known| author(known)).collect();
    let others = known.len().saturating_sub(NAMED);
    let others = if others == 0 { String::new() } else { format!(" and {others} more") };
    let commits = if between.count == 1 { "commit" } else { "commits" };
    let by = if known.is_empty() { "" } else { " by " };
    format!(": {} {commits}{by}{}{others}", between.count, authors.join(", "))
}

/// A step of a series. The place is known on a page.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    series: &'a HistorySeries,
    step: &'a HistoryStep,
    place: Option<&'a StepPlace<'a>>,
}

impl<'a> Row<'a> {
    fn commit(&self) -> Option<&'a CommitInfo> {
        self.series.commit(self.step.by)
    }
}

fn rows(series: &HistorySeries) -> impl DoubleEndedIterator<Item = Row<'_>> {
    series.steps.steps.iter().map(move |step| Row { series, step, place: None })
}

fn table(series: &HistorySeries) -> ResultTable<Row<'_>> {
    ResultTable::new(columns(), rows(series))
}

/// The steps of a history on its page, newest first.
pub(crate) fn page_table<'a>(series: &'a HistorySeries, place: &'a StepPlace<'a>) -> ResultTable<Row<'a>> {
    ResultTable::new(columns(), rows(series).rev().map(|row| Row { place: Some(place), ..row }))
}

type Column<'a> = table::Column<Row<'a>>;

/// Forms other than the page.
const TEXT: &[Form] = &[Form::Wide, Form::Medium, Form::Narrow, Form::Markdown];

fn columns<'a>() -> Vec<Column<'a>> {
    vec![
        Column::csv_only("history", |row| row.series.subject.clone()),
        Column::csv_only("tasks", |row| row.series.tasks.to_string()),
        Column::page("first commit", |row: &Row<'_>| {
            row.commit().map_or(markup! {}, |commit| {
                markup! {
                    (element::commit(&pinned("", &commit.id), &commit.id))
                    (element::on_forge(row.series.forge.as_deref(), &commit.id))
                }
            })
        })
        .leading(0)
        .row_heading(),
        Column::left("after", |row, _| ends(row.series, row.step)[0].clone())
            .on(TEXT)
            .csv("after", |row| id(row.series, row.step.after)),
        Column::left("by", |row, _| ends(row.series, row.step)[1].clone())
            .on(TEXT)
            .csv("by", |row| id(row.series, row.step.by)),
        Column::left("date", |row, _| row.commit().map_or_else(String::new, element::day)).leading(4),
        Column::csv_only("earliest", |row| id(row.series, row.step.earliest)),
        Column::csv_only("latest", |row| id(row.series, row.step.latest)),
        Column::right("commits", |row, signs: &Signs| {
            row.step.between.as_ref().map_or_else(|| signs.none.to_owned(), |between| between.count.to_string())
        })
        .on(TEXT)
        .csv("commits", |row| row.step.between.as_ref().map_or_else(String::new, |between| between.count.to_string())),
        Column::right("from", |row, signs| words::quantity(row.series, row.step.from, signs))
            .number("from", |row| Some(row.step.from)),
        Column::right("to", |row, signs| words::quantity(row.series, row.step.to, signs))
            .number("to", |row| Some(row.step.to)),
        Column::csv_only("unit", |row| row.series.unit.clone()),
        Column::right("change", |row, signs| words::change(row.step, signs)).leading(1),
        Column::left("what", |row, _| words::kind(row.step))
            .csv_as_shown("what")
            .leading(2)
            .html(|row| steps::kind_and_state(row.step)),
        Column::csv_only("cause", |row| cause_word(row.step).to_owned()),
        Column::csv_only("layouts", |row| layout_word(row.step).to_owned()),
        Column::left("state", |row, _| row.step.state.now.word().to_owned())
            .csv_as_shown("state")
            .leading(3)
            .html(|row| row.place.map_or(markup! {}, |place| steps::state_with_log(row.series, row.step, place))),
        Column::left("95 % range", |row, signs| range(row.series, row.step, signs))
            .on(Form::ROOMY)
            .class("range")
            .html(|row| steps::range(row.series, row.step)),
        Column::page("commits between", |row: &Row<'_>| {
            markup! {
                (steps::between(row.series, row.step, ""))
                @if let Some(place) = row.place { (steps::compare_link(row.series, row.step, place)) }
            }
        }),
        Column::page("commit's subject", |row: &Row<'_>| {
            row.commit().map_or(markup! {}, |commit| markup! { (cut(&one_line(&commit.subject), LETTERS)) })
        })
        .class("name"),
    ]
}

fn id(series: &HistorySeries, position: u32) -> String {
    series.commit(position).map_or_else(String::new, |commit| commit.id.clone())
}

/// The 95 % range of a step; empty for exact values, whose place is certain.
fn range(series: &HistorySeries, step: &HistoryStep, signs: &Signs) -> String {
    if series.steps.basis == StepBasis::Exact {
        return String::new();
    }
    let short = |position| series.commit(position).map_or_else(String::new, |commit| short_name(&commit.id).to_owned());
    format!("{} {} {}", short(step.earliest), signs.to, short(step.latest))
}

/// The JSON of a series: its steps with the commits that they name.
#[derive(Serialize)]
struct Shown<'a> {
    format: &'static str,
    subject: &'a str,
    tasks: u32,
    unit: &'a str,
    quirks: &'a [Quirk],
    #[serde(flatten)]
    steps: &'a faultline_stats::history::HistorySteps,
    /// The differences counted by the lens at steps.
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
