//! A slot above the leaves is divided into a node.

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
}
