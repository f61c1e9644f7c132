//! The only renderer: one description of what is shown of the literature gives text and Markdown; also records for CSV, and data for JSON.

use super::sources::Source;
use faultline_report::grid::{Folded, escape_markdown};
use faultline_report::json::json;
use faultline_report::sheet::Sheet;
use faultline_report::style::{Signs, Tone};
use faultline_report::table::{Column, Form, Table};
use faultline_report::{Format, Style};
use serde::Serialize;

/// For a column that is only in text, where headings say what a row is about.
pub(crate) const TEXT: &[Form] = &[Form::Wide];

/// For a column that is only in Markdown, whose tables have no headings between rows.
pub(crate) const MARKDOWN: &[Form] = &[Form::Markdown];

/// Output in all four formats.
pub(crate) trait View: Serialize {
    /// For people, as text or Markdown.
    fn tell(&self, document: &mut Document<'_>);

    /// For CSV: a header and records.
    fn records(&self) -> String;

    /// The output in a format. JSON is the data themselves.
    fn written(&self, format: Format, style: &Style) -> String {
        match format {
            Format::Table => Document::of(self, Form::Wide, style),
            Format::Markdown => Document::of(self, Form::Markdown, &Style::PLAIN),
            Format::Csv => self.records(),
            Format::Json => json(self),
        }
    }
}

/// A row that is shown below a heading.
pub(crate) trait Headed {
    /// The heading; consecutive rows with the same heading share it.
    fn heading(&self) -> Heading;

    /// The remark below the row in text.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// The heading of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Emphasised.
    pub title: String,
    /// Further words in the same line.
    pub about: Vec<String>,
}

/// The distance between the headings of a table's rows and the rows above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// No line between them.
    Tight,
    /// An empty line between them.
    Open,
}

/// Text or Markdown under construction.
pub(crate) struct Document<'a> {
    form: Form,
    sheet: Sheet<'a>,
}

impl<'a> Document<'a> {
    fn of<V: View + ?Sized>(view: &V, form: Form, style: &'a Style) -> String {
        let mut document = Document { form, sheet: Sheet::new(style) };
        view.tell(&mut document);
        document.sheet.text
    }

    /// Whether this is text and not Markdown.
    pub(crate) fn is_text(&self) -> bool {
        self.form != Form::Markdown
    }

    /// The signs of the output style.
    pub(crate) fn signs(&self) -> &'static Signs {
        self.sheet.style.signs()
    }

    /// A line without changes.
    pub(crate) fn line(&mut self, line: &str) {
        self.sheet.line(line);
    }

    /// A caution at the beginning.
    pub(crate) fn caution(&mut self, caution: &str) {
        if self.is_text() {
            self.sheet.paragraph(Some(Tone::Middling), "", caution);
        } else {
            self.sheet.line(&escape_markdown(caution));
        }
    }

    /// A source's name and what it is; the following output comes from it.
    pub(crate) fn source(&mut self, source: &Source) {
        self.gap();
        if self.is_text() {
            self.sheet.paragraph(Some(Tone::Title), "", source.name);
            let about = format!("{}: {}.", source.citation, source.about);
            self.sheet.paragraph(Some(Tone::Quiet), "", &about);
        } else {
            let [name, citation, about] = [source.name, source.citation, source.about].map(escape_markdown);
            self.sheet.line(&format!("**{name}** — {citation}: {about}."));
        }
    }

    /// A table; nothing without rows. In text its words go on in lines below where they don't fit.
    pub(crate) fn table<R: Copy>(&mut self, columns: Vec<Column<R>>, rows: &[R]) {
        if rows.is_empty() {
            return;
        }
        let table = Table::new(columns, rows.iter().copied());
        if self.is_text() {
            self.sheet.text.push_str(&table.text(self.sheet.style));
        } else {
            self.pipes(&table);
        }
    }

    /// A table whose rows have headings above and remarks below them in text; nothing without rows.
    pub(crate) fn table_with_headings<R: Headed + Copy>(
        &mut self,
        columns: Vec<Column<R>>,
        rows: &[R],
        spacing: Spacing,
    ) {
        if rows.is_empty() {
            return;
        }
        let table = Table::new(columns, rows.iter().copied());
        if self.is_text() {
            let folded = table.grid(self.form, self.signs()).folded(self.sheet.style.width);
            self.folded(&folded, rows, spacing);
        } else {
            self.pipes(&table);
        }
    }

    /// The columns' names and a line for each row, with what stands above and below it.
    fn folded<R: Headed>(&mut self, folded: &Folded, rows: &[R], spacing: Spacing) {
        self.space(spacing);
        self.sheet.headings(folded.headings.as_deref());
        let mut last = None;
        for (row, lines) in rows.iter().zip(&folded.rows) {
            let heading = row.heading();
            if last.as_ref() != Some(&heading) {
                self.space(spacing);
                self.heading(&heading);
                last = Some(heading);
            }
            lines.iter().for_each(|line| self.sheet.line(line));
            if let Some(remark) = row.remark() {
                self.sheet.paragraph(Some(Tone::Middling), "    ", &remark);
            }
        }
    }

    fn heading(&mut self, heading: &Heading) {
        let about: String = heading.about.iter().map(|part| format!(" {} {part}", self.signs().dot)).collect();
        self.sheet.titled(&heading.title, &about);
    }

    /// Sentences about the output above them.
    pub(crate) fn notes(&mut self, sentences: &[String]) {
        if self.is_text() {
            sentences.iter().for_each(|sentence| self.sheet.paragraph(Some(Tone::Quiet), "", sentence));
        } else {
            self.gap();
            let lines: Vec<String> = sentences.iter().map(|sentence| escape_markdown(sentence)).collect();
            self.sheet.line(&lines.join("  \n"));
        }
    }

    /// Sentences about the whole document.
    pub(crate) fn legend(&mut self, sentences: &[String]) {
        if self.is_text() {
            self.gap();
        }
        self.notes(sentences);
    }

    fn pipes<R>(&mut self, table: &Table<R>) {
        self.gap();
        let pipes = table.markdown(self.signs());
        self.sheet.text.push_str(&pipes);
    }

    fn space(&mut self, spacing: Spacing) {
        if spacing == Spacing::Open {
            self.gap();
        }
    }

    /// An empty line, if there is anything above.
    fn gap(&mut self) {
        if !self.sheet.text.is_empty() {
            self.sheet.line("");
        }
    }
}
