//! The state of a page in one word: busy, valid, dirty, referenced, its transfer, its queue, how often it is wired, and how many own it.
//!
//! What a step does to a word is a pure function ([`PageState::after`]); its table is in docs/MEMORY.md, and the tests compare it
//! with every word. [`PageWord`] makes each step by one compare-and-swap, so a step sees the whole state and changes all
//! of it at once.

use crate::primitive::{AtomicU64, relax};
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
    /// The holder of a busy page has filled it: it becomes valid, and is no longer busy. This step and the next two end a transfer, and
    /// with it its ownership.
    Filled,
    /// The contents of a busy page could not be read: it is no longer busy, and will never be valid.
    Failed,
    /// A pager begins to read or write the contents of a busy page, and owns it meanwhile.
    Transfer,
    /// Somebody holds the page alone: to write it out, or to take it away.
    Busy,
    /// The holder of a busy page lets it go; a transfer is over.
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
const TRANSFER: u64 = 1 << 6;
const FAILED: u64 = 1 << 7;
const WIRED_SHIFT: u32 = 8;
const ONE_WIRE: u64 = 1 << WIRED_SHIFT;
const WIRED: u64 = 0xffff << WIRED_SHIFT;
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

    /// Whether a pager is reading or writing its contents.
    pub const fn is_transferred(self) -> bool {
        self.0 & TRANSFER != 0
    }

    /// Whether its contents could not be read.
    pub const fn is_failed(self) -> bool {
        self.0 & FAILED != 0
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
    pub const fn wired(self) -> u16 {
        ((self.0 & WIRED) >> WIRED_SHIFT) as u16
    }

    /// How many own it: places of address spaces, or an object; and who reads or writes its contents.
    pub const fn owners(self) -> u32 {
        (self.0 >> OWNERS_SHIFT) as u32
    }

    /// Whether somebody is filling it.
    const fn is_filled(self) -> bool {
        self.is_busy() && !self.is_valid() && !self.is_failed()
    }

    /// Whether the holder may let a busy page go: one that nobody but a transfer owns is wired by nobody.
    const fn may_end(self) -> bool {
        !(self.is_transferred() && self.owners() == 1 && self.wired() > 0)
    }

    /// The word of a busy page that is let go, with these bits.
    const fn let_go(self, bits: u64) -> u64 {
        let word = self.0 & !(BUSY | TRANSFER) | bits;
        match (self.is_transferred(), self.owners()) {
            (true, 0 | 1) => 0,
            (true, _) => word.wrapping_sub(ONE_OWNER),
            (false, _) => word,
        }
    }

    /// The state after a step, or none if this state does not allow the step.
    #[inline(always)]
    pub const fn after(self, step: PageStep) -> Option<Self> {
        let word = self.0;
        let owned = word & OWNERS != 0;
        let (allowed, next) = match step {
            PageStep::Claim => (word == 0, ONE_OWNER | BUSY),
            PageStep::Filled => (self.is_filled() && self.may_end(), self.let_go(VALID)),
            PageStep::Failed => (self.is_filled() && self.may_end(), self.let_go(FAILED)),
            PageStep::Transfer => (
                self.is_busy() && !self.is_failed() && !self.is_transferred() && word & OWNERS != OWNERS,
                (word | TRANSFER).wrapping_add(ONE_OWNER),
            ),
            PageStep::Busy => ((self.is_valid() || self.is_failed()) && !self.is_busy(), word | BUSY),
            PageStep::Unbusy => (self.is_busy() && !self.is_filled() && self.may_end(), self.let_go(0)),
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
            // One that is being read may be shared too: a fork does not wait.
            PageStep::Share => (owned && word & OWNERS != OWNERS, word.wrapping_add(ONE_OWNER)),
            PageStep::Release if self.owners() == 1 => (
                // A page that is being filled may be given up by the one who fills it. Another one that is busy is held by
                // somebody who is not its owner yet: who gives it up waits until it is let go, or the holder owns it. Who
                // transfers its contents is an owner until the end.
                word & WIRED == 0 && (!self.is_busy() || self.is_filled()) && !self.is_transferred(),
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
/// may then write it in place.
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
    #[inline(always)]
    pub fn step(&self, step: PageStep) -> Result<PageState, PageState> {
        let mut old = match step {
            // There is one state that allows it, and nobody else has the frame.
            PageStep::Claim => PageState::FREE,
            // Relaxed: only a guess; the compare-and-swap checks it.
            _ => PageState(self.0.load(Relaxed)),
        };
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

    /// For the holder of a busy page: lets it go, by `Filled`, `Failed` or `Unbusy`. True if a transfer was its last owner, so that the
    /// frame is free.
    #[inline(always)]
    pub(crate) fn let_go(&self, step: PageStep) -> bool {
        match self.step(step) {
            Ok(before) => before.is_transferred() && before.owners() == 1,
            Err(state) => {
                debug_assert!(false, "{step:?} by the holder of a busy page: {state:?}");
                false
            }
        }
    }

    /// For an owner: gives the page up. True if it was the last one, so that the frame is free. If somebody has made the page busy,
    /// and does not own it yet, this waits until that is so, or the page is let go: for some instructions.
    pub(crate) fn release(&self) -> bool {
        loop {
            match self.step(PageStep::Release) {
                Ok(before) => return before.owners() == 1,
                Err(state) => debug_assert!(state.is_busy(), "an owner may give a page up: {state:?}"),
            }
            relax();
        }
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
        let single = [
            Claim,
            Filled,
            Failed,
            Transfer,
            Busy,
            Unbusy,
            Cleaned,
            Dirty,
            Referenced,
            Unreferenced,
            Wire,
            Unwire,
            Share,
            Release,
        ];
        single.into_iter().chain(QUEUES.map(Move)).collect()
    }

    /// A page as a record, with the table of docs/MEMORY.md in its plain form.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Plain {
        busy: bool,
        valid: bool,
        dirty: bool,
        referenced: bool,
        transfer: bool,
        failed: bool,
        queue: Queue,
        wired: u16,
        owners: u32,
    }

    const FREE: Plain = Plain {
        busy: false,
        valid: false,
        dirty: false,
        referenced: false,
        transfer: false,
        failed: false,
        queue: Queue::None,
        wired: 0,
        owners: 0,
    };

    impl Plain {
        fn of(state: PageState) -> Self {
            Self {
                busy: state.is_busy(),
                valid: state.is_valid(),
                dirty: state.is_dirty(),
                referenced: state.is_referenced(),
                transfer: state.is_transferred(),
                failed: state.is_failed(),
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
                    | flag(self.transfer, TRANSFER)
                    | flag(self.failed, FAILED)
                    | (self.queue as u64) << QUEUE_SHIFT
                    | u64::from(self.wired) << WIRED_SHIFT
                    | u64::from(self.owners) << OWNERS_SHIFT,
            )
        }

        fn is_filled(self) -> bool {
            self.busy && !self.valid && !self.failed
        }

        fn is_held(self) -> bool {
            self.busy && (self.valid || self.failed)
        }

        fn let_go(self) -> Self {
            let owners = self.owners - u32::from(self.transfer);
            Self { busy: false, transfer: false, owners, ..self }
        }

        fn after(self, step: PageStep) -> Option<Self> {
            use PageStep::*;
            let next = match step {
                Claim if self == FREE => Self { busy: true, owners: 1, ..FREE },
                Filled | Failed | Unbusy if self.transfer && self.owners == 1 && self.wired > 0 => return None,
                Filled | Failed if self.is_filled() && self.transfer && self.owners <= 1 => FREE,
                Unbusy if self.busy && !self.is_filled() && self.transfer && self.owners <= 1 => FREE,
                Filled if self.is_filled() => Self { valid: true, ..self.let_go() },
                Failed if self.is_filled() => Self { failed: true, ..self.let_go() },
                Unbusy if self.busy && !self.is_filled() => self.let_go(),
                Transfer if self.busy && !self.failed && !self.transfer => {
                    Self { transfer: true, owners: self.owners.checked_add(1)?, ..self }
                }
                Busy if (self.valid || self.failed) && !self.busy => Self { busy: true, ..self },
                Cleaned if self.valid && self.busy => Self { dirty: false, ..self },
                Dirty if self.valid => Self { dirty: true, ..self },
                Referenced if self.valid => Self { referenced: true, ..self },
                Unreferenced if self.owners > 0 => Self { referenced: false, ..self },
                Wire if self.valid => Self { wired: self.wired.checked_add(1)?, queue: Queue::None, ..self },
                Unwire => Self { wired: self.wired.checked_sub(1)?, ..self },
                Move(queue) if self.valid && self.wired == 0 => Self { queue, ..self },
                Share if self.owners > 0 => Self { owners: self.owners.checked_add(1)?, ..self },
                Release if self.owners > 1 => Self { owners: self.owners - 1, ..self },
                Release if self.owners == 1 && self.wired == 0 && !self.is_held() && !self.transfer => FREE,
                _ => return None,
            };
            Some(next)
        }
    }

    /// Under Miri, which is slow, only those at the ends.
    fn wires() -> impl Iterator<Item = u16> {
        let wires = (0..=256).chain([u16::MAX - 1, u16::MAX]);
        wires.filter(|wired| !cfg!(miri) || [0, 1, u16::MAX].contains(wired))
    }

    fn all() -> impl Iterator<Item = Plain> {
        (0..64_u8).flat_map(|flags| {
            let flag = move |bit: u8| flags >> bit & 1 != 0;
            QUEUES.into_iter().flat_map(move |queue| {
                wires().flat_map(move |wired| {
                    [0, 1, 2, 3, u32::MAX - 1, u32::MAX].map(|owners| Plain {
                        busy: flag(0),
                        valid: flag(1),
                        dirty: flag(2),
                        referenced: flag(3),
                        transfer: flag(4),
                        failed: flag(5),
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
            assert!(
                page == FREE || page.valid || page.busy || page.failed,
                "{page:?}: somebody fills it, or could not"
            );
            assert!(!page.failed || !(page.valid || page.transfer), "{page:?}: failed for good");
            assert!(!page.transfer || page.busy, "{page:?}: its contents are transferred by who holds it");
            assert!(page.valid || !(page.dirty || page.referenced), "{page:?}: without contents");
            assert!(page.wired == 0 || page.queue == Queue::None, "{page:?}: wired and in a queue");
            // The transfer's own.
            assert!(!page.transfer || page.owners > 0, "{page:?}: transferred for nobody");
        }
        // Free; being filled, being read, failed, failed and busy, each with one to three owners; and valid: idle, busy or transferred, dirty or not,
        // referenced or not, in one of four queues or wired one to three times, with one to three owners.
        assert_eq!(reached.len(), 1 + 4 * 3 + 3 * 4 * (4 + 3) * 3);
    }
}
