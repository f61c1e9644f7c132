//! The layout of a type as a table, as pahole shows it: members by offset, boundaries of cache
//! lines, holes and padding, with the transfers of each member.

use crate::escape::one_line;
use crate::figure;
use crate::lens::points::moved_by;
use crate::lens::words;
use crate::page::element;
use crate::style::{Signs, UNICODE};
use crate::table::{self, Attributes, Form, PageCell, ResultTable};
use faultline_record::lens::layout::Keyword;
use faultline_stats::lens::code_site::CodeSite;
use faultline_stats::lens::types::{CellTypes, LayoutLine, LayoutRow, LensTypes, Moved, RowKind, TypeFigures};
use maud::html as markup;

/// Places in code named for a member or type.
const MOVERS: usize = 2;

/// The meaning of the columns.
pub(crate) const LEGEND: [&str; 3] = [
    "reads, writes: transfers of a line because this member was read or written, per operation, over all lines that moved.",
    "used by others: transfers of the line after another CPU had written this member, or had read it and lost it to a write. \
     Put members that one CPU uses on other lines than members that only other CPUs use.",
    "offset, size: in bytes, as in pahole. Inner members are shown where lines moved; of a union, the accessed ones.",
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

/// Knowledge about lines without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cold {
    /// Nothing moved.
    Nothing,
    /// The summary does not contain them.
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

/// The entries of a layout. Adjacent lines without rows are one entry.
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
        entries.extend(shown_rows(&line.rows).into_iter().map(Entry::Row));
    }
    if of.line_count > next {
        entries.push(Entry::Cold(next, of.line_count - 1, left_out));
    }
    entries
}

/// A type's name in C: `struct mm_struct`, `spinlock_t`.
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

/// Further notes on a type.
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

/// The main code behind transfers: `down_write 50 %, up_write 31 %`.
pub(crate) fn movers(code: &[CodeSite]) -> String {
    let code = words::above_zero_rounded(code).take(MOVERS);
    let names = code.map(|code| format!("{} {:.0} %", words::place(code), code.share * 100.0));
    names.collect::<Vec<_>>().join(", ")
}

/// Columns of the page before `reads`.
const BEFORE_FIGURES: usize = 4;
/// All columns of the page.
const ALL: usize = 9;

/// The weakest colour of a member with transfers.
const WEAKEST: f64 = 0.12;

/// The table.
pub(crate) fn layout(of: &TypeFigures) -> ResultTable<Entry<'_>> {
    type Column<'a> = table::Column<Entry<'a>>;
    let rows = of.lines.iter().flat_map(|line| &line.rows);
    let most = rows.map(|row| row.moved.transfers).fold(0.0, f64::max);
    let figure = |figure: f64| {
        if figure > 0.0 {
            element::transfers(figure)
        } else {
            markup! {}
        }
    };
    let columns: Vec<Column<'_>> = vec![
        Column::page("heat", move |entry: &Entry<'_>| entry.heat(most)).class("heat"),
        Column::right("offset", |entry, _| entry.row(|row| row.offset.to_string())),
        Column::right("size", |entry, _| entry.row(size)),
        Column::left("member", |entry, signs| entry.name(signs)).class("member").row_heading().html(Entry::member),
        Column::left("type", |entry, _| entry.of()).on(&[Form::Wide, Form::Markdown]),
        Column::right("reads", |entry, _| entry.figure(|moved| moved.reads))
            .html(move |entry| entry.moved().map_or(markup! {}, |moved| figure(moved.reads))),
        Column::right("writes", |entry, _| entry.figure(|moved| moved.writes))
            .html(move |entry| entry.moved().map_or(markup! {}, |moved| figure(moved.writes))),
        Column::left("sharing", |entry, _| entry.sharing()),
        Column::right("used by others", |entry, _| entry.row(|row| transfers(row.used_by_others)))
            .html(move |entry| entry.shown().map_or(markup! {}, |shown| figure(shown.row.used_by_others))),
        Column::left("moved by", |entry, _| entry.row(|row| movers(&row.code)))
            .on(Form::ROOMY)
            .class("words")
            .html(|entry| entry.shown().map_or(markup! {}, |shown| moved_by(&shown.row.code))),
    ];
    ResultTable::new(columns, entries(of)).row_attributes(Entry::attributes)
}

impl<'a> Entry<'a> {
    fn shown(&self) -> Option<&ShownRow<'a>> {
        match self {
            Entry::Row(shown) => Some(shown),
            Entry::Boundary(..) | Entry::Cold(..) => None,
        }
    }

    fn row(&self, cell: impl Fn(&LayoutRow) -> String) -> String {
        self.shown().map_or_else(String::new, |shown| cell(shown.row))
    }

    /// The first cell on the page: a swatch, or the words of a row that is no member.
    ///
    /// The swatch's strength follows the square root of the transfers: a tenth of the most stays
    /// visible.
    fn heat(&self, most: f64) -> PageCell {
        match self {
            Entry::Boundary(line) => {
                PageCell::spanning(BEFORE_FIGURES, markup! { "line " (line.number) ", byte " (line.from) })
            }
            Entry::Cold(..) => PageCell::spanning(ALL, markup! { (self.name(&UNICODE).trim_start_matches("-- ")) }),
            Entry::Row(ShownRow { row, .. }) if row.moved.transfers > 0.0 => {
                let strength = WEAKEST + (1.0 - WEAKEST) * (row.moved.transfers / most).sqrt();
                markup! { span aria-hidden="true" style=(format!("opacity:{strength:.2}")) {} }.into()
            }
            Entry::Row(_) => markup! {}.into(),
        }
    }

    /// The member on the page, with its type.
    fn member(&self) -> PageCell {
        let Some(shown) = self.shown() else { return markup! {}.into() };
        let content = markup! { (name(shown)) @if !shown.of.is_empty() { br; small { (one_line(shown.of)) } } };
        PageCell::from(content).with("style", format!("--depth:{}", shown.depth))
    }

    fn attributes(&self) -> Attributes {
        match self {
            Entry::Boundary(_) => Attributes::default().with("class", "boundary"),
            Entry::Cold(..) => Attributes::default().with("class", "boundary cold"),
            Entry::Row(ShownRow { row, .. }) => {
                let is_unused = row.path.is_empty() && row.of.is_empty();
                let class = if is_unused { "unused" } else { "" };
                Attributes::default()
                    .with("class", class)
                    .with("data-offset", row.offset)
                    .with("data-member", &row.path)
            }
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
        self.shown().map_or_else(String::new, |shown| one_line(shown.of))
    }
}

/// Transfers; empty for 0.
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

/// A member's name with those of the structures in its row, or the kind of gap.
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

/// A member with its type, cell and run, for CSV.
pub(crate) struct Record<'a> {
    types: &'a LensTypes,
    cell: &'a CellTypes,
    of: &'a TypeFigures,
    line: u32,
    row: &'a LayoutRow,
}

/// Every member of every type, at the line where it begins.
pub(crate) fn records(types: &LensTypes) -> ResultTable<Record<'_>> {
    let mut records = Vec::new();
    for cell in &types.cells {
        for of in &cell.types.types {
            for line in &of.lines {
                let rows = line.rows.iter().filter(|row| !row.is_continued);
                records.extend(rows.map(|row| Record { types, cell, of, line: line.number, row }));
            }
        }
    }
    ResultTable::new(record_columns(), records)
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
        Column::csv_option("transfers_per_operation", |of| Some(of.row.moved.transfers)),
        Column::csv_option("reads_per_operation", |of| Some(of.row.moved.reads)),
        Column::csv_option("writes_per_operation", |of| Some(of.row.moved.writes)),
        Column::csv_option("false_sharing_ratio", |of| {
            Some(of.row.moved.false_share).filter(|_| of.row.moved.transfers > 0.0)
        }),
        Column::csv_option("used_by_others_per_operation", |of| Some(of.row.used_by_others)),
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

/// Number of objects with lines that moved.
pub(crate) fn objects(of: &TypeFigures) -> u64 {
    of.begins.iter().map(|begin| begin.objects).sum()
}

/// A figure in words; empty if unknown (NaN).
pub(crate) fn known(figure: f64, words: impl Fn(f64) -> String) -> String {
    if figure.is_nan() { String::new() } else { words(figure) }
}

/// A row with the rows of its members.
struct Node<'a> {
    row: &'a LayoutRow,
    inner: Vec<Node<'a>>,
}

/// A row as shown.
#[derive(Debug, Clone)]
pub(crate) struct ShownRow<'a> {
    /// The member, or the innermost of those that share the row.
    pub(crate) row: &'a LayoutRow,
    /// Names of the structures that share the row, outermost first.
    pub(crate) before: Vec<&'a str>,
    /// The type of the outermost.
    pub(crate) of: &'a str,
    /// Indentation.
    pub(crate) depth: usize,
}

/// The rows of a line: of a union only the accessed members, and a structure's only member in the
/// structure's row.
fn shown_rows(rows: &[LayoutRow]) -> Vec<ShownRow<'_>> {
    let mut shown = Vec::new();
    for node in nodes(&mut rows.iter().peekable(), 0) {
        put(&simplified(node), 0, &mut shown);
    }
    shown
}

/// The rows from this depth on, as trees.
fn nodes<'a>(rows: &mut std::iter::Peekable<std::slice::Iter<'a, LayoutRow>>, depth: u32) -> Vec<Node<'a>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next_if(|row| row.depth >= depth) {
        found.push(Node { row, inner: nodes(rows, row.depth + 1) });
    }
    found
}

fn simplified(node: Node<'_>) -> Node<'_> {
    let mut inner: Vec<Node<'_>> = node.inner.into_iter().map(simplified).collect();
    if node.row.keyword == Some(Keyword::Union) && inner.iter().any(is_used) {
        inner.retain(is_used);
    }
    Node { row: node.row, inner }
}

/// True if the member was accessed, on this line or another.
fn is_used(node: &Node<'_>) -> bool {
    node.row.moved.transfers > 0.0 || node.row.used_by_others > 0.0 || node.inner.iter().any(is_used)
}

fn put<'a>(node: &Node<'a>, depth: usize, shown: &mut Vec<ShownRow<'a>>) {
    let (mut node, mut before) = (node, Vec::new());
    let of = node.row.of.as_str();
    while let [only] = &node.inner[..]
        && node.row.moved.transfers == 0.0
        && !node.row.is_continued
        && only.row.kind != RowKind::Hole
    {
        before.extend(node.row.name.as_deref());
        node = only;
    }
    // A row without name and figures only groups its members.
    let is_bare = node.row.kind == RowKind::Outer && node.row.name.is_none() && before.is_empty();
    let is_group = is_bare && node.row.moved.transfers == 0.0 && (node.row.is_continued || node.row.depth == 0);
    if !is_group {
        shown.push(ShownRow { row: node.row, before, of, depth });
    }
    let inner = if is_group { depth } else { depth + 1 };
    node.inner.iter().for_each(|node| put(node, inner, shown));
}
