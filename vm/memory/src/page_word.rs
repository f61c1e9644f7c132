//! A page's state in one word: busy, valid, dirty, referenced, failed, transfer, queue, wires,
//! owners.
//!
//! [`PageState::after`] is the pure function of each step; docs/MEMORY.md has its table, and the
//! tests compare both for every word. [`PageWord`] makes each step by one compare-and-swap, so a
//! step sees the whole state and changes all of it at once.

use crate::primitive::{AtomicU64, relax};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Page daemon queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Queue {
    /// None: wired, or unknown to the page daemon.
    None = 0,
    /// Used recently.
    Active = 1,
    /// Not used for a while.
    Inactive = 2,
    /// To be written before its frame can be reused.
    Laundry = 3,
}

/// A step of a page's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStep {
    /// A frame without an owner becomes a page with one, busy and not valid.
    Claim,
    /// The CPU that has a page busy has filled it: valid, no longer busy. This step, `Failed` and
    /// `Unbusy` end a transfer and its ownership.
    Filled,
    /// Reading the contents of a busy page failed: no longer busy, never valid.
    Failed,
    /// A pager starts reading or writing a busy page, and owns it meanwhile.
    Transfer,
    /// A CPU gets exclusive use of the page: to write it out, or to take it away.
    Busy,
    /// Exclusive use ends; a transfer is over.
    Unbusy,
    /// The contents of a busy page match the backing store again.
    Cleaned,
    /// The contents differ from the backing store.
    Dirty,
    /// The page was used.
    Referenced,
    /// The page daemon has seen that the page was used.
    Unreferenced,
    /// One more reason to stay in memory. A page may be wired several times.
    Wire,
    /// One reason less to stay in memory.
    Unwire,
    /// It moves to a queue.
    Move(Queue),
    /// One more owner.
    Share,
    /// One owner less. After the last one the frame has no state.
    Release,
}

/// A page's state word.
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
    /// A frame without owners.
    pub const FREE: Self = Self(0);

    /// True if one CPU uses the page exclusively.
    pub const fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// True if the page has contents.
    pub const fn is_valid(self) -> bool {
        self.0 & VALID != 0
    }

    /// True if the contents differ from the backing store.
    pub const fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    /// True if the page was used since the page daemon looked.
    pub const fn is_referenced(self) -> bool {
        self.0 & REFERENCED != 0
    }

    /// True if a pager is reading or writing the contents.
    pub const fn is_transferred(self) -> bool {
        self.0 & TRANSFER != 0
    }

    /// True if reading the contents failed.
    pub const fn is_failed(self) -> bool {
        self.0 & FAILED != 0
    }

    /// The page daemon queue.
    pub const fn queue(self) -> Queue {
        match (self.0 & QUEUE) >> QUEUE_SHIFT {
            1 => Queue::Active,
            2 => Queue::Inactive,
            3 => Queue::Laundry,
            _ => Queue::None,
        }
    }

    /// Number of wires.
    pub const fn wired(self) -> u16 {
        ((self.0 & WIRED) >> WIRED_SHIFT) as u16
    }

    /// Number of owners: places of address spaces, or an object; and transfers of its contents.
    pub const fn owners(self) -> u32 {
        (self.0 >> OWNERS_SHIFT) as u32
    }

    /// True if the page is being filled.
    const fn is_filled(self) -> bool {
        self.is_busy() && !self.is_valid() && !self.is_failed()
    }

    /// True if exclusive use of a busy page may end: a page owned only by a transfer has no wires.
    const fn may_end(self) -> bool {
        !(self.is_transferred() && self.owners() == 1 && self.wired() > 0)
    }

    /// The word after exclusive use of a busy page ends, with these bits.
    const fn let_go(self, bits: u64) -> u64 {
        let word = self.0 & !(BUSY | TRANSFER) | bits;
        match (self.is_transferred(), self.owners()) {
            (true, 0 | 1) => 0,
            (true, _) => word.wrapping_sub(ONE_OWNER),
            (false, _) => word,
        }
    }

    /// The state after a step, or `None` if this state does not allow it.
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
            // Also for a page that is being read: a fork does not wait.
            PageStep::Share => (owned && word & OWNERS != OWNERS, word.wrapping_add(ONE_OWNER)),
            PageStep::Release if self.owners() == 1 => (
                // A page that is being filled may be released by its filler. Any other busy page is
                // held by a CPU that does not own it yet: a release waits until exclusive use ends,
                // or the holder owns it. A transfer is an owner until its end.
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
/// Orderings: a step that changes the word is an acquire and a release. A CPU that sees the new
/// state sees what the changing CPU did with the page's contents before, which in turn sees what
/// led to the state that it found. This hands over contents: from the filler of a page to a CPU
/// that finds it valid, and from an owner that releases it to the last owner, which may then write
/// in place.
#[derive(Debug)]
pub struct PageWord(AtomicU64);

impl Default for PageWord {
    fn default() -> Self {
        Self::new()
    }
}

impl PageWord {
    /// The word of a frame without owners.
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The current state.
    #[inline]
    pub fn state(&self) -> PageState {
        // Acquire: pairs with the step that made this state: a CPU that finds the page valid finds
        // its contents.
        PageState(self.0.load(Acquire))
    }

    /// Makes a step. Returns the state before it, or as an error the state that does not allow it.
    /// A step without a change, such as dirtying a dirty page, writes nothing.
    #[inline(always)]
    pub fn step(&self, step: PageStep) -> Result<PageState, PageState> {
        let mut old = match step {
            // Only this state allows it, and no other CPU has the frame.
            PageStep::Claim => PageState::FREE,
            // Relaxed: only a guess; the compare-and-swap checks it.
            _ => PageState(self.0.load(Relaxed)),
        };
        loop {
            let new = old.after(step).ok_or(old)?;
            if new == old {
                return Ok(old);
            }
            // AcqRel: see the type. Acquire on failure: callers draw conclusions from the returned
            // state.
            match self.0.compare_exchange(old.0, new.0, AcqRel, Acquire) {
                Ok(_) => return Ok(old),
                Err(found) => old = PageState(found),
            }
        }
    }

    /// Ends exclusive use of a busy page, by `Filled`, `Failed` or `Unbusy`. True if a transfer was
    /// its last owner, so the frame is free. The error is a state that refuses it.
    #[inline(always)]
    pub(crate) fn let_go(&self, step: PageStep) -> Result<bool, PageState> {
        self.step(step).map(|before| before.is_transferred() && before.owners() == 1)
    }

    /// Releases an owner. True if it was the last one, so the frame is free. If another CPU has the
    /// page busy and does not own it yet, waits briefly until it does or exclusive use ends. The
    /// error is a state that refuses it for good.
    pub(crate) fn release(&self) -> Result<bool, PageState> {
        loop {
            match self.step(PageStep::Release) {
                Ok(before) => return Ok(before.owners() == 1),
                Err(state) if !state.is_busy() => return Err(state),
                Err(_) => relax(),
            }
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

    /// A page as a plain record, with the table of docs/MEMORY.md.
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

    /// All counts; under Miri, which is slow, only those at the ends.
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
    fn an_owner_that_there_is_not_is_an_error_and_no_endless_wait() {
        let word = PageWord::new();
        assert_eq!((word.release(), word.let_go(PageStep::Filled)), (Err(PageState::FREE), Err(PageState::FREE)));
        assert!(word.step(PageStep::Claim).is_ok() && word.let_go(PageStep::Filled) == Ok(false));
        word.step(PageStep::Wire).unwrap();
        assert!(word.release().is_err_and(|state| state.wired() == 1));
        word.step(PageStep::Unwire).unwrap();
        assert_eq!(word.release(), Ok(true));
    }

    #[test]
    fn states_that_a_page_can_reach_are_sound() {
        // Counts above three behave like three.
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
            // The transfer is an owner itself.
            assert!(!page.transfer || page.owners > 0, "{page:?}: transferred for nobody");
        }
        // Free; being filled, being read, failed, failed and busy, each with one to three owners;
        // and valid: idle, busy or transferred, dirty or not, referenced or not, in one of four
        // queues or wired one to three times, with one to three owners.
        assert_eq!(reached.len(), 1 + 4 * 3 + 3 * 4 * (4 + 3) * 3);
    }
}
