//! A document for people, built block by block: text wrapped to a terminal, or Markdown that also
//! reads as plain text.

use crate::escape::{escape_markdown, one_line};
use crate::format::{Format, json};
use crate::grid::Grid;
use crate::style::{Style, Tone};
use crate::table::{Form, ResultTable};
use faultline_stats::gate::Gate;
use serde::Serialize;

/// Indent of a table below its heading.
const INDENT: usize = 4;

/// A document under construction.
pub struct Sheet<'a> {
    /// The style of the output.
    pub style: &'a Style,
    /// The document so far.
    pub text: String,
    is_markdown: bool,
}

impl<'a> Sheet<'a> {
    /// An empty text.
    pub fn new(style: &'a Style) -> Self {
        Sheet { style, text: String::new(), is_markdown: false }
    }

    /// An empty Markdown document.
    pub(crate) fn markdown() -> Sheet<'static> {
        Sheet { style: &Style::PLAIN, text: String::new(), is_markdown: true }
    }

    /// True for Markdown.
    pub(crate) fn is_markdown(&self) -> bool {
        self.is_markdown
    }

    /// Adds a line without changes.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// An empty line before the next block, except at the beginning.
    pub(crate) fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// The headings of a table of text, if they have a line of their own.
    pub fn headings(&mut self, headings: Option<&str>) {
        if let Some(headings) = headings {
            self.line(&self.style.paint(Tone::Title, headings));
        }
    }

    /// A bold title with words after it. Lines after the first are indented.
    pub fn titled(&mut self, title: &str, about: &str) {
        if self.is_markdown {
            self.block(&format!("**{}**{}", escape_markdown(title), escape_markdown(about)));
            return;
        }
        for (index, line) in self.style.wrap(&format!("{title}{about}"), "", "  ").into_iter().enumerate() {
            match line.strip_prefix(title).filter(|_| index == 0) {
                Some(rest) => self.line(&(self.style.paint(Tone::Title, title) + rest)),
                None => self.line(&line),
            }
        }
    }

    /// A wrapped paragraph. `indent`: before all its lines of text.
    pub fn paragraph(&mut self, tone: Option<Tone>, indent: &str, paragraph: &str) {
        match (self.is_markdown, tone) {
            (true, Some(Tone::Title)) => self.titled(paragraph, ""),
            (true, _) => self.block(&escape_markdown(paragraph)),
            (false, _) => self.hanging(tone, indent, indent, paragraph),
        }
    }

    /// A block of Markdown that is escaped already.
    pub(crate) fn block(&mut self, block: &str) {
        self.space();
        self.line(block);
    }

    /// A paragraph of text, its first line indented by `first` and the others by `others`.
    fn hanging(&mut self, tone: Option<Tone>, first: &str, others: &str, paragraph: &str) {
        for line in self.style.wrap(paragraph, first, others) {
            let painted = tone.map(|tone| self.style.paint(tone, &line));
            self.line(painted.as_deref().unwrap_or(&line));
        }
    }

    /// A line of a list. `depth`: indent of text, in steps of two blanks.
    pub(crate) fn item(&mut self, tone: Option<Tone>, depth: usize, text: &str) {
        match self.is_markdown {
            true => self.list_item(&format!("- {}", escape_markdown(text))),
            false => self.hanging(tone, &"  ".repeat(depth), &"  ".repeat(depth + 1), text),
        }
    }

    /// A list item with a label: `A  text`, `1. text`.
    pub(crate) fn labelled(&mut self, tone: Option<Tone>, label: &str, text: &str) {
        match self.is_markdown {
            true if label.trim_end().ends_with('.') => {
                self.list_item(&format!("{} {}", label.trim(), escape_markdown(text)));
            }
            true => self.list_item(&format!("- {}: {}", label.trim(), escape_markdown(text))),
            false => self.hanging(tone, label, &" ".repeat(label.chars().count()), text),
        }
    }

    /// A warning or caution: code, text, and the cells concerned.
    pub(crate) fn warning(&mut self, code: &str, text: &str, cells: Option<&str>) {
        let cells = cells.map_or_else(String::new, |cells| format!(" [{cells}]"));
        let text = format!("{}{cells}", one_line(text));
        if self.is_markdown {
            self.list_item(&format!("- **{code}**: {}", escape_markdown(&text)));
        } else {
            self.line(&format!("  {}", self.style.paint(Tone::Middling, code)));
            self.paragraph(None, "    ", &text);
        }
    }

    /// An item of a Markdown list that is escaped already.
    pub(crate) fn list_item(&mut self, item: &str) {
        let last = self.text.lines().last().unwrap_or_default();
        let goes_on = last.trim_start().starts_with("- ") || last.starts_with(|c: char| c.is_ascii_digit());
        if !goes_on {
            self.space();
        }
        self.line(item);
    }

    /// A heading.
    pub(crate) fn heading(&mut self, heading: &str) {
        match self.is_markdown {
            true => {
                self.block(&format!("{}{}", escape_markdown(heading), if heading.contains(": ") { "" } else { ":" }))
            }
            false => {
                self.space();
                self.paragraph(Some(Tone::Title), "", heading);
            }
        }
    }

    /// A table, in text with the most details that stay readable.
    pub(crate) fn table<R>(&mut self, table: &ResultTable<R>) {
        match self.is_markdown {
            true => self.block(table.markdown(self.style.signs()).trim_end()),
            false => self.text.push_str(&table.text(self.style)),
        }
    }

    /// A table below a heading, indented in text, where it has this form.
    pub(crate) fn subtable<R>(&mut self, heading: &str, table: &ResultTable<R>, form: Form) {
        if self.is_markdown {
            self.block(&format!("{}:", escape_markdown(heading)));
            return self.table(table);
        }
        self.space();
        self.paragraph(None, "  ", heading);
        self.indented(&table.grid(form, self.style.signs()));
    }

    fn indented(&mut self, grid: &Grid) {
        let width = self.style.width.map(|width| width.saturating_sub(INDENT));
        for line in grid.text(&Style { width, ..*self.style }).lines() {
            self.line(&format!("{:INDENT$}{line}", ""));
        }
    }

    /// The explanations at the end.
    pub(crate) fn legend<S: AsRef<str>>(&mut self, sentences: impl IntoIterator<Item = S>) {
        let mut sentences = sentences.into_iter().peekable();
        if sentences.peek().is_none() {
            return;
        }
        match self.is_markdown {
            true => self.heading("How to read this"),
            false => self.space(),
        }
        for sentence in sentences {
            match self.is_markdown {
                true => self.item(None, 0, sentence.as_ref()),
                false => self.paragraph(Some(Tone::Quiet), "", sentence.as_ref()),
            }
        }
    }
}

/// An output in one of the formats. `body`: text or Markdown. `data`: for JSON.
pub(crate) fn in_format<T: Serialize>(
    format: Format,
    style: &Style,
    body: impl FnOnce(Sheet<'_>) -> String,
    data: impl FnOnce() -> T,
    csv: impl FnOnce() -> String,
) -> String {
    match format {
        Format::Table => body(Sheet::new(style)),
        Format::Markdown => body(Sheet::markdown()),
        Format::Json => json(&data()),
        Format::Csv => csv(),
    }
}

/// The result of a gate: open or closed, then a line per finding. Lines are not wrapped, because CI
/// logs are searched by line.
///
/// `if_open`: tone and words after `gate: open,`. `words`: the line of a finding.
pub(crate) fn gate_result<F>(
    gate: &Gate<F>,
    if_open: (Tone, &str),
    words: impl Fn(&F) -> String,
    style: &Style,
) -> String {
    let mut sheet = Sheet::new(style);
    match (gate.is_open(), if_open) {
        (true, (tone, text)) => sheet.paragraph(Some(tone), "", &format!("gate: open, {text}")),
        (false, _) => sheet.paragraph(Some(Tone::Bad), "", "gate: closed"),
    }
    for found in &gate.closed_by {
        sheet.line(&format!("  {}", words(found)));
    }
    for found in &gate.noted {
        sheet.line(&format!("  passes: {}", words(found)));
    }
    sheet.text
}
