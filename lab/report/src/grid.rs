//! A grid of texts under headings, written in the four formats' text forms. What stands in it is decided elsewhere.

use crate::one_line::one_line;
use crate::style::{Style, Tone};
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, ContentArrangement, Table};
use textwrap::core::display_width;

/// Blanks between two columns.
const BETWEEN: usize = 2;

/// Width from which on folded words are still read with ease.
const READABLE: usize = 16;

/// Width into which words are folded at the least.
const NARROWEST: usize = 12;

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
        let mut table = self.table(one_line);
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((if index == 0 { 0 } else { BETWEEN as u16 }, 0));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// The headings, then the rows, as one text that fits the style's width; headings stand out where colour is on.
    pub(crate) fn text(&self, style: &Style) -> String {
        let folded = self.folded(style.width);
        let headings = folded.headings.map(|headings| style.paint(Tone::Title, &headings));
        headings.into_iter().chain(folded.rows.into_iter().flatten()).map(|line| line + "\n").collect()
    }

    /// The lines of the headings and of each row. Where a line would be longer than `width`, words go on in the lines below it; where the
    /// numbers alone are too wide for that, each row is running text.
    pub fn folded(&self, width: Option<usize>) -> Folded {
        let widest = width.map_or(usize::MAX, |width| self.widest_words(width));
        if let Some(width) = width.filter(|_| widest < NARROWEST) {
            return Folded { headings: None, rows: self.rows.iter().map(|row| self.running(row, width)).collect() };
        }
        let mut parts = Grid { columns: self.columns.clone(), rows: Vec::new() };
        let mut heights = Vec::new();
        for row in &self.rows {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&self.columns).map(|(text, column)| broken(text, column, widest)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            let line = |index| cells.iter().map(|cell| cell.get(index).cloned().unwrap_or_default()).collect();
            parts.rows.extend((0..height).map(line));
            heights.push(height);
        }
        let mut lines = parts.lines().into_iter();
        let headings = lines.next();
        Folded { headings, rows: heights.into_iter().map(|height| lines.by_ref().take(height).collect()).collect() }
    }

    /// A row as running text: each heading with its cell, empty cells left out.
    fn running(&self, row: &[String], width: usize) -> Vec<String> {
        let cells = row.iter().zip(&self.columns).filter(|(text, _)| !text.trim().is_empty());
        let words: Vec<String> = cells
            .map(|(text, (heading, _))| format!("{} {}", heading.trim(), one_line(text.trim())).trim().to_owned())
            .collect();
        let options = textwrap::Options::new(width).subsequent_indent("    ");
        textwrap::wrap(&words.join("; "), options).into_iter().map(std::borrow::Cow::into_owned).collect()
    }

    /// Whether it fits into `width` without folding words into less than [`READABLE`].
    pub(crate) fn is_readable(&self, width: usize) -> bool {
        self.widest_words(width) >= READABLE
    }

    /// The greatest width of words with which the lines fit into `width`; 0 where they fit with none.
    fn widest_words(&self, width: usize) -> usize {
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| self.column_width(index)).collect();
        let fits = |widest: &usize| {
            let columns = self.columns.iter().zip(&widths).map(|(column, full)| match column.1 {
                Side::Left => (*full).min((*widest).max(display_width(&column.0))),
                Side::Right => *full,
            });
            columns.sum::<usize>() + BETWEEN * self.columns.len().saturating_sub(1) <= width
        };
        let most = widths.iter().copied().max().unwrap_or(0);
        if fits(&most) { usize::MAX } else { (0..most).rev().find(fits).unwrap_or(0) }
    }

    fn column_width(&self, index: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[index].as_str());
        cells.chain([self.columns[index].0.as_str()]).map(display_width).max().unwrap_or(0)
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

/// A grid's lines, in which each row has one or more.
#[derive(Debug)]
pub struct Folded {
    /// The line of the headings; none where they stand with the cells.
    pub headings: Option<String>,
    /// The lines of each row.
    pub rows: Vec<Vec<String>>,
}

/// A cell's text in lines of `widest` at most, or of its heading's width; numbers stay whole.
fn broken(text: &str, (heading, side): &(String, Side), widest: usize) -> Vec<String> {
    let widest = widest.max(display_width(heading));
    if *side == Side::Right || display_width(text) <= widest {
        return vec![text.to_owned()];
    }
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let options = textwrap::Options::new(widest).initial_indent(&indent).subsequent_indent(&indent);
    textwrap::wrap(text.trim_start(), options).into_iter().map(std::borrow::Cow::into_owned).collect()
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

/// Like [`escape_markdown`], but keeps what stands between two backticks as code.
pub(crate) fn escape_markdown_around_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    let is_empty = parts.iter().skip(1).step_by(2).any(|code| code.is_empty());
    if !is_paired || is_empty {
        return escape_markdown(text);
    }
    let part = |(index, part): (usize, &&str)| match index % 2 {
        0 => escape_markdown(part),
        _ => format!("`{part}`"),
    };
    parts.iter().enumerate().map(part).collect()
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
    fn every_column_of_words_folds_and_numbers_stay_whole() {
        let mut grid =
            Grid::new(vec![("what".into(), Side::Left), ("n".into(), Side::Right), ("where".into(), Side::Left)]);
        grid.row(vec!["comparison of two sides".into(), "1234567".into(), "on a machine far away".into()]);
        grid.row(vec!["a".into(), "1".into(), "b".into()]);
        let folded = grid.folded(Some(36));
        assert_eq!(folded.headings.as_deref(), Some("what                n  where"));
        assert_eq!(folded.rows[0], ["comparison    1234567  on a machine", "of two sides           far away"]);
        assert_eq!(folded.rows[1], ["a                   1  b"]);
        assert!(grid.is_readable(60) && !grid.is_readable(36));
        let running = grid.folded(Some(30));
        assert_eq!(running.headings, None);
        assert_eq!(
            running.rows[0],
            ["what comparison of two sides;", "    n 1234567; where on a", "    machine far away"]
        );
        assert_eq!(grid.folded(None).rows[0].len(), 1);
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
    fn markdown_keeps_commands_as_code() {
        let escape = escape_markdown_around_code;
        assert_eq!(escape("*stop* it: `top -b | x`, or `a_b`"), r"\*stop\* it: `top -b | x`, or `a_b`");
        assert_eq!(escape("`a` `*b*"), r"\`a\` \`\*b\*", "one is left open");
        assert_eq!(escape("``*b*"), r"\`\`\*b\*", "there is nothing between them");
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(records(["a", "b"], [["1,5".into(), "say \"x\"".into()]]), "a,b\n\"1,5\",\"say \"\"x\"\"\"\n");
    }
}
