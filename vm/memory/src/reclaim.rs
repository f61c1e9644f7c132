//! The page daemon: takes unused pages away, writes those that must be kept, and frees their
//! frames.
//!
//! Queues are part of a page's state, not lists: the active, inactive and laundry queues of a
//! partition are the frames in a range of indices whose words say so, and a hand passes over them.
//! So a fault adds its page to no list and writes no line for the daemon, and a freed frame leaves
//! no entry. In return the hand also passes over unwanted pages.
//!
//! A page gets a second chance twice: new pages become active, active pages unused since the last
//! round become inactive, and inactive pages still unused are taken away.

use crate::counters::Event;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::object::Backing;
use crate::object::pager::{CLUSTER, HeldHome, Hold, Then};
use crate::page_word::{PageState, PageStep, Queue};
use crate::pieces::STEPS;
use crate::reverse::Shots;
use core::ops::Range;

/// A hand over a partition: a range of frame indices, such as a domain or a part of it. Several
/// hands may work at the same time, also on the same frames.
#[derive(Debug, Clone)]
pub struct Hand {
    frames: Range<u32>,
    next: u32,
}

impl Hand {
    /// A hand for frames with these indices: see [`FrameSource::index_of`].
    pub fn new(frames: Range<u32>) -> Self {
        let next = frames.start;
        Self { frames, next }
    }

    fn advance(&mut self) -> u32 {
        let page = self.next;
        self.next = if page + 1 < self.frames.end { page + 1 } else { self.frames.start };
        page
    }
}

/// Results of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Frames that the hand passed.
    pub scanned: u64,
    /// Pages whose frames were freed, or will be after their pager has written them.
    pub reclaimed: u64,
    /// Used pages, which stay.
    pub used: u64,
    /// Pages that cannot be written: there is no swap area, or it is full.
    pub kept: u64,
}

/// Maximum rounds of the hand in one sweep: new pages become active in the first, inactive in the
/// next, and then go.
const MOST_ROUNDS: u64 = 4;

/// Held pages of a kind, processed together.
#[derive(Debug)]
struct Gathered {
    holds: [Option<Hold>; CLUSTER],
    count: usize,
}

impl Gathered {
    fn new() -> Self {
        Self { holds: [const { None }; CLUSTER], count: 0 }
    }

    /// Adds a page. The caller empties full ones first.
    fn add(&mut self, hold: Hold) {
        debug_assert!(!self.is_full());
        if let Some(place) = self.holds.get_mut(self.count) {
            *place = Some(hold);
            self.count += 1;
        }
    }

    fn is_full(&self) -> bool {
        self.count == CLUSTER
    }

    fn take(&mut self) -> [Option<Hold>; CLUSTER] {
        self.count = 0;
        core::mem::replace(&mut self.holds, [const { None }; CLUSTER])
    }
}

/// State of a sweep.
struct Load {
    /// Translated nowhere once the shots are fired.
    clean: Gathered,
    /// As `clean`, to be written to the swap area.
    to_swap: Gathered,
    shots: Shots,
    swept: Swept,
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Takes pages away until `want` frames are free or about to be, or enough rounds show that
    /// there are no more. Needs no memory. The caller has no guard of `pin`.
    ///
    /// A result below `want` means that all other pages are used, wired, or cannot be written. Then
    /// the embedder's policy applies, such as ending a process, before callers run out of memory.
    pub fn sweep(&self, hand: &mut Hand, want: u64) -> Swept {
        let mut load =
            Load { clean: Gathered::new(), to_swap: Gathered::new(), shots: Shots::none(), swept: Swept::default() };
        let most = hand.frames.len() as u64 * MOST_ROUNDS;
        while load.swept.reclaimed + load.waiting() < want && load.swept.scanned < most {
            load.swept.scanned += 1;
            self.consider(hand.advance(), &mut load);
            if load.clean.is_full() || load.to_swap.is_full() {
                self.unload(&mut load);
                self.pause();
            } else if load.swept.scanned.is_multiple_of(STEPS) {
                // A page that is gathered is busy, and a fault waits for it.
                self.unload(&mut load);
                self.pause();
            }
        }
        self.unload(&mut load);
        self.add(Event::Scanned, load.swept.scanned);
        load.swept
    }

    /// Examines a page, and takes it if it is due.
    fn consider(&self, page: u32, load: &mut Load) {
        let word = self.word(page);
        let state = word.state();
        if !is_candidate(state) {
            return;
        }
        let queue = match state.queue() {
            Queue::None => Queue::Active,
            _ if state.is_referenced() => {
                let _ = word.step(PageStep::Unreferenced);
                load.swept.used += 1;
                Queue::Active
            }
            from => match self.hold(page, is_candidate) {
                Some(hold) => return self.consider_held(hold, from, load),
                None => return,
            },
        };
        let _ = word.step(PageStep::Move(queue));
    }

    fn consider_held(&self, hold: Hold, from: Queue, load: &mut Load) {
        let mut said = self.harvest(&hold);
        if said.dirty {
            self.expect_step(hold.page, PageStep::Dirty);
        }
        if said.accessed || from == Queue::Active {
            let queue = if said.accessed { Queue::Active } else { Queue::Inactive };
            load.swept.used += u64::from(said.accessed);
            let _ = self.word(hold.page).step(PageStep::Move(queue));
            return self.drop_hold(hold);
        }
        said = self.take_translations(&hold, &mut load.shots);
        if said.dirty {
            self.expect_step(hold.page, PageStep::Dirty);
        }
        if self.word(hold.page).state().wired() > 0 {
            // Wired by a slot after the page was held and before its translation was removed.
            load.swept.kept += 1;
            return self.drop_hold(hold);
        }
        if !self.must_be_written(&hold) {
            return load.clean.add(hold);
        }
        let _ = self.word(hold.page).step(PageStep::Move(Queue::Laundry));
        if let HeldHome::Object(object) = &hold.home
            && let Backing::Pager(_) = object.get().backing()
        {
            load.swept.reclaimed += self.write_cluster(hold, &mut load.shots, Then::Reclaim).count;
        } else {
            load.to_swap.add(hold);
        }
    }

    /// True if the contents of a page that is translated nowhere are in no store.
    fn must_be_written(&self, hold: &Hold) -> bool {
        match &hold.home {
            HeldHome::Object(object) => match object.get().backing() {
                Backing::Pager(_) => self.word(hold.page).state().is_dirty(),
                Backing::Zeroes | Backing::Device(_) => true,
            },
            // Read while the page is busy, after each of its slots was locked once.
            HeldHome::Family(_) => self.record(hold.page).swap().is_none() && !self.is_given_up(hold),
        }
    }

    /// Ends gathered pages: frees clean ones and writes the others.
    fn unload(&self, load: &mut Load) {
        self.fire(&mut load.shots);
        for hold in load.clean.take().into_iter().flatten() {
            if matches!(hold.home, HeldHome::Family(_)) && self.drop_given_up(&hold) {
                self.count(Event::Dropped);
            } else {
                self.detach(&hold, self.record(hold.page).swap());
            }
            self.count(Event::Reclaimed);
            load.swept.reclaimed += 1;
            self.drop_hold(hold);
        }
        let mut holds = load.to_swap.take().into_iter().flatten().peekable();
        while holds.peek().is_some() {
            let Some((area, (first, slots))) = self.swap().and_then(|area| Some((area, area.take(CLUSTER)?))) else {
                for hold in holds {
                    load.swept.kept += 1;
                    let _ = self.word(hold.page).step(PageStep::Move(Queue::Active));
                    self.drop_hold(hold);
                }
                return;
            };
            let mut written = Gathered::new();
            holds.by_ref().take(slots).for_each(|hold| written.add(hold));
            (written.count..slots).for_each(|unused| self.release_swap(first + unused as u32));
            load.swept.reclaimed += written.count as u64;
            self.add(Event::Reclaimed, written.count as u64);
            self.write(&*area.pager, first.into(), written.take(), Then::Reclaim, Some(first));
        }
    }
}

impl Load {
    /// Number of gathered pages.
    fn waiting(&self) -> u64 {
        (self.clean.count + self.to_swap.count) as u64
    }
}

/// True if the page daemon may examine a page.
pub(crate) fn is_candidate(state: PageState) -> bool {
    state.is_valid() && !state.is_busy() && state.wired() == 0
}
