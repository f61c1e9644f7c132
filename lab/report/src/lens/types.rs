//! Transfers by type: the table of types of a lens run, and the output of `lens types`.

use crate::escape::one_line;
use crate::format::Format;
use crate::lens::layout::{self, known, layout, objects, type_name};
use crate::lens::{points, proposal, words};
use crate::page::element;
use crate::sheet::{Sheet, in_format};
use crate::style::{Style, Tone};
use crate::table::{self, Form, ResultTable};
use crate::{figure, names, sentences};
use faultline_stats::lens::types::{CellTypes, LensTypes, Moved, TypeFigures, TypesFigures};

/// Maximum lines of text unless everything is requested.
const MOST_LINES: usize = 100;

/// Types in the table of `lens types`, and layouts below it: the first pair with few enough lines.
const DETAILS: [Detail; 5] = [
    Detail { listed: 30, layouts: 3 },
    Detail { listed: 20, layouts: 1 },
    Detail { listed: 12, layouts: 0 },
    Detail { listed: 5, layouts: 0 },
    Detail { listed: 1, layouts: 0 },
];

/// Numbers of types and layouts shown for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Detail {
    listed: usize,
    layouts: usize,
}

/// Kinds of untyped data shown.
const UNTYPED: usize = 5;

/// The types of a run. Text has at most 100 lines unless `is_whole`, or if types were requested.
/// CSV has a record per member.
pub fn lens_types_table(types: &LensTypes, is_whole: bool, format: Format, style: &Style) -> String {
    let text = |sheet: Sheet<'_>| match is_whole || sheet.is_markdown() || !types.asked.is_empty() {
        true => body(sheet, types, DETAILS[0], None),
        false => short(types, style),
    };
    in_format(format, style, text, || types, || layout::records(types).csv())
}

/// The text with the most details that has few enough lines, and how to see the rest.
fn short(types: &LensTypes, style: &Style) -> String {
    let in_detail = |detail: &Detail| {
        let hint = (*detail != DETAILS[0]).then_some(
            "`--all` shows more types with the layouts of the first three; `faultline lens types RUN TYPE` shows the layout of \
             a type.",
        );
        body(Sheet::new(style), types, *detail, hint)
    };
    let fits = |text: &String| text.lines().count() <= MOST_LINES;
    let least = DETAILS[DETAILS.len() - 1];
    DETAILS.iter().map(in_detail).find(fits).unwrap_or_else(|| in_detail(&least))
}

fn body(mut sheet: Sheet<'_>, types: &LensTypes, detail: Detail, hint: Option<&str>) -> String {
    let form = points::form(sheet.style);
    for cell in &types.cells {
        sheet.space();
        sheet.titled(&title(cell), &about(cell));
        let figures = &cell.types;
        if types.asked.is_empty() {
            sheet.subtable(&heading(figures, cell.cpus), &table(rows(figures, detail.listed)), form);
        }
        for of in shown(types, figures, detail.layouts) {
            sheet.subtable(&layout::heading(of, &cell.operation), &layout(of), form);
            for note in layout::notes(of) {
                sheet.paragraph(Some(Tone::Quiet), "    ", &note);
            }
            proposal::write(&mut sheet, of, &cell.operation);
        }
        for note in cell.untyped.iter().map(sentences::no_names) {
            sheet.paragraph(Some(Tone::Bad), "  ", &note);
        }
    }
    if let Some(hint) = hint {
        sheet.space();
        sheet.paragraph(None, "", hint);
    }
    sheet.legend(layout::LEGEND);
    sheet.text
}

fn shown<'a>(types: &LensTypes, figures: &'a TypesFigures, layouts: usize) -> &'a [TypeFigures] {
    let number = if types.asked.is_empty() { layouts } else { figures.types.len() };
    &figures.types[..number.min(figures.types.len())]
}

fn title(cell: &CellTypes) -> String {
    format!("{} at {}", one_line(&cell.case.to_string()), words::cpus(cell.cpus))
}

fn about(cell: &CellTypes) -> String {
    let mode = names::tasks_are(cell.case.mode);
    let transfers = figure::transfers(cell.transfers);
    format!(" ({mode}): {transfers} transfers per {}", one_line(&cell.operation))
}

/// The heading of the table of types.
pub(crate) fn heading(figures: &TypesFigures, cpus: u32) -> String {
    let at = words::cpus(cpus);
    format!(
        "top types at {at}, of {}; {} of the transfers have one",
        figures.number,
        figure::percent(figures.typed_share)
    )
}

/// Smallest share of a case's transfers that a proposed layout saves, to be shown with the run.
const PROPOSED_SHARE: f64 = 0.1;

/// The types whose proposed layouts save much of a case's transfers per operation.
pub(crate) fn worth_proposing(figures: &TypesFigures, transfers: f64) -> impl Iterator<Item = &TypeFigures> {
    let saved = |of: &TypeFigures| of.proposed.as_ref().map_or(0.0, |proposed| proposed.saved);
    figures.types.iter().filter(move |of| saved(of) > 0.0 && saved(of) >= PROPOSED_SHARE * transfers)
}

/// A row of the table: a type, the unlisted types together, or untyped data.
pub(crate) struct TypeRow<'a> {
    pub(crate) name: String,
    pub(crate) moved: Moved,
    pub(crate) share: f64,
    pub(crate) of: Option<&'a TypeFigures>,
}

impl TypeRow<'_> {
    fn hottest(&self) -> Option<&str> {
        self.of?.hottest.as_deref()
    }
}

/// The first types, the others together, then untyped data; without rows of 0.0 %. Their sum is all
/// transfers.
pub(crate) fn rows<'a>(figures: &'a TypesFigures, most: usize) -> Vec<TypeRow<'a>> {
    let listed: Vec<&TypeFigures> = words::above_zero(&figures.types, |of| of.share).take(most).collect();
    let of_type = |of: &'a TypeFigures| TypeRow {
        name: one_line(&type_name(of)),
        moved: of.moved,
        share: of.share,
        of: Some(of),
    };
    let mut rows: Vec<TypeRow<'_>> = listed.iter().copied().map(of_type).collect();
    let others = figures.number.saturating_sub(listed.len() as u64);
    if others > 0 {
        let share = (figures.typed_share - listed.iter().map(|of| of.share).sum::<f64>()).max(0.0);
        rows.push(rest(format!("{others} further types"), share, figures));
    }
    let (first, last) = figures.untyped.split_at(UNTYPED.min(figures.untyped.len()));
    rows.extend(first.iter().map(|of| TypeRow {
        name: one_line(&words::untypeable(&of.what)),
        moved: of.moved,
        share: of.share,
        of: None,
    }));
    if !last.is_empty() {
        rows.push(rest("other data without a type".to_owned(), last.iter().map(|of| of.share).sum(), figures));
    }
    rows.retain(|row| words::is_above_zero(row.share));
    rows
}

/// Several types or kinds of data together, with their share only.
fn rest(name: String, share: f64, figures: &TypesFigures) -> TypeRow<'_> {
    let whole = figures.types.iter().map(|of| (of.moved.transfers, of.share));
    let whole = whole.chain(figures.untyped.iter().map(|of| (of.moved.transfers, of.share)));
    let all = whole.filter(|(_, share)| *share > 0.0).map(|(transfers, share)| transfers / share).next().unwrap_or(0.0);
    let moved = Moved { transfers: share * all, reads: f64::NAN, writes: f64::NAN, false_share: f64::NAN };
    TypeRow { name, moved, share, of: None }
}

type Column<'a> = table::Column<TypeRow<'a>>;

/// The table of types.
pub(crate) fn table(rows: Vec<TypeRow<'_>>) -> ResultTable<TypeRow<'_>> {
    let columns: Vec<Column<'_>> = vec![
        Column::left("type", |row, _| row.name.clone()).row_heading(),
        Column::right("bytes", |row, _| row.of.map_or_else(String::new, |of| of.size.to_string()))
            .exact(|row| Some(row.of?.size as f64)),
        Column::right("objects", |row, _| row.of.map_or_else(String::new, |of| objects(of).to_string()))
            .on(Form::ROOMY)
            .exact(|row| Some(objects(row.of?) as f64)),
        Column::right("transfers", |row, _| figure::transfers(row.moved.transfers))
            .exact(|row| Some(row.moved.transfers)),
        Column::right("share", |row, _| figure::percent(row.share)).exact(|row| Some(row.share)),
        Column::right("reads", |row, _| known(row.moved.reads, figure::transfers))
            .on(Form::ROOMY)
            .exact(|row| Some(row.moved.reads).filter(|reads| !reads.is_nan())),
        Column::right("writes", |row, _| known(row.moved.writes, figure::transfers))
            .on(Form::ROOMY)
            .exact(|row| Some(row.moved.writes).filter(|writes| !writes.is_nan())),
        Column::left("sharing", |row, _| known(row.moved.false_share, words::sharing)),
        Column::left("hottest member", |row, _| row.hottest().map(one_line).unwrap_or_default())
            .class("name")
            .html(|row| element::text(row.hottest())),
        Column::left("moved by", |row, _| row.of.map_or_else(String::new, |of| layout::movers(&of.code)))
            .on(&[Form::Wide, Form::Markdown]),
    ];
    ResultTable::new(columns, rows).sortable()
}
