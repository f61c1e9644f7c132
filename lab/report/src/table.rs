//! A table of results as one list of columns: terminal text, Markdown, CSV and the pages are
//! written from it.
//!
//! A column has a heading, a function from a row to a cell, and the forms that show it. A new
//! column is one entry. `grid` aligns and escapes text.

use crate::format::{Format, json};
use crate::grid::{Grid, Side, records};
use crate::style::{Signs, Style, UNICODE};
use maud::{Escaper, Markup, PreEscaped, html as markup};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use textwrap::core::display_width;

/// A form for people. Text takes the first of the forms [`Form::Wide`], [`Form::Medium`] and
/// [`Form::Narrow`] that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text with all details.
    Wide,
    /// Text with fewer details.
    Medium,
    /// Text with the fewest details; the fallback if nothing fits.
    Narrow,
    /// A pipe table.
    Markdown,
    /// A table of a page.
    Page,
}

impl Form {
    /// All forms.
    pub const ALL: &[Form] = &[Form::Wide, Form::Medium, Form::Narrow, Form::Markdown, Form::Page];
    /// The forms with the most details.
    pub const ROOMY: &[Form] = &[Form::Wide, Form::Markdown, Form::Page];
    /// All forms except narrow text.
    pub const ALL_BUT_NARROW: &[Form] = &[Form::Wide, Form::Medium, Form::Markdown, Form::Page];
    /// Narrow text.
    pub const NARROW: &[Form] = &[Form::Narrow];
}

/// A column of a table whose rows are `R`.
pub struct Column<R> {
    heading: Cow<'static, str>,
    side: Side,
    indent: usize,
    forms: &'static [Form],
    text: TextCell<R>,
    record: Option<(&'static str, RecordCell<R>)>,
    html: HtmlCell<R>,
    class: &'static str,
    is_row_heading: bool,
    rank: u8,
}

type TextCell<R> = Box<dyn Fn(&R, &Signs) -> String>;

enum RecordCell<R> {
    AsShown,
    Number(fn(&R) -> Option<f64>),
    Own(Box<dyn Fn(&R) -> String>),
}

enum HtmlCell<R> {
    /// The text.
    Text,
    /// The text within a `data` element with the exact number.
    Number(fn(&R) -> Option<f64>),
    Own(Box<dyn Fn(&R) -> PageCell>),
}

impl<R> Column<R> {
    /// A left-aligned column of words, in all forms for people.
    pub fn left(heading: impl Into<Cow<'static, str>>, cell: impl Fn(&R, &Signs) -> String + 'static) -> Self {
        Self::shown(heading.into(), Side::Left, Form::ALL, Box::new(cell))
    }

    /// A right-aligned column of numbers, in all forms for people.
    pub fn right(heading: impl Into<Cow<'static, str>>, cell: impl Fn(&R, &Signs) -> String + 'static) -> Self {
        Self::shown(heading.into(), Side::Right, Form::ALL, Box::new(cell))
    }

    /// A left-aligned column of the page alone.
    pub fn page<C: Into<PageCell>>(heading: impl Into<Cow<'static, str>>, cell: impl Fn(&R) -> C + 'static) -> Self {
        Self::shown(heading.into(), Side::Left, &[], Box::new(|_, _| String::new())).html(cell)
    }

    /// A right-aligned column of the page alone.
    pub fn page_right<C: Into<PageCell>>(
        heading: impl Into<Cow<'static, str>>,
        cell: impl Fn(&R) -> C + 'static,
    ) -> Self {
        Column { side: Side::Right, ..Self::page(heading, cell) }
    }

    /// A column of the CSV alone. The name contains the unit.
    pub fn csv_only(name: &'static str, cell: impl Fn(&R) -> String + 'static) -> Self {
        Self::shown("".into(), Side::Left, &[], Box::new(|_, _| String::new())).csv(name, cell)
    }

    /// A column of the CSV alone, empty without a value.
    pub fn csv_option<T: Display>(name: &'static str, cell: impl Fn(&R) -> Option<T> + 'static) -> Self {
        Self::csv_only(name, move |row| cell(row).map(|value| value.to_string()).unwrap_or_default())
    }

    fn shown(heading: Cow<'static, str>, side: Side, forms: &'static [Form], text: TextCell<R>) -> Self {
        Column {
            heading,
            side,
            indent: 0,
            forms,
            text,
            record: None,
            html: HtmlCell::Text,
            class: "",
            is_row_heading: false,
            rank: u8::MAX,
        }
    }

    /// Adds the column to the CSV, under this name, with its raw value.
    pub fn csv(self, name: &'static str, cell: impl Fn(&R) -> String + 'static) -> Self {
        Column { record: Some((name, RecordCell::Own(Box::new(cell)))), ..self }
    }

    /// Adds the column to the CSV, under this name, with the text that people see.
    pub fn csv_as_shown(self, name: &'static str) -> Self {
        Column { record: Some((name, RecordCell::AsShown)), ..self }
    }

    /// Adds the raw number to the CSV under this name, and to the page, which sorts by it.
    pub fn number(self, name: &'static str, exact: fn(&R) -> Option<f64>) -> Self {
        Column { record: Some((name, RecordCell::Number(exact))), ..self.exact(exact) }
    }

    /// On the page, adds the exact number to the text. The page sorts by it.
    pub fn exact(self, exact: fn(&R) -> Option<f64>) -> Self {
        Column { html: HtmlCell::Number(exact), ..self }
    }

    /// Replaces the text on the page, and puts the column on the page whatever its forms are.
    pub fn html<C: Into<PageCell>>(self, cell: impl Fn(&R) -> C + 'static) -> Self {
        Column { html: HtmlCell::Own(Box::new(move |row| cell(row).into())), ..self }
    }

    /// Restricts the column to these forms.
    pub fn on(self, forms: &'static [Form]) -> Self {
        Column { forms, ..self }
    }

    /// Omits the column for people unless `wanted`. CSV keeps it.
    pub fn when(self, wanted: bool) -> Self {
        if wanted { self } else { Column { forms: &[], html: HtmlCell::Text, ..self } }
    }

    /// In text, indents the column by this number of blanks.
    pub fn indented(self, indent: usize) -> Self {
        Column { indent, ..self }
    }

    /// On the page, gives the cells a CSS class.
    pub fn class(self, class: &'static str) -> Self {
        Column { class, ..self }
    }

    /// On the page, makes the cells the headings of their rows.
    pub fn row_heading(self) -> Self {
        Column { is_row_heading: true, ..self }
    }

    /// On the page, puts the column before those of a higher rank and those without one.
    ///
    /// Narrow screens show the first columns only.
    pub fn leading(self, rank: u8) -> Self {
        Column { rank, ..self }
    }

    fn is_on_page(&self) -> bool {
        self.forms.contains(&Form::Page) || matches!(self.html, HtmlCell::Own(_))
    }

    fn indent(&self, form: Form) -> String {
        " ".repeat(if form == Form::Markdown { 0 } else { self.indent })
    }

    /// Numbers line up with the end of their heading, so only words are indented.
    fn cell(&self, row: &R, form: Form, signs: &Signs) -> String {
        let text = (self.text)(row, signs);
        if self.side == Side::Left { self.indent(form) + &text } else { text }
    }

    fn page_cell(&self, row: &R) -> PageCell {
        let text = || (self.text)(row, &UNICODE);
        let none = || markup! { span.none { (UNICODE.none) } };
        match &self.html {
            HtmlCell::Own(cell) => cell(row),
            HtmlCell::Number(exact) => match exact(row) {
                Some(exact) => markup! { data value=(exact) { (plain(text())) } },
                None => Some(text()).filter(|text| !text.is_empty() && text != UNICODE.none).map_or_else(none, plain),
            }
            .into(),
            HtmlCell::Text if text() == UNICODE.none => none().into(),
            HtmlCell::Text => plain(text()).into(),
        }
    }
}

fn plain(text: String) -> Markup {
    markup! { (crate::escape::one_line(&text)) }
}

/// A cell of a page.
#[derive(Debug, Clone)]
pub struct PageCell {
    content: Markup,
    attributes: Attributes,
    span: usize,
}

impl From<Markup> for PageCell {
    fn from(content: Markup) -> Self {
        PageCell { content, attributes: Attributes::default(), span: 1 }
    }
}

impl PageCell {
    /// A row heading that spans this number of columns, at least two.
    pub(crate) fn spanning(columns: usize, content: Markup) -> Self {
        PageCell { span: columns, ..content.into() }
    }

    /// Adds an attribute.
    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        self.attributes = self.attributes.with(name, value);
        self
    }
}

/// Attributes of an element of a page.
#[derive(Debug, Clone, Default)]
pub struct Attributes(String);

impl Attributes {
    /// Adds an attribute.
    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        write!(self.0, " {name}=\"").and_then(|()| write!(Escaper::new(&mut self.0), "{value}")).expect("a string");
        self.0.push('"');
        self
    }

    /// Adds an attribute without a value if `is_set`.
    pub(crate) fn flag(mut self, name: &str, is_set: bool) -> Self {
        if is_set {
            self.0 += " ";
            self.0 += name;
        }
        self
    }
}

/// Columns and rows.
pub struct ResultTable<R> {
    columns: Vec<Column<R>>,
    rows: Vec<R>,
    row_attributes: fn(&R) -> Attributes,
    is_sortable: bool,
}

impl<R> ResultTable<R> {
    /// A table of these rows.
    pub fn new(columns: Vec<Column<R>>, rows: impl IntoIterator<Item = R>) -> Self {
        let rows = rows.into_iter().collect();
        ResultTable { columns, rows, row_attributes: |_| Attributes::default(), is_sortable: false }
    }

    /// On the page, gives each row attributes, such as `data-*` for the script.
    pub(crate) fn row_attributes(self, attributes: fn(&R) -> Attributes) -> Self {
        ResultTable { row_attributes: attributes, ..self }
    }

    /// On the page, sorts by a column when its heading is clicked.
    pub(crate) fn sortable(self) -> Self {
        ResultTable { is_sortable: true, ..self }
    }

    /// The table in one form for people.
    pub fn grid(&self, form: Form, signs: &Signs) -> Grid {
        let shown: Vec<&Column<R>> = self.columns.iter().filter(|column| column.forms.contains(&form)).collect();
        let mut grid =
            Grid::new(shown.iter().map(|column| (column.indent(form) + &column.heading, column.side)).collect());
        for row in &self.rows {
            grid.row(shown.iter().map(|column| column.cell(row, form, signs)).collect());
        }
        grid
    }

    /// The table as an entire output. JSON has `data`.
    pub(crate) fn in_format<T: Serialize + ?Sized>(&self, format: Format, style: &Style, data: &T) -> String {
        match format {
            Format::Table => self.text(style),
            Format::Markdown => self.markdown(style.signs()),
            Format::Json => json(data),
            Format::Csv => self.csv(),
        }
    }

    /// The form of text with the most details whose lines fit the style's width, and the table in
    /// it.
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

    /// Text with the most details that stay readable in the style's width. Long words wrap into
    /// lines below.
    pub fn text(&self, style: &Style) -> String {
        self.readable(style).text(style)
    }

    /// The form of text with the most details that stay readable once words are wrapped.
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

    /// A header line, then a record per row.
    pub fn csv(&self) -> String {
        let columns: Vec<_> =
            self.columns.iter().filter_map(|column| Some((column, column.record.as_ref()?))).collect();
        let cell = |row: &R, column: &Column<R>, record: &RecordCell<R>| match record {
            RecordCell::AsShown => (column.text)(row, &UNICODE),
            RecordCell::Number(exact) => number(exact(row)),
            RecordCell::Own(cell) => cell(row),
        };
        let record =
            |row| columns.iter().map(|(column, (_, record))| cell(row, column, record)).collect::<Vec<String>>();
        records(columns.iter().map(|(_, (name, _))| *name), self.rows.iter().map(record))
    }

    /// The table of a page with a visible caption. A wide table scrolls.
    pub(crate) fn html(&self, caption: &str) -> Markup {
        self.scrolling(caption, true)
    }

    /// The table of a page below a heading that says the same as its caption, which only screen
    /// readers need.
    pub(crate) fn html_below_heading(&self, caption: &str) -> Markup {
        self.scrolling(caption, false)
    }

    fn scrolling(&self, caption: &str, has_caption: bool) -> Markup {
        let mut columns: Vec<&Column<R>> = self.columns.iter().filter(|column| column.is_on_page()).collect();
        columns.sort_by_key(|column| column.rank);
        markup! {
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table.sortable[self.is_sortable] {
                    @if has_caption { caption { span { (caption) } } }
                    thead {
                        tr {
                            @for column in &columns {
                                th.number[column.side == Side::Right] scope="col" { (column.heading) }
                            }
                        }
                    }
                    tbody { @for row in &self.rows { (self.page_row(&columns, row)) } }
                }
            }
        }
    }

    fn page_row(&self, columns: &[&Column<R>], row: &R) -> Markup {
        let mut html = format!("<tr{}>", (self.row_attributes)(row).0);
        let mut rest = columns;
        while let [column, others @ ..] = rest {
            let PageCell { content, attributes, span } = column.page_cell(row);
            rest = &others[others.len().min(span - 1)..];
            let is_heading = column.is_row_heading || span > 1;
            let number = if column.side == Side::Right && span == 1 { "number" } else { "" };
            let class = [number, if span == 1 { column.class } else { "" }].join(" ");
            let class = Some(class.trim()).filter(|class| !class.is_empty());
            let attributes =
                class.map_or_else(Attributes::default, |class| Attributes::default().with("class", class)).0
                    + if is_heading { " scope=\"row\"" } else { "" }
                    + &if span > 1 { format!(" colspan=\"{span}\"") } else { String::new() }
                    + &attributes.0;
            let name = if is_heading { "th" } else { "td" };
            html += &format!("<{name}{attributes}>{}</{name}>", content.0);
        }
        PreEscaped(html + "</tr>")
    }
}

/// A number for CSV; empty for none.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::ASCII;

    type Column = super::Column<(u32, Option<f64>)>;

    fn table() -> ResultTable<(u32, Option<f64>)> {
        let columns = vec![
            Column::right("n", |(n, _), _| n.to_string()).indented(2).csv("n", |(n, _)| n.to_string()),
            Column::left("size", |(_, size), signs| size.map_or_else(|| signs.none.to_owned(), |s| format!("{s:.1}")))
                .csv("size_ratio", |(_, size)| number(*size)),
            Column::left("long", |(n, _), _| "-".repeat(*n as usize)).on(&[Form::Wide, Form::Markdown]).indented(1),
            Column::left("never", |_, _| String::new()).when(false),
            Column::csv_only("twice", |(n, _)| (2 * n).to_string()),
        ];
        ResultTable::new(columns, [(3, Some(0.25)), (10, None)])
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
