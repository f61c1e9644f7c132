//! A grid of texts under headings, written in the four formats' text forms. What stands in it is decided elsewhere.

use crate::style::{Style, Tone};
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// On which side a column's texts line up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Headings and rows of texts; every row is as long as the headings.
#[derive(Debug)]
pub struct Grid {
    columns: Vec<(String, Side)>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A grid with these columns and no row.
    pub(crate) fn new(columns: Vec<(String, Side)>) -> Self {
        Grid { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Lines of aligned columns, the headings first, one line per row, none wrapped. Control characters become spaces.
    pub fn lines(&self) -> Vec<String> {
        let mut table = self.table(|text| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect());
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((if index == 0 { 0 } else { 2 }, 0));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// [`Grid::lines`] as one text, its last column wrapped into the style's width; headings stand out where colour is on.
    pub(crate) fn text(&self, style: &Style) -> String {
        let mut text = String::new();
        for (index, line) in self.wrapped(style).lines().enumerate() {
            let line = line.trim_end();
            text.push_str(&if index == 0 { style.paint(Tone::Title, line) } else { line.to_owned() });
            text.push('\n');
        }
        text
    }

    /// This grid with texts of the last column broken into several rows.
    fn wrapped(&self, style: &Style) -> Wrapped {
        let Some(width) = style.width else { return Wrapped(self.lines()) };
        let before: usize = self.lines().iter().map(|line| textwrap::core::display_width(line)).max().unwrap_or(0);
        let last = self.rows.iter().filter_map(|row| row.last()).map(|text| textwrap::core::display_width(text)).max();
        let room = (width + last.unwrap_or(0)).saturating_sub(before).max(24);
        let mut narrow = Grid { columns: self.columns.clone(), rows: Vec::new() };
        for row in &self.rows {
            let (text, others) = row.split_last().expect("a grid has a column");
            for (index, part) in textwrap::wrap(text, room).into_iter().enumerate() {
                let mut cells: Vec<String> =
                    if index == 0 { others.to_vec() } else { vec![String::new(); others.len()] };
                cells.push(part.into_owned());
                narrow.rows.push(cells);
            }
        }
        Wrapped(narrow.lines())
    }

    /// A pipe table.
    pub(crate) fn markdown(&self) -> String {
        let mut table = self.table(escape_markdown);
        table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
        let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        self.mark_sides(&mut lines[1]);
        lines.join("\n") + "\n"
    }

    /// Puts the colons of right-aligned columns into the line under the headings.
    fn mark_sides(&self, rule: &mut String) {
        let mut cells: Vec<String> = rule.trim_matches('|').split('|').map(str::to_owned).collect();
        for (cell, (_, side)) in cells.iter_mut().zip(&self.columns) {
            if *side == Side::Right {
                cell.pop();
                cell.push(':');
            }
        }
        *rule = format!("|{}|", cells.join("|"));
    }

    fn table(&self, clean: impl Fn(&str) -> String) -> Table {
        let mut table = Table::new();
        table.set_header(self.columns.iter().map(|(name, _)| name.clone()));
        for row in &self.rows {
            table.add_row(row.iter().map(|text| clean(text)));
        }
        for (column, (_, side)) in table.column_iter_mut().zip(&self.columns) {
            column.set_cell_alignment(match side {
                Side::Left => CellAlignment::Left,
                Side::Right => CellAlignment::Right,
            });
        }
        table
    }
}

/// Lines that are ready to be shown.
struct Wrapped(Vec<String>);

impl Wrapped {
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Text that stands for itself within a pipe table's cell. Signs that Markdown passes over where they stand, as in `zero_fill` and `p < 0.1`, are
/// left alone: much of it is read as plain text, in mails.
pub fn escape_markdown(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (index, &c) in letters.iter().enumerate() {
        if c.is_control() {
            escaped.push(' ');
            continue;
        }
        let special = match c {
            '\\' | '|' | '~' | '`' | '*' | '[' | ']' => true,
            '_' => !is_within_word(&letters, index),
            '<' | '&' => letters.get(index + 1).is_some_and(|next| !next.is_whitespace()),
            _ => false,
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Whether the underscores at `index` stand between letters or digits, where they give no emphasis.
fn is_within_word(letters: &[char], index: usize) -> bool {
    let before = letters[..index].iter().rev().find(|c| **c != '_');
    let after = letters[index..].iter().find(|c| **c != '_');
    [before, after].into_iter().all(|end| end.is_some_and(|c| c.is_alphanumeric()))
}

/// Records with a header line as CSV, as RFC 4180 has it but with `\n` as line end; each is as long as the header.
pub(crate) fn records<'a, R: IntoIterator<Item = String>>(
    header: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = "a vector takes every byte, and all records have the same length";
    writer.write_record(header).expect(written);
    for row in rows {
        writer.write_record(row).expect(written);
    }
    String::from_utf8(writer.into_inner().expect(written)).expect("made of strings")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid =
            Grid::new(vec![("name".into(), Side::Left), ("n".into(), Side::Right), ("text".into(), Side::Left)]);
        grid.row(vec!["größe".into(), "1".into(), "a|b".into()]);
        grid.row(vec!["x".into(), "100".into(), "line\nbreak, quite a long one that wants two".into()]);
        grid
    }

    #[test]
    fn columns_line_up_by_display_width() {
        assert_eq!(
            grid().lines(),
            ["name     n  text", "größe    1  a|b", "x      100  line break, quite a long one that wants two"]
        );
    }

    #[test]
    fn the_last_column_wraps_into_the_width() {
        let style = Style { width: Some(40), colour: false, unicode: true };
        let text = grid().text(&style);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.contains("wants two"), "{text}");
    }

    #[test]
    fn markdown_keeps_pipes_apart() {
        let text = grid().markdown();
        assert!(text.contains(r"a\|b"), "{text}");
        assert_eq!(text.lines().nth(1).map(|rule| rule.matches("-:").count()), Some(1), "{text}");
    }

    #[test]
    fn markdown_escapes_only_what_would_be_taken_for_more() {
        assert_eq!(escape_markdown("zero_fill:base, p < 0.1, a & b"), "zero_fill:base, p < 0.1, a & b");
        assert_eq!(escape_markdown("_a_ <b> &lt; *c* __d"), r"\_a\_ \<b> \&lt; \*c\* \_\_d");
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(records(["a", "b"], [["1,5".into(), "say \"x\"".into()]]), "a,b\n\"1,5\",\"say \"\"x\"\"\"\n");
    }
}
