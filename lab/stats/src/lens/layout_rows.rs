//! Rows of a type's layout: members, holes and padding with their figures, grouped by cache line.

use crate::lens::figures::code_of;
use crate::lens::type_view::{TypeView, join, sum};
use crate::lens::types::{LayoutLine, LayoutRow, Moved, RowKind};
use faultline_lens_format::LINE_BYTES;
use faultline_record::lens::by_type::{Sharing, TypeAccess, Used};
use faultline_record::lens::layout::{Bits, Keyword, Member};
use faultline_record::lens::reading::Reading;

/// Figures per operation.
pub(crate) fn moved(reading: &Reading, reads: Sharing, writes: Sharing) -> Moved {
    let all = sum([reads, writes]);
    Moved {
        transfers: reading.per_operation(all.total()),
        reads: reading.per_operation(reads.total()),
        writes: reading.per_operation(writes.total()),
        false_share: super::figures::share(all.false_sharing, all.total()),
    }
}

/// A place in the layout with the accesses to it.
struct Flat<'a> {
    kind: RowKind,
    depth: u32,
    name: Option<&'a str>,
    path: String,
    of: &'a str,
    keyword: Option<Keyword>,
    offset: u64,
    size: u64,
    bits: Option<Bits>,
    accesses: Vec<&'a TypeAccess>,
    used: u64,
}

/// Bytes outside all members.
struct Gap {
    kind: RowKind,
    from: u64,
    to: u64,
    depth: u32,
}

impl<'a> Flat<'a> {
    fn gap(gap: &Gap, accesses: &mut Vec<&'a TypeAccess>) -> Self {
        Flat {
            kind: gap.kind,
            depth: gap.depth,
            name: None,
            path: String::new(),
            of: "",
            keyword: None,
            offset: gap.from,
            size: gap.to - gap.from,
            bits: None,
            accesses: claimed(accesses, gap.from, gap.to),
            used: 0,
        }
    }
}

/// Removes and returns the accesses that begin in a range.
fn claimed<'a>(accesses: &mut Vec<&'a TypeAccess>, from: u64, to: u64) -> Vec<&'a TypeAccess> {
    accesses.extract_if(.., |access| (from..to).contains(&access.offset)).collect()
}

/// The layout from its first member to its padding.
struct Rows<'a> {
    flat: Vec<Flat<'a>>,
}

impl<'a> Rows<'a> {
    fn of(view: &'a TypeView) -> Self {
        let mut rows = Rows { flat: Vec::new() };
        let mut accesses: Vec<&TypeAccess> = view.accesses.iter().collect();
        let used: Vec<Used> = view.accesses.iter().flat_map(|access| access.others.iter().copied()).collect();
        let whole = Whole { keyword: Some(view.layout.keyword), from: 0, to: view.layout.size, depth: 0, path: "" };
        rows.put(&whole, &view.layout.members, &mut accesses, &used);
        let end = accesses.iter().map(|access| access.offset + access.size).max();
        if let Some(to) = end {
            let gap = Gap { kind: RowKind::Behind, from: view.layout.size, to, depth: 0 };
            let behind = Flat { accesses, ..Flat::gap(&gap, &mut Vec::new()) };
            rows.flat.push(behind);
        }
        rows
    }

    /// Adds the members of a structure. The remaining `accesses` belong to no member.
    fn put(&mut self, whole: &Whole<'_>, members: &'a [Member], accesses: &mut Vec<&'a TypeAccess>, used: &[Used]) {
        let has_gaps = matches!(whole.keyword, Some(Keyword::Struct | Keyword::Class)) && !members.is_empty();
        let mut used = used.to_vec();
        let mut end = whole.from;
        for member in members {
            if has_gaps && member.offset > end {
                let gap = Gap { kind: RowKind::Hole, from: end, to: member.offset, depth: whole.depth };
                self.flat.push(Flat::gap(&gap, accesses));
            }
            end = end.max(member.end());
            self.member(whole, member, accesses, &used);
            if whole.keyword == Some(Keyword::Union) {
                used.retain(|used| !(member.offset..member.end()).contains(&used.offset));
            }
        }
        if has_gaps && whole.to > end {
            let gap = Gap { kind: RowKind::Padding, from: end, to: whole.to, depth: whole.depth };
            self.flat.push(Flat::gap(&gap, accesses));
        }
    }

    fn member(&mut self, whole: &Whole<'_>, member: &'a Member, accesses: &mut Vec<&'a TypeAccess>, used: &[Used]) {
        let own = claimed(accesses, member.offset, member.end());
        let path = member.name.as_deref().map_or_else(|| whole.path.to_owned(), |name| join(whole.path, name));
        let place = self.flat.len();
        self.flat.push(Flat {
            kind: if member.inner.is_some() { RowKind::Outer } else { RowKind::Member },
            depth: whole.depth,
            name: member.name.as_deref(),
            path: path.clone(),
            of: &member.of,
            keyword: member.inner.as_ref().and_then(|inner| inner.keyword),
            offset: member.offset,
            size: member.size,
            bits: member.bits,
            accesses: Vec::new(),
            used: 0,
        });
        let mut left = own;
        match &member.inner {
            Some(inner) => {
                let (from, to, depth) = (member.offset, member.end(), whole.depth + 1);
                let whole = Whole { keyword: inner.keyword, from, to, depth, path: &path };
                self.put(&whole, &inner.members, &mut left, used);
            }
            None => self.flat[place].used = most_used(member, used),
        }
        self.flat[place].accesses = left;
    }
}

/// Transfers preceded by another CPU's use of the member: those of its most used word.
fn most_used(member: &Member, used: &[Used]) -> u64 {
    let overlaps = |used: &&Used| used.offset < member.end() && member.offset < used.offset + used.size;
    let mut words: Vec<Used> = used.iter().filter(overlaps).copied().collect();
    words.sort_by_key(|word| word.offset);
    words
        .chunk_by(|a, b| a.offset == b.offset)
        .map(|same| same.iter().map(|word| word.transfers).sum())
        .max()
        .unwrap_or(0)
}

/// A structure whose members are being added.
struct Whole<'a> {
    /// `None` for an array.
    keyword: Option<Keyword>,
    from: u64,
    to: u64,
    depth: u32,
    path: &'a str,
}

/// Maximum number of lines shown of a type: 1 MiB. Larger types are long arrays.
const MOST_LINES: u64 = 16_384;

/// The first cache lines of a type.
pub(crate) fn lines(reading: &Reading, view: &TypeView) -> Vec<LayoutLine> {
    let rows = Rows::of(view).flat;
    let begin = view.begins.first().map_or(0, |begin| begin.at % LINE_BYTES);
    let end = rows.iter().map(|row| row.offset + row.size).max().unwrap_or(0).max(view.layout.size);
    let numbers = 0..(end + begin).div_ceil(LINE_BYTES).min(MOST_LINES);
    numbers.map(|number| line(reading, &rows, Span { number, begin })).collect()
}

/// A cache line of an object that begins at the byte `begin` of its first line.
struct Span {
    number: u64,
    begin: u64,
}

impl Span {
    /// First byte, and one past the last, from the beginning of the object; without the part of the
    /// line before the object.
    fn range(&self) -> (u64, u64) {
        let edge = |number: u64| (number * LINE_BYTES).saturating_sub(self.begin);
        (edge(self.number), edge(self.number + 1))
    }
}

fn line(reading: &Reading, rows: &[Flat<'_>], span: Span) -> LayoutLine {
    let (from, to) = span.range();
    let on_line = |access: &&&TypeAccess| (from..to).contains(&access.offset);
    let accesses: Vec<&TypeAccess> = rows.iter().flat_map(|row| &row.accesses).filter(on_line).copied().collect();
    let begins = |row: &&Flat<'_>| (from..to).contains(&row.offset);
    let members = rows.iter().filter(|row| row.kind == RowKind::Member).filter(begins).count();
    let is_here = |row: &&Flat<'_>| row.offset < to && from < row.offset + row.size.max(1);
    LayoutLine {
        number: span.number as u32,
        from: (span.number * LINE_BYTES) as i64 - span.begin as i64,
        moved: moved_by(reading, &accesses),
        members: members as u32,
        rows: rows.iter().filter(is_here).map(|row| row_figures(reading, row, from)).collect(),
    }
}

fn moved_by(reading: &Reading, accesses: &[&TypeAccess]) -> Moved {
    let (reads, writes) = (accesses.iter().map(|access| access.reads), accesses.iter().map(|access| access.writes));
    moved(reading, sum(reads), sum(writes))
}

/// A row on the line that begins at `from`.
fn row_figures(reading: &Reading, row: &Flat<'_>, from: u64) -> LayoutRow {
    let is_continued = row.offset < from;
    let accesses: &[&TypeAccess] = if is_continued { &[] } else { &row.accesses };
    let transfers: u64 = accesses.iter().map(|access| access.reads.total() + access.writes.total()).sum();
    LayoutRow {
        kind: row.kind,
        depth: row.depth,
        name: row.name.map(str::to_owned),
        path: row.path.clone(),
        of: row.of.to_owned(),
        keyword: row.keyword,
        offset: row.offset,
        size: row.size,
        bits: row.bits,
        is_continued,
        moved: moved_by(reading, accesses),
        used_by_others: if is_continued { 0.0 } else { reading.per_operation(row.used) },
        code: code_of(reading, accesses.iter().flat_map(|access| &access.by_site), transfers),
    }
}
