//! The lines that one CPU ever held, page after page: the version of its copy, and the bytes that
//! it read in it.

use crate::line::{Bytes, Line};
use crate::lines::{Group, LINES};
use crate::word::Version;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// The bytes of a line (bit *i* for byte *i*) that a CPU may read or write without a call of the
/// model. Such accesses cost nothing, and change nothing except what [`Grant::allows`] records.
///
/// Valid until another CPU [disturbs](crate::Cpu::disturbed) it, a bounded cache evicts the line,
/// or this CPU accesses the line through the model again.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'m> {
    readable: Bytes,
    writable: Bytes,
    /// Writable bytes that the line already records as written.
    recorded: Bytes,
    line: Option<&'m Line>,
}

impl<'m> Grant<'m> {
    /// Allows no access.
    pub const NOTHING: Grant<'m> = Grant { readable: 0, writable: 0, recorded: 0, line: None };

    pub(crate) fn new(line: &'m Line, readable: Bytes, writable: Bytes, recorded: Bytes) -> Self {
        Grant { readable, writable, recorded, line: Some(line) }
    }

    /// True if the CPU may read or write these bytes. Records allowed writes.
    #[inline]
    pub fn allows(&mut self, bytes: Bytes, writes: bool) -> bool {
        if !writes {
            return bytes & !self.readable == 0;
        }
        if bytes & !self.writable != 0 {
            return false;
        }
        if bytes & !self.recorded != 0
            && let Some(line) = self.line
        {
            line.note_written(bytes);
            self.recorded |= bytes;
        }
        true
    }

    /// The bytes that the CPU may read.
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.readable
    }

    /// The bytes that the CPU may write.
    #[must_use]
    pub fn writable(&self) -> u64 {
        self.writable
    }

    /// The record of the bytes that were written; `None` if none may be. A caller that skips an
    /// allowed write adds its bytes.
    #[must_use]
    pub fn written(&self) -> Option<&'m Cell<u64>> {
        self.line.map(Line::written_cell)
    }

    /// Forbids further writes.
    pub fn end_writing(&mut self) {
        self.writable = 0;
    }
}

/// A CPU's copy of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copy {
    /// The CPU never had a copy.
    Never,
    /// The CPU's full cache evicted it.
    Dropped,
    /// The CPU has a copy if the line's version is still the fetched one.
    Held,
}

/// The record of a line by one CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// From the lowest bit on: the [`Copy`], in two bits; whether the line ever had a
    /// [question](crate::questions::Questions); the version in which the CPU last held the line.
    state: u64,
    /// Bytes whose reads need no further record: the line has them recorded, or the CPU owns it.
    pub(crate) noted_read: Bytes,
}

const COPY: u64 = 3;
const ASKED: u64 = 4;
const VERSION_SHIFT: u32 = 3;

impl Kept {
    const NEVER: Kept = Kept { state: Copy::Never as u64, noted_read: 0 };

    /// The copy.
    #[inline]
    pub(crate) fn copy(&self) -> Copy {
        match self.state & COPY {
            held if held == Copy::Held as u64 => Copy::Held,
            dropped if dropped == Copy::Dropped as u64 => Copy::Dropped,
            _ => Copy::Never,
        }
    }

    /// Changes the copy. Its version stays.
    #[inline]
    pub(crate) fn set_copy(&mut self, copy: Copy) {
        self.state = self.state & !COPY | copy as u64;
    }

    /// The version in which the CPU last held the line; 0 if it never did.
    #[inline]
    pub(crate) fn version(&self) -> Version {
        self.state >> VERSION_SHIFT
    }

    /// Records that the CPU holds another version, in which `noted_read` needs no further record.
    #[inline]
    pub(crate) fn hold(&mut self, version: Version, noted_read: Bytes) {
        *self = Kept { state: version << VERSION_SHIFT | self.state & (ASKED | COPY), noted_read };
    }

    /// True if the line ever had a question.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.state & ASKED != 0
    }

    /// Records that the line has a question.
    pub(crate) fn set_asked(&mut self) {
        self.state |= ASKED;
    }
}

/// Number of lines in a chunk: few enough for a page that is little used.
const CHUNK_LINES: usize = 16;

const CHUNKS: usize = LINES / CHUNK_LINES;

/// The chunk of all chunks that have no line yet.
const NO_CHUNK: u32 = 0;

/// Number of remembered pages. The lines that a CPU fetches and those evicted for them are on
/// different pages.
const LAST: usize = 64;

/// Every line that a CPU ever held. Only grows.
#[derive(Debug)]
pub(crate) struct Held<'m> {
    /// The index of the page with a given number.
    indices: FxHashMap<u64, u32>,
    pages: Vec<Page<'m>>,
    chunks: Vec<[Kept; CHUNK_LINES]>,
    /// The last pages by number and index: the lines of a page are often requested one after the
    /// other.
    last: [(u64, u32); LAST],
}

#[derive(Debug)]
struct Page<'m> {
    number: u64,
    group: &'m Group,
    chunks: [u32; CHUNKS],
}

/// A line in a [`Held`]: 64 times the index of its page, plus its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// No line. Pages of 256 GiB of memory fit before it.
    pub(crate) const NOWHERE: Place = Place(u32::MAX);

    fn page(self) -> usize {
        self.0 as usize / LINES
    }

    fn line(self) -> usize {
        self.0 as usize % LINES
    }
}

impl<'m> Held<'m> {
    /// A CPU that never held a line.
    pub(crate) fn new() -> Self {
        Held {
            indices: FxHashMap::default(),
            pages: Vec::new(),
            chunks: vec![[Kept::NEVER; CHUNK_LINES]],
            last: [(u64::MAX, 0); LAST],
        }
    }

    /// The place of a line. `find` returns the group of a new page.
    #[inline]
    pub(crate) fn place(&mut self, line: u64, find: impl FnOnce() -> &'m Group) -> Place {
        let number = Group::number_of(line);
        let last = self.last[number as usize % LAST];
        let page = if last.0 == number { last.1 } else { self.find(number, find) };
        Place(page * LINES as u32 + (line % LINES as u64) as u32)
    }

    #[cold]
    fn find(&mut self, number: u64, find: impl FnOnce() -> &'m Group) -> u32 {
        let pages = &mut self.pages;
        let page = *self.indices.entry(number).or_insert_with(|| {
            pages.push(Page { number, group: find(), chunks: [NO_CHUNK; CHUNKS] });
            (pages.len() - 1) as u32
        });
        self.last[number as usize % LAST] = (number, page);
        page
    }

    /// The number of the line at a place.
    pub(crate) fn number(&self, place: Place) -> u64 {
        self.pages[place.page()].number * LINES as u64 + place.line() as u64
    }

    /// The group of the line at a place, and the CPU's record of the line.
    #[inline]
    pub(crate) fn at(&mut self, place: Place) -> (&'m Group, &mut Kept) {
        let page = &mut self.pages[place.page()];
        let chunk = &mut page.chunks[place.line() / CHUNK_LINES];
        if *chunk == NO_CHUNK {
            *chunk = self.chunks.len() as u32;
            self.chunks.push([Kept::NEVER; CHUNK_LINES]);
        }
        (page.group, &mut self.chunks[*chunk as usize][place.line() % CHUNK_LINES])
    }

    /// As [`Held::at`], for a line that the CPU may never have held.
    pub(crate) fn seek(&self, line: u64) -> Option<(&'m Group, Kept)> {
        let number = Group::number_of(line);
        let last = self.last[number as usize % LAST];
        let index = if last.0 == number { Some(&last.1) } else { self.indices.get(&number) };
        let page = &self.pages[*index? as usize];
        let line = line as usize % LINES;
        Some((page.group, self.chunks[page.chunks[line / CHUNK_LINES] as usize][line % CHUNK_LINES]))
    }
}
