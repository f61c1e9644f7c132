//! A grid of texts under headings, as aligned text, a pipe table or CSV.

use crate::escape::{escape_markdown, one_line};
use crate::style::{Style, Tone};
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, ContentArrangement, Table};
use textwrap::core::display_width;

/// Blanks between two columns.
const BETWEEN: usize = 2;

/// Minimum width of a column whose wrapped words are easy to read.
const READABLE: usize = 16;

/// Minimum width of a column of words.
const NARROWEST: usize = 12;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Headings and rows of texts. Every row is as long as the headings.
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

    /// Aligned lines: headings, then one line per row. Control characters become spaces.
    pub fn lines(&self) -> Vec<String> {
        let mut table = self.table(one_line);
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((if index == 0 { 0 } else { BETWEEN as u16 }, 0));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Headings and rows as one text that fits the style's width.
    pub(crate) fn text(&self, style: &Style) -> String {
        let folded = self.folded(style.width);
        let headings = folded.headings.map(|headings| style.paint(Tone::Title, &headings));
        headings.into_iter().chain(folded.rows.into_iter().flatten()).map(|line| line + "\n").collect()
    }

    /// The lines of headings and rows, at most `width` long. Words wrap into lines below; if the
    /// numbers alone are too wide, each row becomes running text.
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

    /// A row as running text: each heading with its cell, without empty cells.
    fn running(&self, row: &[String], width: usize) -> Vec<String> {
        let cells = row.iter().zip(&self.columns).filter(|(text, _)| !text.trim().is_empty());
        let words: Vec<String> = cells
            .map(|(text, (heading, _))| format!("{} {}", heading.trim(), one_line(text.trim())).trim().to_owned())
            .collect();
        let options = textwrap::Options::new(width).subsequent_indent("    ");
        textwrap::wrap(&words.join("; "), options).into_iter().map(std::borrow::Cow::into_owned).collect()
    }

    /// True if the grid fits `width` with columns of words of at least [`READABLE`].
    pub(crate) fn is_readable(&self, width: usize) -> bool {
        self.widest_words(width) >= READABLE
    }

    /// The maximum width of words with which the lines fit `width`; 0 if no width does.
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

/// A grid as lines, one or more per row.
#[derive(Debug)]
pub struct Folded {
    /// The line of headings; `None` if they are repeated in the rows.
    pub headings: Option<String>,
    /// The lines of each row.
    pub rows: Vec<Vec<String>>,
}

/// A cell's text in lines of at most `widest`, or of its heading's width. Numbers are never broken.
fn broken(text: &str, (heading, side): &(String, Side), widest: usize) -> Vec<String> {
    let widest = widest.max(display_width(heading));
    if *side == Side::Right || display_width(text) <= widest {
        return vec![text.to_owned()];
    }
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let options = textwrap::Options::new(widest).initial_indent(&indent).subsequent_indent(&indent);
    textwrap::wrap(text.trim_start(), options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// CSV with a header line, as in RFC 4180 but with `\n` as line end. Each record is as long as the
/// header.
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
    fn csv_quotes_what_needs_it() {
        assert_eq!(records(["a", "b"], [["1,5".into(), "say \"x\"".into()]]), "a,b\n\"1,5\",\"say \"\"x\"\"\"\n");
    }
}
