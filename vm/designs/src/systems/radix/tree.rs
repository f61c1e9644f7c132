//! The radix tree of a space: 512 slots per node, four levels. A slot is the lock of its range. A
//! slot far above the leaves has the mapping of a large range, until a part of it is used or
//! changed: then it gets a node below it.
//!
//! Fields: \[1] written once; \[l] locked by the slot.

use crate::systems::radix::Mapping;
use faultline_memory::Rights;
use spin::{Mutex, MutexGuard};
use std::sync::{Arc, OnceLock};

const BITS: u32 = 9;
const FAN_OUT: u64 = 1 << BITS;
const ROOT_LEVEL: u32 = 3;

/// Contents of a slot above the leaves, for all its pages.
#[derive(Debug, Clone)]
pub(super) struct Folded {
    pub(super) rights: Rights,
    /// `None`: private memory.
    pub(super) mapping: Option<Arc<Mapping>>,
}

/// Contents of a leaf's slot.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) mapped: Folded,
    /// The frame's index, of a private page.
    pub(super) page: Option<u32>,
    /// True if other spaces may own the page.
    pub(super) is_shared: bool,
    /// The CPUs whose page tables have the page.
    pub(super) cpus: [u64; 4],
}

impl Said {
    pub(super) fn untouched(mapped: Folded) -> Self {
        Said { mapped, page: None, is_shared: false, cpus: [0; 4] }
    }
}

/// A slot above the leaves.
#[derive(Debug, Default)]
struct Inner {
    /// \[1] While the slot is locked. The slot's own contents are void then.
    below: OnceLock<Box<Node>>,
    /// \[l]
    folded: Mutex<Option<Folded>>,
}

#[derive(Debug)]
enum Node {
    Inner(Box<[Inner]>),
    Leaf(Box<[Mutex<Option<Said>>]>),
}

/// A locked slot, and its first page.
pub(super) enum Held<'t> {
    /// A slot for `1 << bits` pages.
    Inner { slot: MutexGuard<'t, Option<Folded>>, begin: u64, bits: u32 },
    /// A slot for one page.
    Leaf { slot: MutexGuard<'t, Option<Said>>, page: u64 },
}

/// A tree. Nodes are freed with it.
#[derive(Debug)]
pub(super) struct Tree(Node);

impl Node {
    fn new(level: u32, mapped: Option<&Folded>) -> Self {
        match level {
            0 => Node::Leaf((0..FAN_OUT).map(|_| Mutex::new(mapped.cloned().map(Said::untouched))).collect()),
            _ => Node::Inner(
                (0..FAN_OUT).map(|_| Inner { below: OnceLock::new(), folded: Mutex::new(mapped.cloned()) }).collect(),
            ),
        }
    }

    fn place(page: u64, level: u32) -> usize {
        (page >> (BITS * level)) as usize % FAN_OUT as usize
    }
}

impl Inner {
    /// The node below, or otherwise the locked slot.
    fn node_or_lock(&self) -> Result<&Node, MutexGuard<'_, Option<Folded>>> {
        if let Some(below) = self.below.get() {
            return Ok(below);
        }
        let folded = self.folded.lock();
        // Another thread may have made one while this one waited.
        match self.below.get() {
            Some(below) => Ok(below),
            None => Err(folded),
        }
    }

    /// Makes a node of `level` below this slot, whose slots have its contents.
    fn split(&self, mut folded: MutexGuard<'_, Option<Folded>>, level: u32) -> &Node {
        let said = folded.take();
        self.below.get_or_init(|| Box::new(Node::new(level, said.as_ref())))
    }
}

impl Tree {
    pub(super) fn new() -> Self {
        Tree(Node::new(ROOT_LEVEL, None))
    }

    /// Locks a page's slot. `None`: the page is a hole.
    pub(super) fn lock_page(&self, page: u64) -> Option<MutexGuard<'_, Option<Said>>> {
        let (mut node, mut level) = (&self.0, ROOT_LEVEL);
        loop {
            match node {
                Node::Leaf(slots) => {
                    let slot = slots[Node::place(page, 0)].lock();
                    return slot.is_some().then_some(slot);
                }
                Node::Inner(slots) => {
                    let slot = &slots[Node::place(page, level)];
                    node = match slot.node_or_lock() {
                        Ok(below) => below,
                        Err(folded) if folded.is_none() => return None,
                        Err(folded) => slot.split(folded, level - 1),
                    };
                    level -= 1;
                }
            }
        }
    }

    /// Locks all slots of a range in address order, so that threads never deadlock.
    pub(super) fn lock(&self, begin: u64, end: u64) -> Vec<Held<'_>> {
        let mut held = Vec::new();
        Self::lock_below(&self.0, ROOT_LEVEL, 0, (begin, end), &mut held);
        held
    }

    fn lock_below<'t>(node: &'t Node, level: u32, base: u64, (begin, end): (u64, u64), held: &mut Vec<Held<'t>>) {
        let span = 1 << (BITS * level);
        let first = begin.saturating_sub(base) / span;
        let last = (end - base).div_ceil(span).min(FAN_OUT);
        for index in first..last {
            let from = base + index * span;
            let is_inside = begin <= from && from + span <= end;
            match node {
                Node::Leaf(slots) => held.push(Held::Leaf { slot: slots[index as usize].lock(), page: from }),
                Node::Inner(slots) => {
                    let slot = &slots[index as usize];
                    let below = match slot.node_or_lock() {
                        Ok(below) => below,
                        Err(folded) if is_inside => {
                            held.push(Held::Inner { slot: folded, begin: from, bits: BITS * level });
                            continue;
                        }
                        Err(folded) => slot.split(folded, level - 1),
                    };
                    Self::lock_below(below, level - 1, from, (begin, end), held);
                }
            }
        }
    }

    /// The leaf slot of a page. The caller has exclusive access to the tree.
    pub(super) fn leaf_mut(&mut self, page: u64) -> &mut Option<Said> {
        let (mut node, mut level) = (&mut self.0, ROOT_LEVEL);
        loop {
            match node {
                Node::Leaf(slots) => return slots[Node::place(page, 0)].get_mut(),
                Node::Inner(slots) => {
                    let slot = &mut slots[Node::place(page, level)];
                    level -= 1;
                    node = below_mut(slot, level);
                }
            }
        }
    }

    /// The slot of a range above the leaves. The caller has exclusive access to the tree.
    pub(super) fn inner_mut(&mut self, begin: u64, bits: u32) -> &mut Option<Folded> {
        let (mut node, mut level) = (&mut self.0, ROOT_LEVEL);
        loop {
            match node {
                Node::Leaf(_) => unreachable!("the slot is above the leaves"),
                Node::Inner(slots) => {
                    let slot = &mut slots[Node::place(begin, level)];
                    if bits == BITS * level {
                        return slot.folded.get_mut();
                    }
                    level -= 1;
                    node = below_mut(slot, level);
                }
            }
        }
    }
}

fn below_mut(slot: &mut Inner, level: u32) -> &mut Node {
    slot.below.get_or_init(|| Box::new(Node::new(level, None)));
    slot.below.get_mut().expect("made just now")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_locked_slot_by_slot_and_split_where_it_must_be() {
        let tree = Tree::new();
        let private = Folded { rights: Rights::READ, mapping: None };
        // 1 page, 511 pages of one leaf; a whole leaf as one slot; 3 pages.
        let held = tree.lock(511, 512 + 512 + 3);
        let sizes: Vec<u64> = held
            .iter()
            .map(|held| match held {
                Held::Inner { bits, .. } => 1 << bits,
                Held::Leaf { .. } => 1,
            })
            .collect();
        assert_eq!(sizes, [1, 512, 1, 1, 1]);
        for held in held {
            match held {
                Held::Inner { mut slot, begin, .. } => {
                    assert_eq!(begin, 512);
                    *slot = Some(private.clone());
                }
                Held::Leaf { mut slot, .. } => *slot = Some(Said::untouched(private.clone())),
            }
        }
        assert!([511, 512, 700, 1023, 1024, 1026].iter().all(|page| tree.lock_page(*page).is_some()));
        assert!([510, 1027, 1 << 35].iter().all(|page| tree.lock_page(*page).is_none()));
    }
}
