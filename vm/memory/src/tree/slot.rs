//! A slot of a space's tree: the mapping of a page or of an aligned range of pages, and the lock of
//! that range.
//!
//! | state | meaning | changed by |
//! |---|---|---|
//! | hole | unmapped | lock holder |
//! | mapped | rights, kind; in a leaf also private page or swap slot, users | lock holder |
//! | node | divided: continue there | holder of the locks of all slots below |
//! | stray | taken out of its tree: restart at the root | – |
//!
//! The lock is a bit of the same word, for holes and mapped slots.

use crate::address::Rights;
use crate::counted::Inner;
use crate::cpu_set::Users;
use crate::object::mapping::Mapping;
use crate::primitive::{AtomicPtr, relax};
use crate::tree::Node;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("faultline-memory needs pointers of 64 bits: a slot's word holds a page's index beside its state");

const LOCK: usize = 1;
const TAG: usize = 0b110;
const HOLE: usize = 0;
const NODE: usize = 0b010;
const MAPPED: usize = 0b100;
const STRAY: usize = 0b110;
const RIGHTS_SHIFT: u32 = 3;
const HAS_PAGE: usize = 1 << 7;
const SHARED: usize = 1 << 8;
const IS_SWAPPED: usize = 1 << 9;
const COPIES: usize = 1 << 10;
const MARKS_SHIFT: u32 = 11;
const IS_LARGE: usize = 1 << 19;
const USERS_SHIFT: u32 = 20;
const NUMBER_SHIFT: u32 = 32;

const _: () = assert!(USERS_SHIFT + Users::BITS <= NUMBER_SHIFT);

/// A set of marks of a slot's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks(u8);

impl Marks {
    pub(crate) const NONE: Self = Self(0);
    /// No access is allowed, regardless of rights.
    pub(crate) const GUARD: Self = Self(1);
    /// A fault below maps more of the same.
    pub(crate) const GROWS: Self = Self(1 << 1);
    /// Pages are wired as soon as they are resident.
    pub(crate) const LOCKED: Self = Self(1 << 2);
    /// The slot has its private page wired.
    pub(crate) const WIRED: Self = Self(1 << 3);
    /// The private page was given up and not written since: its contents may be dropped. No
    /// translation of it allows writing.
    pub(crate) const GIVEN_UP: Self = Self(1 << 4);

    /// True if all marks of `other` are in this set.
    #[inline]
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both sets.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection of both sets.
    pub(crate) const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// This set without the marks of `other`.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Private contents of a page. Only in leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// None: zeroes, or the object's page.
    Nothing,
    /// A page, by its frame's index.
    Page(u32),
    /// A slot of the swap area.
    Swapped(u32),
    /// None, but the slot has wired and owns the object's page.
    Kept(u32),
}

/// Contents of a mapped slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) rights: Rights,
    /// The CPUs whose page tables may have an entry for the page, or TLBs a translation that was
    /// just removed. Only in leaves.
    pub(crate) users: Users,
    /// True if the page-table entry may be part of a large one, which is divided before this page's
    /// translation changes. Only with users.
    pub(crate) large: bool,
    /// True if a fork has shared the private page, so that others may own it.
    pub(crate) shared: bool,
    /// True if writes to pages of the mapping's object go to private copies.
    pub(crate) copies: bool,
    pub(crate) marks: Marks,
    pub(crate) content: Content,
}

impl Mapped {
    /// A mapped slot without contents.
    pub(crate) fn untouched(rights: Rights) -> Self {
        Self {
            rights,
            users: Users::NONE,
            large: false,
            shared: false,
            copies: false,
            marks: Marks::NONE,
            content: Content::Nothing,
        }
    }

    /// True if the access is allowed.
    pub(crate) fn allows(self, access: Rights) -> bool {
        self.rights.allows(access) && !self.marks.has(Marks::GUARD)
    }

    /// This slot without contents and translation.
    pub(crate) fn emptied(self) -> Self {
        let marks = self.marks.without(Marks::WIRED.with(Marks::GIVEN_UP));
        Self { shared: false, marks, content: Content::Nothing, ..self.untranslated() }
    }

    /// This slot without translation.
    pub(crate) fn untranslated(self) -> Self {
        Self { users: Users::NONE, large: false, ..self }
    }

    /// True if a CPU may have a translation.
    #[inline]
    pub(crate) fn is_entered(self) -> bool {
        !self.users.is_none()
    }
}

/// A slot's decoded contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Hole,
    Stray,
    Node(*mut Node),
    Mapped(Mapped),
}

/// A slot's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotWord(*mut Node);

impl SlotWord {
    #[inline]
    pub(crate) fn view(self) -> View {
        let bits = self.0.addr();
        match bits & TAG {
            HOLE => View::Hole,
            NODE => View::Node(self.0.map_addr(|bits| bits & !TAG)),
            MAPPED => View::Mapped(Mapped {
                rights: Rights::from_bits((bits >> RIGHTS_SHIFT) as u8),
                users: Users::from_bits(bits >> USERS_SHIFT),
                large: bits & IS_LARGE != 0,
                shared: bits & SHARED != 0,
                copies: bits & COPIES != 0,
                marks: Marks((bits >> MARKS_SHIFT) as u8),
                content: match bits & (HAS_PAGE | IS_SWAPPED) {
                    HAS_PAGE => Content::Page((bits >> NUMBER_SHIFT) as u32),
                    IS_SWAPPED => Content::Swapped((bits >> NUMBER_SHIFT) as u32),
                    0 => Content::Nothing,
                    _ => Content::Kept((bits >> NUMBER_SHIFT) as u32),
                },
            }),
            _ => View::Stray,
        }
    }

    /// True if an access is allowed. Faster than decoding the word.
    #[inline]
    pub(crate) fn allows(self, access: Rights) -> bool {
        const REFUSED: usize = (Marks::GUARD.0 as usize) << MARKS_SHIFT;
        let asked = MAPPED | usize::from(access.bits()) << RIGHTS_SHIFT;
        self.0.addr() & (asked | TAG | REFUSED) == asked
    }

    /// The word with the lock bit cleared.
    #[inline]
    pub(crate) fn unlocked(self) -> Self {
        Self(self.0.map_addr(|bits| bits & !LOCK))
    }

    #[inline]
    pub(crate) fn is_locked(self) -> bool {
        self.0.addr() & LOCK != 0
    }

    #[inline]
    fn of(view: View) -> Self {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let bits = match view {
            View::Hole => HOLE,
            View::Stray => STRAY,
            View::Node(node) => return Self(node.map_addr(|bits| bits | NODE)),
            View::Mapped(mapped) => {
                MAPPED
                    | usize::from(mapped.rights.bits()) << RIGHTS_SHIFT
                    | mapped.users.bits() << USERS_SHIFT
                    | flag(mapped.large, IS_LARGE)
                    | flag(mapped.shared, SHARED)
                    | flag(mapped.copies, COPIES)
                    | usize::from(mapped.marks.0) << MARKS_SHIFT
                    | match mapped.content {
                        Content::Nothing => 0,
                        Content::Page(page) => HAS_PAGE | (page as usize) << NUMBER_SHIFT,
                        Content::Swapped(place) => IS_SWAPPED | (place as usize) << NUMBER_SHIFT,
                        Content::Kept(page) => HAS_PAGE | IS_SWAPPED | (page as usize) << NUMBER_SHIFT,
                    }
            }
        };
        Self(ptr::without_provenance_mut(bits))
    }
}

/// A slot. Fields: \[l] changed by the holder of the lock, which is a bit of the word.
#[derive(Debug)]
pub(crate) struct Slot {
    /// \[l] Read by all CPUs.
    word: AtomicPtr<Node>,
    /// \[l] The mapping of an object, of which this slot is an owner; null for private memory.
    /// Orderings: all relaxed; the word's orderings hand it over.
    mapping: AtomicPtr<Inner<Mapping>>,
}

impl Slot {
    pub(crate) fn new() -> Self {
        Self { word: AtomicPtr::new(ptr::null_mut()), mapping: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline]
    pub(crate) fn load(&self) -> SlotWord {
        // Acquire: pairs with the release in `set` and `unlock`: the slots of the node that it
        // points to.
        SlotWord(self.word.load(Acquire))
    }

    /// Locks a hole or mapped slot, if its word is still as seen.
    #[inline]
    pub(crate) fn try_lock(&self, seen: SlotWord) -> bool {
        let locked = seen.0.map_addr(|bits| bits | LOCK);
        // Acquire: pairs with the release in `unlock`: the actions of the lock's last holder.
        self.word.compare_exchange(seen.0, locked, Acquire, Relaxed).is_ok()
    }

    /// Locks a hole or mapped slot that stays one: waits for others, which hold it briefly.
    pub(crate) fn lock(&self) {
        loop {
            let seen = self.load();
            if !seen.is_locked() && self.try_lock(seen) {
                return;
            }
            relax();
        }
    }

    /// Changes the contents, and keeps the lock. The caller holds the lock.
    #[inline]
    pub(crate) fn set(&self, view: View) {
        // Release: pairs with `load`; no other CPU takes the lock meanwhile.
        self.word.store(SlotWord::of(view).0.map_addr(|bits| bits | LOCK), Release);
    }

    /// Changes the contents and unlocks. The caller holds the lock.
    #[inline]
    pub(crate) fn unlock_as(&self, view: View) {
        // Release: pairs with `try_lock` and `load`.
        self.word.store(SlotWord::of(view).0, Release);
    }

    /// Unlocks. The caller holds the lock.
    #[inline]
    pub(crate) fn unlock(&self) {
        // Relaxed: no other CPU changes the word of a locked slot. Release: as in `unlock_as`.
        self.word.store(SlotWord(self.word.load(Relaxed)).unlocked().0, Release);
    }

    /// The mapping of an object, which the slot still owns. Null for private memory. The caller
    /// holds the lock.
    #[inline]
    pub(crate) fn mapping(&self) -> *mut Inner<Mapping> {
        self.mapping.load(Relaxed)
    }

    /// Changes the mapping that the slot owns. The caller holds the lock.
    #[inline]
    pub(crate) fn set_mapping(&self, mapping: *mut Inner<Mapping>) {
        self.mapping.store(mapping, Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use faultline_numbers::CpuNumber;

    #[test]
    fn a_word_says_what_was_put_into_it() {
        for bits in 0..8 {
            use Content::{Kept, Nothing, Page, Swapped};
            for content in
                [Kept(0), Kept(u32::MAX), Nothing, Page(0), Page(7), Page(u32::MAX), Swapped(0), Swapped(u32::MAX)]
            {
                for flags in 0..16 {
                    let flag = |bit: u8| flags >> bit & 1 != 0;
                    let (shared, copies, large) = (flag(1), flag(2), flag(3));
                    let cpus = [0, 7, 255].into_iter().take(usize::from(flags));
                    let users = cpus.fold(Users::NONE, |users, cpu| users.with(CpuNumber(cpu)));
                    let (rights, marks) = (Rights::from_bits(bits), Marks(flags << 5 | bits));
                    let view = View::Mapped(Mapped { rights, users, large, shared, copies, marks, content });
                    let slot = Slot::new();
                    let seen = slot.load();
                    assert!(slot.try_lock(seen) && !slot.try_lock(seen), "the second finds it locked");
                    slot.set(view);
                    assert!(slot.load().is_locked() && slot.load().view() == view);
                    assert!(!slot.try_lock(seen));
                    slot.unlock();
                    assert!(!slot.load().is_locked() && slot.load().view() == view);
                }
            }
        }
        assert_eq!(SlotWord::of(View::Hole).view(), View::Hole);
        assert_eq!(SlotWord::of(View::Stray).view(), View::Stray);
    }
}
