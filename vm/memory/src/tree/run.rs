//! Runs of slots that are alike: what choices of addresses and stacks see of a space, by reading alone.

use crate::tree::slot::{Mapped, Marks, SlotWord, View};
use crate::tree::{BITS, FAN_OUT, LEVELS, Tree, span};

/// What slots of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing is mapped.
    Free,
    /// Nothing is mapped yet, or any longer: another CPU is changing it.
    Changing,
    /// Mapped.
    Taken,
    /// A stack, which may grow.
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

/// Whether pages of a stack may be added below it.
pub(crate) fn is_stack(mapped: Mapped) -> bool {
    mapped.marks.has(Marks::GROWS) && !mapped.marks.has(Marks::GUARD)
}

/// Pages from one on that are alike; there may be more of them behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) kind: Kind,
    /// One past its last page.
    pub(crate) end: u64,
}

impl Tree {
    /// The run that a page begins, as far as one node knows it.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn run(&self, page: u64) -> Run {
        let (mut node, mut level) = (&self.root, LEVELS - 1);
        while let View::Node(child) = Self::slot(node, page, level).load().view() {
            // SAFETY: as in `look`.
            (node, level) = (unsafe { &*child }, level - 1);
        }
        let first = (page >> (BITS * level)) as usize % FAN_OUT;
        let kind = Kind::of(node.slots[first].load());
        let is_alike = |slot: &&super::Slot| {
            let word = slot.load();
            !matches!(word.view(), View::Node(_)) && Kind::of(word) == kind
        };
        let more = node.slots[first + 1..].iter().take_while(is_alike).count() as u64;
        Run { kind, end: (page / span(level) + 1 + more) * span(level) }
    }
}
