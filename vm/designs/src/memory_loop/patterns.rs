//! Patterns of use: the threads' work in the region of interest, each on a CPU of its own.
//!
//! Each thread has a part of the address space that begins where a page table does, and one page of
//! each table stays translated, so that no table comes or goes in the region. Everything is done
//! once before the region.

use crate::systems::{Cpu, Refused, System};
use crate::team::Team;
use faultline_memory::hosted::Outcome;
use faultline_memory::{Event, PageRange, Rights, VirtualPage};

/// Amount of work of a pattern.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) pattern: Pattern,
    pub(super) threads: u32,
    /// Number of operations of each thread.
    pub(super) operations: u64,
    /// For `map`, `map-touch` and `protect`: number of pages of each range.
    pub(super) depth: u64,
}

/// A pattern of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Pattern {
    /// Threads of one space fault on private pages of their own, which are made of zeroes
    ZeroFill,
    /// Like `zero-fill`, each thread in a space of its own
    ZeroFillSpaces,
    /// All threads fault on one resident page of an object, each in a space of its own
    OnePage,
    /// All threads fault on neighbouring resident pages of one object, each in a space of its own
    Neighbours,
    /// Like `neighbours`, as threads of one space
    NeighboursThreads,
    /// Threads of one space map and unmap ranges of `--depth` pages, each in its own part
    Map,
    /// Like `map`, with a fault on each page between
    MapTouch,
    /// Threads of one space write to each page of 2 MiB of their own, and then of others, as
    /// programs do: with a fault where needed
    Touch,
    /// Like `touch`, with large pages where the design has any
    TouchLarge,
    /// Threads of one space take the right to write from `--depth` pages of their own, give it
    /// back, and fault on each
    Protect,
    /// Each thread writes pages that a child of its space shares, so each is copied
    Copy,
    /// Each thread forks a space with twenty shared objects, and ends the child
    Fork,
}

/// Pages that a page table covers.
const TABLE_PAGES: u64 = 512;
/// Pages of a table that a pattern uses: the first one stays translated.
const USED_PAGES: u64 = TABLE_PAGES - 1;
/// Rounds before the region, so that caches and blocks of frames reach their steady state.
const WARM_UP_ROUNDS: u64 = 8;
/// Objects shared by a forked space, like the libraries of a program.
const SHARED_OBJECTS: u64 = 20;
/// Pages of each shared object.
const SHARED_PAGES: u64 = 16;
/// Pages of all shared objects.
pub(super) const FORKED_PAGES: u64 = SHARED_OBJECTS * SHARED_PAGES;
const BOTH: Rights = Rights::from_bits(3);

impl Pattern {
    /// True if all threads are of one space.
    pub(super) fn is_of_threads(self) -> bool {
        use Pattern::{Map, MapTouch, NeighboursThreads, Protect, Touch, TouchLarge, ZeroFill};
        matches!(self, ZeroFill | NeighboursThreads | Map | MapTouch | Touch | TouchLarge | Protect)
    }

    /// True if an operation can be repeated on its pages. Otherwise each has a page of its own.
    fn has_rounds(self) -> bool {
        use Pattern::{Fork, Map, MapTouch, Protect};
        matches!(self, Map | MapTouch | Protect | Fork)
    }

    /// True if all pages of a table are used, so that it comes and goes with them.
    fn is_of_tables(self) -> bool {
        matches!(self, Pattern::Touch | Pattern::TouchLarge)
    }

    /// True if threads fault on pages among those of others.
    fn is_of_neighbours(self) -> bool {
        matches!(self, Pattern::Neighbours | Pattern::NeighboursThreads)
    }
}

impl Task {
    /// Number of pages that a thread uses.
    fn used_pages(&self) -> u64 {
        match self.pattern {
            Pattern::Map | Pattern::MapTouch | Pattern::Protect => self.depth,
            Pattern::Fork => FORKED_PAGES - 1,
            _ => self.operations,
        }
    }

    /// Pages of a thread's part of the space, or of the part that all share.
    pub(super) fn part_pages(&self) -> u64 {
        let parts = if self.pattern.is_of_neighbours() { u64::from(self.threads) } else { 1 };
        let of_table = if self.pattern.is_of_tables() { TABLE_PAGES } else { USED_PAGES };
        (self.used_pages() * parts).div_ceil(of_table) * TABLE_PAGES
    }

    /// Number of objects that all threads map, and pages of each.
    pub(super) fn objects(&self) -> (u64, u64) {
        match self.pattern {
            Pattern::Neighbours | Pattern::NeighboursThreads => (1, self.part_pages()),
            Pattern::Fork => (SHARED_OBJECTS, SHARED_PAGES),
            _ => (1, 1),
        }
    }
}

fn pages(first: u64, pages: u64) -> Result<PageRange, Refused> {
    Ok(PageRange::new(VirtualPage(first), pages)?)
}

/// A thread.
pub(super) struct Member<'a, 'm, S: System> {
    pub(super) task: &'a Task,
    pub(super) number: u32,
    pub(super) system: &'a S,
    pub(super) cpu: Cpu<'m>,
    pub(super) space: &'a S::Space<'m>,
    pub(super) objects: &'a [S::Object<'m>],
}

impl<S: System> Member<'_, '_, S> {
    /// Prepares, and does its part in the region. Returns the events counted by its CPU in the
    /// region.
    pub(super) fn work(&self, team: &Team) -> Result<[u64; Event::ALL.len()], Refused> {
        self.system.activate(&self.cpu, self.space)?;
        self.prepare(team)?;
        // Shared pages until the child ends, after the region.
        let child =
            if self.task.pattern == Pattern::Copy { Some(self.system.fork(&self.cpu, self.space)?) } else { None };
        let before = self.cpu.counted();
        team.begin();
        self.operate(self.task.operations)?;
        team.end();
        let after = self.cpu.counted();
        if let Some(child) = child {
            self.system.exit(&self.cpu, child)?;
        }
        Ok(Event::ALL.map(|event| after[event as usize] - before[event as usize]))
    }

    /// First page of its part.
    fn base(&self) -> u64 {
        let is_alone = !self.task.pattern.is_of_threads() || self.task.pattern.is_of_neighbours();
        TABLE_PAGES * 8 + if is_alone { 0 } else { u64::from(self.number) * self.task.part_pages() }
    }

    /// The pages of its operations.
    fn own_pages(&self) -> impl Iterator<Item = VirtualPage> + use<S> {
        let base = self.base();
        let (step, first) = match self.task.pattern.is_of_neighbours() {
            true => (u64::from(self.task.threads), u64::from(self.number)),
            false => (1, 0),
        };
        let place = move |operation: u64| {
            let number = operation * step + first;
            VirtualPage(base + number / USED_PAGES * TABLE_PAGES + 1 + number % USED_PAGES)
        };
        (0..self.task.used_pages()).map(place)
    }

    /// Writes to each page of a range, like a program.
    fn touch(&self, range: PageRange) -> Result<(), Refused> {
        for page in (range.first().0..).take(range.pages() as usize).map(VirtualPage) {
            while self.system.access(&self.cpu, self.space, page, 0, Some(1)) == Outcome::Fault {
                self.fault(page, Rights::WRITE)?;
            }
        }
        Ok(())
    }

    fn fault(&self, page: VirtualPage, access: Rights) -> Result<(), Refused> {
        Ok(self.system.fault(&self.cpu, self.space, page, access)?)
    }

    /// Faults on all of its pages.
    fn fault_all(&self) -> Result<(), Refused> {
        self.own_pages().try_for_each(|page| self.fault(page, Rights::WRITE))
    }

    /// Translates the first page of each table.
    fn keep_tables(&self) -> Result<(), Refused> {
        let tables = (self.base()..self.base() + self.task.part_pages()).step_by(TABLE_PAGES as usize);
        tables.map(VirtualPage).try_for_each(|page| self.fault(page, Rights::WRITE))
    }

    /// Removes translations and private contents of the pages that patterns use.
    fn forget(&self) -> Result<(), Refused> {
        for table in (self.base()..self.base() + self.task.part_pages()).step_by(TABLE_PAGES as usize) {
            self.system.dont_need(&self.cpu, self.space, pages(table + 1, USED_PAGES)?)?;
        }
        Ok(())
    }

    fn prepare(&self, team: &Team) -> Result<(), Refused> {
        match self.task.pattern {
            Pattern::OnePage => {
                for page in self.base()..self.base() + self.task.part_pages() {
                    self.system.map_object(&self.cpu, self.space, pages(page, 1)?, BOTH, &self.objects[0], 0)?;
                }
            }
            Pattern::Neighbours | Pattern::NeighboursThreads => {
                // In a shared space the first thread maps it.
                if self.task.pattern == Pattern::Neighbours || self.number == 0 {
                    let all = pages(self.base(), self.task.part_pages())?;
                    self.system.map_object(&self.cpu, self.space, all, BOTH, &self.objects[0], 0)?;
                }
                team.meet(1);
            }
            Pattern::Fork => {
                for (object, table) in self.objects.iter().zip(0..) {
                    let range = pages(self.base() + table * SHARED_PAGES, SHARED_PAGES)?;
                    self.system.map_object(&self.cpu, self.space, range, BOTH, object, 0)?;
                }
            }
            _ => self.system.map(&self.cpu, self.space, pages(self.base(), self.task.part_pages())?, BOTH)?,
        }
        self.system.set_large_pages(&self.cpu, self.space, self.task.pattern == Pattern::TouchLarge);
        if self.task.pattern.is_of_tables() {
            let all = pages(self.base(), self.task.part_pages())?;
            return (0..WARM_UP_ROUNDS).try_for_each(|_| {
                self.touch(all)?;
                Ok(self.system.dont_need(&self.cpu, self.space, all)?)
            });
        }
        self.keep_tables()?;
        match self.task.pattern {
            pattern if pattern.has_rounds() => {
                self.fault_all()?;
                self.operate(WARM_UP_ROUNDS)
            }
            Pattern::Copy => self.fault_all(),
            _ => (0..WARM_UP_ROUNDS).try_for_each(|_| {
                self.fault_all()?;
                self.forget()
            }),
        }
    }

    /// The range that one operation maps or protects.
    fn range(&self) -> Result<PageRange, Refused> {
        pages(self.base() + 1, self.task.depth)
    }

    fn operate(&self, operations: u64) -> Result<(), Refused> {
        match self.task.pattern {
            Pattern::Map | Pattern::MapTouch => (0..operations).try_for_each(|_| {
                self.system.map(&self.cpu, self.space, self.range()?, BOTH)?;
                if self.task.pattern == Pattern::MapTouch {
                    self.fault_all()?;
                }
                Ok(self.system.unmap(&self.cpu, self.space, self.range()?)?)
            }),
            Pattern::Touch | Pattern::TouchLarge => self.touch(pages(self.base(), operations)?),
            Pattern::Protect => (0..operations).try_for_each(|_| {
                self.system.protect(&self.cpu, self.space, self.range()?, Rights::READ)?;
                self.system.protect(&self.cpu, self.space, self.range()?, BOTH)?;
                self.fault_all()
            }),
            Pattern::Fork => (0..operations).try_for_each(|_| {
                let child = self.system.fork(&self.cpu, self.space)?;
                Ok(self.system.exit(&self.cpu, child)?)
            }),
            _ => self.fault_all(),
        }
    }
}
