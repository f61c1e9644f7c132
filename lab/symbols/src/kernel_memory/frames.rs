//! What each page frame is used for, from the kernel's records of its pages (`struct page`) and its page tables.

use super::caches::Cache;
use super::mapped::Mapped;
use crate::kernel_layout::PAGE_BYTES;
use crate::layouts::{Field, Layouts, TypeId};
use crate::page_tables::{ENTRIES, FRAME, LARGE, LEVEL_BITS, PRESENT};
use std::collections::HashMap;
use std::ops::Range;

/// The use of a page frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameUse {
    /// Anything else: memory that was reserved early, or allocated as whole pages.
    Other,
    /// Nothing at the moment.
    Free,
    /// A page table.
    PageTable,
    /// Contents of a program's memory or of a file.
    Contents,
    /// Objects of a cache.
    Slab {
        /// Its place in the list of caches.
        cache: u16,
        /// The first frame of the slab.
        first: u32,
    },
}

/// The topmost of four levels of page tables.
const TOP: u32 = 3;

/// Records that are read at once.
const RECORDS_AT_ONCE: u64 = 4096;

/// A kernel's record of a page, and where in it is what.
pub(super) struct PageLayout {
    pub(super) bytes: u64,
    head: Field,
    slab_cache: Field,
    references: Field,
    mapping: Option<Field>,
}

impl PageLayout {
    /// `None` if the kernel's record has another form.
    pub(super) fn new(layouts: &Layouts) -> Option<Self> {
        let page = layouts.structure("page")?;
        let of_page = |name: &str| layouts.field(page, name);
        let of_slab = |slab: TypeId| layouts.field(slab, "slab_cache");
        Some(PageLayout {
            bytes: layouts.size(page).filter(|bytes| (1..=PAGE_BYTES).contains(bytes))?,
            head: of_page("compound_head").or_else(|| of_page("compound_info"))?,
            // Since 5.17 the record of a slab has a type of its own.
            slab_cache: layouts.structure("slab").and_then(of_slab).or_else(|| of_page("slab_cache"))?,
            references: of_page("_refcount")?,
            mapping: of_page("mapping"),
        })
    }
}

/// The use of each frame, by number.
pub(super) fn frames(mapped: &Mapped<'_>, layout: &PageLayout, caches: &[Cache], roots: &[u64]) -> Vec<FrameUse> {
    let records = Records { mapped, layout, caches: by_address(caches) };
    let frames = mapped.memory.end() / PAGE_BYTES;
    let mut uses = Vec::with_capacity(frames as usize);
    let mut mappings = Vec::new();
    for first in (0..frames).step_by(RECORDS_AT_ONCE as usize) {
        records.read_some(first, RECORDS_AT_ONCE.min(frames - first), &mut uses, &mut mappings);
    }
    // A page of a program or file refers to an object of the kernel.
    for (frame, mapping) in mappings {
        let object = mapped.physical(mapping & !7).map(|physical| (physical / PAGE_BYTES) as usize);
        if object.is_some_and(|object| matches!(uses.get(object), Some(FrameUse::Slab { .. }))) {
            uses[frame] = FrameUse::Contents;
        }
    }
    for &root in roots {
        mark_half(mapped, root, Half::Programs, &mut uses);
    }
    mark_half(mapped, mapped.root, Half::Kernel, &mut uses);
    uses
}

fn by_address(caches: &[Cache]) -> HashMap<u64, u16> {
    let numbered = caches.iter().zip(0u16..);
    numbered.map(|(cache, number)| (cache.address, number)).collect()
}

struct Records<'a> {
    mapped: &'a Mapped<'a>,
    layout: &'a PageLayout,
    caches: HashMap<u64, u16>,
}

impl Records<'_> {
    /// Adds the uses of `count` frames from `first` on, and which of them may be contents, according to what they refer to.
    fn read_some(&self, first: u64, count: u64, uses: &mut Vec<FrameUse>, mappings: &mut Vec<(usize, u64)>) {
        let size = self.layout.bytes as usize;
        let mut bytes = vec![0; count as usize * size];
        if !self.mapped.read(self.record(first), &mut bytes) {
            // Holes are not mapped.
            uses.resize(uses.len() + count as usize, FrameUse::Other);
            return;
        }
        for (record, frame) in bytes.chunks_exact(size).zip(first..) {
            let word = |field: Field| word(record, field.offset);
            let head = self.head(frame, word(self.layout.head));
            let mut of_head = vec![0; size];
            let record = match head == frame {
                true => record,
                false if self.mapped.read(self.record(head), &mut of_head) => &of_head,
                false => &[],
            };
            let (of, mapping) = self.classify(record, head);
            if let Some(mapping) = mapping {
                mappings.push((uses.len(), mapping));
            }
            uses.push(of);
        }
    }

    /// The frame whose record speaks for this one too.
    fn head(&self, frame: u64, word: u64) -> u64 {
        if word & 1 == 0 {
            return frame;
        }
        let frames = self.mapped.memory.end() / PAGE_BYTES;
        let frame_of = |record: u64| record.wrapping_sub(self.mapped.pages) / self.layout.bytes;
        // Newer kernels keep a mask that leads from a record to that of the first page.
        let by_mask = self.record(frame) & word & !1;
        [word & !1, by_mask].into_iter().map(frame_of).find(|&head| head < frames).unwrap_or(frame)
    }

    /// The address of a frame's record.
    fn record(&self, frame: u64) -> u64 {
        self.mapped.pages.wrapping_add(frame * self.layout.bytes)
    }

    /// The use that a record states. For what may be contents: what it refers to.
    fn classify(&self, record: &[u8], head: u64) -> (FrameUse, Option<u64>) {
        if record.is_empty() {
            return (FrameUse::Other, None);
        }
        if let Some(&cache) = self.caches.get(&word(record, self.layout.slab_cache.offset)) {
            return (FrameUse::Slab { cache, first: u32::try_from(head).unwrap_or(u32::MAX) }, None);
        }
        if word(record, self.layout.references.offset) as u32 == 0 {
            return (FrameUse::Free, None);
        }
        let mapping = self.layout.mapping.map(|field| word(record, field.offset)).filter(|&mapping| mapping != 0);
        (FrameUse::Other, mapping)
    }
}

/// Eight bytes of a record; 0 beyond its end.
fn word(record: &[u8], offset: u64) -> u64 {
    let mut bytes = [0; 8];
    let from = (offset as usize).min(record.len());
    let part = &record[from..record.len().min(from + 8)];
    bytes[..part.len()].copy_from_slice(part);
    u64::from_le_bytes(bytes)
}

/// Half of the address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Programs,
    Kernel,
}

/// Marks the page tables below a topmost one, and the pages that they map for programs.
fn mark_half(mapped: &Mapped<'_>, root: u64, half: Half, uses: &mut [FrameUse]) {
    let entries = match half {
        Half::Programs => 0..ENTRIES / 2,
        Half::Kernel => ENTRIES / 2..ENTRIES,
    };
    mark_entries(mapped, root, TOP, entries, half, uses);
    mark(uses, root, 1, FrameUse::PageTable);
}

fn mark_entries(mapped: &Mapped<'_>, table: u64, level: u32, entries: Range<u64>, half: Half, uses: &mut [FrameUse]) {
    let mut bytes = vec![0; PAGE_BYTES as usize];
    if !mapped.memory.read(table, &mut bytes) {
        return;
    }
    for index in entries {
        let entry = word(&bytes, 8 * index);
        let below = entry & FRAME;
        if entry & PRESENT == 0 {
            continue;
        }
        if level > 0 && entry & LARGE == 0 {
            // A table that is used twice is entered once.
            if mark(uses, below, 1, FrameUse::PageTable) {
                mark_entries(mapped, below, level - 1, 0..ENTRIES, half, uses);
            }
        } else if half == Half::Programs {
            mark(uses, below, 1 << (level * LEVEL_BITS), FrameUse::Contents);
        }
    }
}

/// Marks frames from a physical address on. Returns whether this changes one of them.
fn mark(uses: &mut [FrameUse], from: u64, frames: u64, of: FrameUse) -> bool {
    let first = (from / PAGE_BYTES) as usize;
    let mut is_new = false;
    for frame in uses.iter_mut().skip(first).take(frames as usize) {
        if !matches!(frame, FrameUse::Slab { .. }) && *frame != of {
            *frame = of;
            is_new = true;
        }
    }
    is_new
}
