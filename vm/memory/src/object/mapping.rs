//! Mappings of an object, their index by the object's pages, and their lists.
//!
//! A mapping covers the range of one map call. It belongs to a family, because children inherit
//! mappings; each slot that is a part of it owns it. The index is a treap with the last end in each
//! subtree, so finding the mappings of a page takes time proportional to their number, and no page
//! has an entry per mapping. Links are in the mappings, so nothing is allocated.
//!
//! Objects that every process maps, such as libc's text, are mapped and unmapped by all CPUs all
//! the time. With one list, its lock and the object's owner count move from CPU to CPU each time. A
//! *spread* object has a list per CPU with its own count, so each CPU writes only its own lines.
//! This costs 64 bytes per CPU and object, and a visit looks at all lists.
//!
//! A spread count cannot tell when it becomes 0. So it is gathered when only mappings keep the
//! object: each list is *closed*, its mappings become owners of the object's own count, which
//! decides from then on.

use crate::counted::{Counted, Inner};
use crate::error::NoMemory;
use crate::family::Family;
use crate::object::Object;
use crate::primitive::{AtomicBool, Spin, try_slice};
use alloc::boxed::Box;
use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use faultline_numbers::CpuNumber;

type Link = *const Inner<Mapping>;

/// A mapping. Fields: \[I] immutable, on a line that faults read and no CPU writes; \[o] protected
/// by the lock of the object's index.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Mapping {
    /// \[I] An owner's reference, except for mappings in open lists, which are owners by their
    /// list: see `mappings`.
    pub(crate) object: ManuallyDrop<Counted<Object>>,
    /// \[I] The list of the object's mappings that contains it.
    pub(crate) list: u32,
    /// \[I] The family whose spaces may have it. Not an owner's reference: the mapping's owners are
    /// slots of these spaces, or calls with one of them, and each space keeps its family.
    pub(crate) family: ManuallyDrop<Counted<Family>>,
    /// \[I] Added to a virtual page's number, modulo 2⁶⁴, gives the page's index in the object.
    pub(crate) shift: u64,
    /// \[I] First page in the object, and one past the last.
    range: [u64; 2],
    _rest_of_the_line: [u64; 2],
    /// \[o] Mappings whose ranges begin earlier, and later.
    below: [Cell<Link>; 2],
    /// \[o] The last end of a range in this subtree.
    last_end: Cell<u64>,
}

// An allocation begins on a line: see `Inner`.
const _: () = assert!(cfg!(any(loom, shuttle)) || core::mem::offset_of!(Mapping, below) == 64);

// SAFETY: cells are read and written under the lock of the object's index only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A mapping of `pages` pages from `first` of the object on, at the virtual page `begin`.
    pub(crate) fn new(
        object: ManuallyDrop<Counted<Object>>,
        list: u32,
        family: ManuallyDrop<Counted<Family>>,
        begin: u64,
        first: u64,
        pages: u64,
    ) -> Self {
        Self {
            object,
            list,
            family,
            shift: first.wrapping_sub(begin),
            range: [first, first + pages],
            _rest_of_the_line: [0; 2],
            below: [Cell::new(ptr::null()), Cell::new(ptr::null())],
            last_end: Cell::new(first + pages),
        }
    }

    /// Sort key: ties between ranges with one begin are broken by address.
    fn key(link: Link) -> (u64, usize) {
        (Self::at(link).range[0], link.addr())
    }

    /// Pseudo-random: a hash of the address, so the tree's depth is about the logarithm of its
    /// size.
    fn rank(link: Link) -> u64 {
        (link.addr() as u64 >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn at<'a>(link: Link) -> &'a Self {
        // SAFETY: links point to mappings that are in the index, or are being added; the lock is
        // held.
        unsafe { (*link).value() }
    }
}

/// Mappings of an object, by the pages that they map. Used under the lock `[o]` of its list.
#[derive(Debug)]
pub(crate) struct MappingIndex(Link);

// SAFETY: as for `Mapping`.
unsafe impl Send for MappingIndex {}

impl MappingIndex {
    pub(crate) fn new() -> Self {
        Self(ptr::null())
    }

    /// Adds a mapping.
    ///
    /// # Safety
    /// It stays until it is removed, and is not in an index.
    pub(crate) unsafe fn add(&mut self, mapping: Link) {
        self.0 = added(self.0, mapping);
    }

    /// Removes a mapping.
    pub(crate) fn remove(&mut self, mapping: Link) {
        self.0 = without(self.0, mapping);
    }

    /// Calls `act` with each mapping of a page, until it returns `Some`.
    pub(crate) fn of_page<R>(&self, index: u64, act: &mut impl FnMut(&Mapping, Link) -> Option<R>) -> Option<R> {
        of_page(self.0, index, act)
    }
}

/// `top`, with its last end recomputed.
fn updated(top: Link) -> Link {
    let mapping = Mapping::at(top);
    let ends = mapping.below.iter().map(Cell::get).filter(|below| !below.is_null());
    let last_end = ends.map(|below| Mapping::at(below).last_end.get()).fold(mapping.range[1], u64::max);
    mapping.last_end.set(last_end);
    top
}

fn added(top: Link, new: Link) -> Link {
    if top.is_null() || Mapping::rank(new) > Mapping::rank(top) {
        let (earlier, later) = split(top, Mapping::key(new));
        Mapping::at(new).below[0].set(earlier);
        Mapping::at(new).below[1].set(later);
        return updated(new);
    }
    let below = &Mapping::at(top).below[usize::from(Mapping::key(new) > Mapping::key(top))];
    below.set(added(below.get(), new));
    updated(top)
}

/// The parts before and after a key.
fn split(top: Link, key: (u64, usize)) -> (Link, Link) {
    if top.is_null() {
        return (ptr::null(), ptr::null());
    }
    let [earlier, later] = &Mapping::at(top).below;
    if Mapping::key(top) < key {
        let (before, after) = split(later.get(), key);
        later.set(before);
        (updated(top), after)
    } else {
        let (before, after) = split(earlier.get(), key);
        earlier.set(after);
        (before, updated(top))
    }
}

fn without(top: Link, old: Link) -> Link {
    if top.is_null() {
        return top;
    }
    let [earlier, later] = &Mapping::at(top).below;
    if top == old {
        return merged(earlier.get(), later.get());
    }
    let below = if Mapping::key(old) > Mapping::key(top) { later } else { earlier };
    below.set(without(below.get(), old));
    updated(top)
}

/// The union of two trees, the first of which comes before the second.
fn merged(earlier: Link, later: Link) -> Link {
    if earlier.is_null() || later.is_null() {
        return if earlier.is_null() { later } else { earlier };
    }
    if Mapping::rank(earlier) > Mapping::rank(later) {
        let below = &Mapping::at(earlier).below[1];
        below.set(merged(below.get(), later));
        updated(earlier)
    } else {
        let below = &Mapping::at(later).below[0];
        below.set(merged(earlier, below.get()));
        updated(later)
    }
}

fn of_page<R>(top: Link, index: u64, act: &mut impl FnMut(&Mapping, Link) -> Option<R>) -> Option<R> {
    if top.is_null() || Mapping::at(top).last_end.get() <= index {
        return None;
    }
    let mapping = Mapping::at(top);
    if let found @ Some(_) = of_page(mapping.below[0].get(), index, act) {
        return found;
    }
    if mapping.range[0] > index {
        return None;
    }
    if index < mapping.range[1]
        && let found @ Some(_) = act(mapping, top)
    {
        return found;
    }
    of_page(mapping.below[1].get(), index, act)
}

/// A list. Its lock is `[o]`.
#[derive(Debug)]
#[repr(align(64))]
struct List(Spin<Listed>);

#[derive(Debug)]
struct Listed {
    index: MappingIndex,
    /// Number of mappings in it that the object's count does not include.
    uncounted: usize,
    /// True if the object's count includes each mapping.
    is_closed: bool,
}

impl List {
    fn new(is_closed: bool) -> Self {
        Self(Spin::new(Listed { index: MappingIndex::new(), uncounted: 0, is_closed }))
    }
}

/// The mappings of an object.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// One, or one per CPU.
    lists: Lists,
    /// True if lists are closed or being closed. Relaxed: each list's lock decides its state.
    is_closed: AtomicBool,
}

#[derive(Debug)]
enum Lists {
    One(List),
    Spread(Box<[List]>),
}

impl Mappings {
    pub(crate) fn new() -> Self {
        Self { lists: Lists::One(List::new(true)), is_closed: AtomicBool::new(true) }
    }

    /// Mappings with a list per CPU. The object's count must have one more owner, for the lists:
    /// see [`close`](Self::close).
    pub(crate) fn try_spread(cpus: usize) -> Result<Self, NoMemory> {
        let lists = Lists::Spread(try_slice(cpus, || List::new(false))?);
        Ok(Self { lists, is_closed: AtomicBool::new(false) })
    }

    fn lists(&self) -> &[List] {
        match &self.lists {
            Lists::One(list) => core::slice::from_ref(list),
            Lists::Spread(lists) => lists,
        }
    }

    /// The list that a CPU's mappings go to.
    pub(crate) fn list_of(&self, cpu: CpuNumber) -> u32 {
        cpu.0.checked_rem(self.lists().len() as u32).unwrap_or(0)
    }

    /// Adds a mapping to its list. True if it must be an owner in the object's count.
    ///
    /// # Safety
    /// It stays until it is removed, and is in no index.
    pub(crate) unsafe fn add(&self, mapping: *const Inner<Mapping>, list: u32) -> bool {
        // The caller's list is one of `list_of`.
        let Some(list) = self.lists().get(list as usize) else { return false };
        let mut listed = list.0.lock();
        // SAFETY: as the caller promises.
        unsafe { listed.index.add(mapping) };
        listed.uncounted += usize::from(!listed.is_closed);
        listed.is_closed
    }

    /// Removes a mapping. True if it was an owner in the object's count.
    pub(crate) fn remove(&self, mapping: *const Inner<Mapping>, list: u32) -> bool {
        let Some(list) = self.lists().get(list as usize) else { return false };
        let mut listed = list.0.lock();
        listed.index.remove(mapping);
        listed.uncounted -= usize::from(!listed.is_closed);
        listed.is_closed
    }

    /// Makes all mappings owners in the object's count, which `count` raises. True for one caller;
    /// it then releases the owner that the object had for the lists.
    pub(crate) fn close(&self, mut count: impl FnMut(usize)) -> bool {
        if self.is_closed.swap(true, Relaxed) {
            return false;
        }
        for list in self.lists() {
            let mut listed = list.0.lock();
            count(core::mem::take(&mut listed.uncounted));
            listed.is_closed = true;
        }
        true
    }

    /// True if the lists are not closed yet.
    pub(crate) fn are_open(&self) -> bool {
        !self.is_closed.load(Relaxed)
    }

    /// Calls `act` with each mapping of a page, until it returns `Some`.
    pub(crate) fn of_page<R>(
        &self,
        index: u64,
        mut act: impl FnMut(&Mapping, *const Inner<Mapping>) -> Option<R>,
    ) -> Option<R> {
        self.lists().iter().find_map(|list| list.0.lock().index.of_page(index, &mut act))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::vec::Vec;

    /// Compares the index with a list while random ranges are added and removed.
    #[test]
    fn the_mappings_of_a_page_are_those_of_a_plain_list() {
        let mut random = SmallRng::seed_from_u64(7);
        let object = Counted::try_new(Object::try_new(1000, Default::default()).unwrap()).unwrap();
        let family = Counted::try_new(Family::new()).unwrap();
        let (mut index, mut list) = (MappingIndex::new(), Vec::<(u64, u64, Counted<Mapping>)>::new());
        for _ in 0..if cfg!(miri) { 60 } else { 4_000 } {
            if list.len() < 100 && random.random_range(0..5) < 3 {
                let (first, pages) = (random.random_range(0..900), random.random_range(1..100));
                let mapping = Mapping::new(object.alias(), 0, family.alias(), 77, first, pages);
                let mapping = Counted::try_new(mapping).unwrap();
                // SAFETY: the list keeps it.
                unsafe { index.add(mapping.as_ptr()) };
                list.push((first, first + pages, mapping));
            } else if !list.is_empty() {
                let (_, _, mapping) = list.swap_remove(random.random_range(0..list.len()));
                index.remove(mapping.as_ptr());
                mapping.release(1).unwrap();
            }
            let page = random.random_range(0..1000);
            let mut expected: Vec<_> =
                list.iter().filter(|of| (of.0..of.1).contains(&page)).map(|of| of.2.as_ptr()).collect();
            let mut found = Vec::new();
            assert_eq!(
                index.of_page(page, &mut |_, link| -> Option<()> {
                    found.push(link);
                    None
                }),
                None
            );
            expected.sort();
            found.sort();
            assert_eq!(found, expected);
        }
        for (_, _, mapping) in list {
            index.remove(mapping.as_ptr());
            mapping.release(1).unwrap();
        }
        family.release(1).unwrap();
        object.release(1).unwrap();
    }
}
