//! A slot above the leaves is divided into a node.

use crate::address::PageRange;
use crate::allocation::try_box;
use crate::counted::Counted;
use crate::error::NoMemory;
use crate::tree::slot::{Slot, View};
use crate::tree::{FAN_OUT, LEVELS, Node, Tree, span};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr;

impl Tree {
    /// Divides a slot above the leaves, which the caller has locked, into a node of slots that say the same and are not
    /// locked.
    pub(super) fn split(slot: &Slot) -> Result<&Node, NoMemory> {
        Self::split_as(slot, Slot::unlock_as)
    }

    /// As `split`. `put` says something to a slot of the new node.
    fn split_as(slot: &Slot, put: fn(&Slot, View)) -> Result<&Node, NoMemory> {
        let child = Box::into_raw(try_box(Node::new())?);
        // SAFETY: just made.
        let node = unsafe { &*child };
        let (view, mapping) = (slot.load().view(), slot.mapping());
        if !mapping.is_null() {
            // SAFETY: the slot is an owner.
            let mapping = ManuallyDrop::new(unsafe { Counted::from_raw(mapping) });
            mapping.share(FAN_OUT - 1);
            slot.set_mapping(ptr::null_mut());
        }
        for below in &node.slots {
            below.set_mapping(mapping);
            put(below, view);
        }
        slot.unlock_as(View::Node(child));
        Ok(node)
    }

    /// Divides locked slots so that one begins at a page. They stay locked.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit), for a range with this page.
    pub(crate) unsafe fn split_locked(&self, page: u64) -> Result<(), NoMemory> {
        let mut node = &self.root;
        for level in (0..LEVELS).rev() {
            let slot = Self::slot(node, page, level);
            node = match slot.load().view() {
                // SAFETY: as in `visit`.
                View::Node(child) => unsafe { &*child },
                _ if page.is_multiple_of(span(level)) => return Ok(()),
                _ => Self::split_as(slot, Slot::set)?,
            };
        }
        Ok(())
    }

    /// Divides locked slots of a range down to the leaves. They stay locked. Fails if there is no memory; then some are divided.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    pub(crate) unsafe fn split_to_leaves(&self, range: PageRange) -> Result<(), NoMemory> {
        // SAFETY: as the caller promises.
        unsafe { Self::split_below(&self.root, LEVELS - 1, 0, range) }
    }

    /// # Safety
    /// As for `split_to_leaves`, for the pages of the range in this node, of which there is one.
    unsafe fn split_below(node: &Node, level: u32, base: u64, range: PageRange) -> Result<(), NoMemory> {
        if level == 0 {
            return Ok(());
        }
        let first = range.begin().saturating_sub(base) / span(level);
        let end = (range.end() - base).div_ceil(span(level)).min(FAN_OUT as u64);
        for index in first..end {
            let (slot, begin) = (&node.slots[index as usize], base + index * span(level));
            let child = match slot.load().view() {
                // SAFETY: as in `visit`.
                View::Node(child) => unsafe { &*child },
                _ => Self::split_as(slot, Slot::set)?,
            };
            // SAFETY: 1. As the caller promises. 2. It contains pages of the range.
            unsafe { Self::split_below(child, level - 1, begin, range)? };
        }
        Ok(())
    }
}
