//! A text for people that grows line by line, wrapped into its style's width. What stands on it is decided elsewhere.

use crate::grid::Grid;
use crate::style::{Style, Tone};

/// A text that grows line by line.
pub struct Sheet<'a> {
    /// Where it is shown.
    pub style: &'a Style,
    /// What there is of it.
    pub text: String,
}

impl<'a> Sheet<'a> {
    /// An empty one.
    pub fn new(style: &'a Style) -> Self {
        Sheet { style, text: String::new() }
    }

    /// Adds a line as it is.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The headings of a table, where they have a line of their own.
    pub fn headings(&mut self, headings: Option<&str>) {
        if let Some(headings) = headings {
            self.line(&self.style.paint(Tone::Title, headings));
        }
    }

    /// A title that stands out, and what is said of it in the same line and those below it, indented.
    pub fn titled(&mut self, title: &str, about: &str) {
        for (index, line) in self.style.wrap(&format!("{title}{about}"), "", "  ").into_iter().enumerate() {
            match line.strip_prefix(title).filter(|_| index == 0) {
                Some(rest) => self.line(&(self.style.paint(Tone::Title, title) + rest)),
                None => self.line(&line),
            }
        }
    }

    /// A paragraph, wrapped, all its lines indented.
    pub fn paragraph(&mut self, tone: Option<Tone>, indent: &str, paragraph: &str) {
        self.hanging(tone, indent, indent, paragraph);
    }

    /// A paragraph, wrapped, its first line indented by `first` and the others by `others`.
    pub(crate) fn hanging(&mut self, tone: Option<Tone>, first: &str, others: &str, paragraph: &str) {
        for line in self.style.wrap(paragraph, first, others) {
            let painted = tone.map(|tone| self.style.paint(tone, &line));
            self.line(painted.as_deref().unwrap_or(&line));
        }
    }

    /// An empty line and a heading.
    pub(crate) fn heading(&mut self, heading: &str) {
        self.line("");
        self.paragraph(Some(Tone::Title), "", heading);
    }

    /// A heading and a grid below it, indented.
    pub(crate) fn table(&mut self, heading: &str, grid: &Grid) {
        const INDENT: &str = "    ";
        self.line("");
        self.paragraph(None, "  ", heading);
        let narrower = Style { width: self.style.width.map(|width| width.saturating_sub(INDENT.len())), ..*self.style };
        for line in grid.text(&narrower).lines() {
            self.line(&format!("{INDENT}{line}"));
        }
    }
}
