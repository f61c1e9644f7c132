//! Transfers by type on the page: a table of types, and the layout of each, cache line by cache line, with the heat of each member.

use crate::figure;
use crate::lens::layout::{Entry, entries, heading, known, name, notes, objects, size, type_name};
use crate::lens::layout_rows::ShownRow;
use crate::lens::types::{self, TypeRow};
use crate::lens::words;
use crate::one_line::one_line;
use crate::page::document::table;
use crate::page::value;
use faultline_model::lens::types::{Moved, TypeFigures, TypesFigures};
use maud::{Markup, html as markup};

/// Types in the table.
const SHOWN: usize = 10;

/// Columns of a layout.
const COLUMNS: u32 = 9;

/// The weakest colour that a member with transfers has.
const WEAKEST: f64 = 0.12;

/// The table of types, and their layouts. `name`: that of the case.
pub(super) fn section(name: &str, operation: &str, figures: &TypesFigures, cpus: u32) -> Markup {
    let caption = format!("{name}: {}, per {operation}", types::heading(figures, cpus));
    markup! {
        (types_table(&caption, figures))
        div.layouts {
            @for (index, of) in figures.types.iter().enumerate() {
                details.layout open[index == 0] data-type=(of.name) {
                    summary { (heading(of, operation)) }
                    (layout(of, operation))
                    @for note in notes(of) { p.hint { (note) } }
                }
            }
        }
    }
}

fn types_table(caption: &str, figures: &TypesFigures) -> Markup {
    let head = markup! {
        th scope="col" { "type" }
        th.number scope="col" { "transfers" }
        th.number scope="col" { "share" }
        th.number scope="col" { "reads" }
        th.number scope="col" { "writes" }
        th scope="col" { "sharing" }
        th.number scope="col" { "bytes" }
        th.number scope="col" { "objects" }
        th scope="col" { "hottest member" }
    };
    let body = markup! { @for row in types::rows(figures, SHOWN) { (type_row(&row)) } };
    table(caption, true, head, body)
}

fn type_row(row: &TypeRow<'_>) -> Markup {
    let moved = &row.moved;
    let figure =
        |figure: f64| if figure.is_nan() { value::none() } else { value::data(figure, &figure::transfers(figure)) };
    markup! {
        tr {
            th scope="row" { (row.name) }
            td.number { (figure(moved.transfers)) }
            td.number { (value::plain_share(row.share)) }
            td.number { (figure(moved.reads)) }
            td.number { (figure(moved.writes)) }
            td { (known(moved.false_share, words::sharing)) }
            @match row.of {
                Some(of) => {
                    td.number { (of.size) }
                    td.number { (objects(of)) }
                    td.name { (one_line(of.hottest.as_deref().unwrap_or_default())) }
                }
                None => { td.number { (value::none()) } td.number { (value::none()) } td { (value::none()) } }
            }
        }
    }
}

fn layout(of: &TypeFigures, operation: &str) -> Markup {
    let head = markup! {
        th scope="col" { "heat" }
        th.number scope="col" { "offset" }
        th.number scope="col" { "size" }
        th scope="col" { "member" }
        th.number scope="col" { "reads" }
        th.number scope="col" { "writes" }
        th scope="col" { "sharing" }
        th.number scope="col" { "used by others" }
        th scope="col" { "moved by" }
    };
    let rows = of.lines.iter().flat_map(|line| &line.rows);
    let most = rows.map(|row| row.moved.transfers).fold(0.0, f64::max);
    let body = markup! { @for entry in entries(of) { (entry_row(&entry, most)) } };
    table(&format!("{}, transfers per {operation}", type_name(of)), false, head, body)
}

fn entry_row(entry: &Entry<'_>, most: f64) -> Markup {
    match entry {
        Entry::Boundary(line) => markup! {
            tr.boundary {
                th scope="row" colspan="4" { "line " (line.number) ", byte " (line.from) }
                (figures(&line.moved))
                td {}
                td {}
            }
        },
        Entry::Cold(first, last, cold) => markup! {
            tr.boundary.cold {
                th scope="row" colspan=(COLUMNS) {
                    @if first == last { "line " (first) } @else { "lines " (first) " … " (last) }
                    ": " (cold.words())
                }
            }
        },
        Entry::Row(shown) => member_row(shown, most),
    }
}

fn member_row(shown: &ShownRow<'_>, most: f64) -> Markup {
    let row = shown.row;
    let strength = strength(row.moved.transfers, most);
    markup! {
        tr.unused[row.path.is_empty() && row.of.is_empty()] data-offset=(row.offset) data-member=(row.path) {
            td.heat { @if strength > 0.0 { span aria-hidden="true" style={ "opacity:" (format!("{strength:.2}")) } {} } }
            td.number { (row.offset) }
            td.number { (size(row)) }
            th.member scope="row" style={ "--depth:" (shown.depth) } { (name(shown)) @if !shown.of.is_empty() { br; small { (one_line(shown.of)) } } }
            (figures(&row.moved))
            td.number { @if row.used_by_others > 0.0 { (value::data(row.used_by_others, &figure::transfers(row.used_by_others))) } }
            td.words {
                @for place in &row.code { (words::place(place)) " " span.mode { (format!("{:.0}\u{a0}%", place.share * 100.0)) } br; }
            }
        }
    }
}

fn figures(moved: &Moved) -> Markup {
    let figure = |figure: f64| (figure > 0.0).then(|| value::data(figure, &figure::transfers(figure)));
    let sharing = if moved.transfers > 0.0 { words::sharing(moved.false_share) } else { String::new() };
    markup! {
        td.number { @if let Some(reads) = figure(moved.reads) { (reads) } }
        td.number { @if let Some(writes) = figure(moved.writes) { (writes) } }
        td { (sharing) }
    }
}

/// The colour's strength, by the square root of the transfers, as on the map: a tenth of the most still stands out.
fn strength(transfers: f64, most: f64) -> f64 {
    if transfers > 0.0 { WEAKEST + (1.0 - WEAKEST) * (transfers / most).sqrt() } else { 0.0 }
}
