//! Anonymous objects: zero-filled memory that several mappings share, with its pages in a radix tree that is read without a lock.
//!
//! The tree only grows while the object lives, and its height is fixed, so a reader needs neither a lock nor a count: it
//! reads one pointer for each level, on lines that nobody writes once the page is there. A page is published busy, and its
//! maker fills it then, so that CPUs that fault on the same page make one.

use crate::allocation::try_box;
use crate::counted::Counted;
use crate::error::NoMemory;
use crate::primitive::AtomicPtr;
use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire};

/// Slots of a node, as a power of two.
const BITS: u32 = 6;
const FAN_OUT: usize = 1 << BITS;

/// A node. Fields: \[a] changed once, from null, by compare-and-swap.
///
/// Above the leaves a slot points to a node. In a leaf it holds an index of a page, plus 1, as an address without
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

/// An object. Fields: \[I] immutable.
#[derive(Debug)]
pub(crate) struct Object {
    /// \[I] The node at the top; what it holds: see [`Node`].
    root: Box<Node>,
    /// \[I] Levels above the leaves.
    height: u32,
    /// \[I] Length in pages.
    pages: u64,
}

/// What a publication found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// The page is the object's now.
    Ours,
    /// Another CPU's page was there first.
    Other(u32),
}

impl Object {
    /// An object of `pages` pages, none of which is there yet.
    pub(crate) fn try_new(pages: u64) -> Result<Self, NoMemory> {
        let mut height = 0;
        while pages > 1_u64.checked_shl(BITS * (height + 1)).unwrap_or(u64::MAX) {
            height += 1;
        }
        Ok(Self { root: try_box(Node::new())?, height, pages })
    }

    /// Length in pages.
    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    #[inline]
    fn slot(node: &Node, index: u64, level: u32) -> &AtomicPtr<Node> {
        &node.slots[(index >> (BITS * level)) as usize % FAN_OUT]
    }

    /// The index of a page's frame, if the page is there. Its contents may still be in the making: see its word.
    #[inline]
    pub(crate) fn page(&self, index: u64) -> Option<u32> {
        let mut node: &Node = &self.root;
        for level in (1..=self.height).rev() {
            // Acquire: pairs with the release in `child`: the new node's slots.
            let child = Self::slot(node, index, level).load(Acquire);
            // SAFETY: 1. Above the leaves a slot that is not null points to a node. 2. Nodes live as long as the object.
            node = unsafe { child.as_ref() }?;
        }
        // Acquire: pairs with the release in `publish`: the page's word.
        let page = Self::slot(node, index, 0).load(Acquire);
        page.addr().checked_sub(1).map(|page| page as u32)
    }

    /// Makes a page the object's, unless there is one already.
    pub(crate) fn publish(&self, index: u64, page: u32) -> Result<Published, NoMemory> {
        let mut node: &Node = &self.root;
        for level in (1..=self.height).rev() {
            node = Self::child(Self::slot(node, index, level))?;
        }
        let page = ptr::without_provenance_mut(page as usize + 1);
        // AcqRel: releases the page's word, for whoever finds the page; acquires that of the page that is there.
        match Self::slot(node, index, 0).compare_exchange(ptr::null_mut(), page, AcqRel, Acquire) {
            Ok(_) => Ok(Published::Ours),
            Err(found) => Ok(Published::Other((found.addr() - 1) as u32)),
        }
    }

    /// The node below a slot, which is made if it is not there.
    fn child(slot: &AtomicPtr<Node>) -> Result<&Node, NoMemory> {
        // Acquire: as in `page`.
        let mut child = slot.load(Acquire);
        if child.is_null() {
            let new = Box::into_raw(try_box(Node::new())?);
            // AcqRel: releases the new node's slots; acquires those of the node that is there.
            child = match slot.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
                Ok(_) => new,
                Err(found) => {
                    // SAFETY: from `into_raw` above, and nobody else has seen it.
                    drop(unsafe { Box::from_raw(new) });
                    found
                }
            };
        }
        // SAFETY: as in `page`.
        Ok(unsafe { &*child })
    }

    /// Frees the nodes of an object that nobody else has, and returns the pages to `release` one by one.
    pub(crate) fn end(self, release: &mut impl FnMut(u32)) {
        Self::end_node(&self.root, self.height, release);
    }

    fn end_node(node: &Node, level: u32, release: &mut impl FnMut(u32)) {
        for slot in &node.slots {
            // Acquire: as in `page`.
            let held = slot.load(Acquire);
            if held.is_null() {
                continue;
            }
            if level == 0 {
                release((held.addr() - 1) as u32);
            } else {
                // SAFETY: 1. A node that `child` has made by `try_box`. 2. The object is the caller's alone.
                let child = unsafe { Box::from_raw(held) };
                Self::end_node(&child, level - 1, release);
            }
        }
    }
}

/// Where pages of an object are mapped. Each slot of a tree that is part of the mapping owns it.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// \[I]
    pub(crate) object: Counted<Object>,
    /// \[I] What to add to the number of a virtual page, modulo 2⁶⁴, to get the page's index in the object.
    pub(crate) shift: u64,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn pages_are_found_where_they_were_published() {
        for pages in [1, 64, 65, 4096, 4097, 1 << 30] {
            let object = Object::try_new(pages).unwrap();
            let mut places = Vec::from([0, pages / 2, pages - 1]);
            places.dedup();
            for (page, place) in (7..).zip(&places) {
                assert_eq!(object.page(*place), None);
                assert_eq!(object.publish(*place, page), Ok(Published::Ours));
                assert_eq!(object.publish(*place, 99), Ok(Published::Other(page)));
                assert_eq!(object.page(*place), Some(page));
            }
            let mut released = Vec::new();
            object.end(&mut |page| released.push(page));
            assert_eq!(released, (7..).take(places.len()).collect::<Vec<_>>());
        }
    }
}
