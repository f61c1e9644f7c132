//! The tree of a space: a radix tree of slots. A slot describes the mapping of its range, and is
//! the lock of that range.
//!
//! A large aligned mapping is one slot far above the leaves. Locking only a part of a slot's range
//! *splits* it into a node of slots with equal contents. To change a range, a CPU locks the slots
//! that cover it in address order, so CPUs never deadlock. CPUs that change ranges without a common
//! slot write no common word. A walk from the root only reads.
//!
//! A node is *retired* when a range that contains all of it is unmapped, or when all its slots are
//! found to be holes. They become stray, so a CPU that arrives by an old pointer restarts at the
//! root. The node is freed when every CPU on which the space is active has answered a shoot-down:
//! walks run within [`Machine::pin`](crate::Machine::pin).
//!
//! Slot locks and folded ranges are sv6's idea (RadixVM); stray nodes are Asterinas' (CortenMM).

mod copy;
mod gaps;
pub(crate) mod slot;

use crate::address::{PageRange, SPACE_PAGES, VirtualPage};
use crate::counted::Counted;
use crate::error::NoMemory;
use crate::primitive::{AtomicPtr, AtomicU64, Lifetime, try_box};
use crate::tree::slot::{Mapped, Marks, Slot, SlotWord, View};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

/// Slots of a node, as a power of two. A node of 64 slots is 1 KiB: small enough for a process with
/// few mappings, and as large as its part of a page table.
#[cfg(not(all(loom, test)))]
const BITS: u32 = 6;
/// Small, so that loom can explore all interleavings.
#[cfg(all(loom, test))]
const BITS: u32 = 1;
const FAN_OUT: usize = 1 << BITS;
/// Pages of a leaf.
pub(crate) const LEAF_PAGES: u64 = FAN_OUT as u64;
/// Pages of a node of leaves.
pub(crate) const NODE_PAGES: u64 = LEAF_PAGES << BITS;
/// Levels of the highest tree.
pub(crate) const MOST_LEVELS: u32 = SPACE_PAGES.trailing_zeros().div_ceil(BITS);

/// A node. Fields: \[l] see [`Slot`]; \[r] written by the CPU that retired the node; \[g] see
/// `gaps`.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Node {
    /// \[l]
    slots: [Slot; FAN_OUT],
    /// \[r] Next node of the list of retired ones. Relaxed: used by one CPU only.
    next: AtomicPtr<Node>,
    /// \[g] Bounds of its free space; 0: unknown.
    gaps: AtomicU64,
    lifetime: Lifetime,
}

impl Node {
    fn new() -> Self {
        Self {
            slots: core::array::from_fn(|_| Slot::new()),
            next: AtomicPtr::new(ptr::null_mut()),
            gaps: AtomicU64::new(0),
            lifetime: Lifetime::new(),
        }
    }

    /// The slots of a range, of which this node of a level has pages from `base` on, each with its
    /// first page.
    fn slots_of(&self, level: u32, base: u64, range: PageRange) -> impl Iterator<Item = (&Slot, u64)> + use<'_> {
        let first = range.begin().saturating_sub(base) / span(level);
        let end = (range.end() - base).div_ceil(span(level)).min(FAN_OUT as u64);
        let slots = self.slots.get(first as usize..end as usize).unwrap_or(&[]);
        slots.iter().zip(first..).map(move |(slot, index)| (slot, base + index * span(level)))
    }

    /// The node that a slot points to.
    ///
    /// # Safety
    /// The node is not freed while the result is used.
    #[inline]
    unsafe fn below<'a>(child: *mut Node) -> &'a Node {
        // SAFETY: as the caller promises.
        let node = unsafe { &*child };
        node.lifetime.read();
        node
    }
}

/// Pages covered by a slot of a level. Leaves are level 0.
const fn span(level: u32) -> u64 {
    1 << (BITS * level)
}

/// Nodes taken out of the tree, to be freed after a shoot-down. Dropped without `free`, they leak.
#[derive(Debug)]
pub(crate) struct RetiredNodes {
    first: *mut Node,
    count: u32,
}

impl RetiredNodes {
    pub(crate) fn none() -> Self {
        Self { first: ptr::null_mut(), count: 0 }
    }

    /// The list that `into_raw` took apart.
    ///
    /// # Safety
    /// Once for each `into_raw`, or with a null pointer; with that list's count.
    pub(crate) unsafe fn from_raw(first: *mut Node, count: u32) -> Self {
        Self { first, count }
    }

    pub(crate) fn into_raw(self) -> *mut Node {
        self.first
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    fn push(&mut self, node: *mut Node) {
        // SAFETY: it was just retired, so it is alive, and its list is ours.
        unsafe { &*node }.next.store(self.first, Relaxed);
        self.first = node;
        self.count = self.count.saturating_add(1);
    }

    /// Both lists. Takes a step for each node of this one.
    pub(crate) fn followed_by(mut self, mut others: Self) -> Self {
        while let Some(node) = self.pop() {
            others.push(node);
        }
        others
    }

    fn pop(&mut self) -> Option<*mut Node> {
        let node = self.first;
        // SAFETY: null, or of our list, so alive.
        self.first = unsafe { node.as_ref() }?.next.load(Relaxed);
        self.count = self.count.saturating_sub(1);
        Some(node)
    }

    /// Frees the nodes.
    ///
    /// # Safety
    /// No CPU walks them any more: each on which the space is active has answered a shoot-down
    /// since.
    pub(crate) unsafe fn free(&mut self) {
        while let Some(node) = self.pop() {
            // SAFETY: 1. Made by `try_box` in `split`. 2. In no tree, and no longer walked.
            Lifetime::end(unsafe { Box::from_raw(node) }, |node| &node.lifetime);
        }
    }
}

/// End of a walk from the root: a slot that was not a node when it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkEnd<'a> {
    pub(crate) slot: &'a Slot,
    /// The word as read.
    pub(crate) word: SlotWord,
    level: u32,
}

impl WalkEnd<'_> {
    /// True if the slot stands for more than one page.
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
    /// Another CPU holds the slot, or has just changed it.
    Taken,
}

/// A space's tree. Fields: \[I] immutable; see [`Node`].
#[derive(Debug)]
pub(crate) struct Tree {
    root: Node,
    /// \[I] Level of the root: as low as the space's last page permits, for short walks.
    top: u32,
}

// SAFETY: pointers in slots are to nodes that the tree owns and to mappings with counted owners;
// all are shared by the orderings of the slots' words.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

impl Tree {
    /// A tree without mappings, for pages below `end`.
    pub(crate) fn new(end: u64) -> Self {
        let top = (1..MOST_LEVELS).find(|top| end <= span(top + 1)).unwrap_or(MOST_LEVELS - 1);
        Self { root: Node::new(), top }
    }

    /// All pages that it has slots for.
    pub(crate) fn pages(&self) -> PageRange {
        PageRange::below(span(self.top + 1))
    }

    #[inline]
    fn slot(node: &Node, page: u64, level: u32) -> &Slot {
        &node.slots[(page >> (BITS * level)) as usize % FAN_OUT]
    }

    /// Walks to a page's slot, only reading.
    ///
    /// # Safety
    /// The caller has a guard of `Machine::pin` and the space is active on its CPU, or the caller
    /// has exclusive access to the tree; until it no longer uses the place.
    #[inline]
    pub(crate) unsafe fn look(&self, page: u64) -> WalkEnd<'_> {
        let mut node = &self.root;
        for level in (1..=self.top).rev() {
            let slot = Self::slot(node, page, level);
            let word = slot.load();
            let View::Node(child) = word.view() else { return WalkEnd { slot, word, level } };
            // SAFETY: it was in the tree when it was read, and is not freed while the caller has
            // its guard.
            node = unsafe { Node::below(child) };
        }
        let slot = Self::slot(node, page, 0);
        WalkEnd { slot, word: slot.load(), level: 0 }
    }

    /// Locks the largest slot that begins at `begin` and ends at `end` or before. Splits slots on
    /// the way, and calls `on_split` with the view of each. Fails if there is no memory for a node.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn lock_next(
        &self,
        begin: u64,
        end: u64,
        on_split: &mut impl FnMut(View),
    ) -> Result<LockStep<'_>, NoMemory> {
        // SAFETY: as the caller promises.
        unsafe { Self::lock_at(self.look(begin), begin, end, on_split) }
    }

    /// Like [`lock_next`](Self::lock_next), from the place that [`look`](Self::look) has found for
    /// the page `begin`.
    ///
    /// # Safety
    /// As for `look`, since then.
    #[inline]
    pub(crate) unsafe fn lock_at<'a>(
        mut place: WalkEnd<'a>,
        begin: u64,
        end: u64,
        on_split: &mut impl FnMut(View),
    ) -> Result<LockStep<'a>, NoMemory> {
        loop {
            let WalkEnd { slot, word, level } = place;
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
            on_split(word.view());
            let slot = Self::slot(child, begin, level - 1);
            place = WalkEnd { slot, word: slot.load(), level: level - 1 };
        }
    }

    /// The slots of the leaf of a page, and the number of its first page.
    ///
    /// # Safety
    /// The caller has locked the page's slot, which is in a leaf, and has a guard of
    /// `Machine::pin`, or has exclusive access to the tree. The slots are alive while that slot is
    /// locked.
    pub(crate) unsafe fn leaf_of(&self, page: u64) -> (&[Slot], u64) {
        let mut node = &self.root;
        for level in (1..=self.top).rev() {
            let View::Node(child) = Self::slot(node, page, level).load().view() else { return (&[], page) };
            // SAFETY: a node that has a slot which the caller has locked is not retired by others.
            node = unsafe { Node::below(child) };
        }
        (&node.slots, page - page % FAN_OUT as u64)
    }

    /// Locks slots of a leaf that follow a locked one, up to a page. Returns the end of the locked
    /// part: the end of the leaf, or a slot that another CPU holds.
    ///
    /// # Safety
    /// As for [`leaf_of`](Self::leaf_of), of the page before `begin`.
    pub(crate) unsafe fn lock_behind(&self, begin: u64, end: u64) -> u64 {
        // SAFETY: as the caller promises.
        let (slots, first) = unsafe { self.leaf_of(begin - 1) };
        let behind = slots.iter().skip((begin - first) as usize).take((end - begin) as usize);
        let is_locked = |slot: &&Slot| {
            let word = slot.load();
            // Slots of leaves are never nodes, and a leaf with a locked slot is in the tree.
            !word.is_locked() && slot.try_lock(word)
        };
        begin + behind.take_while(is_locked).count() as u64
    }

    /// Locks the slot that covers a page, at any level. `None` if another CPU holds it.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn try_lock_covering(&self, page: u64) -> Option<&Slot> {
        let (mut node, mut level) = (&self.root, self.top);
        loop {
            let slot = Self::slot(node, page, level);
            let word = slot.load();
            match word.view() {
                View::Node(child) => {
                    // SAFETY: as in `look`.
                    (node, level) = (unsafe { Node::below(child) }, level - 1);
                }
                View::Stray => return None,
                View::Hole | View::Mapped(_) => return (!word.is_locked() && slot.try_lock(word)).then_some(slot),
            }
        }
    }

    /// Calls `act` with each slot of a range, its first page, and its number of pages.
    ///
    /// # Safety
    /// The caller has locked all slots of the range, which begins and ends with slots, or has
    /// exclusive access to the tree. `act` may unlock the slot. Or, if `act` only reads words: as
    /// for [`look`](Self::look).
    pub(crate) unsafe fn visit<E>(
        &self,
        range: PageRange,
        act: &mut impl FnMut(&Slot, u64, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: as the caller promises.
        unsafe { Self::visit_node(&self.root, self.top, 0, range, act) }
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
        for (slot, begin) in node.slots_of(level, base, range) {
            // After the last slot of the range was unlocked, another CPU may retire this node: it
            // is not read again.
            match slot.load().view() {
                // SAFETY: 1. A node that has a slot which the caller has locked is not retired by
                // others. 2. It contains pages of the range.
                View::Node(child) => unsafe { Self::visit_node(Node::below(child), level - 1, begin, range, act)? },
                _ => act(slot, begin, span(level))?,
            }
        }
        Ok(())
    }

    /// Takes out the nodes that lie in a range of holes. The slots that pointed to them become
    /// locked holes.
    ///
    /// # Safety
    /// As for `visit`; all slots of the range are holes.
    pub(crate) unsafe fn retire(&self, range: PageRange, retired: &mut RetiredNodes) {
        // SAFETY: as the caller promises.
        unsafe { Self::retire_below(&self.root, self.top, 0, range, retired) };
    }

    /// # Safety
    /// As for `visit_node` and `retire`.
    unsafe fn retire_below(node: &Node, level: u32, base: u64, range: PageRange, retired: &mut RetiredNodes) {
        for (slot, begin) in node.slots_of(level, base, range) {
            let View::Node(child) = slot.load().view() else { continue };
            // SAFETY: as in `visit_node`.
            unsafe { Self::retire_below(&*child, level - 1, begin, range, retired) };
            if begin >= range.begin() && begin + span(level) <= range.end() {
                // SAFETY: as in `visit_node`. Nodes below it are gone already, so its slots are
                // holes that the caller has locked.
                unsafe { &*child }.slots.iter().for_each(|below| below.unlock_as(View::Stray));
                slot.set(View::Hole);
                retired.push(child);
            }
        }
    }

    /// The range of the lowest node on the way to a page, if all its slots were holes, and it is
    /// not the root.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn empty_node(&self, page: VirtualPage) -> Option<PageRange> {
        let (mut node, mut level) = (&self.root, self.top);
        while let View::Node(child) = Self::slot(node, page.0, level).load().view() {
            // SAFETY: as in `look`.
            (node, level) = (unsafe { Node::below(child) }, level - 1);
        }
        // A locked hole too: its holder may have found nothing to change.
        let is_empty = node.slots.iter().all(|slot| slot.load().view() == View::Hole);
        (is_empty && level < self.top).then(|| PageRange::large_with(page, span(level + 1)))
    }
}

impl Tree {
    /// Frees the nodes, and calls `pause` before it looks at each slot: a node has 64, which may be
    /// in no cache. Mappings and pages must be released before, or leak.
    pub(crate) fn free_nodes(&mut self, pause: &mut impl FnMut()) {
        fn free(node: &Node, pause: &mut impl FnMut()) {
            for slot in &node.slots {
                pause();
                if let View::Node(child) = slot.load().view() {
                    slot.unlock_as(View::Hole);
                    // SAFETY: 1. Made by `try_box`. 2. The tree is ours alone, and no slot points
                    // there any more.
                    let child = unsafe { Box::from_raw(child) };
                    free(&child, pause);
                }
            }
        }
        free(&self.root, pause);
    }
}

/// As `free_nodes`.
impl Drop for Tree {
    fn drop(&mut self) {
        self.free_nodes(&mut || {});
    }
}

/// Kind of a run's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Unmapped.
    Free,
    /// Unmapped, but another CPU is changing it.
    Changing,
    Taken,
    /// A stack that may grow.
    Stack,
}

impl Kind {
    fn of(word: SlotWord) -> Self {
        match word.view() {
            View::Hole if !word.is_locked() => Self::Free,
            View::Mapped(mapped) if is_stack(mapped) => Self::Stack,
            View::Mapped(_) | View::Node(_) => Self::Taken,
            View::Hole | View::Stray => Self::Changing,
        }
    }
}

/// True if stack pages may be added below it.
pub(crate) fn is_stack(mapped: Mapped) -> bool {
    mapped.marks.has(Marks::GROWS) && !mapped.marks.has(Marks::GUARD)
}

/// Similar pages from one on; more may follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) kind: Kind,
    pub(crate) end: u64,
}

impl Tree {
    /// The run that a page begins, as far as one node knows it.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn run(&self, page: u64) -> Run {
        let (mut node, mut level) = (&self.root, self.top);
        while let View::Node(child) = Self::slot(node, page, level).load().view() {
            // SAFETY: as in `look`.
            (node, level) = (unsafe { Node::below(child) }, level - 1);
        }
        let first = (page >> (BITS * level)) as usize % FAN_OUT;
        let kind = Kind::of(node.slots[first].load());
        let is_alike = |slot: &&Slot| {
            let word = slot.load();
            !matches!(word.view(), View::Node(_)) && Kind::of(word) == kind
        };
        let more = node.slots[first + 1..].iter().take_while(is_alike).count() as u64;
        Run { kind, end: (page / span(level) + 1 + more) * span(level) }
    }
}

impl Tree {
    /// Divides a slot above the leaves, which the caller has locked, into a node of unlocked slots
    /// with equal contents.
    pub(super) fn split(slot: &Slot) -> Result<&Node, NoMemory> {
        Self::split_as(slot, Slot::unlock_as)
    }

    /// Like `split`. `put` sets the contents of a slot of the new node.
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
        for level in (0..=self.top).rev() {
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

    /// Divides locked slots of a range down to the leaves. They stay locked. Fails if there is no
    /// memory; then some are divided.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    pub(crate) unsafe fn split_to_leaves(&self, range: PageRange) -> Result<(), NoMemory> {
        // SAFETY: as the caller promises.
        unsafe { Self::split_below(&self.root, self.top, 0, range) }
    }

    /// # Safety
    /// As for `split_to_leaves`, for the pages of the range in this node, of which there is one.
    unsafe fn split_below(node: &Node, level: u32, base: u64, range: PageRange) -> Result<(), NoMemory> {
        if level == 0 {
            return Ok(());
        }
        for (slot, begin) in node.slots_of(level, base, range) {
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
