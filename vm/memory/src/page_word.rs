//! The state of a page in one word: busy, valid, dirty, referenced, its queue, how often it is wired, and how many own it.
//!
//! What a step does to a word is a pure function ([`PageState::after`]); its table is in docs/MEMORY.md, and the tests compare it
//! with every word. [`PageWord`] makes each step by one compare-and-swap, so a step sees the whole state and changes all
//! of it at once.

use crate::primitive::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// The queue of the page daemon that a page is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Queue {
    /// In none: wired, or not known to the page daemon.
    None = 0,
    /// Used not long ago.
    Active = 1,
    /// Not used for a while.
    Inactive = 2,
    /// To be written before its frame can be reused.
    Laundry = 3,
}

/// A step of a page's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStep {
    /// A frame without an owner becomes a page with one, busy and not valid yet.
    Claim,
    /// The holder of a busy page has filled it: it becomes valid, and is no longer busy.
    Filled,
    /// Somebody holds the page alone, to read it in or write it out.
    Busy,
    /// The holder of a busy page lets it go.
    Unbusy,
    /// The contents of a busy page are as in its backing store again.
    Cleaned,
    /// Its contents differ from its backing store.
    Dirty,
    /// It was used.
    Referenced,
    /// The page daemon has seen that it was used.
    Unreferenced,
    /// It must stay in memory. A page may be wired several times.
    Wire,
    /// One reason for it to stay in memory is gone.
    Unwire,
    /// It moves to a queue.
    Move(Queue),
    /// It gets another owner.
    Share,
    /// An owner gives it up. After the last one the frame has no state.
    Release,
}

/// A page's state, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageState(u64);

const BUSY: u64 = 1;
const VALID: u64 = 1 << 1;
const DIRTY: u64 = 1 << 2;
const REFERENCED: u64 = 1 << 3;
const QUEUE_SHIFT: u32 = 4;
const QUEUE: u64 = 3 << QUEUE_SHIFT;
const WIRED_SHIFT: u32 = 8;
const ONE_WIRE: u64 = 1 << WIRED_SHIFT;
const WIRED: u64 = 0xff << WIRED_SHIFT;
const OWNERS_SHIFT: u32 = 32;
const ONE_OWNER: u64 = 1 << OWNERS_SHIFT;
const OWNERS: u64 = 0xffff_ffff << OWNERS_SHIFT;

impl PageState {
    /// A frame that nobody owns.
    pub const FREE: Self = Self(0);

    /// Whether somebody holds it alone.
    pub const fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// Whether it has contents.
    pub const fn is_valid(self) -> bool {
        self.0 & VALID != 0
    }

    /// Whether its contents differ from its backing store.
    pub const fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    /// Whether it was used since the page daemon looked.
    pub const fn is_referenced(self) -> bool {
        self.0 & REFERENCED != 0
    }

    /// Its queue.
    pub const fn queue(self) -> Queue {
        match (self.0 & QUEUE) >> QUEUE_SHIFT {
            1 => Queue::Active,
            2 => Queue::Inactive,
            3 => Queue::Laundry,
            _ => Queue::None,
        }
    }

    /// How often it is wired.
    pub const fn wired(self) -> u8 {
        ((self.0 & WIRED) >> WIRED_SHIFT) as u8
    }

    /// How many own it: places of address spaces, or an object.
    pub const fn owners(self) -> u32 {
        (self.0 >> OWNERS_SHIFT) as u32
    }

    /// The state after a step, or none if this state does not allow the step.
    pub const fn after(self, step: PageStep) -> Option<Self> {
        let word = self.0;
        let owned = word & OWNERS != 0;
        let (allowed, next) = match step {
            PageStep::Claim => (word == 0, ONE_OWNER | BUSY),
            PageStep::Filled => (self.is_busy() && !self.is_valid(), word & !BUSY | VALID),
            PageStep::Busy => (self.is_valid() && !self.is_busy(), word | BUSY),
            PageStep::Unbusy => (self.is_busy() && self.is_valid(), word & !BUSY),
            PageStep::Cleaned => (self.is_busy() && self.is_valid(), word & !DIRTY),
            PageStep::Dirty => (self.is_valid(), word | DIRTY),
            PageStep::Referenced => (self.is_valid(), word | REFERENCED),
            PageStep::Unreferenced => (owned, word & !REFERENCED),
            // A wired page is in no queue: the page daemon must not find it.
            PageStep::Wire => (self.is_valid() && word & WIRED != WIRED, (word & !QUEUE).wrapping_add(ONE_WIRE)),
            PageStep::Unwire => (word & WIRED != 0, word.wrapping_sub(ONE_WIRE)),
            PageStep::Move(queue) => {
                (self.is_valid() && word & WIRED == 0, word & !QUEUE | (queue as u64) << QUEUE_SHIFT)
            }
            PageStep::Share => (self.is_valid() && word & OWNERS != OWNERS, word.wrapping_add(ONE_OWNER)),
            PageStep::Release if self.owners() == 1 => (
                // A page that is being filled may be given up by the one who fills it. A valid one that is busy is held by
                // somebody who is not its owner.
                word & WIRED == 0 && !(self.is_busy() && self.is_valid()),
                0,
            ),
            PageStep::Release => (owned, word.wrapping_sub(ONE_OWNER)),
        };
        if allowed { Some(Self(next)) } else { None }
    }
}

/// A page's state, changed by compare-and-swap.
///
/// Orderings. A step that changes the word is an acquire and a release: what the CPU did with the page's contents before
/// is seen by whoever sees the new state, and the CPU sees what led to the state that it found. This is how contents are
/// handed over: from who fills a page to who finds it valid, and from an owner that gives it up to the last one, who
/// may then write it in place ([`is_sole`](Self::is_sole)).
#[derive(Debug)]
pub struct PageWord(AtomicU64);

impl Default for PageWord {
    fn default() -> Self {
        Self::new()
    }
}

impl PageWord {
    /// Of a frame that nobody owns.
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The state now.
    #[inline]
    pub fn state(&self) -> PageState {
        // Acquire: pairs with the step that made this state: whoever finds the page valid finds its contents.
        PageState(self.0.load(Acquire))
    }

    /// Makes a step. Returns the state before it, or as an error the state that does not allow it. A step that changes nothing,
    /// such as to mark a dirty page as dirty, writes nothing.
    #[inline]
    pub fn step(&self, step: PageStep) -> Result<PageState, PageState> {
        // Relaxed: only a guess; the compare-and-swap checks it.
        let mut old = PageState(self.0.load(Relaxed));
        loop {
            let new = old.after(step).ok_or(old)?;
            if new == old {
                return Ok(old);
            }
            // AcqRel: see the type. Acquire on failure: the state is returned as an error, from which callers conclude.
            match self.0.compare_exchange(old.0, new.0, AcqRel, Acquire) {
                Ok(_) => return Ok(old),
                Err(found) => old = PageState(found),
            }
        }
    }

    /// For an owner: whether it is the only one. It stays so until this owner shares the page, and then the page may be
    /// written in place.
    #[inline]
    pub fn is_sole(&self) -> bool {
        // Acquire, within `state`: pairs with the steps by which the other owners gave the page up; they have read all that
        // they wanted to copy.
        self.state().owners() == 1
    }

    /// For an owner: gives the page up. True if it was the last one, so that the frame is free.
    pub(crate) fn release(&self) -> bool {
        matches!(self.step(PageStep::Release), Ok(before) if before.owners() == 1)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    const QUEUES: [Queue; 4] = [Queue::None, Queue::Active, Queue::Inactive, Queue::Laundry];

    fn steps() -> Vec<PageStep> {
        use PageStep::*;
        let single =
            [Claim, Filled, Busy, Unbusy, Cleaned, Dirty, Referenced, Unreferenced, Wire, Unwire, Share, Release];
        single.into_iter().chain(QUEUES.map(Move)).collect()
    }

    /// A page as a record, with the table of docs/MEMORY.md in its plain form.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Plain {
        busy: bool,
        valid: bool,
        dirty: bool,
        referenced: bool,
        queue: Queue,
        wired: u8,
        owners: u32,
    }

    const FREE: Plain =
        Plain { busy: false, valid: false, dirty: false, referenced: false, queue: Queue::None, wired: 0, owners: 0 };

    impl Plain {
        fn of(state: PageState) -> Self {
            Self {
                busy: state.is_busy(),
                valid: state.is_valid(),
                dirty: state.is_dirty(),
                referenced: state.is_referenced(),
                queue: state.queue(),
                wired: state.wired(),
                owners: state.owners(),
            }
        }

        fn word(self) -> PageState {
            let flag = |is_set, bit| if is_set { bit } else { 0 };
            PageState(
                flag(self.busy, BUSY)
                    | flag(self.valid, VALID)
                    | flag(self.dirty, DIRTY)
                    | flag(self.referenced, REFERENCED)
                    | (self.queue as u64) << QUEUE_SHIFT
                    | u64::from(self.wired) << WIRED_SHIFT
                    | u64::from(self.owners) << OWNERS_SHIFT,
            )
        }

        fn after(self, step: PageStep) -> Option<Self> {
            use PageStep::*;
            let next = match step {
                Claim if self == FREE => Self { busy: true, owners: 1, ..FREE },
                Filled if self.busy && !self.valid => Self { busy: false, valid: true, ..self },
                Busy if self.valid && !self.busy => Self { busy: true, ..self },
                Unbusy if self.valid && self.busy => Self { busy: false, ..self },
                Cleaned if self.valid && self.busy => Self { dirty: false, ..self },
                Dirty if self.valid => Self { dirty: true, ..self },
                Referenced if self.valid => Self { referenced: true, ..self },
                Unreferenced if self.owners > 0 => Self { referenced: false, ..self },
                Wire if self.valid => Self { wired: self.wired.checked_add(1)?, queue: Queue::None, ..self },
                Unwire => Self { wired: self.wired.checked_sub(1)?, ..self },
                Move(queue) if self.valid && self.wired == 0 => Self { queue, ..self },
                Share if self.valid => Self { owners: self.owners.checked_add(1)?, ..self },
                Release if self.owners > 1 => Self { owners: self.owners - 1, ..self },
                Release if self.owners == 1 && self.wired == 0 && !(self.busy && self.valid) => FREE,
                _ => return None,
            };
            Some(next)
        }
    }

    /// Under Miri, which is slow, only those at the ends.
    fn wires() -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|wired| !cfg!(miri) || [0, 1, 255].contains(wired))
    }

    fn all() -> impl Iterator<Item = Plain> {
        (0..16_u8).flat_map(|flags| {
            let flag = move |bit: u8| flags >> bit & 1 != 0;
            QUEUES.into_iter().flat_map(move |queue| {
                wires().flat_map(move |wired| {
                    [0, 1, 2, 3, u32::MAX - 1, u32::MAX].map(|owners| Plain {
                        busy: flag(0),
                        valid: flag(1),
                        dirty: flag(2),
                        referenced: flag(3),
                        queue,
                        wired,
                        owners,
                    })
                })
            })
        })
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes many minutes there, and has no unsafe code")]
    fn every_step_from_every_state_is_as_in_the_table() {
        let mut allowed = 0;
        for plain in all() {
            let state = plain.word();
            assert_eq!(Plain::of(state), plain);
            for step in steps() {
                let expected = plain.after(step);
                assert_eq!(state.after(step).map(Plain::of), expected, "{plain:?}, {step:?}");
                let word = PageWord(AtomicU64::new(state.0));
                match expected {
                    Some(next) => assert_eq!((word.step(step), word.state()), (Ok(state), next.word())),
                    None => assert_eq!((word.step(step), word.state()), (Err(state), state)),
                }
                allowed += usize::from(expected.is_some());
            }
        }
        assert!(allowed > if cfg!(miri) { 1_000 } else { 100_000 }, "{allowed}");
    }

    #[test]
    fn states_that_a_page_can_reach_are_sound() {
        // A page that is wired, or owned, more than three times is like one that is so three times.
        let mut reached = BTreeSet::from([0]);
        let mut new = Vec::from([PageState::FREE]);
        while let Some(state) = new.pop() {
            for next in steps().into_iter().filter_map(|step| state.after(step)) {
                if next.wired() <= 3 && next.owners() <= 3 && reached.insert(next.0) {
                    new.push(next);
                }
            }
        }
        for page in reached.iter().map(|word| Plain::of(PageState(*word))) {
            assert_eq!(page.owners == 0, page == FREE, "{page:?}: a frame without an owner has no state");
            assert!(page == FREE || page.valid || page.busy, "{page:?}: without contents, so somebody fills it");
            assert!(page.valid || !(page.dirty || page.referenced), "{page:?}: without contents");
            assert!(page.wired == 0 || page.queue == Queue::None, "{page:?}: wired and in a queue");
            assert!(page.valid || page.owners <= 1, "{page:?}: shared before it was filled");
        }
        // Free, being filled; and valid: busy, dirty, referenced or not, in one of four queues or wired one to three times,
        // with one to three owners.
        assert_eq!(reached.len(), 2 + 8 * (4 + 3) * 3);
    }
}
