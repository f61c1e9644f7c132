//! The use of each page frame, from the kernel's records of its pages (`struct page`), its caches
//! of allocated objects (SLUB) and its page tables.

use super::mapped::Mapped;
use crate::address_space::{ENTRIES, FRAME, LARGE, LEVEL_BITS, PAGE_BYTES, PRESENT};
use crate::btf::{BtfTypes, Field, TypeId};
use std::collections::HashMap;
use std::ops::Range;

/// The use of a page frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameUse {
    /// Any other use: memory that was reserved early, or allocated as whole pages.
    Other,
    /// Free memory.
    Free,
    /// A page table.
    PageTable,
    /// Contents of a program's memory or of a file.
    Contents,
    /// Objects of a cache.
    Slab {
        /// The cache's index in the list of caches.
        cache: u16,
        /// The first frame of the slab.
        first: u32,
    },
}

/// The topmost of four levels of page tables.
const TOP: u32 = 3;

/// Number of records per read.
const RECORDS_AT_ONCE: u64 = 4096;

/// The form of a kernel's record of a page.
pub(super) struct PageLayout {
    pub(super) bytes: u64,
    head: Field,
    slab_cache: Field,
    references: Field,
    mapping: Option<Field>,
}

impl PageLayout {
    /// The form that the kernel describes; `None` for an unsupported one.
    pub(super) fn new(layouts: &BtfTypes) -> Option<Self> {
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
    /// Appends the uses of `count` frames from `first` on, and the possible contents among them
    /// with the objects that they refer to.
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

    /// The frame whose record also applies to this one.
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

    /// The use that a record states; for possible contents, also the object that it refers to.
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

/// Marks frames from a physical address on. Returns true if this changes one of them.
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

/// Upper bound of the number of caches.
const MOST_CACHES: usize = 4096;

/// Upper bound of the size of a cached object.
const MOST_BYTES: u64 = 64 << 20;

/// Upper bound of the length of a cache's name.
const LONGEST_NAME: usize = 128;

/// Part of the name of each cache that serves allocations by size.
const SIZE_CLASS: &str = "kmalloc-";

/// Caches whose name does not determine the name of their objects' type.
const IRREGULAR: &[(&str, &str)] = &[
    ("filp", "file"),
    ("mnt_cache", "mount"),
    ("numa_policy", "mempolicy"),
    ("uid_cache", "user_struct"),
    ("sock_inode_cache", "socket_alloc"),
    ("radix_tree_node", "xa_node"),
    ("skbuff_head_cache", "sk_buff"),
    ("skbuff_fclone_cache", "sk_buff_fclones"),
    ("eventpoll_epi", "epitem"),
    ("eventpoll_pwq", "eppoll_entry"),
    ("posix_timers_cache", "k_itimer"),
    ("bdev_cache", "bdev_inode"),
    ("blkdev_ioc", "io_context"),
    ("cred_jar", "cred"),
    ("TCP", "tcp_sock"),
    ("UDP", "udp_sock"),
    ("UNIX", "unix_sock"),
];

/// Suffixes of a cache's name that its type's name lacks.
const CACHE_ENDINGS: &[&str] = &["_cache", "_cachep", "_jar", ""];

/// Suffixes of a type's name that its cache's name lacks.
const TYPE_ENDINGS: &[&str] = &["", "_struct", "_info"];

/// A cache of allocated objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cache {
    /// Address of its `struct kmem_cache`.
    pub(crate) address: u64,
    pub(crate) name: String,
    /// Distance between objects, in bytes.
    pub(crate) stride: u64,
    /// Size of an object.
    pub(crate) object_bytes: u64,
    /// True if the cache serves allocations of up to that size, of any type.
    pub(crate) is_size_class: bool,
    /// The type of its objects.
    pub(crate) object: Option<TypeId>,
}

/// All caches; empty if the kernel's layout is not known.
pub(super) fn caches(mapped: &Mapped<'_>, layouts: &BtfTypes) -> Vec<Cache> {
    read_caches(mapped, layouts).unwrap_or_default()
}

fn read_caches(mapped: &Mapped<'_>, layouts: &BtfTypes) -> Option<Vec<Cache>> {
    let head = mapped.symbols.table.address_of("slab_caches")?;
    let cache = layouts.structure("kmem_cache")?;
    let list = layouts.field(cache, "list")?.offset;
    let number = |at: u64, name: &str| {
        let field = layouts.field(cache, name)?;
        mapped.number(at.wrapping_add(field.offset), layouts.size(field.at)?)
    };
    let one = |entry: u64| {
        let address = entry.wrapping_sub(list);
        let name = mapped.text(number(address, "name")?, LONGEST_NAME)?;
        let (stride, object_bytes) = (number(address, "size")?, number(address, "object_size")?);
        // The count of caches that share it. Caches from the kernel's start have −1: nothing is
        // merged with them.
        let is_merged = number(address, "refcount")? as i32 > 1;
        let is_size_class = name.contains(SIZE_CLASS);
        let object = object_type(layouts, &name, object_bytes).filter(|_| !is_merged);
        let is_plausible = (object_bytes.max(1)..=MOST_BYTES).contains(&stride);
        is_plausible.then_some(Cache { address, name, stride, object_bytes, is_size_class, object })
    };
    Some(mapped.list(head, MOST_CACHES).into_iter().filter_map(one).collect())
}

/// The type of the objects in a cache of that name. Sizes must be equal, unless the cache is named
/// after the type: some structures are allocated in part, or with more memory behind them.
fn object_type(layouts: &BtfTypes, name: &str, bytes: u64) -> Option<TypeId> {
    let fits = |at: &TypeId| layouts.size(*at) == Some(bytes);
    let irregular = IRREGULAR.iter().filter(|(cache, _)| *cache == name).map(|(_, of)| (*of).to_owned());
    let stems = CACHE_ENDINGS.iter().filter_map(|ending| name.strip_suffix(ending));
    let regular = stems.flat_map(|stem| TYPE_ENDINGS.iter().map(move |ending| format!("{stem}{ending}")));
    let named = irregular.chain(regular).filter_map(|name| layouts.structure(&name)).find(fits);
    named.or_else(|| layouts.structure(name))
}
