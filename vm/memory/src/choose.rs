//! Choice of addresses: finds an unmapped range of a space.
//!
//! The search only reads. Each CPU starts where it last found room (its hint), or in its own part
//! of the space, so threads that choose at the same time find different ranges and write no common
//! line. It skips holes that another CPU is changing, and nodes without a large enough hole that an
//! earlier search has passed (see `gaps`). The range found is locked and checked again, since
//! another CPU may have been faster.

use crate::address::{PageRange, Rights, SPACE_PAGES};
use crate::counters::Event;
use crate::cpu_set::MOST_CPUS;
use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::memory_object::MemoryObject;
use crate::space::{RangeLock, Space, SpaceBody};
use crate::stack::STACK_GAP;
use crate::tree::slot::Mapped;
use crate::tree::{Kind, LEAF_PAGES, Run};

/// Size of the part of a range where a CPU starts searching, in pages.
fn arena_pages(begin: u64, end: u64) -> u64 {
    end.saturating_sub(begin) / MOST_CPUS as u64
}

/// Number of steps of a search that notes nothing: most searches end before.
const SHORT: u64 = 32;

/// Lowest page chosen by default: null pointers with small offsets stay unmapped.
const LOWEST: u64 = if SPACE_PAGES > 16 { 16 } else { 0 };

/// Size, alignment and bounds of a range to be mapped at a chosen address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anywhere {
    pages: u64,
    alignment: u64,
    begin: u64,
    end: u64,
}

impl Anywhere {
    /// This many pages, anywhere within the limits of the space, except the first 16 pages.
    pub const fn new(pages: u64) -> Self {
        Self { pages, alignment: 1, begin: LOWEST, end: SPACE_PAGES }
    }

    /// Starting at a multiple of this many pages; 0 counts as 1.
    pub const fn aligned(self, pages: u64) -> Self {
        Self { alignment: if pages == 0 { 1 } else { pages }, ..self }
    }

    /// Within these bounds.
    pub const fn within(self, range: PageRange) -> Self {
        Self { begin: range.begin(), end: range.end(), ..self }
    }

    /// Within the limits of a space too.
    fn limited(self, pages: PageRange) -> Self {
        Self { begin: self.begin.max(pages.begin()), end: self.end.min(pages.end()), ..self }
    }

    /// Number of pages.
    pub const fn pages(self) -> u64 {
        self.pages
    }

    /// The first suitable range from a page on.
    fn from(&self, page: u64) -> Option<PageRange> {
        let first = page.max(self.begin).checked_next_multiple_of(self.alignment)?;
        let range = PageRange::new(crate::address::VirtualPage(first), self.pages).ok()?;
        (range.end() <= self.end).then_some(range)
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// Like [`map`](Self::map), at an unmapped range. Returns the range.
    pub fn map_anywhere(
        &self,
        space: &Space<'m, M>,
        wanted: Anywhere,
        rights: Rights,
    ) -> Result<PageRange, SpaceError> {
        let space = self.check_active(space)?;
        self.choose(space, wanted, |lock| {
            self.fill(space, lock, Mapped::untouched(rights), None);
            Ok(())
        })
    }

    /// Like [`map_object`](Self::map_object), at an unmapped range. Returns the range.
    pub fn map_object_anywhere(
        &self,
        space: &Space<'m, M>,
        wanted: Anywhere,
        rights: Rights,
        object: &MemoryObject<'m, M>,
        first: u64,
    ) -> Result<PageRange, SpaceError> {
        let space = self.check_active(space)?;
        self.check_object(object, first, wanted.pages)?;
        self.choose(space, wanted, |lock| self.fill_with(space, lock, Mapped::untouched(rights), &object.object, first))
    }

    /// Like [`map_private`](Self::map_private), at an unmapped range. Returns the range.
    pub fn map_private_anywhere(
        &self,
        space: &Space<'m, M>,
        wanted: Anywhere,
        rights: Rights,
        object: &MemoryObject<'m, M>,
        first: u64,
    ) -> Result<PageRange, SpaceError> {
        let space = self.check_active(space)?;
        self.check_private(object, first, wanted.pages)?;
        let mapped = Mapped { copies: true, ..Mapped::untouched(rights) };
        self.choose(space, wanted, |lock| self.fill_with(space, lock, mapped, &object.object, first))
    }

    /// Calls `fill` with an unmapped range, locked. Returns the range.
    fn choose(
        &self,
        space: &SpaceBody<'m, M>,
        wanted: Anywhere,
        fill: impl Fn(&RangeLock<'_>) -> Result<(), SpaceError>,
    ) -> Result<PageRange, SpaceError> {
        loop {
            self.wait_for_fork(space);
            let range = self.find_room(space, wanted)?;
            let lock = self.lock_alone(space, range).map_err(|error| self.no_memory(error))?;
            let is_room = !space.is_forked() && self.is_room(space, &lock);
            let filled = if is_room { fill(&lock) } else { Ok(()) };
            self.unlock(space, lock);
            if is_room {
                self.count(Event::Chosen);
                return filled.map(|()| range);
            }
            // Another CPU was faster, or a fork has begun.
            self.wait();
        }
    }

    /// A range that looked unmapped during an unlocked search.
    pub(crate) fn find_room(&self, space: &SpaceBody<'m, M>, wanted: Anywhere) -> Result<PageRange, SpaceError> {
        if wanted.pages == 0 {
            return Err(SpaceError::BadRange);
        }
        let wanted = wanted.limited(space.pages);
        let arena = wanted.begin + arena_pages(wanted.begin, wanted.end) * u64::from(self.number.0);
        let hint = self.hints().get(space.id).filter(|hint| (wanted.begin..wanted.end).contains(hint));
        let start = hint.unwrap_or(arena);
        let find = |takes_changing| {
            let later = self.room_from(space, wanted, start, wanted.end, takes_changing);
            later.or_else(|| self.room_from(space, wanted, wanted.begin, start, takes_changing))
        };
        // Ranges that others are changing are used only if nothing else is free.
        let range = find(false).or_else(|| find(true)).ok_or(SpaceError::NoAddress)?;
        self.hints().set(space.id, range.end());
        Ok(range)
    }

    /// The first free range that starts at `from` or later, and before `end`.
    fn room_from(
        &self,
        space: &SpaceBody<'m, M>,
        wanted: Anywhere,
        from: u64,
        end: u64,
        takes_changing: bool,
    ) -> Option<PageRange> {
        let mut range = wanted.from(from)?;
        let (mut steps, mut leaf) = (0_u64, from / LEAF_PAGES);
        while range.begin() < end {
            let page = range.begin();
            let mut next = page;
            if page / LEAF_PAGES != leaf {
                leaf = page / LEAF_PAGES;
                // SAFETY: the guard is held, and the space is active.
                next = self.pinned(|| unsafe { space.tree.skip_full(page, wanted.pages) });
                steps += 1;
                self.pause_each(steps);
            }
            if next == page {
                next = match self.obstacle(space, range, takes_changing, &mut steps) {
                    Some(next) => next,
                    None => return Some(range),
                };
                if next / LEAF_PAGES != leaf && steps >= SHORT {
                    // SAFETY: as above.
                    self.pinned(|| unsafe { space.tree.note_passed(page, next) });
                }
            }
            range = wanted.from(next)?;
        }
        None
    }

    /// The end of what blocks a range: a mapping there, or a stack above that needs its gap. Each
    /// run is a step, because a free range may have many nodes.
    fn obstacle(
        &self,
        space: &SpaceBody<'m, M>,
        range: PageRange,
        takes_changing: bool,
        steps: &mut u64,
    ) -> Option<u64> {
        let mut page = range.begin();
        while page < range.end() {
            let run = self.run(space, page);
            *steps += 1;
            self.pause_each(*steps);
            match run.kind {
                Kind::Free => {}
                Kind::Changing if takes_changing => {}
                _ => return Some(run.end),
            }
            page = run.end;
        }
        self.stack_above(space, range.end())
    }

    /// The end of the next stack above a page, if the page lies within its gap.
    fn stack_above(&self, space: &SpaceBody<'m, M>, end: u64) -> Option<u64> {
        let mut page = end;
        while page < (end + STACK_GAP).min(space.pages.end()) {
            let run = self.run(space, page);
            match run.kind {
                Kind::Free | Kind::Changing => page = run.end,
                Kind::Stack => return Some(run.end),
                Kind::Taken => return None,
            }
        }
        None
    }

    /// True if a locked range is unmapped and leaves the gap of a stack above it. A stack that
    /// grows later sees the new mapping, because it locks its gap.
    pub(crate) fn is_room(&self, space: &SpaceBody<'m, M>, lock: &RangeLock<'_>) -> bool {
        lock.is_empty() && self.stack_above(space, lock.range().end()).is_none()
    }

    /// The run that starts at a page.
    pub(crate) fn run(&self, space: &SpaceBody<'m, M>, page: u64) -> Run {
        // SAFETY: the guard is held, and the space is active.
        self.pinned(|| unsafe { space.tree.run(page) })
    }

    /// Records an unmapped range: this CPU searches there first if it lies near its last choice.
    pub(crate) fn note_room(&self, space: &SpaceBody<'m, M>, range: PageRange) {
        if let Some(next) = self.hints().get(space.id)
            && range.begin() < next
            && next - range.begin() <= arena_pages(space.pages.begin(), space.pages.end())
        {
            self.hints().set(space.id, range.begin());
        }
    }
}
