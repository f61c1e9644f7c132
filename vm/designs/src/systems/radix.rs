//! A radix tree per space, whose slots are the locks, and page tables per CPU: RadixVM, in sv6
//! (Clements, Kaashoek, Zeldovich, EuroSys 2013).
//!
//! A fault locks the slot of its page and makes an entry in the page tables of its own CPU. The
//! slot records such CPUs: when a page is taken away, only those are asked, and a page used by one
//! CPU costs no other CPU anything.
//!
//! Lock order: slots by address. A fault on a resident page writes the slot, and the CPU's own page
//! tables.
//!
//! Fields: \[I] immutable; \[1] written once; \[l] the lock of a slot; \[a] one atomic word by
//! itself.
//!
//! Left out or different from sv6: owner counts are plain, not Refcache's per-CPU deltas, so a fork
//! writes the count of each private page that it shares, and forks of one space write one count for
//! each mapping of an object. Nodes are freed with the space, not when they are empty. The CPU that
//! takes a page away changes other CPUs' page tables itself, with their interrupts off, instead of
//! their handlers.

mod tree;

use crate::systems::tables::{Gone, Tables, all_pages, ends};
use crate::systems::{Changed, Cpu, System};
use faultline_memory::hosted::Outcome;
use faultline_memory::{CpuNumber, Event, FaultError, NoMemory, PageRange, Rights, SpaceError, VirtualPage};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, OnceLock};
use tree::{Folded, Held, Said, Tree};

/// Number of spaces that own a private page, on a line of its own.
#[repr(align(64))]
struct Owners(AtomicU32);

/// RadixVM.
pub struct Radix {
    /// \[a] By the indices of the frames.
    owners: Box<[Owners]>,
    /// \[I] Number of CPUs.
    cpus: u32,
}

/// A space.
pub struct Space<'m> {
    /// \[l]
    tree: Tree,
    /// \[1] Each CPU's page tables, made when the space becomes active there. Entries \[l].
    tables: Box<[OnceLock<Tables<'m>>]>,
}

/// An object's handle.
pub struct Handle(Arc<Object>);

impl<'m> Space<'m> {
    fn tables(&self, cpu: CpuNumber) -> Option<&Tables<'m>> {
        self.tables.get(cpu.0 as usize)?.get()
    }

    fn check(&self, cpu: &Cpu<'m>) -> Result<&Tables<'m>, SpaceError> {
        self.tables(cpu.number()).filter(|tables| tables.is_active(cpu)).ok_or(SpaceError::NotActive)
    }
}

/// Pages removed by a change, for each CPU that had them.
struct Asked<'a, 'm> {
    space: &'a Space<'m>,
    of_cpus: Vec<(CpuNumber, Gone)>,
    pages: Vec<u32>,
    mappings: Vec<Arc<Mapping>>,
}

/// The CPUs of a set.
fn members(cpus: [u64; 4]) -> impl Iterator<Item = CpuNumber> {
    (0..256_u32).filter(move |number| cpus[*number as usize / 64] >> (number % 64) & 1 != 0).map(CpuNumber)
}

impl<'a, 'm> Asked<'a, 'm> {
    fn new(space: &'a Space<'m>) -> Self {
        Asked { space, of_cpus: Vec::new(), pages: Vec::new(), mappings: Vec::new() }
    }

    /// Calls `change` for each CPU of a set, with its page tables.
    fn each(&mut self, cpus: [u64; 4], change: impl Fn(&Tables<'m>, CpuNumber, &mut Gone)) {
        if cpus == [0; 4] {
            return;
        }
        for whose in members(cpus) {
            let Some(tables) = self.space.tables(whose) else { continue };
            let place = self.of_cpus.iter().position(|(cpu, _)| *cpu == whose).unwrap_or_else(|| {
                self.of_cpus.push((whose, Gone::new()));
                self.of_cpus.len() - 1
            });
            change(tables, whose, &mut self.of_cpus[place].1);
        }
    }

    /// Removes a slot's page and translations.
    fn clear(&mut self, cpu: &Cpu<'m>, said: &mut Said, at: u64) {
        self.each(said.cpus, |tables, whose, gone| tables.remove_as(cpu, whose, at, gone));
        said.cpus = [0; 4];
        self.pages.extend(said.page.take());
        said.is_shared = false;
    }

    /// Waits until those CPUs have forgotten, and frees everything.
    fn finish(self, cpu: &Cpu<'m>, system: &Radix) {
        if self.of_cpus.iter().any(|(whose, _)| *whose != cpu.number()) {
            cpu.count(Event::ShootDown);
        }
        for (whose, gone) in self.of_cpus {
            if let Some(tables) = self.space.tables(whose) {
                gone.finish_as(cpu, whose, tables);
            }
        }
        self.pages.into_iter().for_each(|page| system.release_page(cpu, page));
        self.mappings.into_iter().for_each(|mapping| release_mapping(cpu, mapping));
    }
}

fn release_mapping(cpu: &Cpu<'_>, mapping: Arc<Mapping>) {
    if let Some(last) = Arc::into_inner(mapping) {
        Object::release(last.object, cpu);
    }
}

impl Radix {
    fn owners(&self, page: u32) -> &AtomicU32 {
        &self.owners[page as usize].0
    }

    /// A new page with one owner.
    fn owned(&self, page: u32) -> u32 {
        // Relaxed: the page has no other user.
        self.owners(page).store(1, Ordering::Relaxed);
        page
    }

    fn release_page(&self, cpu: &Cpu<'_>, page: u32) {
        // Release: this owner's actions come before the last one frees the page; pairs with the
        // fence.
        if self.owners(page).fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            cpu.free_page(page);
        }
    }

    fn map_as<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, mapped: &Folded) -> Changed {
        space.check(cpu)?;
        self.replace(cpu, space, range, Some(mapped));
        cpu.count(Event::Map);
        Ok(())
    }

    /// Sets all slots of a range to one mapping.
    fn replace<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, mapped: Option<&Folded>) {
        let (begin, end) = ends(range);
        let mut held = space.tree.lock(begin, end);
        let mut asked = Asked::new(space);
        for held in &mut held {
            let before = match held {
                Held::Inner { slot, .. } => std::mem::replace(&mut **slot, mapped.cloned()),
                Held::Leaf { slot, page } => {
                    let before = std::mem::replace(&mut **slot, mapped.cloned().map(Said::untouched));
                    before.map(|mut said| {
                        asked.clear(cpu, &mut said, *page);
                        said.mapped
                    })
                }
            };
            asked.mappings.extend(before.and_then(|before| before.mapping));
        }
        asked.finish(cpu, self);
    }

    fn resolve<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, at: u64, access: Rights) -> Result<(), FaultError> {
        let tables = space.check(cpu).map_err(|_| FaultError::NotActive)?;
        let mut slot = space.tree.lock_page(at).ok_or(FaultError::NotMapped)?;
        let said = slot.as_mut().ok_or(FaultError::NotMapped)?;
        let rights = said.mapped.rights;
        if !rights.allows(access) {
            return Err(FaultError::NotAllowed);
        }
        // This CPU's TLB may have the entry with fewer rights.
        if tables.look(cpu, at).is_some_and(|entry| entry.rights.allows(access)) {
            cpu.count(Event::Spurious);
            return Ok(());
        }
        let is_write = access.allows(Rights::WRITE);
        let (page, rights) = match (&said.mapped.mapping, said.page) {
            (Some(mapping), _) => (mapping.object.page(cpu, at.wrapping_add(mapping.shift))?, rights),
            (None, None) => {
                let page = self.owned(cpu.zeroed_page()?);
                said.page = Some(page);
                cpu.count(Event::ZeroFill);
                (page, rights)
            }
            (None, Some(page)) if !said.is_shared => (page, rights),
            // Acquire: pairs with the release of the other owners' ends.
            (None, Some(page)) if self.owners(page).load(Ordering::Acquire) == 1 => {
                said.is_shared = false;
                cpu.count(Event::TakenOver);
                (page, rights)
            }
            (None, Some(page)) if is_write => (self.copy(cpu, space, said, at, page)?, rights),
            (None, Some(page)) => (page, rights.without(Rights::WRITE)),
        };
        tables.enter(cpu, at, page, rights)?;
        said.cpus[cpu.number().0 as usize / 64] |= 1 << (cpu.number().0 % 64);
        Ok(())
    }

    /// Replaces a shared page, after all CPUs have forgotten it: none must read the old one when
    /// the new one is written.
    fn copy<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, said: &mut Said, at: u64, page: u32) -> Result<u32, NoMemory> {
        let new = self.owned(cpu.copied_page(page)?);
        let mut asked = Asked::new(space);
        asked.clear(cpu, said, at);
        asked.finish(cpu, self);
        said.page = Some(new);
        cpu.count(Event::Copy);
        Ok(new)
    }

    /// Copies a locked slot to another tree, and shares its page.
    fn copy_slot<'m>(&self, cpu: &Cpu<'m>, held: &mut Held<'_>, to: &mut Tree, asked: &mut Asked<'_, 'm>) {
        match held {
            Held::Inner { slot, begin, bits } => {
                if let Some(mapped) = &**slot {
                    *to.inner_mut(*begin, *bits) = Some(mapped.clone());
                }
            }
            Held::Leaf { slot, page: at } => {
                let Some(said) = &mut **slot else { return };
                if let Some(page) = said.page {
                    // Relaxed: this space is an owner, so the page cannot end; the slot's lock
                    // hands the new owner over.
                    self.owners(page).fetch_add(1, Ordering::Relaxed);
                    said.is_shared = true;
                    let rights = said.mapped.rights.without(Rights::WRITE);
                    asked.each(said.cpus, |tables, whose, gone| tables.protect_as(cpu, whose, *at, rights, gone));
                }
                let copy =
                    Said { mapped: said.mapped.clone(), page: said.page, is_shared: said.page.is_some(), cpus: [0; 4] };
                *to.leaf_mut(*at) = Some(copy);
            }
        }
    }
}

impl System for Radix {
    const NAME: &'static str = "radix";
    const YEAR: &'static str = "2013";

    type Space<'m> = Space<'m>;
    type Object<'m> = Handle;

    fn new(cpus: u32, frames: u32) -> Self {
        Radix { owners: (0..frames).map(|_| Owners(AtomicU32::new(0))).collect(), cpus }
    }

    fn new_space<'m>(&self, _cpu: &Cpu<'m>) -> Result<Space<'m>, NoMemory> {
        Ok(Space { tree: Tree::new(), tables: (0..self.cpus).map(|_| OnceLock::new()).collect() })
    }

    fn activate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) -> Changed {
        let place = &space.tables[cpu.number().0 as usize];
        if place.get().is_none() {
            // Only this CPU makes its own.
            drop(place.set(Tables::new(cpu)?));
        }
        place.get().into_iter().for_each(|tables| tables.activate(cpu));
        Ok(())
    }

    fn deactivate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) {
        space.tables(cpu.number()).into_iter().for_each(|tables| tables.deactivate(cpu));
    }

    fn map<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, rights: Rights) -> Changed {
        self.map_as(cpu, space, range, &Folded { rights, mapping: None })
    }

    fn map_object<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Space<'m>,
        range: PageRange,
        rights: Rights,
        object: &Handle,
        first: u64,
    ) -> Changed {
        if first.checked_add(range.pages()).is_none_or(|end| end > object.0.pages()) {
            return Err(SpaceError::BeyondObject);
        }
        let mapping = Arc::new(Mapping { object: Arc::clone(&object.0), shift: first.wrapping_sub(range.first().0) });
        let mapped = Folded { rights, mapping: Some(mapping) };
        let result = self.map_as(cpu, space, range, &mapped);
        mapped.mapping.into_iter().for_each(|mapping| release_mapping(cpu, mapping));
        result
    }

    fn unmap<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange) -> Changed {
        space.check(cpu)?;
        self.replace(cpu, space, range, None);
        cpu.count(Event::Unmap);
        Ok(())
    }

    fn protect<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, rights: Rights) -> Changed {
        space.check(cpu)?;
        let (begin, end) = ends(range);
        let mut held = space.tree.lock(begin, end);
        let is_hole = |held: &Held<'_>| match held {
            Held::Inner { slot, .. } => slot.is_none(),
            Held::Leaf { slot, .. } => slot.is_none(),
        };
        if held.iter().any(is_hole) {
            return Err(SpaceError::NotMapped);
        }
        let mut asked = Asked::new(space);
        for held in &mut held {
            match held {
                Held::Inner { slot, .. } => slot.as_mut().into_iter().for_each(|mapped| mapped.rights = rights),
                Held::Leaf { slot, page } => {
                    let Some(said) = &mut **slot else { continue };
                    said.mapped.rights = rights;
                    asked.each(said.cpus, |tables, whose, gone| tables.protect_as(cpu, whose, *page, rights, gone));
                }
            }
        }
        asked.finish(cpu, self);
        cpu.count(Event::Protect);
        Ok(())
    }

    fn dont_need<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange) -> Changed {
        space.check(cpu)?;
        let (begin, end) = ends(range);
        let mut held = space.tree.lock(begin, end);
        let mut asked = Asked::new(space);
        for held in &mut held {
            let Held::Leaf { slot, page } = held else { continue };
            if let Some(said) = &mut **slot {
                asked.clear(cpu, said, *page);
            }
        }
        asked.finish(cpu, self);
        cpu.count(Event::DontNeed);
        Ok(())
    }

    fn fault<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, page: VirtualPage, access: Rights) -> Result<(), FaultError> {
        cpu.count(Event::Fault);
        self.resolve(cpu, space, page.0, access)
    }

    fn fork<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) -> Result<Space<'m>, SpaceError> {
        space.check(cpu)?;
        let mut child = self.new_space(cpu)?;
        let (begin, end) = ends(all_pages());
        let mut held = space.tree.lock(begin, end);
        let mut asked = Asked::new(space);
        held.iter_mut().for_each(|held| self.copy_slot(cpu, held, &mut child.tree, &mut asked));
        asked.finish(cpu, self);
        cpu.count(Event::Fork);
        Ok(child)
    }

    fn exit<'m>(&self, cpu: &Cpu<'m>, space: Space<'m>) -> Changed {
        if space.tables.iter().any(|tables| tables.get().is_some_and(|tables| !tables.is_active_nowhere())) {
            return Err(SpaceError::Active);
        }
        self.replace(cpu, &space, all_pages(), None);
        cpu.count(Event::Exit);
        Ok(())
    }

    fn new_object<'m>(&self, _cpu: &Cpu<'m>, pages: u64) -> Result<Handle, NoMemory> {
        Ok(Handle(Arc::new(Object::new(pages))))
    }

    fn drop_object<'m>(&self, cpu: &Cpu<'m>, object: Handle) {
        Object::release(object.0, cpu);
    }

    fn access<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Space<'m>,
        page: VirtualPage,
        byte: usize,
        write: Option<u8>,
    ) -> Outcome {
        match space.tables(cpu.number()) {
            Some(tables) => tables.access(cpu, page, byte, write),
            None => Outcome::Fault,
        }
    }
}

/// No page yet.
const NONE: u32 = 0;
/// A CPU is making the page.
const BUSY: u32 = u32::MAX;

/// An object. Fields: \[a] changed by compare-and-swap from `NONE`, then by the CPU that made it
/// `BUSY`.
#[derive(Debug)]
pub(super) struct Object {
    /// \[a] The indices of the pages' frames, plus 1.
    pages: Box<[AtomicU32]>,
}

/// A mapping of an object's pages. Shared by the slots of one call of `map_object`, and of forks of
/// it. Its count is on a line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Mapping {
    pub(super) object: Arc<Object>,
    /// Added to a virtual page's number, gives its index in the object.
    pub(super) shift: u64,
}

impl Object {
    pub(super) fn new(pages: u64) -> Self {
        Object { pages: (0..pages).map(|_| AtomicU32::new(NONE)).collect() }
    }

    pub(super) fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    /// A page; zero-filled if missing.
    pub(super) fn page(&self, cpu: &Cpu<'_>, index: u64) -> Result<u32, NoMemory> {
        let place = &self.pages[index as usize];
        loop {
            // Acquire: pairs with the release below: the page's contents.
            match place.load(Ordering::Acquire) {
                NONE => {
                    // Relaxed: nothing is read through it. The loser looks again.
                    if place.compare_exchange(NONE, BUSY, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                        continue;
                    }
                    let made = cpu.zeroed_page().inspect(|_| cpu.count(Event::ObjectFill));
                    // Release: pairs with the acquire above.
                    place.store(made.map_or(NONE, |page| page + 1), Ordering::Release);
                    return made;
                }
                BUSY => spin_loop(),
                page => {
                    cpu.count(Event::ObjectHit);
                    return Ok(page - 1);
                }
            }
        }
    }

    /// Ends a reference. After the last one the pages' frames are free.
    pub(super) fn release(object: Arc<Object>, cpu: &Cpu<'_>) {
        let Some(object) = Arc::into_inner(object) else { return };
        let pages = object.pages.into_iter().map(AtomicU32::into_inner);
        pages.filter(|page| *page != NONE).for_each(|page| cpu.free_page(page - 1));
    }
}
