//! Transfers by type: the table of types in a run's own output, and the output of `lens types` in the four formats.

use crate::figure;
use crate::format::Format;
use crate::grid::escape_markdown;
use crate::introduction;
use crate::json::json;
use crate::lens::layout::{self, known, layout, objects, type_name};
use crate::lens::{tables, words};
use crate::one_line::one_line;
use crate::sentences;
use crate::sheet::Sheet;
use crate::style::{Style, Tone, UNICODE};
use crate::table::{self, Form, Table};
use faultline_model::lens::by_type::Untypeable;
use faultline_model::lens::types::{CellTypes, LensTypes, Moved, TypeFigures, TypesFigures};

/// Types in the table of `lens types`.
const LISTED: usize = 30;

/// Layouts that are shown if no type is asked for.
const LAYOUTS: usize = 3;

/// Kinds of data without a type that are shown.
const UNTYPED: usize = 5;

/// The types of a run. JSON is the structure itself; CSV has a record per member.
pub fn lens_types_table(types: &LensTypes, format: Format, style: &Style) -> String {
    match format {
        Format::Table => text(types, style),
        Format::Json => json(types),
        Format::Csv => layout::records(types).csv(),
        Format::Markdown => markdown(types),
    }
}

fn text(types: &LensTypes, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    let signs = style.signs();
    for (index, cell) in types.cells.iter().enumerate() {
        if index > 0 {
            sheet.line("");
        }
        sheet.titled(&title(cell), &about(cell));
        let Some(figures) = &cell.types else {
            sheet.paragraph(Some(Tone::Bad), "  ", NOT_COUNTED);
            continue;
        };
        if types.asked.is_empty() {
            let rows = rows(figures, LISTED);
            sheet.table(&heading(figures, cell.cpus), &table(rows).grid(tables::form(style), signs));
        }
        for of in shown(types, figures) {
            sheet.table(&layout::heading(of, &cell.operation), &layout(of).grid(tables::form(style), signs));
            for note in layout::notes(of) {
                sheet.paragraph(Some(Tone::Quiet), "    ", &note);
            }
        }
        for note in cell.untyped.iter().map(sentences::no_names) {
            sheet.paragraph(Some(Tone::Bad), "  ", &note);
        }
    }
    sheet.line("");
    for sentence in layout::LEGEND {
        sheet.paragraph(Some(Tone::Quiet), "", sentence);
    }
    sheet.text
}

fn markdown(types: &LensTypes) -> String {
    let mut text = String::new();
    for cell in &types.cells {
        text.push_str(&format!("**{}**{}\n\n", escape_markdown(&title(cell)), escape_markdown(&about(cell))));
        let Some(figures) = &cell.types else {
            text.push_str(&format!("{NOT_COUNTED}\n\n"));
            continue;
        };
        if types.asked.is_empty() {
            let table = table(rows(figures, LISTED)).markdown(&UNICODE);
            text.push_str(&format!("{}:\n\n{table}\n", escape_markdown(&heading(figures, cell.cpus))));
        }
        for of in shown(types, figures) {
            let heading = escape_markdown(&layout::heading(of, &cell.operation));
            text.push_str(&format!("{heading}:\n\n{}\n", layout(of).markdown(&UNICODE)));
            for note in layout::notes(of) {
                text.push_str(&format!("{}\n\n", escape_markdown(&note)));
            }
        }
    }
    for sentence in layout::LEGEND {
        text.push_str(&format!("{}  \n", escape_markdown(sentence)));
    }
    text
}

const NOT_COUNTED: &str = "the run is of an older version, which did not count by type";

fn shown<'a>(types: &LensTypes, figures: &'a TypesFigures) -> &'a [TypeFigures] {
    let number = if types.asked.is_empty() { LAYOUTS } else { figures.types.len() };
    &figures.types[..number.min(figures.types.len())]
}

fn title(cell: &CellTypes) -> String {
    format!("{} at {}", one_line(&cell.case.to_string()), words::cpus(cell.cpus))
}

fn about(cell: &CellTypes) -> String {
    let mode = introduction::tasks_are(cell.case.mode);
    let transfers = figure::transfers(cell.transfers);
    format!(" ({mode}): {transfers} transfers per {}", one_line(&cell.operation))
}

/// Above the table of types.
pub(crate) fn heading(figures: &TypesFigures, cpus: u32) -> String {
    let at = words::cpus(cpus);
    format!(
        "top types at {at}, of {}; {} of the transfers have one",
        figures.number,
        figure::percent(figures.typed_share)
    )
}

/// A row of the table: a type, types that are not listed, or data without a type.
pub(crate) struct TypeRow<'a> {
    pub(crate) name: String,
    pub(crate) moved: Moved,
    pub(crate) share: f64,
    pub(crate) of: Option<&'a TypeFigures>,
}

/// The first types, then all others together, then data without a type. Together they are all transfers.
pub(crate) fn rows(figures: &TypesFigures, most: usize) -> Vec<TypeRow<'_>> {
    let listed = &figures.types[..most.min(figures.types.len())];
    let of_type = |of| TypeRow { name: one_line(&type_name(of)), moved: of.moved, share: of.share, of: Some(of) };
    let mut rows: Vec<TypeRow<'_>> = listed.iter().map(of_type).collect();
    let others = figures.number.saturating_sub(listed.len() as u64);
    if others > 0 {
        let share = (figures.typed_share - listed.iter().map(|of| of.share).sum::<f64>()).max(0.0);
        rows.push(rest(format!("{others} further types"), share, figures));
    }
    let (first, last) = figures.untyped.split_at(UNTYPED.min(figures.untyped.len()));
    rows.extend(first.iter().map(|of| TypeRow {
        name: one_line(&untypeable(&of.what)),
        moved: of.moved,
        share: of.share,
        of: None,
    }));
    if !last.is_empty() {
        rows.push(rest("other data without a type".to_owned(), last.iter().map(|of| of.share).sum(), figures));
    }
    rows
}

/// Several things together, of which only the share is known.
fn rest(name: String, share: f64, figures: &TypesFigures) -> TypeRow<'_> {
    let whole = figures.types.iter().map(|of| (of.moved.transfers, of.share));
    let whole = whole.chain(figures.untyped.iter().map(|of| (of.moved.transfers, of.share)));
    let all = whole.filter(|(_, share)| *share > 0.0).map(|(transfers, share)| transfers / share).next().unwrap_or(0.0);
    let moved = Moved { transfers: share * all, reads: f64::NAN, writes: f64::NAN, false_share: f64::NAN };
    TypeRow { name, moved, share, of: None }
}

type Column<'a> = table::Column<TypeRow<'a>>;

/// The table of types.
pub(crate) fn table(rows: Vec<TypeRow<'_>>) -> Table<TypeRow<'_>> {
    const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];
    let columns: Vec<Column<'_>> = vec![
        Column::left("type", |row, _| row.name.clone()),
        Column::right("size", |row, _| row.of.map_or_else(String::new, |of| of.size.to_string())),
        Column::right("objects", |row, _| row.of.map_or_else(String::new, |of| objects(of).to_string())).on(ROOMY),
        Column::right("transfers", |row, _| figure::transfers(row.moved.transfers)),
        Column::right("share", |row, _| figure::percent(row.share)),
        Column::right("reads", |row, _| known(row.moved.reads, figure::transfers)).on(ROOMY),
        Column::right("writes", |row, _| known(row.moved.writes, figure::transfers)).on(ROOMY),
        Column::left("sharing", |row, _| known(row.moved.false_share, words::sharing)),
        Column::left("hottest member", |row, _| {
            row.of.and_then(|of| of.hottest.as_deref()).map(one_line).unwrap_or_default()
        }),
        Column::left("moved by", |row, _| row.of.map_or_else(String::new, |of| layout::movers(&of.code))).on(ROOMY),
    ];
    Table::new(columns, rows)
}

/// Data without a type, in words.
pub(crate) fn untypeable(what: &Untypeable) -> String {
    match what {
        Untypeable::Variables => "variables without a type".to_owned(),
        Untypeable::PerCpuVariables => "CPUs' variables without a type".to_owned(),
        Untypeable::Cache { name } => format!("{name}, type unknown"),
        Untypeable::PageContents => "contents of pages".to_owned(),
        Untypeable::PageTables => "page tables".to_owned(),
        Untypeable::FreePages => "pages free at the end".to_owned(),
        Untypeable::Stacks => "stacks".to_owned(),
        Untypeable::KernelMemory => "other kernel memory".to_owned(),
        Untypeable::Heap => "heap".to_owned(),
        Untypeable::Mapped => "stacks and mappings".to_owned(),
        Untypeable::Unknown => "unknown".to_owned(),
    }
}
