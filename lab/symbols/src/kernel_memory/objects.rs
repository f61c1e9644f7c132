//! Structures that no cache names: memory nodes, structures that each CPU has a copy of, and
//! allocations of a size class. Their types are those of the pointers that lead to them.
//!
//! The search begins at typed memory: CPUs' own variables, memory nodes, and objects of caches with
//! a type. It follows pointers to structures. If several lead to one place, the largest structure
//! that fits is taken.

use super::frames::{Cache, FrameUse};
use super::mapped::Mapped;
use crate::address_space::{IMAGE_FROM, KERNEL_FROM, PAGE_BYTES};
use crate::btf::{BtfTypes, Field, TypeId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter;
use std::ops::Range;

/// Upper bound of the number of memory nodes.
const MOST_NODES: u64 = 1024;

/// Maximum number of searched structures; a guest that has just booted has about ten thousand.
const MOST_SEARCHED: usize = 1 << 20;

/// Maximum size of a searched structure.
const MOST_BYTES: u64 = 1 << 20;

/// Maximum size of a link of a list or tree: a structure within a structure whose pointers lead to
/// its own type.
const LINK_BYTES: u64 = 24;

/// Minimum size of a first member that identifies the structure around it: very many structures
/// begin with a lock.
const LEAST_FIRST_BYTES: u64 = 64;

/// Types of pages' records, which are in an array of their own.
const PAGE_RECORDS: &[&str] = &["page", "folio", "slab", "ptdesc"];

/// Maximum depth of structures that begin with each other; more are a loop.
const DEEPEST_FIRST: usize = 8;

/// Lowest value of a pointer to a CPU's own memory.
const LEAST_PER_CPU: u64 = 0x1000;

/// Structures by the address of their first byte.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Placed(BTreeMap<u64, (TypeId, u64)>);

impl Placed {
    /// The structure that contains the address, and the distance from its beginning.
    pub(crate) fn find(&self, address: u64) -> Option<(TypeId, u64)> {
        let (&begin, &(at, bytes)) = self.0.range(..=address).next_back()?;
        (address - begin < bytes).then_some((at, address - begin))
    }

    /// Places a structure, unless a structure that contains it, or one of the same size, is there.
    /// Removes structures that it contains.
    fn put(&mut self, address: u64, at: TypeId, bytes: u64) {
        let end = address.saturating_add(bytes);
        let before = self.0.range(..=address).next_back();
        if before.is_some_and(|(&begin, &(_, size))| begin.saturating_add(size) >= end) {
            return;
        }
        let parts: Vec<u64> = self.0.range(address..end).map(|(&begin, _)| begin).collect();
        for part in parts {
            self.0.remove(&part);
        }
        self.0.insert(address, (at, bytes));
    }
}

/// The structures found.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// Structures by virtual address.
    pub(super) placed: Placed,
    /// Structures that each CPU has a copy of, by the address without the CPU's offset.
    pub(super) per_cpu: Placed,
}

/// The input of the search.
pub(super) struct Search<'a> {
    pub(super) mapped: &'a Mapped<'a>,
    pub(super) layouts: &'a BtfTypes,
    pub(super) caches: &'a [Cache],
    pub(super) frames: &'a [FrameUse],
    pub(super) per_cpu_offsets: &'a [u64],
    /// Addresses in a CPU's first area behind the variables, without the CPU's offset.
    pub(super) first_area: Range<u64>,
}

/// A structure whose pointers are to be followed: its address and type, and its bytes, which may be
/// more than those of the type.
type Begun = (u64, TypeId, u64);

/// The memory at an address.
enum Occupant {
    /// The beginning of an object of a size class; its bytes.
    Unnamed(u64),
    /// The beginning of a page, or a place within memory of unknown use.
    Other,
    /// Memory that has a name already, or for which no name can be found.
    Settled,
}

impl Search<'_> {
    /// Follows all pointers.
    pub(super) fn objects(&self) -> Objects {
        let mut objects = Objects::default();
        let mut begun: HashSet<Begun> = HashSet::new();
        let mut open = self.roots(&mut objects);
        let mut pointers: HashMap<(TypeId, u64), Vec<Field>> = HashMap::new();
        let containers = self.containers();
        while let Some((address, at, bytes)) = open.pop() {
            if begun.len() >= MOST_SEARCHED || bytes > MOST_BYTES || !begun.insert((address, at, bytes)) {
                continue;
            }
            let mut read = vec![0; bytes as usize];
            if !self.mapped.read(address, &mut read) {
                continue;
            }
            for pointer in pointers.entry((at, bytes)).or_insert_with(|| self.pointers(at, bytes)) {
                let Some(value) = read.get(pointer.offset as usize..).and_then(|bytes| bytes.first_chunk()) else {
                    continue;
                };
                self.follow(u64::from_le_bytes(*value), pointer.at, &containers, &mut objects, &mut open);
            }
        }
        objects
    }

    /// For each structure, the structures that begin with it.
    fn containers(&self) -> HashMap<TypeId, Vec<TypeId>> {
        let mut containers: HashMap<TypeId, Vec<TypeId>> = HashMap::new();
        for at in self.layouts.structures() {
            let firsts = iter::successors(self.layouts.first_member(at), |&inner| self.layouts.first_member(inner));
            for inner in firsts.take(DEEPEST_FIRST) {
                containers.entry(inner).or_default().push(at);
            }
        }
        containers
    }

    /// The type of an object of a size class to whose beginning a pointer leads. The pointer may
    /// lead to the first member of a structure. This is assumed if a smaller class would suffice
    /// for the member, and exactly one structure needs this class.
    fn whole(&self, at: TypeId, bytes: u64, containers: &HashMap<TypeId, Vec<TypeId>>) -> TypeId {
        let needs_it = |at: TypeId| self.layouts.size(at).is_some_and(|size| size <= bytes && size > bytes / 2);
        if needs_it(at) || self.layouts.size(at).is_none_or(|size| size < LEAST_FIRST_BYTES) {
            return at;
        }
        let mut fitting = containers.get(&self.layouts.itself(at)).into_iter().flatten().filter(|&&at| needs_it(at));
        match (fitting.next(), fitting.next()) {
            (Some(&container), None) => container,
            _ => at,
        }
    }

    /// The starting points of the search.
    fn roots(&self, objects: &mut Objects) -> Vec<Begun> {
        let mut roots = Vec::new();
        let table = &self.mapped.symbols.table;
        for (name, at) in self.layouts.variables() {
            let Some(address) = table.address_of(name).filter(|&address| address < KERNEL_FROM) else { continue };
            let Some(bytes) = self.layouts.size(at) else { continue };
            roots.extend(self.per_cpu_offsets.iter().map(|offset| (address.wrapping_add(*offset), at, bytes)));
        }
        if let Some((node, size)) =
            self.layouts.structure("pglist_data").and_then(|at| Some((at, self.layouts.size(at)?)))
        {
            for address in self.nodes() {
                objects.placed.put(address, node, size);
                roots.push((address, node, size));
            }
        }
        roots.extend(self.objects_of_caches());
        roots
    }

    /// The kernel's memory nodes.
    fn nodes(&self) -> Vec<u64> {
        let table = &self.mapped.symbols.table;
        if let Some(nodes) = table.address_of("node_data") {
            let node = |number: u64| self.mapped.word(nodes.wrapping_add(8 * number)).filter(|&node| node != 0);
            return (0..MOST_NODES).map_while(node).collect();
        }
        table.address_of("contig_page_data").into_iter().collect()
    }

    /// All objects of caches whose type is known.
    fn objects_of_caches(&self) -> Vec<Begun> {
        let mut found = Vec::new();
        let typed = self.frames.iter().zip(0u64..).filter_map(|(of, frame)| match *of {
            FrameUse::Slab { cache, first } => Some((self.caches.get(usize::from(cache))?, u64::from(first), frame)),
            _ => None,
        });
        for (cache, first, frame) in typed {
            let Some(at) = cache.object else { continue };
            let (slab, from) = (first * PAGE_BYTES, frame * PAGE_BYTES);
            let before = from.saturating_sub(slab).div_ceil(cache.stride);
            let begins = (before..).map(|number| slab + number * cache.stride);
            let here = begins.take_while(|&begin| begin < from + PAGE_BYTES);
            found.extend(here.map(|begin| (self.mapped.direct_map.wrapping_add(begin), at, cache.object_bytes)));
        }
        found
    }

    /// The pointers of a structure that lead to whole structures.
    fn pointers(&self, at: TypeId, bytes: u64) -> Vec<Field> {
        let mut pointers = self.layouts.pointers(at, bytes);
        pointers.retain(|pointer| !self.is_link(pointer.at));
        pointers
    }

    /// True if a pointer to this type leads into the middle of structures: to a link, or to a
    /// page's record.
    fn is_link(&self, at: TypeId) -> bool {
        let (Some(size), Some(name)) = (self.layouts.size(at), self.layouts.name(at)) else { return true };
        let is_same = |pointer: &Field| self.layouts.itself(pointer.at) == self.layouts.itself(at);
        PAGE_RECORDS.contains(&name) || size <= LINK_BYTES && self.layouts.pointers(at, size).iter().any(is_same)
    }

    /// Places the target of a pointer, and continues there.
    fn follow(
        &self,
        value: u64,
        at: TypeId,
        containers: &HashMap<TypeId, Vec<TypeId>>,
        objects: &mut Objects,
        open: &mut Vec<Begun>,
    ) {
        let Some(size) = self.layouts.size(at).filter(|&size| size > 0) else { return };
        if self.is_per_cpu(value) {
            objects.per_cpu.put(value, at, size);
            open.extend(self.per_cpu_offsets.iter().map(|offset| (value.wrapping_add(*offset), at, size)));
            return;
        }
        match self.place(value) {
            Occupant::Unnamed(bytes) if size <= bytes => {
                let at = self.whole(at, bytes, containers);
                objects.placed.put(value, at, self.layouts.size(at).unwrap_or(size));
                open.push((value, at, bytes));
            }
            Occupant::Other => {
                objects.placed.put(value, at, size);
                open.push((value, at, size));
            }
            Occupant::Unnamed(_) | Occupant::Settled => {}
        }
    }

    /// True if a number plus the CPU's offset is in allocated memory of the CPU: in its first area,
    /// behind its variables, or in a later area, which is not in the direct map.
    fn is_per_cpu(&self, value: u64) -> bool {
        let Some(&first) = self.per_cpu_offsets.first() else { return false };
        let address = value.wrapping_add(first);
        let is_later = || {
            let is_direct = address.wrapping_sub(self.mapped.direct_map) < self.mapped.memory.end();
            value < KERNEL_FROM && address < IMAGE_FROM && !is_direct && self.mapped.physical(address).is_some()
        };
        self.first_area.contains(&value) || value >= LEAST_PER_CPU && is_later()
    }

    fn place(&self, address: u64) -> Occupant {
        let offset = address.wrapping_sub(self.mapped.direct_map);
        if offset >= self.mapped.memory.end() {
            let is_kernel = (KERNEL_FROM..IMAGE_FROM).contains(&address);
            let is_page = (self.mapped.pages..IMAGE_FROM).contains(&address);
            let is_mapped = is_kernel && !is_page && self.mapped.physical(address).is_some();
            return if is_mapped { Occupant::Other } else { Occupant::Settled };
        }
        match self.frames.get((offset / PAGE_BYTES) as usize) {
            Some(&FrameUse::Slab { cache, first }) => match self.caches.get(usize::from(cache)) {
                Some(cache) if cache.object.is_none() && cache.is_size_class => {
                    let within = offset.wrapping_sub(u64::from(first) * PAGE_BYTES) % cache.stride;
                    if within == 0 { Occupant::Unnamed(cache.object_bytes) } else { Occupant::Settled }
                }
                _ => Occupant::Settled,
            },
            Some(FrameUse::Other) => Occupant::Other,
            _ => Occupant::Settled,
        }
    }
}
