//! The changes of all histories as an Atom feed (RFC 4287).

use super::changes::ChangeRow;
use crate::history::words;
use crate::moment;
use crate::one_line::one_line;
use crate::page::delivery::{Site, pinned};
use crate::style::UNICODE;
use faultline_model::commit::short_name;
use faultline_model::time::UnixMillis;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

const NAMESPACE: &str = "http://www.w3.org/2005/Atom";

/// A change in the feed.
#[derive(Debug, Clone)]
pub struct FeedEntry<'a> {
    /// Names it for ever: an IRI.
    pub id: String,
    /// When something was last found out or said of it.
    pub updated: UnixMillis,
    /// The change.
    pub change: ChangeRow<'a>,
}

/// The feed. `id`: names it for ever, an IRI. Links are relative to its address.
pub fn changes_feed(id: &str, entries: &[FeedEntry<'_>], site: &Site) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 1);
    write(&mut writer, id, entries, site).expect("writing to memory");
    String::from_utf8(writer.into_inner()).expect("text") + "\n"
}

type Xml = Writer<Vec<u8>>;

fn write(writer: &mut Xml, id: &str, entries: &[FeedEntry<'_>], site: &Site) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    let updated = entries.iter().map(|entry| entry.updated).max().unwrap_or(UnixMillis(0));
    let feed = writer.create_element("feed").with_attribute(("xmlns", NAMESPACE));
    feed.write_inner_content(|writer| {
        text(writer, "title", "Changes – Faultline")?;
        text(writer, "id", id)?;
        text(writer, "updated", &moment::iso(updated))?;
        link(writer, "self", &site.feed())?;
        link(writer, "alternate", &site.changes())?;
        entries.iter().try_for_each(|entry| write_entry(writer, entry, site))
    })?;
    Ok(())
}

fn write_entry(writer: &mut Xml, entry: &FeedEntry<'_>, site: &Site) -> io::Result<()> {
    let ChangeRow { id, series, step } = entry.change;
    let commit = series.commit(step.by);
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
        text(writer, "updated", &moment::iso(entry.updated))?;
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

/// Text of one line without the letters that XML forbids, escaped or not.
fn permitted(text: &str) -> String {
    one_line(text).chars().filter(|letter| !matches!(letter, '\u{fffe}' | '\u{ffff}')).collect()
}
