//! Addresses are chosen: a range of a space where nothing is mapped.
//!
//! The search only reads. Each CPU begins where it last found room, and else in a part of the space of its own, so threads that choose at
//! the same time find different ranges and write no common line; a hole that another CPU is changing is passed by. What was found is
//! locked and looked at again, since another CPU may have been faster.

use crate::address::{PageRange, Rights, SPACE_PAGES};
use crate::counters::Event;
use crate::cpu_set::MOST_CPUS;
use crate::error::SpaceError;
use crate::machine::{FrameSource, Machine};
use crate::memory::Cpu;
use crate::memory_object::MemoryObject;
use crate::primitive::relax;
use crate::range_lock::RangeLock;
use crate::space::{Space, SpaceBody};
use crate::stack::STACK_GAP;
use crate::tree::run::{Kind, Run};
use crate::tree::slot::Mapped;

/// The part of a space in which a CPU looks first, in pages.
const ARENA: u64 = SPACE_PAGES / MOST_CPUS as u64;

/// The first page that is chosen unless the caller says otherwise: what a null pointer with a small offset points to stays free.
const LOWEST: u64 = if SPACE_PAGES > 16 { 16 } else { 0 };

/// A range that is wanted anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anywhere {
    pages: u64,
    alignment: u64,
    begin: u64,
    end: u64,
}

impl Anywhere {
    /// So many pages, in all of the space but its first 16 pages.
    pub const fn new(pages: u64) -> Self {
        Self { pages, alignment: 1, begin: LOWEST, end: SPACE_PAGES }
    }

    /// Beginning at a multiple of so many pages; 0 is taken for 1.
    pub const fn aligned(self, pages: u64) -> Self {
        Self { alignment: if pages == 0 { 1 } else { pages }, ..self }
    }

    /// Within a range.
    pub const fn within(self, range: PageRange) -> Self {
        Self { begin: range.begin(), end: range.end(), ..self }
    }

    /// Number of pages.
    pub const fn pages(self) -> u64 {
        self.pages
    }

    /// The first range from a page on that may be asked for.
    fn from(&self, page: u64) -> Option<PageRange> {
        let first = page.max(self.begin).checked_next_multiple_of(self.alignment)?;
        let range = PageRange::new(crate::address::VirtualPage(first), self.pages).ok()?;
        (range.end() <= self.end).then_some(range)
    }
}

impl<'m, M: Machine, F: FrameSource> Cpu<'m, M, F> {
    /// As [`map`](Self::map), where nothing is mapped. Says where.
    pub fn map_anywhere(
        &self,
        space: &Space<'m, M>,
        wanted: Anywhere,
        rights: Rights,
    ) -> Result<PageRange, SpaceError> {
        let space = self.check_active(space)?;
        let lock = self.choose(space, wanted)?;
        self.fill(space, &lock, Mapped::untouched(rights), None);
        Ok(lock.range())
    }

    /// As [`map_object`](Self::map_object), where nothing is mapped. Says where.
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
        let lock = self.choose(space, wanted)?;
        self.fill_with(space, &lock, Mapped::untouched(rights), &object.object, first)?;
        Ok(lock.range())
    }

    /// As [`map_private`](Self::map_private), where nothing is mapped. Says where.
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
        let lock = self.choose(space, wanted)?;
        let mapped = Mapped { copies: true, ..Mapped::untouched(rights) };
        self.fill_with(space, &lock, mapped, &object.object, first)?;
        Ok(lock.range())
    }

    /// Locks a range where nothing is mapped.
    fn choose<'a>(&self, space: &'a SpaceBody<'m, M>, wanted: Anywhere) -> Result<RangeLock<'a>, SpaceError> {
        loop {
            let range = self.find_room(space, wanted)?;
            let lock = self.lock(space, range).map_err(|error| self.no_memory(error))?;
            if self.is_room(space, &lock) {
                self.count(Event::Chosen);
                return Ok(lock);
            }
            // Another CPU was faster.
            drop(lock);
            self.count(Event::Wait);
            relax();
        }
    }

    /// A range where nothing seems to be mapped.
    pub(crate) fn find_room(&self, space: &SpaceBody<'m, M>, wanted: Anywhere) -> Result<PageRange, SpaceError> {
        if wanted.pages == 0 {
            return Err(SpaceError::BadRange);
        }
        let arena =
            wanted.begin.saturating_add((wanted.end - wanted.begin) / MOST_CPUS as u64 * u64::from(self.number.0));
        let hint = self.hints().get(space.id).filter(|hint| (wanted.begin..wanted.end).contains(hint));
        let start = hint.unwrap_or(arena);
        let find = |takes_changing| {
            let later = self.room_from(space, wanted, start, wanted.end, takes_changing);
            later.or_else(|| self.room_from(space, wanted, wanted.begin, start, takes_changing))
        };
        // What others are changing only if there is nothing else.
        let range = find(false).or_else(|| find(true)).ok_or(SpaceError::NoAddress)?;
        self.hints().set(space.id, range.end());
        Ok(range)
    }

    /// The first room that begins at `from` or later, and before `end`.
    fn room_from(
        &self,
        space: &SpaceBody<'m, M>,
        wanted: Anywhere,
        from: u64,
        end: u64,
        takes_changing: bool,
    ) -> Option<PageRange> {
        let mut range = wanted.from(from)?;
        while range.begin() < end {
            match self.obstacle(space, range, takes_changing) {
                None => return Some(range),
                Some(next) => range = wanted.from(next)?,
            }
        }
        None
    }

    /// What keeps a range from being chosen: something that is mapped there, or a stack above it that needs its gap. Says where that ends.
    fn obstacle(&self, space: &SpaceBody<'m, M>, range: PageRange, takes_changing: bool) -> Option<u64> {
        let mut page = range.begin();
        while page < range.end() {
            let run = self.run(space, page);
            match run.kind {
                Kind::Free => {}
                Kind::Changing if takes_changing => {}
                _ => return Some(run.end),
            }
            page = run.end;
        }
        self.stack_above(space, range.end())
    }

    /// The end of the run of a stack that is the next above a page, and nearer than its gap allows.
    fn stack_above(&self, space: &SpaceBody<'m, M>, end: u64) -> Option<u64> {
        let mut page = end;
        while page < (end + STACK_GAP).min(SPACE_PAGES) {
            let run = self.run(space, page);
            match run.kind {
                Kind::Free | Kind::Changing => page = run.end,
                Kind::Stack => return Some(run.end),
                Kind::Taken => return None,
            }
        }
        None
    }

    /// Whether nothing is mapped in a locked range, and it leaves the gap of a stack above it. A stack that grows later finds the range
    /// mapped, because it locks its gap.
    pub(crate) fn is_room(&self, space: &SpaceBody<'m, M>, lock: &RangeLock<'_>) -> bool {
        lock.is_empty() && self.stack_above(space, lock.range().end()).is_none()
    }

    /// The run that a page begins.
    pub(crate) fn run(&self, space: &SpaceBody<'m, M>, page: u64) -> Run {
        // SAFETY: the guard is held, and the space is active.
        self.pinned(|| unsafe { space.tree.run(page) })
    }

    /// A range is unmapped: this CPU looks there first, if it lies near what it last chose.
    pub(crate) fn note_room(&self, space: &SpaceBody<'m, M>, range: PageRange) {
        if let Some(next) = self.hints().get(space.id)
            && range.begin() < next
            && next - range.begin() <= ARENA
        {
            self.hints().set(space.id, range.begin());
        }
    }
}
