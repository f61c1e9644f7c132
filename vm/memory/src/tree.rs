//! The tree of a space: a radix tree of slots, which says what each page is mapped to, and is the lock of each range.
//!
//! A mapping of a large aligned range is one slot far above the leaves. A slot is *split* into a node of slots that say the
//! same when only a part of its range is locked. To change a range, a CPU locks the slots that cover it, in the order of
//! addresses, so that two CPUs never wait for each other in a circle. CPUs that change ranges without a common slot write no common
//! word. A walk from the root only reads.
//!
//! A node is *retired* when a range that contains all of it is unmapped. Its slots are stray from then on, so that a CPU that has come
//! there by an old pointer begins at the root again. The node is freed when every CPU on which the space is active has answered a
//! shoot-down: walks are made within [`Machine::pin`](crate::Machine::pin).
//!
//! The idea of a tree with a lock in each slot and folded ranges is sv6's (RadixVM); that of nodes that are left stray, Asterinas'
//! (CortenMM).

pub(crate) mod run;
pub(crate) mod slot;
mod split;

use crate::address::{PageRange, SPACE_PAGES};
use crate::allocation::try_box;
use crate::error::NoMemory;
use crate::primitive::AtomicPtr;
use crate::tree::slot::{Slot, SlotWord, View};
use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// Slots of a node, as a power of two. A node of 64 slots is 1 KiB: small enough for a process with few mappings, and as large
/// as the part of a page table that it stands for.
#[cfg(not(all(loom, test)))]
const BITS: u32 = 6;
/// Small, so that all interleavings can be explored.
#[cfg(all(loom, test))]
const BITS: u32 = 1;
const FAN_OUT: usize = 1 << BITS;
/// Pages of a leaf.
pub(crate) const LEAF_PAGES: u64 = FAN_OUT as u64;
const LEVELS: u32 = SPACE_PAGES.trailing_zeros() / BITS;

const _: () = assert!(1 << (LEVELS * BITS) == SPACE_PAGES);

/// A node. Fields: \[l] see [`Slot`]; \[r] written by who has retired the node.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Node {
    /// \[l]
    slots: [Slot; FAN_OUT],
    /// \[r] The next node of the list of retired ones. Relaxed: one CPU's alone.
    next: AtomicPtr<Node>,
}

impl Node {
    fn new() -> Self {
        Self { slots: core::array::from_fn(|_| Slot::new()), next: AtomicPtr::new(ptr::null_mut()) }
    }
}

/// Pages that a slot of a level covers. Leaves are level 0.
const fn span(level: u32) -> u64 {
    1 << (BITS * level)
}

/// Nodes that were taken out of the tree, to be freed after a shoot-down.
#[derive(Debug)]
pub(crate) struct RetiredNodes(*mut Node);

impl RetiredNodes {
    pub(crate) fn none() -> Self {
        Self(ptr::null_mut())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    fn push(&mut self, node: *mut Node) {
        // SAFETY: it was just retired, so it is there, and its list is ours.
        unsafe { &*node }.next.store(self.0, Relaxed);
        self.0 = node;
    }

    /// Frees them.
    ///
    /// # Safety
    /// No CPU walks them any more: each on which the space is active has answered a shoot-down since.
    pub(crate) unsafe fn free(&mut self) {
        while !self.0.is_null() {
            // SAFETY: 1. Made by `try_box` in `split`. 2. In no tree, and walked by nobody.
            let node = unsafe { Box::from_raw(self.0) };
            self.0 = node.next.load(Relaxed);
        }
    }
}

/// Where a walk from the root ended: a slot that was no node when it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) slot: &'a Slot,
    /// What the slot said.
    pub(crate) word: SlotWord,
    level: u32,
}

impl Place<'_> {
    /// Whether it stands for more than a page.
    #[inline]
    pub(crate) fn is_above_leaves(&self) -> bool {
        self.level > 0
    }
}

/// A step of locking a range.
#[derive(Debug)]
pub(crate) enum LockStep<'a> {
    /// The slot is locked, and it ends at this page.
    Locked(&'a Slot, u64),
    /// Another CPU has the slot, or has changed it just now.
    Taken,
}

/// A space's tree. Fields: see [`Node`].
#[derive(Debug)]
pub(crate) struct Tree {
    root: Node,
}

// SAFETY: pointers in slots are to nodes that the tree owns and to mappings with counted owners; all are shared by the
// orderings of the slots' words.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

impl Tree {
    /// Without a mapping.
    pub(crate) fn new() -> Self {
        Self { root: Node::new() }
    }

    #[inline]
    fn slot(node: &Node, page: u64, level: u32) -> &Slot {
        &node.slots[(page >> (BITS * level)) as usize % FAN_OUT]
    }

    /// What a page is mapped to, by reading alone.
    ///
    /// # Safety
    /// The caller has a guard of `Machine::pin` and the space is active on its CPU, or nobody else has the tree; until it no longer uses
    /// the place.
    #[inline]
    pub(crate) unsafe fn look(&self, page: u64) -> Place<'_> {
        let mut node = &self.root;
        // A loop of as many steps as there are levels, each with shifts that the compiler knows.
        for level in (1..LEVELS).rev() {
            let slot = Self::slot(node, page, level);
            let word = slot.load();
            let View::Node(child) = word.view() else { return Place { slot, word, level } };
            // SAFETY: it was in the tree when it was read, and is not freed while the caller has its guard.
            node = unsafe { &*child };
        }
        let slot = Self::slot(node, page, 0);
        Place { slot, word: slot.load(), level: 0 }
    }

    /// Locks the slot that begins at the page `begin` and is the largest that ends at `end` or before. Splits slots on the way.
    /// Fails if there is no memory for a node. `on_split` is called for each split.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn lock_next(
        &self,
        begin: u64,
        end: u64,
        on_split: &mut impl FnMut(),
    ) -> Result<LockStep<'_>, NoMemory> {
        // SAFETY: as the caller promises.
        unsafe { Self::lock_at(self.look(begin), begin, end, on_split) }
    }

    /// As [`lock_next`](Self::lock_next), from the place that [`look`](Self::look) has found for the page `begin`.
    ///
    /// # Safety
    /// As for `look`, since then.
    #[inline]
    pub(crate) unsafe fn lock_at<'a>(
        mut place: Place<'a>,
        begin: u64,
        end: u64,
        on_split: &mut impl FnMut(),
    ) -> Result<LockStep<'a>, NoMemory> {
        loop {
            let Place { slot, word, level } = place;
            // A node, if another CPU has divided the slot just after this one made it.
            let is_other = matches!(word.view(), View::Stray | View::Node(_));
            if is_other || word.is_locked() || !slot.try_lock(word) {
                return Ok(LockStep::Taken);
            }
            let slot_end = begin + span(level);
            if begin.is_multiple_of(span(level)) && slot_end <= end {
                return Ok(LockStep::Locked(slot, slot_end));
            }
            let child = Self::split(slot).inspect_err(|_| slot.unlock())?;
            on_split();
            let slot = Self::slot(child, begin, level - 1);
            place = Place { slot, word: slot.load(), level: level - 1 };
        }
    }

    /// The slots of the leaf that has a page, and the number of its first page.
    ///
    /// # Safety
    /// The caller has locked the page's slot, which is in a leaf, and has a guard of `Machine::pin`, or nobody else has the tree. The
    /// slots are there while that slot is locked.
    pub(crate) unsafe fn leaf_of(&self, page: u64) -> (&[Slot], u64) {
        let mut node = &self.root;
        for level in (1..LEVELS).rev() {
            let View::Node(child) = Self::slot(node, page, level).load().view() else { return (&[], page) };
            // SAFETY: a node that has a slot which the caller has locked is not retired by others.
            node = unsafe { &*child };
        }
        (&node.slots, page - page % FAN_OUT as u64)
    }

    /// Locks slots of a leaf that follow a locked one, up to a page. Returns where it ends: at the end of the leaf, or where another CPU has
    /// a slot.
    ///
    /// # Safety
    /// As for [`leaf_of`](Self::leaf_of), of the page before `begin`.
    pub(crate) unsafe fn lock_behind(&self, begin: u64, end: u64) -> u64 {
        // SAFETY: as the caller promises.
        let (slots, first) = unsafe { self.leaf_of(begin - 1) };
        let behind = slots.iter().skip((begin - first) as usize).take((end - begin) as usize);
        let is_locked = |slot: &&Slot| {
            let word = slot.load();
            // Slots of leaves are no nodes, and a leaf with a locked slot is in the tree.
            !word.is_locked() && slot.try_lock(word)
        };
        begin + behind.take_while(is_locked).count() as u64
    }

    /// Locks the slot that covers a page, at whatever level. None if another CPU has it.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn try_lock_covering(&self, page: u64) -> Option<&Slot> {
        let (mut node, mut level) = (&self.root, LEVELS - 1);
        loop {
            let slot = Self::slot(node, page, level);
            let word = slot.load();
            match word.view() {
                View::Node(child) => {
                    // SAFETY: as in `look`.
                    (node, level) = (unsafe { &*child }, level - 1);
                }
                View::Stray => return None,
                View::Hole | View::Mapped(_) => return (!word.is_locked() && slot.try_lock(word)).then_some(slot),
            }
        }
    }

    /// Calls `act` with each slot of a range, the number of its first page, and the number of its pages.
    ///
    /// # Safety
    /// The caller has locked all slots of the range, which begins and ends with slots; or nobody else has the tree. `act` may
    /// unlock the slot. Or, if `act` only reads words: as for [`look`](Self::look).
    pub(crate) unsafe fn visit<E>(
        &self,
        range: PageRange,
        act: &mut impl FnMut(&Slot, u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: as the caller promises.
        unsafe { Self::visit_node(&self.root, LEVELS - 1, 0, range, act) }
    }

    /// # Safety
    /// As for `visit`, for the pages of the range in this node, of which there is one.
    unsafe fn visit_node<E>(
        node: &Node,
        level: u32,
        base: u64,
        range: PageRange,
        act: &mut impl FnMut(&Slot, u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let first = range.begin().saturating_sub(base) / span(level);
        let end = (range.end() - base).div_ceil(span(level)).min(FAN_OUT as u64);
        for index in first..end {
            let (slot, begin) = (&node.slots[index as usize], base + index * span(level));
            // After the last slot of the range was unlocked, another CPU may retire this node: it is not read again.
            match slot.load().view() {
                // SAFETY: 1. A node that has a slot which the caller has locked is not retired by others. 2. It contains pages of
                // the range.
                View::Node(child) => unsafe { Self::visit_node(&*child, level - 1, begin, range, act)? },
                _ => act(slot, begin, span(level))?,
            }
        }
        Ok(())
    }

    /// Takes the nodes out that lie in a range of holes. What pointed to one is a hole then, and locked.
    ///
    /// # Safety
    /// As for `visit`; all slots of the range are holes.
    pub(crate) unsafe fn retire(&self, range: PageRange, retired: &mut RetiredNodes) {
        // SAFETY: as the caller promises.
        unsafe { Self::retire_below(&self.root, LEVELS - 1, 0, range, retired) };
    }

    /// # Safety
    /// As for `visit_node` and `retire`.
    unsafe fn retire_below(node: &Node, level: u32, base: u64, range: PageRange, retired: &mut RetiredNodes) {
        let first = range.begin().saturating_sub(base) / span(level);
        let end = (range.end() - base).div_ceil(span(level)).min(FAN_OUT as u64);
        for index in first..end {
            let (slot, begin) = (&node.slots[index as usize], base + index * span(level));
            let View::Node(child) = slot.load().view() else { continue };
            // SAFETY: as in `visit_node`.
            unsafe { Self::retire_below(&*child, level - 1, begin, range, retired) };
            if begin >= range.begin() && begin + span(level) <= range.end() {
                // SAFETY: as in `visit_node`. Nodes below it are gone already, so its slots are holes that the caller has locked.
                unsafe { &*child }.slots.iter().for_each(|below| below.unlock_as(View::Stray));
                slot.set(View::Hole);
                retired.push(child);
            }
        }
    }

    /// The same slots in another tree, as `copy` makes them from the slots of this one. Fails if there is no memory, or `copy`
    /// does; then the other tree is left as far as it got.
    ///
    /// # Safety
    /// The caller has locked all slots of this tree. Nobody else has the other one, which has no mapping.
    pub(crate) unsafe fn copy_to<E: From<NoMemory>>(
        &self,
        other: &Tree,
        copy: &mut impl FnMut(&Slot, &Slot, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: as the caller promises.
        unsafe { Self::copy_node(&self.root, &other.root, LEVELS - 1, 0, copy) }
    }

    /// # Safety
    /// As for `copy_to`.
    unsafe fn copy_node<E: From<NoMemory>>(
        from: &Node,
        to: &Node,
        level: u32,
        base: u64,
        copy: &mut impl FnMut(&Slot, &Slot, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        for ((from, to), index) in from.slots.iter().zip(&to.slots).zip(0..) {
            let begin = base + index * span(level);
            match from.load().view() {
                View::Node(child) => {
                    let new = Box::into_raw(try_box(Node::new())?);
                    to.unlock_as(View::Node(new));
                    // SAFETY: 1. All slots below are locked by the caller. 2. The new node is the other tree's.
                    unsafe { Self::copy_node(&*child, &*new, level - 1, begin, copy)? };
                }
                _ => copy(from, to, begin)?,
            }
        }
        Ok(())
    }
}

/// Frees the nodes; mappings and pages must be gone, or leak.
impl Drop for Tree {
    fn drop(&mut self) {
        fn free(node: &Node) {
            for slot in &node.slots {
                if let View::Node(child) = slot.load().view() {
                    // SAFETY: 1. Made by `try_box`. 2. The tree is ours alone, and no other slot points there.
                    let child = unsafe { Box::from_raw(child) };
                    free(&child);
                }
            }
        }
        free(&self.root);
    }
}
