//! Copies of a tree, for forks: piece by piece, while other CPUs may visit both trees.

use super::{Node, Tree};
use crate::address::PageRange;
use crate::error::NoMemory;
use crate::primitive::try_box;
use crate::tree::slot::{Slot, View};
use alloc::boxed::Box;

impl Tree {
    /// Copies the mapped slots of a range to another tree by `copy`, which may change both slots
    /// and keeps their locks. Fails if memory runs out or `copy` fails; then that part of the other
    /// tree is incomplete.
    ///
    /// # Safety
    /// 1. The caller has locked all slots of the range in this tree. Both trees are for the same
    ///    pages.
    /// 2. The range begins and ends where leaves do, or slots above them.
    /// 3. In the other tree the range has no mapping, and no nodes below mapped slots. Only the
    ///    caller adds mappings and nodes there and takes nodes out; other CPUs may lock slots
    ///    briefly.
    pub(crate) unsafe fn copy_to<E: From<NoMemory>>(
        &self,
        other: &Tree,
        range: PageRange,
        copy: &mut impl FnMut(&Slot, &Slot, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: as the caller promises.
        unsafe { Self::copy_node(&self.root, &other.root, self.top, 0, range, copy) }
    }

    /// # Safety
    /// As for `copy_to`, for the pages of the range in this node, of which there is one.
    unsafe fn copy_node<E: From<NoMemory>>(
        from: &Node,
        to: &Node,
        level: u32,
        base: u64,
        range: PageRange,
        copy: &mut impl FnMut(&Slot, &Slot, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        for ((from, begin), (to, _)) in from.slots_of(level, base, range).zip(to.slots_of(level, base, range)) {
            match (from.load().view(), to.load().view()) {
                // SAFETY: 1. It has slots that the caller has locked. 2. The other node is taken
                // out by the caller alone.
                (View::Node(child), View::Node(below)) => unsafe {
                    Self::copy_node(&*child, &*below, level - 1, begin, range, copy)?
                },
                // SAFETY: as above.
                (View::Node(child), _) => unsafe { Self::copy_new(&*child, to, level - 1, begin, range, copy)? },
                (View::Mapped(_), View::Hole) => {
                    to.lock();
                    let copied = copy(from, to, begin);
                    to.unlock();
                    copied?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Copies a node to a new one, and puts it into a hole. A new leaf is filled before, while no
    /// other CPU knows it, so its slots need no locks.
    ///
    /// # Safety
    /// As for `copy_node`.
    unsafe fn copy_new<E: From<NoMemory>>(
        from: &Node,
        hole: &Slot,
        level: u32,
        base: u64,
        range: PageRange,
        copy: &mut impl FnMut(&Slot, &Slot, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let new = Box::into_raw(try_box(Node::new())?);
        // SAFETY: just made; the caller takes it out, later.
        let to = unsafe { &*new };
        let mut copied = Ok(());
        if level == 0 {
            let slots = from.slots_of(level, base, range).zip(to.slots_of(level, base, range));
            copied = slots.filter(|((from, _), _)| matches!(from.load().view(), View::Mapped(_))).try_for_each(
                |((from, begin), (to, _))| {
                    let copied = copy(from, to, begin);
                    to.unlock();
                    copied
                },
            );
        }
        // Also after a failure: the space that ends releases what was copied.
        hole.lock();
        hole.unlock_as(View::Node(new));
        if level > 0 {
            // SAFETY: as the caller promises.
            copied = unsafe { Self::copy_node(from, to, level, base, range, copy) };
        }
        copied
    }
}
