//! Gaps: bounds of the free space in a node, so that a search for room passes over full nodes as a
//! whole.
//!
//! A search that has become long notes what it finds: a leaf's bounds come from its slots, another
//! node's from its slots and from the bounds of its children, if all are known. Nothing else writes
//! them, except that a CPU that has made holes forgets the bounds of all nodes around them, from
//! the leaf up, if there are any. So programs without long searches never write them.
//!
//! A noted bound is right, or about to be forgotten: the search stores it, then reads again what it
//! comes from, with a fence between, and forgets it unless that is unchanged. The other CPU makes
//! holes, then reads the bounds, with a fence between. At least one of the two sees the other's
//! store.
//!
//! For a node above leaves the same holds of a child's bounds. A CPU that forgets them, because of
//! holes or because its own note was wrong, then reads the bounds of the node, with a fence
//! between, and so on up to the root. So a note of the node that comes from the forgotten bounds
//! goes too: by that CPU if it sees the note, and otherwise by the noting CPU, which finds the
//! child's bounds changed.

use super::{Node, Tree, span};
use crate::address::PageRange;
use crate::primitive::fence;
use crate::tree::slot::View;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Bits of a number of pages in a word.
const PAGES_BITS: u32 = 21;
/// Larger gaps are not noted: 8 GiB.
const MOST: u64 = (1 << PAGES_BITS) - 1;
const KNOWN: u64 = 1 << 63;

/// Upper bounds of unmapped pages in a row in a node, locked or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Gaps {
    /// Anywhere in the node.
    longest: u64,
    /// From its first page on.
    first: u64,
    /// Up to its last page.
    last: u64,
}

impl Gaps {
    /// All of a node, or of a slot, of so many pages.
    fn all(pages: u64) -> Self {
        Self { longest: pages, first: pages, last: pages }
    }

    /// Zero if a gap is too large for it.
    fn word(self) -> u64 {
        if self.longest > MOST {
            0
        } else {
            KNOWN | self.longest << (2 * PAGES_BITS) | self.first << PAGES_BITS | self.last
        }
    }

    fn of(word: u64) -> Option<Self> {
        let part = |number: u32| word >> (number * PAGES_BITS) & MOST;
        (word & KNOWN != 0).then(|| Self { longest: part(2), first: part(1), last: part(0) })
    }

    /// The bounds of `pages` pages with these, followed by `more` pages with `next`.
    fn followed_by(self, pages: u64, next: Self, more: u64) -> Self {
        Self {
            longest: self.longest.max(next.longest).max(self.last + next.first),
            first: if self.first == pages { pages + next.first } else { self.first },
            last: if next.last == more { more + self.last } else { next.last },
        }
    }
}

impl Node {
    /// The bounds of a node of a level. `None` if those of a child are unknown.
    fn gaps(&self, level: u32) -> Option<Gaps> {
        let each = span(level);
        let (mut all, mut pages) = (Gaps::default(), 0);
        for slot in &self.slots {
            let next = match slot.load().view() {
                View::Hole => Gaps::all(each),
                View::Mapped(_) => Gaps::default(),
                // SAFETY: the callers keep the nodes of their tree alive.
                View::Node(child) => Gaps::of(unsafe { Self::below(child) }.gaps.load(Relaxed))?,
                View::Stray => return None,
            };
            all = all.followed_by(pages, next, each);
            pages += each;
        }
        Some(all)
    }

    /// Notes the node's bounds. False if they were wrong, and are forgotten again: then the caller
    /// forgets those of the nodes above.
    fn note_gaps(&self, level: u32) -> bool {
        // Nothing to note. An older note goes with the hole that made it wrong: only a CPU that
        // forgets the nodes above, too, may store 0.
        let Some(gaps) = self.gaps(level).filter(|gaps| gaps.word() != 0) else { return true };
        // Orderings: see the fences.
        self.gaps.store(gaps.word(), Relaxed);
        // Pairs with those in `forget_gaps` and `forget_own`.
        fence(SeqCst);
        let is_right = self.gaps(level) == Some(gaps);
        if !is_right {
            self.forget_own();
        }
        is_right
    }

    /// Forgets the node's own bounds.
    fn forget_own(&self) {
        // Relaxed: see the fences.
        if self.gaps.load(Relaxed) != 0 {
            self.gaps.store(0, Relaxed);
            // Before the caller reads the bounds of the node above. Pairs with that in `note_gaps`.
            fence(SeqCst);
        }
    }
}

impl Tree {
    /// The first page from `page` on at which so many free pages in a row may begin, as far as the
    /// nodes on the way know.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn skip_full(&self, page: u64, pages: u64) -> u64 {
        let (mut node, mut level) = (&self.root, self.top);
        loop {
            // Relaxed: an old value is as if the search had come a moment earlier.
            if let Some(gaps) = Gaps::of(node.gaps.load(Relaxed)).filter(|gaps| gaps.longest < pages) {
                let end = (page / span(level + 1) + 1) * span(level + 1);
                return page.max(end - gaps.last);
            }
            let View::Node(child) = Self::slot(node, page, level).load().view() else { return page };
            // SAFETY: as in `look`.
            (node, level) = (unsafe { Node::below(child) }, level - 1);
        }
    }

    /// Notes the bounds of the nodes that a search leaves when it goes on from `page` to `next`.
    ///
    /// # Safety
    /// As for [`look`](Self::look), until it returns.
    pub(crate) unsafe fn note_passed(&self, page: u64, next: u64) {
        // SAFETY: as the caller promises.
        unsafe { Self::note_below(&self.root, self.top, page, next) };
    }

    /// False if a note was wrong.
    ///
    /// # Safety
    /// As for `note_passed`.
    unsafe fn note_below(node: &Node, level: u32, page: u64, next: u64) -> bool {
        if let View::Node(child) = Self::slot(node, page, level).load().view()
            // SAFETY: as in `look`.
            && !unsafe { Self::note_below(Node::below(child), level - 1, page, next) }
        {
            node.forget_own();
            return false;
        }
        page / span(level + 1) == next / span(level + 1) || node.note_gaps(level)
    }

    /// Forgets the bounds of the nodes around a range of new holes.
    ///
    /// # Safety
    /// The caller has locked all slots of the range.
    pub(crate) unsafe fn forget_gaps(&self, range: PageRange) {
        // After the stores of the holes. Pairs with that in `note_gaps`.
        fence(SeqCst);
        // SAFETY: as the caller promises. Other nodes of the range lie in it: they were taken out.
        unsafe { Self::forget(&self.root, self.top, range.begin()) };
        let last = range.end() - 1;
        if last / span(1) != range.begin() / span(1) {
            // SAFETY: as above.
            unsafe { Self::forget(&self.root, self.top, last) };
        }
    }

    /// # Safety
    /// As for `forget_gaps`, with the page in the range and in this node.
    unsafe fn forget(node: &Node, level: u32, page: u64) {
        if let View::Node(child) = Self::slot(node, page, level).load().view() {
            // SAFETY: a node that has a slot which the caller has locked is not retired by others.
            unsafe { Self::forget(Node::below(child), level - 1, page) };
        }
        node.forget_own();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Every pattern of three parts of three pages, against a loop over the pages.
    #[test]
    fn bounds_of_parts_add_up() {
        let plain = |free: &[bool]| {
            let runs: std::vec::Vec<u64> = free.split(|free| !free).map(|run| run.len() as u64).collect();
            let last = runs.len() - 1;
            Gaps { longest: runs.iter().copied().max().unwrap_or(0), first: runs[0], last: runs[last] }
        };
        for pattern in 0..1_u32 << 9 {
            let free: [bool; 9] = core::array::from_fn(|page| pattern >> page & 1 == 1);
            let [one, two, three] = [0, 3, 6].map(|first| plain(&free[first..first + 3]));
            let all = one.followed_by(3, two, 3).followed_by(6, three, 3);
            assert_eq!(all, plain(&free));
            assert_eq!(Gaps::of(all.word()), Some(all));
            assert_eq!(Gaps::default().followed_by(0, all, 9), all, "after nothing");
        }
        assert_eq!((Gaps::of(0), Gaps::all(MOST + 1).word()), (None, 0));
        assert_eq!(Gaps::of(Gaps::all(MOST).word()), Some(Gaps::all(MOST)));
    }
}
