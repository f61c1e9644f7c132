//! The steps of all histories, newest first: as a work list, which the script filters by state, and
//! as an Atom feed.

use super::steps::{self, StepPlace, between, range, state_with_log, subject_and_author};
use super::{further_link, page};
use crate::escape::one_line;
use crate::figure;
use crate::history::words;
use crate::names::counted;
use crate::page::delivery::{Site, pinned};
use crate::page::document::reading;
use crate::page::element;
use crate::quantity::QuantityWords;
use crate::style::{Tone, UNICODE};
use crate::table::{Attributes, Column, ResultTable};
use faultline_record::commit::{CommitInfo, short_name};
use faultline_record::direction::Effect;
use faultline_record::time::UnixMillis;
use faultline_stats::history::{HistorySeries, HistoryStep};
use maud::html as markup;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// A step with its history.
#[derive(Debug, Clone, Copy)]
pub struct ChangeRow<'a> {
    /// Identifier of the history.
    pub id: &'a str,
    /// The history.
    pub series: &'a HistorySeries,
    /// The step.
    pub step: &'a HistoryStep,
}

impl<'a> ChangeRow<'a> {
    fn commit(&self) -> Option<&'a CommitInfo> {
        self.series.commit(self.step.by)
    }
}

/// Content of the page of changes.
#[derive(Debug, Clone)]
pub struct ChangesPage<'a> {
    /// The changes, in order.
    pub changes: Vec<ChangeRow<'a>>,
    /// Address of the next changes, if any.
    pub further: Option<String>,
    /// True if the reader may set states.
    pub may_mark: bool,
}

/// The page of changes.
pub fn changes_page(shown: &ChangesPage<'_>, site: &Site) -> String {
    let open = shown.changes.iter().filter(|change| !change.step.is_settled());
    let worse = open.clone().filter(|change| change.step.effect == Effect::Worse).count();
    let open = counted(open.count() as u64, "open change");
    let tone = if worse == 0 { Tone::Good } else { Tone::Bad };
    let about = markup! {
        (element::answer((tone, format!("{open} in this list, {worse} of them for the worse."))))
        p.standing {
            "The steps of all histories, newest first. " a href=(site.feed()) { "Atom feed" }
            @if site.is_live() { " · " a href=(site.jobs()) { "Jobs" } }
        }
    };
    let rows = shown
        .changes
        .iter()
        .map(|change| (*change, StepPlace { id: change.id, site, may_mark: shown.may_mark, files: None }));
    let table = ResultTable::new(columns(), rows).row_attributes(|(ChangeRow { step, .. }, _)| {
        Attributes::default().with("data-state", step.state.now.word()).flag("data-open", !step.is_settled())
    });
    let parts = markup! {
        section #changes {
            div #toolbar.toolbar role="group" aria-label="Filter of the list" hidden {}
            @if shown.changes.is_empty() { p.nothing { "No change was found." } }
            @else { (table.html("Changes, newest first")) }
            (further_link(shown.further.as_deref(), "Older changes"))
        }
        (reading([
            "provisional: more measured commits may remove the step. between runs, code or quirk: the program or its \
             environment changed; the values do not show which. quirk: the environment changed, not the program.",
            "found: without a remark so far. confirmed: a bisection measured both sides together and found the step again, or \
             a person confirmed it. ignored: marked as unimportant. fixed: a later step reverted most of it, or a person \
             marked it.",
            "Open changes are neither ignored, fixed, quirks, nor caused by layout alone.",
            "The commits are those of the history's line; `faultline history changes` also lists merged commits and the \
             changed files.",
        ]))
    };
    page(site, "Changes", about, parts)
}

type Row<'a> = (ChangeRow<'a>, StepPlace<'a>);

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        Column::page("history", |(ChangeRow { id, series, .. }, place): &Row<'_>| {
            markup! {
                a href=(place.site.history(id)) { (element::name(&series.subject)) }
                div.about { (series.quantity.name()) ", " (words::tasks(series, series.tasks)) }
            }
        })
        .row_heading(),
        Column::page_right("change", |(ChangeRow { series, step, .. }, _): &Row<'_>| {
            let level = |value: f64| element::data(value, &words::quantity(series, value, &UNICODE));
            markup! {
                (words::change(step, &UNICODE))
                div.about { (level(step.from)) " → " (level(step.to)) }
                div.only-narrow { (steps::kind(step)) " " (steps::state(step)) }
            }
        }),
        Column::page("certainty", |(ChangeRow { series, step, .. }, _): &Row<'_>| {
            markup! {
                (steps::kind(step))
                div.about { @if !series.quantity.is_counted() { "95 % range: " } (range(series, step)) }
            }
        }),
        Column::page("state", |(ChangeRow { series, step, .. }, place): &Row<'_>| state_with_log(series, step, place)),
        Column::page("first commit", |(change, place): &Row<'_>| match change.commit() {
            Some(commit) => markup! {
                (element::commit(&pinned(&place.site.history(change.id), &commit.id), &commit.id))
                (element::on_forge(change.series.forge.as_deref(), &commit.id))
                div.about { (subject_and_author(commit)) }
            },
            None => markup! {},
        }),
        Column::left("date", |(change, _): &Row<'_>, _| change.commit().map_or_else(String::new, element::day)),
        Column::page("commits between", |(ChangeRow { id, series, step }, place): &Row<'_>| {
            between(series, step, &place.site.history(id))
        }),
    ]
}

/// A change in the feed.
#[derive(Debug, Clone)]
pub struct FeedEntry<'a> {
    /// Permanent IRI of the entry.
    pub id: String,
    /// Time of the latest result or remark.
    pub updated: UnixMillis,
    /// The change.
    pub change: ChangeRow<'a>,
}

/// The changes as an Atom feed (RFC 4287). `id`: permanent IRI of the feed. Links are relative to
/// its address.
pub fn changes_feed(id: &str, entries: &[FeedEntry<'_>], site: &Site) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 1);
    write(&mut writer, id, entries, site).expect("writing to memory");
    String::from_utf8(writer.into_inner()).expect("text") + "\n"
}

type Xml = Writer<Vec<u8>>;

fn write(writer: &mut Xml, id: &str, entries: &[FeedEntry<'_>], site: &Site) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    let updated = entries.iter().map(|entry| entry.updated).max().unwrap_or(UnixMillis(0));
    let feed = writer.create_element("feed").with_attribute(("xmlns", "http://www.w3.org/2005/Atom"));
    feed.write_inner_content(|writer| {
        text(writer, "title", "Changes – Faultline")?;
        text(writer, "id", id)?;
        text(writer, "updated", &figure::iso_time(updated))?;
        link(writer, "self", &site.feed())?;
        link(writer, "alternate", &site.changes())?;
        entries.iter().try_for_each(|entry| write_entry(writer, entry, site))
    })?;
    Ok(())
}

fn write_entry(writer: &mut Xml, entry: &FeedEntry<'_>, site: &Site) -> io::Result<()> {
    let ChangeRow { id, series, step } = entry.change;
    let commit = entry.change.commit();
    let name = commit.map_or("", |commit| short_name(&commit.id));
    let title = format!("{}: {} at {name}", series.subject, words::step(step, &UNICODE));
    let author = commit.map_or("", |commit| commit.author.as_str());
    let target = pinned(&site.history(id), commit.map_or("", |commit| commit.id.as_str()));
    let [from, to] = [step.from, step.to].map(|value| words::quantity(series, value, &UNICODE));
    let subject = commit.map_or("", |commit| commit.subject.as_str());
    let about = format!("{}: {from} → {to}. Commit {name}: {subject}", words::measured(series));
    let lines: Vec<String> = [about].into_iter().chain(words::log(series, step, &UNICODE)).collect();
    writer.create_element("entry").write_inner_content(|writer| {
        text(writer, "title", &title)?;
        text(writer, "id", &entry.id)?;
        text(writer, "updated", &figure::iso_time(entry.updated))?;
        writer.create_element("author").write_inner_content(|writer| text(writer, "name", author))?;
        link(writer, "alternate", &target)?;
        text(writer, "summary", &lines.join(" "))
    })?;
    Ok(())
}

fn text(writer: &mut Xml, name: &str, content: &str) -> io::Result<()> {
    writer.create_element(name).write_text_content(BytesText::new(&permitted(content)))?;
    Ok(())
}

fn link(writer: &mut Xml, relation: &str, target: &str) -> io::Result<()> {
    writer.create_element("link").with_attribute(("rel", relation)).with_attribute(("href", target)).write_empty()?;
    Ok(())
}

/// One line without the characters that XML forbids even when escaped.
fn permitted(text: &str) -> String {
    one_line(text).chars().filter(|letter| !matches!(letter, '\u{fffe}' | '\u{ffff}')).collect()
}
