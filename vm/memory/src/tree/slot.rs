//! A slot of a space's tree: what a page, or an aligned range of pages, is mapped to; and the lock of that range.
//!
//! | state | what it says | who changes it |
//! |---|---|---|
//! | hole | nothing is mapped | who has the lock |
//! | mapped | rights, kind; in a leaf also the private page, or where in the swap area it is, and which CPUs may have a translation | who has the lock |
//! | node | the range is divided: look there | who has the locks of all slots below |
//! | stray | the node was taken out of its tree: begin at the root again | nobody |
//!
//! The lock is a bit of the same word, for holes and mapped slots.

use crate::address::Rights;
use crate::counted::Inner;
use crate::object::mapping::Mapping;
use crate::primitive::{AtomicPtr, relax};
use crate::tree::Node;
use crate::users::Users;
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

/// What else is said of the pages of a slot: a set of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks(u8);

impl Marks {
    pub(crate) const NONE: Self = Self(0);
    /// No access is allowed, whatever the rights are.
    pub(crate) const GUARD: Self = Self(1);
    /// A fault below them maps more of the same.
    pub(crate) const GROWS: Self = Self(1 << 1);
    /// They are wired as soon as they are there.
    pub(crate) const LOCKED: Self = Self(1 << 2);
    /// The slot has its private page wired.
    pub(crate) const WIRED: Self = Self(1 << 3);
    /// The contents of the private page may be taken without being kept: it was given up, and not written since. No translation of it allows
    /// writing.
    pub(crate) const GIVEN_UP: Self = Self(1 << 4);

    /// Whether all of `other` is in it.
    #[inline]
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With those of `other`.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are in `other` too.
    pub(crate) const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Without those of `other`.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The private contents of a page. Only in leaves is there any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// None: zeroes, or the object's page.
    Nothing,
    /// A page, by its frame's index.
    Page(u32),
    /// A slot of the swap area.
    Swapped(u32),
    /// None, but the object's page, which the slot has wired and owns.
    Kept(u32),
}

/// What a mapped slot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// What the mapping allows.
    pub(crate) rights: Rights,
    /// The CPUs whose page tables may have an entry for the page, or TLBs a translation that was just taken away. Only in leaves.
    pub(crate) users: Users,
    /// Whether the page-table entry may be a part of a large one, which is divided before this page's translation changes. Only with users.
    pub(crate) large: bool,
    /// Whether a fork has shared the private page, so that others may own it.
    pub(crate) shared: bool,
    /// Whether writes to pages of the mapping's object go to private copies.
    pub(crate) copies: bool,
    /// What else is said of it.
    pub(crate) marks: Marks,
    /// The private contents.
    pub(crate) content: Content,
}

impl Mapped {
    /// With rights, and nothing there yet.
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

    /// Whether an access is allowed.
    pub(crate) fn allows(self, access: Rights) -> bool {
        self.rights.allows(access) && !self.marks.has(Marks::GUARD)
    }

    /// The same without contents and translation.
    pub(crate) fn emptied(self) -> Self {
        let marks = self.marks.without(Marks::WIRED.with(Marks::GIVEN_UP));
        Self { shared: false, marks, content: Content::Nothing, ..self.untranslated() }
    }

    /// The same without translation.
    pub(crate) fn untranslated(self) -> Self {
        Self { users: Users::NONE, large: false, ..self }
    }

    /// Whether a CPU may have a translation.
    #[inline]
    pub(crate) fn is_entered(self) -> bool {
        !self.users.is_none()
    }
}

/// What a slot says.
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

    /// Whether it says that an access is allowed. Quicker than to decode all that it says.
    #[inline]
    pub(crate) fn allows(self, access: Rights) -> bool {
        const REFUSED: usize = (Marks::GUARD.0 as usize) << MARKS_SHIFT;
        let asked = MAPPED | usize::from(access.bits()) << RIGHTS_SHIFT;
        self.0.addr() & (asked | TAG | REFUSED) == asked
    }

    /// The same of a slot that is not locked.
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

/// A slot. Fields: \[l] changed by who has the lock, which is a bit of the word.
#[derive(Debug)]
pub(crate) struct Slot {
    /// \[l] Read by all.
    word: AtomicPtr<Node>,
    /// \[l] The mapping of an object, of which this slot is an owner; null for private memory. Orderings: all relaxed; the
    /// word's orderings hand it over.
    mapping: AtomicPtr<Inner<Mapping>>,
}

impl Slot {
    pub(crate) fn new() -> Self {
        Self { word: AtomicPtr::new(ptr::null_mut()), mapping: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline]
    pub(crate) fn load(&self) -> SlotWord {
        // Acquire: pairs with the release in `set` and `unlock`: the slots of the node that it points to.
        SlotWord(self.word.load(Acquire))
    }

    /// Locks a hole or mapped slot, if its word is still as it was seen.
    #[inline]
    pub(crate) fn try_lock(&self, seen: SlotWord) -> bool {
        let locked = seen.0.map_addr(|bits| bits | LOCK);
        // Acquire: pairs with the release in `unlock`: what the last holder of the lock did.
        self.word.compare_exchange(seen.0, locked, Acquire, Relaxed).is_ok()
    }

    /// Locks a hole or mapped slot that stays one: waits for others, who have it for a moment.
    pub(crate) fn lock(&self) {
        loop {
            let seen = self.load();
            if !seen.is_locked() && self.try_lock(seen) {
                return;
            }
            relax();
        }
    }

    /// For the holder of the lock: changes what the slot says, and keeps the lock.
    #[inline]
    pub(crate) fn set(&self, view: View) {
        // Release: pairs with `load`; nobody takes the lock meanwhile.
        self.word.store(SlotWord::of(view).0.map_addr(|bits| bits | LOCK), Release);
    }

    /// For the holder of the lock: changes what the slot says, and lets go of it.
    #[inline]
    pub(crate) fn unlock_as(&self, view: View) {
        // Release: pairs with `try_lock` and `load`.
        self.word.store(SlotWord::of(view).0, Release);
    }

    /// For the holder of the lock: lets go of it.
    #[inline]
    pub(crate) fn unlock(&self) {
        // Relaxed: nobody else changes the word of a locked slot. Release: as in `unlock_as`.
        self.word.store(SlotWord(self.word.load(Relaxed)).unlocked().0, Release);
    }

    /// For the holder of the lock: the mapping of an object, which the slot still owns. Null for private memory.
    #[inline]
    pub(crate) fn mapping(&self) -> *mut Inner<Mapping> {
        self.mapping.load(Relaxed)
    }

    /// For the holder of the lock: changes which mapping the slot owns.
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
