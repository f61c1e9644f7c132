//! Objects: memory shared by several mappings, with pages in a radix tree that is read without a
//! lock.
//!
//! The tree only grows while the object lives, and its height is fixed, so a reader needs neither a
//! lock nor a count: it reads one pointer per level, on lines that are not written once the page is
//! there. A page is published busy and then filled by its maker, so that CPUs that fault on the
//! same page make one.
//!
//! A page taken out (truncated, reclaimed) may belong to another by the time a reader has its
//! index. So a reader compares the page's record with its request, and holds the slot of a space's
//! tree meanwhile: see `reverse`.

pub(crate) mod mapping;
pub(crate) mod pager;

use crate::error::NoMemory;
use crate::object::mapping::Mappings;
use crate::object::pager::Pager;
use crate::primitive::{AtomicBool, AtomicPtr, AtomicU64, fence, try_box};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use faultline_numbers::FrameNumber;

/// Slots of a node, as a power of two.
#[cfg(not(all(loom, test)))]
const BITS: u32 = 6;
/// Small, so that loom can explore all interleavings.
#[cfg(all(loom, test))]
const BITS: u32 = 1;
const FAN_OUT: usize = 1 << BITS;

/// Contents of a place of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    Nothing,
    /// A page, by its frame's index.
    Page(u32),
    /// A slot of the swap area.
    Swapped(u32),
}

const KIND_BITS: u32 = 2;
const KIND: usize = 3;

impl Leaf {
    fn of(word: *mut Node) -> Self {
        let number = (word.addr() >> KIND_BITS) as u32;
        match word.addr() & KIND {
            0 => Self::Nothing,
            1 => Self::Page(number),
            _ => Self::Swapped(number),
        }
    }

    fn word(self) -> *mut Node {
        ptr::without_provenance_mut(match self {
            Self::Nothing => 0,
            Self::Page(number) => (number as usize) << KIND_BITS | 1,
            Self::Swapped(number) => (number as usize) << KIND_BITS | 2,
        })
    }
}

/// A node. Fields: \[a] changed by compare-and-swap; above the leaves once, from null.
///
/// Above the leaves a slot points to a node. In a leaf it is a [`Leaf`], as an address without
/// provenance.
#[derive(Debug)]
struct Node {
    /// \[a]
    slots: [AtomicPtr<Node>; FAN_OUT],
}

impl Node {
    fn new() -> Self {
        Self { slots: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())) }
    }
}

/// Source of page contents.
#[derive(Debug, Default)]
pub(crate) enum Backing {
    /// Zeroes; or the swap area, if the page daemon has put them there.
    #[default]
    Zeroes,
    /// A pager.
    Pager(Arc<dyn Pager>),
    /// Frames of a device, from this one on, without records.
    Device(FrameNumber),
}

/// Rarely changed data, apart from what faults read.
#[derive(Debug)]
#[repr(align(64))]
struct Changed {
    /// \[o]
    mappings: Mappings,
    /// \[a] A page write has failed since the last query. Relaxed: no other data depends on it.
    has_failed: AtomicBool,
}

/// An object. Fields: \[I] immutable; \[o] by its lock, whose holder never waits for a slot; \[a]
/// an atomic by itself.
#[derive(Debug)]
pub(crate) struct Object {
    /// \[I] The top node; contents: see [`Node`].
    root: Box<Node>,
    /// \[I] Levels above the leaves.
    height: u32,
    /// \[a] Length in pages. Written by truncation, one at a time.
    length: AtomicU64,
    /// \[I] Maximum length.
    most: u64,
    /// \[I]
    backing: Backing,
    changed: Changed,
}

impl Object {
    /// An object of `pages` pages, none resident.
    pub(crate) fn try_new(pages: u64, backing: Backing) -> Result<Self, NoMemory> {
        let mut height = 0;
        while pages > 1_u64.checked_shl(BITS * (height + 1)).unwrap_or(u64::MAX) {
            height += 1;
        }
        Ok(Self {
            root: try_box(Node::new())?,
            height,
            length: AtomicU64::new(pages),
            most: pages,
            backing,
            changed: Changed { mappings: Mappings::new(), has_failed: AtomicBool::new(false) },
        })
    }

    /// Length in pages.
    pub(crate) fn pages(&self) -> u64 {
        // Relaxed: `next_held` and `publish` order what must be ordered.
        self.length.load(Relaxed)
    }

    /// Maximum length in pages.
    pub(crate) fn most_pages(&self) -> u64 {
        self.most
    }

    /// Changes the length. Afterwards a CPU that has published a page beyond the end sees the
    /// length, or `next_held` finds the page.
    pub(crate) fn set_pages(&self, pages: u64) {
        // Relaxed: the fence orders it; pairs with the one in `publish`.
        self.length.store(pages, Relaxed);
        fence(SeqCst);
    }

    pub(crate) fn backing(&self) -> &Backing {
        &self.backing
    }

    /// The mappings of the object.
    pub(crate) fn mappings(&self) -> &Mappings {
        &self.changed.mappings
    }

    /// Installs a list of mappings per CPU. For an object without mappings, whose count has an
    /// owner for the lists.
    pub(crate) fn set_mappings(&mut self, mappings: Mappings) {
        self.changed.mappings = mappings;
    }

    /// Records that a page write has failed.
    pub(crate) fn set_failed(&self) {
        self.changed.has_failed.store(true, Relaxed);
    }

    /// True if a write has failed since the last call.
    pub(crate) fn take_failed(&self) -> bool {
        self.changed.has_failed.swap(false, Relaxed)
    }

    #[inline]
    fn slot(node: &Node, index: u64, level: u32) -> &AtomicPtr<Node> {
        &node.slots[(index >> (BITS * level)) as usize % FAN_OUT]
    }

    /// Contents of a place. A page may still be being filled: see its word.
    #[inline]
    pub(crate) fn look(&self, index: u64) -> Leaf {
        let mut node: &Node = &self.root;
        for level in (1..=self.height).rev() {
            // Acquire: pairs with the release in `child`: the new node's slots.
            let child = Self::slot(node, index, level).load(Acquire);
            // SAFETY: 1. Above the leaves a slot that is not null points to a node. 2. Nodes live
            // as long as the object.
            let Some(child) = (unsafe { child.as_ref() }) else { return Leaf::Nothing };
            node = child;
        }
        // Acquire: pairs with the release in `replace`: the page's record.
        Leaf::of(Self::slot(node, index, 0).load(Acquire))
    }

    /// The frame index of a resident page.
    pub(crate) fn page(&self, index: u64) -> Option<u32> {
        match self.look(index) {
            Leaf::Page(page) => Some(page),
            Leaf::Nothing | Leaf::Swapped(_) => None,
        }
    }

    /// Replaces a place's contents `old`. Inner error: the actual contents.
    pub(crate) fn replace(&self, index: u64, old: Leaf, new: Leaf) -> Result<Result<(), Leaf>, NoMemory> {
        let mut node: &Node = &self.root;
        for level in (1..=self.height).rev() {
            node = Self::child(Self::slot(node, index, level))?;
        }
        // AcqRel: releases the page's record to CPUs that find the page; acquires that of the page
        // that is there.
        let replaced = Self::slot(node, index, 0).compare_exchange(old.word(), new.word(), AcqRel, Acquire);
        Ok(replaced.map(drop).map_err(Leaf::of))
    }

    /// Adds a busy page to the object, in a place with contents `old`. False if the place lies
    /// beyond the end; then the caller takes the page out again.
    pub(crate) fn publish(&self, index: u64, old: Leaf, page: u32) -> Result<Result<bool, Leaf>, NoMemory> {
        let published = self.replace(index, old, Leaf::Page(page))?;
        // Pairs with the fence in `set_pages`: either this finds the new length, or `next_held`
        // finds the page.
        fence(SeqCst);
        Ok(published.map(|()| index < self.pages()))
    }

    /// The node below a slot; makes it if missing.
    fn child(slot: &AtomicPtr<Node>) -> Result<&Node, NoMemory> {
        // Acquire: as in `look`.
        let mut child = slot.load(Acquire);
        if child.is_null() {
            let new = Box::into_raw(try_box(Node::new())?);
            // AcqRel: releases the new node's slots; acquires those of the node that is there.
            child = match slot.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
                Ok(_) => new,
                Err(found) => {
                    // SAFETY: from `into_raw` above, and not yet shared.
                    drop(unsafe { Box::from_raw(new) });
                    found
                }
            };
        }
        // SAFETY: as in `look`.
        Ok(unsafe { &*child })
    }

    /// The first non-empty place from `first` on, and before `end`.
    pub(crate) fn next_held(&self, first: u64, end: u64) -> Option<(u64, Leaf)> {
        let end = end.min(1_u64.checked_shl(BITS * (self.height + 1)).unwrap_or(u64::MAX));
        if first >= end { None } else { Self::next_below(&self.root, self.height, 0, first, end) }
    }

    fn next_below(node: &Node, level: u32, base: u64, first: u64, end: u64) -> Option<(u64, Leaf)> {
        let span = 1_u64 << (BITS * level);
        let begin = first.saturating_sub(base) / span;
        let behind = (end - base).div_ceil(span).min(FAN_OUT as u64);
        let slots = node.slots.get(begin as usize..behind as usize).unwrap_or(&[]);
        for (slot, index) in slots.iter().zip(begin..) {
            let place = base + index * span;
            // Acquire: as in `look`.
            let held = slot.load(Acquire);
            let found = match level {
                _ if held.is_null() => None,
                0 => Some((place, Leaf::of(held))),
                // SAFETY: as in `look`.
                _ => Self::next_below(unsafe { &*held }, level - 1, place, first.max(place), end),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// For the last owner: calls `release` with the contents of each place.
    pub(crate) fn give_up(&self, release: &mut impl FnMut(Leaf)) {
        Self::give_up_node(&self.root, self.height, release);
    }

    fn give_up_node(node: &Node, level: u32, release: &mut impl FnMut(Leaf)) {
        for slot in &node.slots {
            // Acquire: as in `look`.
            let held = slot.load(Acquire);
            match level {
                _ if held.is_null() => {}
                0 => release(Leaf::of(held)),
                // SAFETY: as in `look`.
                _ => Self::give_up_node(unsafe { &*held }, level - 1, release),
            }
        }
    }
}

/// Frees the nodes; contents of places must be released before, or leak.
impl Drop for Object {
    fn drop(&mut self) {
        fn free(node: &Node, level: u32) {
            for slot in node.slots.iter().filter(|_| level > 0) {
                // Acquire: as in `look`.
                let below = slot.load(Acquire);
                if !below.is_null() {
                    // SAFETY: 1. A node that `child` has made by `try_box`. 2. The object is the
                    // caller's alone.
                    let below = unsafe { Box::from_raw(below) };
                    free(&below, level - 1);
                }
            }
        }
        free(&self.root, self.height);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn pages_are_found_where_they_were_published() {
        for pages in [1, 64, 65, 4096, 4097, 1 << 30] {
            let object = Object::try_new(pages, Backing::Zeroes).unwrap();
            let mut places = Vec::from([0, pages / 2, pages - 1]);
            places.dedup();
            for (page, place) in (7..).zip(&places) {
                assert_eq!(object.look(*place), Leaf::Nothing);
                assert_eq!(object.publish(*place, Leaf::Nothing, page), Ok(Ok(true)));
                assert_eq!(object.publish(*place, Leaf::Nothing, 99), Ok(Err(Leaf::Page(page))));
                assert_eq!(object.page(*place), Some(page));
            }
            let held = |from| object.next_held(from, u64::MAX);
            let mut found = Vec::new();
            let mut next = held(0);
            while let Some((place, _)) = next {
                found.push(place);
                next = held(place + 1);
            }
            assert_eq!((found, object.next_held(0, 0)), (places.clone(), None));
            assert_eq!(object.replace(places[0], Leaf::Page(7), Leaf::Swapped(3)), Ok(Ok(())));
            assert_eq!((object.look(places[0]), object.page(places[0])), (Leaf::Swapped(3), None));
            let mut released = Vec::new();
            object.give_up(&mut |page| released.push(page));
            let pages = (8..).take(places.len() - 1).map(Leaf::Page);
            assert_eq!(released, [Leaf::Swapped(3)].into_iter().chain(pages).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_page_beyond_the_end_is_reported() {
        let object = Object::try_new(100, Backing::Zeroes).unwrap();
        object.set_pages(50);
        assert_eq!((object.pages(), object.most_pages()), (50, 100));
        assert_eq!(object.publish(50, Leaf::Nothing, 1), Ok(Ok(false)));
        assert_eq!(object.publish(49, Leaf::Nothing, 2), Ok(Ok(true)));
        assert_eq!(object.next_held(50, 100), Some((50, Leaf::Page(1))));
    }
}
