//! Survey of a kernel's memory: the use of each page frame, the type of allocated objects, and the
//! tasks with their stacks and page tables. Read while the machine stands still; names are looked
//! up later.
//!
//! All offsets come from the kernel's BTF. Only names of variables, structures and members are
//! built in, and the format of the processor's page tables.

mod frames;
mod mapped;
mod objects;

pub(crate) use frames::FrameUse;
pub(crate) use objects::Placed;

use crate::address_space::PAGE_BYTES;
use crate::btf::{BtfTypes, TypeId};
use crate::kallsyms::Kallsyms;
use crate::unwind::orc::{Form, Orc};
use faultline_record::lens::by_type::Untyped;
use faultline_record::lens::guest_kernel::PhysicalMemory;
use frames::{Cache, PageLayout};
use mapped::Mapped;
use objects::Search;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Upper bound of a kernel's BTF, in bytes.
const MOST_TYPES_BYTES: u64 = 64 << 20;

/// Upper bound of a table for finding callers, in bytes.
const MOST_ORC_BYTES: u64 = 64 << 20;

/// The kernel of one image, whose memory is read one or more times.
#[derive(Debug)]
pub struct KernelMemory {
    symbols: Arc<Kallsyms>,
    /// The types, once read; they are the same in each boot.
    layouts: Mutex<Option<Arc<BtfTypes>>>,
    /// The tables for finding callers, once read; likewise. `None` within if the kernel has none.
    orc: OnceLock<Option<Arc<Orc>>>,
}

/// A kernel's memory at one moment.
#[derive(Debug)]
pub struct Survey {
    pub(crate) layouts: Arc<BtfTypes>,
    /// The tables for finding callers.
    pub(crate) orc: Option<Arc<Orc>>,
    pub(crate) caches: Vec<Cache>,
    frames: Vec<FrameUse>,
    /// Structures that no cache names, by virtual address.
    pub(crate) placed: Placed,
    /// Structures that each CPU has a copy of, by the address without the CPU's offset.
    pub(crate) per_cpu: Placed,
    tasks: Vec<Task>,
    pub(crate) direct_map: u64,
    /// Size of a page's record.
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
    /// The kernel with these symbols.
    pub fn new(symbols: Arc<Kallsyms>) -> Self {
        KernelMemory { symbols, layouts: Mutex::new(None), orc: OnceLock::new() }
    }

    /// Reads the memory of a machine that stands still. Fails, with the reason, if the kernel does
    /// not describe its types or is not at the address that its symbols give.
    pub fn survey(&self, memory: &dyn PhysicalMemory) -> Result<Survey, Untyped> {
        let mapped = Mapped::new(memory, &self.symbols).ok_or(Untyped::KernelNotFound)?;
        let layouts = self.layouts(&mapped)?;
        let pages = PageLayout::new(&layouts).ok_or(Untyped::OtherLayout)?;
        let per_cpu_offsets = mapped.per_cpu_offsets();
        let caches = frames::caches(&mapped, &layouts);
        let tasks = tasks(&mapped, &layouts, &per_cpu_offsets);
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

    /// True if objects of a structure or union are counted by that name; `None` if the types were
    /// never read.
    pub fn has_type(&self, name: &str) -> Option<bool> {
        // A panic of another thread leaves either none or all of them.
        let known = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        Some(known.as_ref()?.structure_names().own.contains(name))
    }

    /// The kernel's types, from its image.
    fn layouts(&self, mapped: &Mapped<'_>) -> Result<Arc<BtfTypes>, Untyped> {
        // A panic of another thread leaves either none or all of them.
        let mut known = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layouts) = &*known {
            return Ok(layouts.clone());
        }
        let (_, bytes) =
            self.between(mapped, ["__start_BTF", "__stop_BTF"], MOST_TYPES_BYTES).ok_or(Untyped::NoTypes)?;
        let layouts = Arc::new(BtfTypes::parse(&bytes).map_err(|problem| Untyped::BadTypes { problem })?);
        Ok(known.insert(layouts).clone())
    }

    /// The tables for finding callers, from its image.
    fn read_orc(&self, mapped: &Mapped<'_>, layouts: &BtfTypes) -> Option<Orc> {
        let table = |edges| self.between(mapped, edges, MOST_ORC_BYTES);
        let (at, places) = table(["__start_orc_unwind_ip", "__stop_orc_unwind_ip"])?;
        let (_, entries) = table(["__start_orc_unwind", "__stop_orc_unwind"])?;
        Orc::new(Form::described(layouts)?, at, places, entries)
    }

    /// The address and the bytes of a part of its image between two symbols; `None` if it is
    /// missing, or larger than `most_bytes`.
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

    /// The cached object that contains a physical address.
    pub(crate) fn slot(&self, physical: u64) -> Option<Slot<'_>> {
        let FrameUse::Slab { cache, first } = self.frame(physical) else { return None };
        let cache = self.caches.get(usize::from(cache))?;
        let slab = u64::from(first) * PAGE_BYTES;
        let number = physical.checked_sub(slab)? / cache.stride;
        Some(Slot { cache, begin: slab + number * cache.stride })
    }

    /// The name of the task whose stack contains a virtual address, and the distance from the
    /// stack's first byte.
    pub(crate) fn stack(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.tasks.partition_point(|task| task.stack <= address);
        let task = self.tasks[..after].last()?;
        let offset = address - task.stack;
        (offset < task.stack_bytes).then_some((task.name.as_str(), offset))
    }

    /// The type of a page's record: the one that the kernel uses for pages of that use, if there is
    /// one.
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

/// Upper bound of the number of tasks.
const MOST_TASKS: usize = 1 << 16;

/// Default size of a stack on x86-64.
const STACK_BYTES: u64 = 4 * PAGE_BYTES;

/// Size of a task's name.
const NAME_BYTES: usize = 16;

/// A task's stack.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    name: String,
    /// Address of the stack's first byte.
    stack: u64,
    stack_bytes: u64,
}

/// The tasks, and the page tables of their address spaces.
#[derive(Debug, Default)]
struct Tasks {
    tasks: Vec<Task>,
    /// Virtual addresses of their topmost page tables.
    page_tables: BTreeSet<u64>,
}

/// All tasks, with each CPU's idle task; empty if the kernel's layout is not known.
fn tasks(mapped: &Mapped<'_>, layouts: &BtfTypes, per_cpu_offsets: &[u64]) -> Tasks {
    read_tasks(mapped, layouts, per_cpu_offsets).unwrap_or_default()
}

fn read_tasks(mapped: &Mapped<'_>, layouts: &BtfTypes, per_cpu_offsets: &[u64]) -> Option<Tasks> {
    let table = &mapped.symbols.table;
    let first = table.address_of("init_task")?;
    let task = layouts.structure("task_struct")?;
    let of_task = |name: &str| layouts.field(task, name).map(|field| field.offset);
    let thread_list = layouts.field(layouts.structure("signal_struct")?, "thread_head")?.offset;
    let (tasks, signal, node) = (of_task("tasks")?, of_task("signal")?, of_task("thread_node")?);
    let mut addresses = BTreeSet::from([first]);
    if let Some(idle) = table.address_of("idle_threads") {
        addresses.extend(per_cpu_offsets.iter().filter_map(|offset| mapped.word(idle.wrapping_add(*offset))));
    }
    for entry in mapped.list(first.wrapping_add(tasks), MOST_TASKS) {
        let leader = entry.wrapping_sub(tasks);
        let Some(signal) = mapped.word(leader.wrapping_add(signal)) else { continue };
        let threads = mapped.list(signal.wrapping_add(thread_list), MOST_TASKS);
        addresses.extend(threads.into_iter().map(|entry| entry.wrapping_sub(node)));
    }
    let mut found = Tasks::default();
    let root = layouts.field(layouts.structure("mm_struct")?, "pgd")?.offset;
    let stack_bytes = |address: u64| {
        let area = mapped.word(address.wrapping_add(of_task("stack_vm_area")?)).filter(|&area| area != 0)?;
        let size = layouts.field(layouts.structure("vm_struct")?, "size")?.offset;
        // The last page of the area is a guard page.
        mapped.word(area.wrapping_add(size))?.checked_sub(PAGE_BYTES)
    };
    for address in addresses {
        let word = |offset: u64| mapped.word(address.wrapping_add(offset));
        if let Some(mm) = of_task("mm").and_then(word).filter(|&mm| mm != 0) {
            found.page_tables.extend(mapped.word(mm.wrapping_add(root)));
        }
        if let (Some(stack), Some(name)) = (of_task("stack").and_then(word), of_task("comm")) {
            let name = mapped.text(address.wrapping_add(name), NAME_BYTES).unwrap_or_default();
            found.tasks.push(Task { name, stack, stack_bytes: stack_bytes(address).unwrap_or(STACK_BYTES) });
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests;
