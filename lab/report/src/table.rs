//! A table of results. Each column is one descriptor: its heading, how it gets a cell from a row, and the forms that show it. Text, Markdown and CSV
//! use the same list of columns. `grid` aligns and escapes the cells.

use crate::grid::{Grid, Side, records};
use crate::style::{Signs, Style};
use textwrap::core::display_width;

/// A form for people. Text has more detail the more room there is; the first form that fits is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text with most detail.
    Wide,
    /// Text with less.
    Medium,
    /// Text with least; taken even where it doesn't fit.
    Narrow,
    /// A pipe table.
    Markdown,
}

impl Form {
    /// All forms.
    pub const ALL: &[Form] = &[Form::Wide, Form::Medium, Form::Narrow, Form::Markdown];
}

/// A column of a table whose rows are `R`: how it is shown to people, what it is in CSV, or both.
pub struct Column<R> {
    shown: Option<Shown<R>>,
    record: Option<Record<R>>,
}

struct Shown<R> {
    heading: &'static str,
    side: Side,
    indent: usize,
    forms: &'static [Form],
    cell: fn(&R, &Signs) -> String,
}

struct Record<R> {
    name: &'static str,
    cell: fn(&R) -> String,
}

impl<R> Column<R> {
    /// Words under a heading, in all forms for people.
    pub fn left(heading: &'static str, cell: fn(&R, &Signs) -> String) -> Self {
        Self::shown(heading, Side::Left, cell)
    }

    /// Numbers under a heading, in all forms for people.
    pub fn right(heading: &'static str, cell: fn(&R, &Signs) -> String) -> Self {
        Self::shown(heading, Side::Right, cell)
    }

    fn shown(heading: &'static str, side: Side, cell: fn(&R, &Signs) -> String) -> Self {
        Column { shown: Some(Shown { heading, side, indent: 0, forms: Form::ALL, cell }), record: None }
    }

    /// A column of the CSV alone; the unit is in its name.
    pub fn csv_only(name: &'static str, cell: fn(&R) -> String) -> Self {
        Column { shown: None, record: Some(Record { name, cell }) }
    }

    /// Stands in the CSV too: under this name, with its raw value.
    pub fn csv(self, name: &'static str, cell: fn(&R) -> String) -> Self {
        Column { record: Some(Record { name, cell }), ..self }
    }

    /// For people, stands in these forms only.
    pub fn on(self, forms: &'static [Form]) -> Self {
        Column { shown: self.shown.map(|shown| Shown { forms, ..shown }), ..self }
    }

    /// For people, stands only where `wanted`: a column in which nothing would stand is left out.
    pub fn when(self, wanted: bool) -> Self {
        Column { shown: self.shown.filter(|_| wanted), ..self }
    }

    /// In text, stands so many blanks further right.
    pub fn indented(self, indent: usize) -> Self {
        Column { shown: self.shown.map(|shown| Shown { indent, ..shown }), ..self }
    }
}

impl<R> Shown<R> {
    fn indent(&self, form: Form) -> String {
        " ".repeat(if form == Form::Markdown { 0 } else { self.indent })
    }

    fn heading(&self, form: Form) -> String {
        self.indent(form) + self.heading
    }

    /// Numbers line up with the end of their heading, wherever it begins.
    fn cell(&self, row: &R, form: Form, signs: &Signs) -> String {
        let text = (self.cell)(row, signs);
        if self.side == Side::Left { self.indent(form) + &text } else { text }
    }
}

/// Columns and rows.
pub struct Table<R> {
    columns: Vec<Column<R>>,
    rows: Vec<R>,
}

impl<R> Table<R> {
    /// A table of these rows.
    pub fn new(columns: Vec<Column<R>>, rows: impl IntoIterator<Item = R>) -> Self {
        Table { columns, rows: rows.into_iter().collect() }
    }

    /// The table in one form for people.
    pub fn grid(&self, form: Form, signs: &Signs) -> Grid {
        let shown = self.columns.iter().filter_map(|column| column.shown.as_ref());
        let shown: Vec<&Shown<R>> = shown.filter(|column| column.forms.contains(&form)).collect();
        let mut grid = Grid::new(shown.iter().map(|column| (column.heading(form), column.side)).collect());
        for row in &self.rows {
            grid.row(shown.iter().map(|column| column.cell(row, form, signs)).collect());
        }
        grid
    }

    /// The form of text with the most detail that fits into the style's width, and the table in it.
    pub fn fitting(&self, style: &Style) -> (Form, Grid) {
        let room = style.width.unwrap_or(usize::MAX);
        for form in [Form::Wide, Form::Medium] {
            let grid = self.grid(form, style.signs());
            if grid.lines().iter().all(|line| display_width(line) <= room) {
                return (form, grid);
            }
        }
        (Form::Narrow, self.grid(Form::Narrow, style.signs()))
    }

    /// Text with the most detail that can be read in the style's width; words that don't fit go on in lines below.
    pub fn text(&self, style: &Style) -> String {
        self.readable(style).text(style)
    }

    /// The table in the form of text with the most detail that can be read in the style's width, once words are folded.
    pub fn readable(&self, style: &Style) -> Grid {
        let width = style.width.unwrap_or(usize::MAX);
        let forms = [Form::Wide, Form::Medium].map(|form| self.grid(form, style.signs()));
        let readable = forms.into_iter().find(|grid| grid.is_readable(width));
        readable.unwrap_or_else(|| self.grid(Form::Narrow, style.signs()))
    }

    /// A pipe table.
    pub fn markdown(&self, signs: &Signs) -> String {
        self.grid(Form::Markdown, signs).markdown()
    }

    /// A header line and a record for each row.
    pub fn csv(&self) -> String {
        let columns: Vec<&Record<R>> = self.columns.iter().filter_map(|column| column.record.as_ref()).collect();
        let rows = self.rows.iter().map(|row| columns.iter().map(|column| (column.cell)(row)).collect::<Vec<_>>());
        records(columns.iter().map(|column| column.name), rows)
    }
}

/// A number as it is, for CSV; nothing where there is none.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{ASCII, UNICODE};

    type Column = super::Column<(u32, Option<f64>)>;

    fn table() -> Table<(u32, Option<f64>)> {
        let columns = vec![
            Column::right("n", |(n, _), _| n.to_string()).indented(2).csv("n", |(n, _)| n.to_string()),
            Column::left("size", |(_, size), signs| size.map_or_else(|| signs.none.to_owned(), |s| format!("{s:.1}")))
                .csv("size_ratio", |(_, size)| number(*size)),
            Column::left("long", |(n, _), _| "-".repeat(*n as usize)).on(&[Form::Wide, Form::Markdown]).indented(1),
            Column::left("never", |_, _| String::new()).when(false),
            Column::csv_only("twice", |(n, _)| (2 * n).to_string()),
        ];
        Table::new(columns, [(3, Some(0.25)), (10, None)])
    }

    #[test]
    fn each_form_has_its_columns() {
        assert_eq!(
            table().grid(Form::Wide, &ASCII).lines(),
            ["  n  size   long", "  3  0.2    ---", " 10  -      ----------"]
        );
        assert_eq!(table().grid(Form::Medium, &UNICODE).lines(), ["  n  size", "  3  0.2", " 10  –"]);
        assert_eq!(table().csv(), "n,size_ratio,twice\n3,0.25,6\n10,,20\n");
        assert!(
            table().markdown(&UNICODE).starts_with("|  n | size | long       |\n"),
            "{}",
            table().markdown(&UNICODE)
        );
    }

    #[test]
    fn the_most_detail_that_fits_is_taken() {
        let style = |width| Style { width, colour: false, unicode: true };
        assert_eq!(table().fitting(&style(None)).0, Form::Wide);
        assert_eq!(table().fitting(&style(Some(20))).0, Form::Medium);
        assert_eq!(table().fitting(&style(Some(5))).0, Form::Narrow);
    }
}
