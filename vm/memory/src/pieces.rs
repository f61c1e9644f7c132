//! Calls on long ranges, in pieces: each locks a bounded number of slots, changes them, waits until
//! TLBs have forgotten them, and unlocks. Between two pieces a call holds nothing, and its CPU may
//! run other threads ([`Machine::pause`](crate::Machine::pause)). So a fault waits for one piece,
//! however long the range.
//!
//! A piece ends where a leaf ends, and never within a large entry, which would be divided. Nodes
//! within a piece are taken out with it, and those around several pieces behind the last of them.
//! All allocations come first: locking a range divides slots at its two ends only, and both ends
//! are divided before the first piece changes. Other CPUs that take out empty nodes or change
//! mappings meanwhile may undo the second: then a later piece may fail for lack of memory, and the
//! ones before it stay changed.
//!
//! A fork goes in pieces, too (`fork`). Faults do not wait for it, not even those that make a
//! stack grow: the child has the whole growth, its upper part, or none, and can grow itself.
//! Changes of mappings wait: each looks for a fork after it has locked its first slots. If the
//! fork has copied one of these, the change has acquired the slot after the fork released it, so
//! it sees the fork; then it unlocks, and begins when the fork is over. If it sees none, the fork
//! has copied none of its slots, and copies them after the change. So a fork has all of a piece's
//! change or nothing, and of a move, which locks both of its ranges, both ends or neither.

use crate::address::PageRange;
use crate::counters::Event;
use crate::error::{NoMemory, SpaceError};
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::primitive::relax;
use crate::space::{RangeLock, Space, SpaceBody};
use crate::tree::{Kind, LEAF_PAGES, NODE_PAGES};

/// A piece ends at the first possible place after this many slots: at most a leaf or a large page
/// later. Takes some ten microseconds if each slot has a page.
#[cfg(not(all(loom, test)))]
pub(crate) const PIECE_SLOTS: u64 = 128;
/// Small, so that tests have several pieces.
#[cfg(all(loom, test))]
pub(crate) const PIECE_SLOTS: u64 = 1;

/// Number of steps of a search, or of slots of an ending space, after which a call pauses.
pub(crate) const STEPS: u64 = 256;

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Lets the CPU run other threads. The caller has no lock, no guard of `pin`, and no batch that
    /// waits.
    pub(crate) fn pause(&self) {
        self.machine().pause(self.number);
    }

    /// Pauses each [`STEPS`] steps, but not before the first.
    pub(crate) fn pause_each(&self, step: u64) {
        if step > 0 && step.is_multiple_of(STEPS) {
            self.pause();
        }
    }

    /// Waits for another CPU, or for a fork. The caller has no lock and no guard of `pin`.
    pub(crate) fn wait(&self) {
        self.count(Event::Wait);
        self.pause();
        relax();
    }

    /// Waits while a fork of a space is under way. Another may begin right after, so the caller
    /// checks again when it has locked slots; but it does not lock them again and again meanwhile,
    /// which would make the fork and faults wait. The caller has no lock and no guard of `pin`.
    pub(crate) fn wait_for_fork(&self, space: &SpaceBody<'m, M>) {
        while space.is_forked() {
            self.wait();
        }
    }

    /// Calls `act` with each piece of a range of a space, locked, until it fails. The caller has no
    /// lock and no guard of `pin`.
    pub(crate) fn in_pieces(
        &self,
        space: &Space<'m, M>,
        range: PageRange,
        mut act: impl FnMut(&SpaceBody<'m, M>, &RangeLock<'_>) -> Result<(), SpaceError>,
    ) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        space.check(range)?;
        let mut has_holes = false;
        let result = self.each_piece(space, range, &mut has_holes, &mut act);
        if has_holes {
            self.tidy(space, range);
        }
        result
    }

    fn each_piece(
        &self,
        space: &SpaceBody<'m, M>,
        range: PageRange,
        has_holes: &mut bool,
        act: &mut impl FnMut(&SpaceBody<'m, M>, &RangeLock<'_>) -> Result<(), SpaceError>,
    ) -> Result<(), SpaceError> {
        let mut rest = range;
        loop {
            let lock = self.lock_piece(space, rest).map_err(|error| self.no_memory(error))?;
            let piece = lock.range();
            let is_first_of_many = piece.begin() == range.begin() && piece.end() < range.end();
            let end = if is_first_of_many { self.divide_end(space, range, piece) } else { Ok(()) };
            let done = end.map_err(|error| self.no_memory(error).into()).and_then(|()| act(space, &lock));
            // Also at the other end, which is divided here.
            *has_holes |= lock.has_holes() || is_first_of_many;
            drop(lock);
            done?;
            self.take_passed(space, range, piece);
            let Some(behind) = range.behind(piece.end()) else { return Ok(()) };
            rest = behind;
            self.pause();
        }
    }

    /// Locks the first piece of a range, while no fork is under way.
    fn lock_piece<'a>(&self, space: &'a SpaceBody<'m, M>, range: PageRange) -> Result<RangeLock<'a>, NoMemory> {
        loop {
            self.wait_for_fork(space);
            let lock = self.lock_up_to(space, range, PIECE_SLOTS).inspect_err(|_| self.tidy(space, range))?;
            if !space.is_forked() {
                return Ok(lock);
            }
            self.unlock(space, lock);
        }
    }

    /// Divides slots so that one ends with a range, of which the first piece is locked.
    fn divide_end(&self, space: &SpaceBody<'m, M>, range: PageRange, first: PageRange) -> Result<(), NoMemory> {
        let end = range.end();
        let mut pages = 1;
        while end.is_multiple_of(pages * LEAF_PAGES) && end - range.begin() >= pages * LEAF_PAGES {
            pages *= LEAF_PAGES;
        }
        // The largest slot that may end there. If the first piece ends in it, it is divided
        // already.
        match range.behind(end - pages) {
            Some(last) if last.begin() >= first.end() => self.lock_up_to(space, last, 1).map(drop),
            _ => Ok(()),
        }
    }

    /// After a piece of holes: takes out the empty nodes that end in it, begin before it, and lie
    /// in the range.
    fn take_passed(&self, space: &SpaceBody<'m, M>, range: PageRange, piece: PageRange) {
        let node = PageRange::large_with(piece.first(), NODE_PAGES);
        if piece.begin() > range.begin() && node.begin() >= range.begin() && node.end() <= piece.end() {
            self.take_empty(space, (node.end() - 1) / LEAF_PAGES);
        }
    }

    /// For a range that a call goes through in pieces, and must not have a hole: fails if it has
    /// one. The caller checks each piece again.
    pub(crate) fn check_long(&self, space: &Space<'m, M>, range: PageRange) -> Result<(), SpaceError> {
        let space = self.check_active(space)?;
        space.check(range)?;
        let (mut page, mut steps) = (range.begin(), 0_u64);
        while range.pages() > PIECE_SLOTS && page < range.end() {
            let run = self.run(space, page);
            if run.kind == Kind::Free {
                return Err(SpaceError::NotMapped);
            }
            page = run.end;
            steps += 1;
            self.pause_each(steps);
        }
        Ok(())
    }
}
