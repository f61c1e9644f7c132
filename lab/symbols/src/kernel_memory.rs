//! What a kernel's memory says of itself: the use of each page frame, and the type of what is allocated there. Read while
//! the machine stands still; names are found in it later.
//!
//! All offsets come from the kernel's BTF. Known in advance are only names of variables, structures and members, and the
//! processor's page tables.

mod caches;
mod frames;
mod mapped;
mod objects;
mod tasks;

pub(crate) use frames::FrameUse;
pub(crate) use objects::Placed;

use crate::kallsyms::Kallsyms;
use crate::kernel_layout::PAGE_BYTES;
use crate::layouts::{Layouts, TypeId};
use crate::unwind::orc::{Form, Orc};
use caches::Cache;
use faultline_model::lens::memory::PhysicalMemory;
use faultline_model::lens::untyped::Untyped;
use frames::PageLayout;
use mapped::Mapped;
use objects::Search;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tasks::Task;

/// More than the types of any kernel take.
const MOST_TYPES_BYTES: u64 = 64 << 20;

/// More than a table for finding callers takes, likewise.
const MOST_ORC_BYTES: u64 = 64 << 20;

/// The kernel of one image, whose memory is read once or several times.
#[derive(Debug)]
pub struct KernelMemory {
    symbols: Arc<Kallsyms>,
    /// The types, once they were read; they are the same in each boot.
    layouts: Mutex<Option<Arc<Layouts>>>,
    /// The tables for finding callers, once they were read; likewise. `None` within if the kernel has none.
    orc: OnceLock<Option<Arc<Orc>>>,
}

/// A kernel's memory at one moment.
#[derive(Debug)]
pub struct Survey {
    pub(crate) layouts: Arc<Layouts>,
    /// The tables for finding callers.
    pub(crate) orc: Option<Arc<Orc>>,
    pub(crate) caches: Vec<Cache>,
    frames: Vec<FrameUse>,
    /// Structures that no cache names, by virtual address.
    pub(crate) placed: Placed,
    /// Structures of which each CPU has its own, by the address without the CPU's offset.
    pub(crate) per_cpu: Placed,
    tasks: Vec<Task>,
    pub(crate) direct_map: u64,
    /// Bytes of a page's record.
    pub(crate) record_bytes: u64,
}

/// An object of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot<'a> {
    pub(crate) cache: &'a Cache,
    /// Physical address of the object.
    pub(crate) begin: u64,
}

impl KernelMemory {
    /// Of the kernel with these symbols.
    pub fn new(symbols: Arc<Kallsyms>) -> Self {
        KernelMemory { symbols, layouts: Mutex::new(None), orc: OnceLock::new() }
    }

    /// Reads the memory of a machine that stands still. Fails, with the reason, if the kernel does not describe its types or
    /// is not where its symbols say.
    pub fn survey(&self, memory: &dyn PhysicalMemory) -> Result<Survey, Untyped> {
        let mapped = Mapped::new(memory, &self.symbols).ok_or(Untyped::KernelNotFound)?;
        let layouts = self.layouts(&mapped)?;
        let pages = PageLayout::new(&layouts).ok_or(Untyped::OtherLayout)?;
        let per_cpu_offsets = mapped.per_cpu_offsets();
        let caches = caches::caches(&mapped, &layouts);
        let tasks = tasks::tasks(&mapped, &layouts, &per_cpu_offsets);
        let roots: Vec<u64> = tasks.page_tables.iter().filter_map(|&table| mapped.physical(table)).collect();
        let frames = frames::frames(&mapped, &pages, &caches, &roots);
        let search = Search {
            mapped: &mapped,
            layouts: &layouts,
            caches: &caches,
            frames: &frames,
            per_cpu_offsets: &per_cpu_offsets,
            first_area: mapped.first_area().unwrap_or_default(),
        };
        let objects = search.objects();
        let (direct_map, record_bytes) = (mapped.direct_map, pages.bytes);
        let mut tasks = tasks.tasks;
        tasks.sort_by_key(|task| task.stack);
        let orc = self.orc.get_or_init(|| self.read_orc(&mapped, &layouts).map(Arc::new)).clone();
        Ok(Survey {
            orc,
            layouts,
            caches,
            frames,
            placed: objects.placed,
            per_cpu: objects.per_cpu,
            tasks,
            direct_map,
            record_bytes,
        })
    }

    /// Whether objects of a structure or union are counted by that name; `None` if the types were never read.
    pub fn has_type(&self, name: &str) -> Option<bool> {
        // A panic of another thread leaves either none or all of them.
        let known = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        Some(known.as_ref()?.structure_names().own.contains(name))
    }

    /// The kernel's types, from its image.
    fn layouts(&self, mapped: &Mapped<'_>) -> Result<Arc<Layouts>, Untyped> {
        // A panic of another thread leaves either none or all of them.
        let mut known = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layouts) = &*known {
            return Ok(layouts.clone());
        }
        let (_, bytes) =
            self.between(mapped, ["__start_BTF", "__stop_BTF"], MOST_TYPES_BYTES).ok_or(Untyped::NoTypes)?;
        let layouts = Arc::new(Layouts::parse(&bytes).map_err(|problem| Untyped::BadTypes { problem })?);
        Ok(known.insert(layouts).clone())
    }

    /// The tables for finding callers, from its image.
    fn read_orc(&self, mapped: &Mapped<'_>, layouts: &Layouts) -> Option<Orc> {
        let table = |edges| self.between(mapped, edges, MOST_ORC_BYTES);
        let (at, places) = table(["__start_orc_unwind_ip", "__stop_orc_unwind_ip"])?;
        let (_, entries) = table(["__start_orc_unwind", "__stop_orc_unwind"])?;
        Orc::new(Form::described(layouts)?, at, places, entries)
    }

    /// The address and the bytes of a part of its image between two symbols; `None` if it is not there, or larger than `most_bytes`.
    fn between(&self, mapped: &Mapped<'_>, edges: [&str; 2], most_bytes: u64) -> Option<(u64, Vec<u8>)> {
        let [from, to] = edges.map(|name| self.symbols.table.address_of(name));
        let size = to?.checked_sub(from?).filter(|&size| size > 0 && size <= most_bytes)?;
        let mut bytes = vec![0; size as usize];
        mapped.read(from?, &mut bytes).then_some((from?, bytes))
    }
}

impl Survey {
    /// The use of the frame at a physical address.
    pub(crate) fn frame(&self, physical: u64) -> FrameUse {
        let frame = usize::try_from(physical / PAGE_BYTES).ok();
        frame.and_then(|frame| self.frames.get(frame)).copied().unwrap_or(FrameUse::Other)
    }

    /// The object of a cache that contains a physical address.
    pub(crate) fn slot(&self, physical: u64) -> Option<Slot<'_>> {
        let FrameUse::Slab { cache, first } = self.frame(physical) else { return None };
        let cache = self.caches.get(usize::from(cache))?;
        let slab = u64::from(first) * PAGE_BYTES;
        let number = physical.checked_sub(slab)? / cache.stride;
        Some(Slot { cache, begin: slab + number * cache.stride })
    }

    /// The name of the task whose stack contains a virtual address, and the distance from the stack's first byte.
    pub(crate) fn stack(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.tasks.partition_point(|task| task.stack <= address);
        let task = self.tasks[..after].last()?;
        let offset = address - task.stack;
        (offset < task.stack_bytes).then_some((task.name.as_str(), offset))
    }

    /// The type of the record of a page: the one that the kernel uses for pages of that use, if it has one.
    pub(crate) fn page_record(&self, frame: u64) -> Option<TypeId> {
        let special = match self.frame(frame * PAGE_BYTES) {
            FrameUse::Slab { .. } => self.layouts.structure("slab"),
            FrameUse::PageTable => self.layouts.structure("ptdesc"),
            _ => None,
        };
        special.or_else(|| self.layouts.structure("page"))
    }

    /// The name of a type and the member at a byte of it.
    pub(crate) fn member(&self, at: TypeId, byte: u64) -> Option<(String, Option<String>)> {
        Some((self.layouts.name(at)?.to_owned(), self.layouts.path(at, byte)))
    }
}

#[cfg(test)]
mod tests;
