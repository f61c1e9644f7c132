//! The layout of a type as a table: members in the order of their offsets, with the boundaries of cache lines, holes and padding as
//! pahole shows them, and the transfers of each member.

use crate::figure;
use crate::lens::layout_rows::{self, ShownRow};
use crate::lens::words;
use crate::one_line::one_line;
use crate::style::Signs;
use crate::table::{self, Form, Table, number};
use faultline_model::lens::place::Place;
use faultline_model::lens::types::{CellTypes, LayoutLine, LayoutRow, LensTypes, Moved, RowKind, TypeFigures};

/// Places in code that are named for a member or a type.
const MOVERS: usize = 2;

/// What the columns mean.
pub(crate) const LEGEND: [&str; 3] = [
    "reads, writes: transfers of a line because this member was read, or written; per operation, counted for all lines that moved.",
    "used by others: transfers of the line before which another CPU had used this member: written it, or read it and lost it to a write. Separate a \
     member that is read or written here from those that only others use.",
    "offset, size: in bytes, as pahole shows them. Members of members are shown where lines moved; of a union, those that were accessed.",
];

/// A line of the table.
pub(crate) enum Entry<'a> {
    /// A cache line begins.
    Boundary(&'a LayoutLine),
    /// Lines without rows: the first and the last.
    Cold(u32, u32, Cold),
    /// A member, hole or padding.
    Row(ShownRow<'a>),
}

/// What is known of lines without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cold {
    /// Nothing of them moved.
    Nothing,
    /// They are not in the summary.
    Little,
}

impl Cold {
    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Cold::Nothing => "nothing moved",
            Cold::Little => "less than 0.1 % of the transfers each",
        }
    }
}

/// The entries of a type's layout. Neighbouring lines without rows are one entry.
pub(crate) fn entries(of: &TypeFigures) -> Vec<Entry<'_>> {
    let left_out = if of.lines.len() as u64 == u64::from(of.line_count) { Cold::Nothing } else { Cold::Little };
    let mut entries = Vec::new();
    let mut next = 0;
    for line in of.lines.iter().filter(|line| line.moved.transfers > 0.0) {
        if line.number > next {
            entries.push(Entry::Cold(next, line.number - 1, left_out));
        }
        next = line.number + 1;
        entries.push(Entry::Boundary(line));
        entries.extend(layout_rows::shown(&line.rows).into_iter().map(Entry::Row));
    }
    if of.line_count > next {
        entries.push(Entry::Cold(next, of.line_count - 1, left_out));
    }
    entries
}

/// A type as it is written: `struct mm_struct`, `spinlock_t`.
pub(crate) fn type_name(of: &TypeFigures) -> String {
    match of.is_alias {
        true => of.name.clone(),
        false => format!("{} {}", of.keyword.word(), of.name),
    }
}

/// `struct mm_struct, 1048 bytes in 17 lines, 4 objects: 5.210 transfers per map, 41.2 % of all`.
pub(crate) fn heading(of: &TypeFigures, operation: &str) -> String {
    let plural = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let objects = match objects(of) {
        0 => String::new(),
        count => format!(", {}", plural(count, "object")),
    };
    let false_share = match of.moved.false_share {
        0.0 => String::new(),
        share => format!(", {} false sharing", figure::percent(share)),
    };
    one_line(&format!(
        "{}, {} in {}{objects}: {} transfers per {operation}, {} of all{false_share}",
        type_name(of),
        plural(of.size, "byte"),
        plural(of.line_count.into(), "line"),
        figure::transfers(of.moved.transfers),
        figure::percent(of.share)
    ))
}

/// What else is to be said of a type.
pub(crate) fn notes(of: &TypeFigures) -> Vec<String> {
    let mut notes = Vec::new();
    if let [first, second, ..] = &of.begins[..] {
        let places = of.begins.len();
        notes.push(format!(
            "Its objects begin at {places} places of a line: {} at byte {}, {} at byte {}{}. Lines are shown for byte {}.",
            first.objects,
            first.at,
            second.objects,
            second.at,
            if places > 2 { ", …" } else { "" },
            first.at
        ));
    }
    if !of.within.is_empty() {
        notes.push(one_line(&format!("Found in {}.", of.within.join(", "))));
    }
    if of.beside > 0.0 {
        let beside = figure::transfers(of.beside);
        notes.push(format!(
            "Before {beside} transfers another CPU had used what lies beside the object on the same line."
        ));
    }
    if of.unused_bytes > 0 {
        notes.push(format!("{} bytes in holes and padding.", of.unused_bytes));
    }
    notes
}

/// The code that accesses something: `down_write 50 %, up_write 31 %`.
pub(crate) fn movers(code: &[Place]) -> String {
    let names = code.iter().take(MOVERS).map(|code| format!("{} {:.0} %", words::place(code), code.share * 100.0));
    names.collect::<Vec<_>>().join(", ")
}

/// The table.
pub(crate) fn layout(of: &TypeFigures) -> Table<Entry<'_>> {
    const ROOMY: &[Form] = &[Form::Wide, Form::Markdown];
    type Column<'a> = table::Column<Entry<'a>>;
    let columns: Vec<Column<'_>> = vec![
        Column::right("offset", |entry, _| entry.row(|row| row.offset.to_string())),
        Column::right("size", |entry, _| entry.row(size)),
        Column::left("member", |entry, signs| entry.name(signs)),
        Column::left("type", |entry, _| entry.of()).on(ROOMY),
        Column::right("reads", |entry, _| entry.figure(|moved| moved.reads)),
        Column::right("writes", |entry, _| entry.figure(|moved| moved.writes)),
        Column::left("sharing", |entry, _| entry.sharing()),
        Column::right("used by others", |entry, _| entry.row(|row| transfers(row.used_by_others))),
        Column::left("moved by", |entry, _| entry.row(|row| movers(&row.code))).on(ROOMY),
    ];
    Table::new(columns, entries(of))
}

impl Entry<'_> {
    fn row(&self, cell: impl Fn(&LayoutRow) -> String) -> String {
        match self {
            Entry::Row(shown) => cell(shown.row),
            Entry::Boundary(..) | Entry::Cold(..) => String::new(),
        }
    }

    fn moved(&self) -> Option<&Moved> {
        match self {
            Entry::Row(shown) => Some(&shown.row.moved),
            Entry::Boundary(line) => Some(&line.moved),
            Entry::Cold(..) => None,
        }
    }

    fn figure(&self, figure: impl Fn(&Moved) -> f64) -> String {
        self.moved().map_or_else(String::new, |moved| transfers(figure(moved)))
    }

    fn sharing(&self) -> String {
        let moved = self.moved().filter(|moved| moved.transfers > 0.0);
        moved.map_or_else(String::new, |moved| known(moved.false_share, words::sharing))
    }

    fn name(&self, signs: &Signs) -> String {
        match self {
            Entry::Boundary(line) => format!("-- line {}, byte {}", line.number, line.from),
            Entry::Cold(first, last, cold) if first == last => format!("-- line {first}: {}", cold.words()),
            Entry::Cold(first, last, cold) => format!("-- lines {first} {} {last}: {}", signs.to, cold.words()),
            Entry::Row(shown) => format!("{}{}", "  ".repeat(shown.depth), name(shown)),
        }
    }

    fn of(&self) -> String {
        match self {
            Entry::Row(shown) => one_line(shown.of),
            Entry::Boundary(..) | Entry::Cold(..) => String::new(),
        }
    }
}

/// A figure; empty for none.
fn transfers(figure: f64) -> String {
    if figure == 0.0 { String::new() } else { figure::transfers(figure) }
}

/// Bytes, or bits.
pub(crate) fn size(row: &LayoutRow) -> String {
    match row.bits {
        Some(bits) => format!("{} bit", bits.count),
        None => row.size.to_string(),
    }
}

/// A member's name with those of the structures in its row, or what there is instead.
pub(crate) fn name(shown: &ShownRow<'_>) -> String {
    let row = shown.row;
    let name = match row.kind {
        RowKind::Member | RowKind::Outer => row.name.clone().unwrap_or_else(|| "(no name)".to_owned()),
        RowKind::Hole => "(hole)".to_owned(),
        RowKind::Padding => "(padding)".to_owned(),
        RowKind::Behind => "(behind the type)".to_owned(),
    };
    let mut path = String::new();
    for name in shown.before.iter().copied().chain([name.as_str()]) {
        let dot = if path.is_empty() || name.starts_with('[') { "" } else { "." };
        path = format!("{path}{dot}{name}");
    }
    one_line(&if row.is_continued { format!("{path}, continued") } else { path })
}

/// A member with all that it belongs to, for CSV.
pub(crate) struct Record<'a> {
    types: &'a LensTypes,
    cell: &'a CellTypes,
    of: &'a TypeFigures,
    line: u32,
    row: &'a LayoutRow,
}

/// Every member of every type; where it begins.
pub(crate) fn records(types: &LensTypes) -> Table<Record<'_>> {
    let mut records = Vec::new();
    for cell in &types.cells {
        for of in cell.types.iter().flat_map(|figures| &figures.types) {
            for line in &of.lines {
                let rows = line.rows.iter().filter(|row| !row.is_continued);
                records.extend(rows.map(|row| Record { types, cell, of, line: line.number, row }));
            }
        }
    }
    Table::new(record_columns(), records)
}

fn record_columns<'a>() -> Vec<table::Column<Record<'a>>> {
    type Column<'a> = table::Column<Record<'a>>;
    vec![
        Column::csv_only("run", |of| of.types.run.to_string()),
        Column::csv_only("workload", |of| of.cell.case.workload.clone()),
        Column::csv_only("variant", |of| of.cell.case.variant.clone()),
        Column::csv_only("mode", |of| of.cell.case.mode.word().to_owned()),
        Column::csv_only("operation", |of| of.cell.operation.clone()),
        Column::csv_only("cpus", |of| of.cell.cpus.to_string()),
        Column::csv_only("type", |of| of.of.name.clone()),
        Column::csv_only("type_bytes", |of| of.of.size.to_string()),
        Column::csv_only("line", |of| of.line.to_string()),
        Column::csv_only("offset_bytes", |of| of.row.offset.to_string()),
        Column::csv_only("size_bytes", |of| of.row.size.to_string()),
        Column::csv_only("kind", |of| kind(of.row.kind).to_owned()),
        Column::csv_only("member", |of| of.row.path.clone()),
        Column::csv_only("member_type", |of| of.row.of.clone()),
        Column::csv_only("transfers_per_operation", |of| number(Some(of.row.moved.transfers))),
        Column::csv_only("reads_per_operation", |of| number(Some(of.row.moved.reads))),
        Column::csv_only("writes_per_operation", |of| number(Some(of.row.moved.writes))),
        Column::csv_only("false_sharing_ratio", |of| {
            number(Some(of.row.moved.false_share).filter(|_| of.row.moved.transfers > 0.0))
        }),
        Column::csv_only("used_by_others_per_operation", |of| number(Some(of.row.used_by_others))),
        Column::csv_only("code", |of| of.row.code.iter().map(words::place).collect::<Vec<_>>().join(";")),
    ]
}

fn kind(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Member => "member",
        RowKind::Outer => "outer",
        RowKind::Hole => "hole",
        RowKind::Padding => "padding",
        RowKind::Behind => "behind",
    }
}

/// Objects of which lines moved.
pub(crate) fn objects(of: &TypeFigures) -> u64 {
    of.begins.iter().map(|begin| begin.objects).sum()
}

/// A figure, unless it is not known.
pub(crate) fn known(figure: f64, words: impl Fn(f64) -> String) -> String {
    if figure.is_nan() { String::new() } else { words(figure) }
}
