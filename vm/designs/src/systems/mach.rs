//! Memory systems of Mach's form, as BSD had them: a map of entries for each space, objects that shadow others, and an entry for each mapping of a
//! page. Three designs have this form and differ in their locks: [`OneToken`], [`LocksByObject`] and [`SharedRetry`].
//!
//! Lock order: the whole; a map; objects, each before the one that it shadows; a page's busy bit; a space's mappings; a page's list.
//!
//! What a fault on a resident page writes, as in DragonFly's `vm_fault` and `pmap_enter`: the lock of the map, those of the objects on the way to
//! the page, the page's busy bit, its list of mappings, the space's mappings, and the page-table entry.
//!
//! Fields: \[I] immutable; \[w] the token for everything, where a design has one; \[v] the map's lock; \[o] an object's lock; \[m] the lock of a
//! space's mappings; \[p] the lock of a page's list; \[a] one atomic word by itself.
//!
//! Locks spin: each release makes all that wait read the line of the lock again. DragonFly's tokens spin too. An object's count of references is on a line
//! before that of its lock.
//!
//! Left out: pagers, page queues, wiring, merging of entries and of neighbouring objects, prefaulting of neighbours. Fork copies no page tables.
//! Removal and protection go through the space's mappings, as `pmap_scan` does.

mod by_object;
mod locks;
mod object;
mod one_token;
mod pv;
mod shared_retry;

use super::cpu::Cpu;
use super::map::{Content, Entry, Map};
use super::system::System;
use super::tables::{Gone, Tables, all_pages, ends};
use faultline_memory::hosted::Outcome;
use faultline_memory::{Event, FaultError, NoMemory, PageRange, Rights, SpaceError, VirtualPage};
use lock_api::RwLock;
use locks::{Alone, Locks};
use object::{Inner, Object, is_sole};
use pv::{Mapping, Page};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One token for everything.
pub type OneToken = Mach<one_token::Token>;
/// Locks by object and map.
pub type LocksByObject = Mach<by_object::ByObject>;
/// Objects' locks shared at first.
pub type SharedRetry = Mach<shared_retry::Retry>;

/// A system of shadow objects.
pub struct Mach<L: Locks> {
    /// \[w]
    whole: Alone<L::Whole>,
    /// \[a], \[p] By the indices of their frames.
    pages: Box<[Page<L>]>,
}

/// What an entry maps. Fields: \[v].
struct What<L: Locks> {
    /// None: private memory that was not used yet.
    object: Option<Arc<Object<L>>>,
    /// To be added to a virtual page's number for its index in the object; 0 for private memory.
    shift: u64,
    is_shared: bool,
    /// Whether the object must be shadowed before a page of it is written.
    needs_copy: bool,
}

impl<L: Locks> Clone for What<L> {
    fn clone(&self) -> Self {
        What { object: self.object.clone(), ..*self }
    }
}

impl<L: Locks> Content for What<L> {
    fn split_off(&mut self, _at: u64) -> Self {
        self.clone()
    }
}

impl<L: Locks> What<L> {
    fn private() -> Self {
        What { object: None, shift: 0, is_shared: false, needs_copy: false }
    }
}

type SpaceMap<L> = Map<Rights, What<L>>;

/// A space, on lines of its own.
#[repr(align(128))]
pub struct Space<'m, L: Locks> {
    /// Entries \[m].
    tables: Tables<'m>,
    /// \[v]
    map: RwLock<L::Map, SpaceMap<L>>,
    /// \[m] By virtual page.
    mappings: RwLock<L::Small, BTreeMap<u64, Mapping>>,
    /// \[I] Under which TLBs know it.
    number: u64,
}

/// An object's handle.
pub struct Handle<L: Locks> {
    /// \[I]
    object: Arc<Object<L>>,
    /// \[I] Its length.
    pages: u64,
}

/// What a change has taken away: released when its map is no longer locked.
struct Taken<L: Locks>(Vec<Arc<Object<L>>>);

impl<L: Locks> Mach<L> {
    fn check(cpu: &Cpu<'_>, space: &Space<'_, L>) -> Result<(), SpaceError> {
        if space.tables.is_active(cpu) { Ok(()) } else { Err(SpaceError::NotActive) }
    }

    fn free(&self, cpu: &Cpu<'_>, page: u32) {
        self.pages[page as usize].reset();
        cpu.free_page(page);
    }

    fn release(&self, cpu: &Cpu<'_>, objects: impl IntoIterator<Item = Arc<Object<L>>>) {
        objects.into_iter().for_each(|object| Object::release(object, |page| self.free(cpu, page)));
    }

    /// Ends the mappings of a range.
    fn unmap_pages(&self, cpu: &Cpu<'_>, space: &Space<'_, L>, begin: u64, end: u64, gone: &mut Gone) {
        let mut mappings = space.mappings.write();
        let pages: Vec<u64> = mappings.range(begin..end).map(|(page, _)| *page).collect();
        for page in pages {
            space.tables.remove(cpu, page, gone);
            if let Some(mapping) = mappings.remove(&page) {
                self.pages[mapping.page() as usize].unlink(mapping);
            }
        }
    }

    /// Leaves the mappings of a range no rights but these.
    fn protect_pages(cpu: &Cpu<'_>, space: &Space<'_, L>, begin: u64, end: u64, rights: Rights, gone: &mut Gone) {
        let mappings = space.mappings.write();
        mappings.range(begin..end).for_each(|(page, _)| space.tables.protect(cpu, *page, rights, gone));
    }

    /// Takes entries out, with their mappings, and with pages that nothing else can have.
    fn clear(&self, cpu: &Cpu<'_>, space: &Space<'_, L>, map: &mut SpaceMap<L>, begin: u64, end: u64) -> Taken<L> {
        let mut gone = Gone::new();
        let mut taken = Taken(Vec::new());
        for (begin, entry) in map.take(begin, end) {
            self.unmap_pages(cpu, space, begin, entry.end, &mut gone);
            let What { object, is_shared, .. } = entry.content;
            let Some(object) = object else { continue };
            if !is_shared {
                let mut inner = object.inner.write();
                if inner.is_of_one_map {
                    gone.pages.extend(inner.take(begin, entry.end));
                }
            }
            taken.0.push(object);
        }
        gone.pages.iter().for_each(|page| self.pages[*page as usize].reset());
        gone.finish(cpu, &space.tables);
        taken
    }

    fn map_as(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_, L>,
        range: PageRange,
        rights: Rights,
        what: What<L>,
    ) -> Result<(), SpaceError> {
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let mut map = space.map.write();
        let taken = self.clear(cpu, space, &mut map, begin, end);
        map.insert(begin, Entry { end, rights, content: what });
        cpu.count(Event::Map);
        drop(map);
        self.release(cpu, taken.0);
        Ok(())
    }

    /// Makes the mapping of a page, in place of one of another page.
    fn enter(&self, cpu: &Cpu<'_>, space: &Space<'_, L>, at: u64, page: u32, rights: Rights) -> Result<(), NoMemory> {
        let mut mappings = space.mappings.write();
        match mappings.get(&at).map(Mapping::page) {
            Some(before) if before == page => {
                space.tables.look(cpu, at);
                return space.tables.enter(cpu, at, page, rights);
            }
            Some(before) => {
                // Other threads must not read the old page when this one writes the new one.
                let mut gone = Gone::new();
                space.tables.remove(cpu, at, &mut gone);
                gone.finish(cpu, &space.tables);
                if let Some(mapping) = mappings.remove(&at) {
                    self.pages[before as usize].unlink(mapping);
                }
            }
            None => {}
        }
        space.tables.enter(cpu, at, page, rights)?;
        mappings.insert(at, self.pages[page as usize].link(page, space.number, at));
        Ok(())
    }

    fn enter_busy(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_, L>,
        at: u64,
        page: u32,
        rights: Rights,
    ) -> Result<(), NoMemory> {
        self.pages[page as usize].make_busy();
        let entered = self.enter(cpu, space, at, page, rights);
        self.pages[page as usize].end_busy();
        entered
    }

    fn resolve(&self, cpu: &Cpu<'_>, space: &Space<'_, L>, page: u64, access: Rights) -> Result<(), FaultError> {
        let is_write = access.allows(Rights::WRITE);
        loop {
            let map = space.map.read();
            let (_, entry) = map.find(page).ok_or(FaultError::NotMapped)?;
            if !entry.rights.allows(access) {
                return Err(FaultError::NotAllowed);
            }
            let What { object: Some(object), needs_copy, .. } = &entry.content else {
                drop(map);
                Self::own_object(space, page);
                continue;
            };
            if *needs_copy && is_write {
                drop(map);
                Self::own_object(space, page);
                continue;
            }
            let fault = Fault { page, is_write, rights: entry.rights, what: &entry.content };
            if L::SHARED_FIRST && self.resolve_shared(cpu, space, &object.inner.read(), &fault)? {
                return Ok(());
            }
            return Ok(self.resolve_exclusive(cpu, space, &mut object.inner.write(), &fault)?);
        }
    }

    /// Gives a page's private entry an object that can be written.
    fn own_object(space: &Space<'_, L>, page: u64) {
        let mut map = space.map.write();
        // It may have changed meanwhile: then the fault, which begins again, finds that out.
        let Some((_, entry)) = map.find_mut(page) else { return };
        let what = &mut entry.content;
        match what.object.take() {
            None => what.object = Some(Object::new(None, true)),
            Some(object) if what.needs_copy => {
                what.needs_copy = false;
                if is_sole(&object) {
                    object.inner.write().is_of_one_map = true;
                    what.object = Some(object);
                } else {
                    what.object = Some(Object::new(Some(object), true));
                }
            }
            object => what.object = object,
        }
    }

    /// With the first object's lock shared. False if that is not enough.
    fn resolve_shared(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_, L>,
        first: &Inner<L>,
        fault: &Fault<'_, L>,
    ) -> Result<bool, NoMemory> {
        if let Some(page) = first.pages.get(&fault.index()) {
            self.enter_first(cpu, space, *page, fault)?;
            return Ok(true);
        }
        if fault.is_write {
            return Ok(false);
        }
        let mut entered = Ok(false);
        first.find(fault.index(), &mut |found| {
            let Some(page) = found else { return };
            entered = self.enter_busy(cpu, space, fault.page, page, fault.rights.without(Rights::WRITE)).map(|()| true);
        });
        entered
    }

    /// With the first object's lock exclusive.
    fn resolve_exclusive(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_, L>,
        first: &mut Inner<L>,
        fault: &Fault<'_, L>,
    ) -> Result<(), NoMemory> {
        if let Some(page) = first.pages.get(&fault.index()) {
            return self.enter_first(cpu, space, *page, fault);
        }
        first.collapse(|page| self.free(cpu, page));
        if let Some(page) = first.pages.get(&fault.index()) {
            return self.enter_first(cpu, space, *page, fault);
        }
        let mut new = Ok(None);
        first.find(fault.index(), &mut |found| {
            new = match found {
                Some(page) if fault.is_write => cpu.copied_page(page).map(Some).inspect(|_| cpu.count(Event::Copy)),
                Some(page) => {
                    let rights = fault.rights.without(Rights::WRITE);
                    self.enter_busy(cpu, space, fault.page, page, rights).map(|()| None)
                }
                None => cpu.zeroed_page().map(Some).inspect(|_| {
                    cpu.count(if fault.what.is_shared { Event::ObjectFill } else { Event::ZeroFill });
                }),
            };
        });
        let Some(page) = new? else { return Ok(()) };
        first.pages.insert(fault.index(), page);
        self.enter_busy(cpu, space, fault.page, page, fault.first_rights())
    }

    /// The page is in the first object.
    fn enter_first(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_, L>,
        page: u32,
        fault: &Fault<'_, L>,
    ) -> Result<(), NoMemory> {
        if fault.what.is_shared {
            cpu.count(Event::ObjectHit);
        }
        self.enter_busy(cpu, space, fault.page, page, fault.first_rights())
    }

    /// Copies the entries. Pages of private ones must not be written any more by either space.
    fn copy_map<'m>(&self, cpu: &Cpu<'m>, from: &Space<'m, L>, to: &Space<'m, L>) {
        let mut map = from.map.write();
        let mut copy = to.map.write();
        let mut gone = Gone::new();
        for (begin, entry) in map.range_mut(0, u64::MAX) {
            let what = &mut entry.content;
            if let Some(object) = what.object.as_ref().filter(|_| !what.is_shared && !what.needs_copy) {
                object.inner.write().is_of_one_map = false;
                what.needs_copy = true;
                let rights = entry.rights.without(Rights::WRITE);
                Self::protect_pages(cpu, from, begin, entry.end, rights, &mut gone);
            }
            copy.insert(begin, Entry { end: entry.end, rights: entry.rights, content: what.clone() });
        }
        gone.finish(cpu, &from.tables);
    }
}

/// A fault, and the entry of its page.
struct Fault<'a, L: Locks> {
    page: u64,
    is_write: bool,
    rights: Rights,
    what: &'a What<L>,
}

impl<L: Locks> Fault<'_, L> {
    fn index(&self) -> u64 {
        self.page.wrapping_add(self.what.shift)
    }

    /// For a page of the first object.
    fn first_rights(&self) -> Rights {
        if self.what.needs_copy { self.rights.without(Rights::WRITE) } else { self.rights }
    }
}

impl<L: Locks> System for Mach<L> {
    const NAME: &'static str = L::NAME;
    const YEAR: &'static str = L::YEAR;

    type Space<'m> = Space<'m, L>;
    type Object<'m> = Handle<L>;

    fn new(_cpus: u32, frames: u32) -> Self {
        Mach { whole: Alone::new(), pages: (0..frames).map(|_| Page::new()).collect() }
    }

    fn new_space<'m>(&self, cpu: &Cpu<'m>) -> Result<Space<'m, L>, NoMemory> {
        let tables = Tables::new(cpu)?;
        let number = tables.number();
        Ok(Space { tables, map: RwLock::new(Map::new()), mappings: RwLock::new(BTreeMap::new()), number })
    }

    fn activate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m, L>) -> Result<(), SpaceError> {
        space.tables.activate(cpu);
        Ok(())
    }

    fn deactivate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m, L>) {
        space.tables.deactivate(cpu);
    }

    fn map<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m, L>, range: PageRange, rights: Rights) -> Result<(), SpaceError> {
        let _whole = self.whole.lock();
        self.map_as(cpu, space, range, rights, What::private())
    }

    fn map_object<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Space<'m, L>,
        range: PageRange,
        rights: Rights,
        object: &Handle<L>,
        first: u64,
    ) -> Result<(), SpaceError> {
        if first.checked_add(range.pages()).is_none_or(|end| end > object.pages) {
            return Err(SpaceError::BeyondObject);
        }
        let _whole = self.whole.lock();
        let shift = first.wrapping_sub(range.first().0);
        let what = What { object: Some(Arc::clone(&object.object)), shift, is_shared: true, needs_copy: false };
        self.map_as(cpu, space, range, rights, what)
    }

    fn unmap<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m, L>, range: PageRange) -> Result<(), SpaceError> {
        let _whole = self.whole.lock();
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let taken = self.clear(cpu, space, &mut space.map.write(), begin, end);
        cpu.count(Event::Unmap);
        self.release(cpu, taken.0);
        Ok(())
    }

    fn protect<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Space<'m, L>,
        range: PageRange,
        rights: Rights,
    ) -> Result<(), SpaceError> {
        let _whole = self.whole.lock();
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let mut map = space.map.write();
        if !map.is_whole(begin, end) {
            return Err(SpaceError::NotMapped);
        }
        map.clip(begin, end);
        map.range_mut(begin, end).for_each(|(_, entry)| entry.rights = rights);
        let mut gone = Gone::new();
        Self::protect_pages(cpu, space, begin, end, rights, &mut gone);
        gone.finish(cpu, &space.tables);
        cpu.count(Event::Protect);
        Ok(())
    }

    fn dont_need<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m, L>, range: PageRange) -> Result<(), SpaceError> {
        let _whole = self.whole.lock();
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let mut map = space.map.write();
        map.clip(begin, end);
        let kept: Vec<(u64, Entry<Rights, What<L>>)> = map
            .range_mut(begin, end)
            .map(|(begin, entry)| {
                let content = if entry.content.is_shared { entry.content.clone() } else { What::private() };
                (begin, Entry { end: entry.end, rights: entry.rights, content })
            })
            .collect();
        let taken = self.clear(cpu, space, &mut map, begin, end);
        kept.into_iter().for_each(|(begin, entry)| map.insert(begin, entry));
        cpu.count(Event::DontNeed);
        drop(map);
        self.release(cpu, taken.0);
        Ok(())
    }

    fn fault<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Space<'m, L>,
        page: VirtualPage,
        access: Rights,
    ) -> Result<(), FaultError> {
        let _whole = self.whole.lock();
        Self::check(cpu, space).map_err(|_| FaultError::NotActive)?;
        cpu.count(Event::Fault);
        self.resolve(cpu, space, page.0, access)
    }

    fn fork<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m, L>) -> Result<Space<'m, L>, SpaceError> {
        let _whole = self.whole.lock();
        Self::check(cpu, space)?;
        let child = self.new_space(cpu)?;
        self.copy_map(cpu, space, &child);
        cpu.count(Event::Fork);
        Ok(child)
    }

    fn exit<'m>(&self, cpu: &Cpu<'m>, space: Space<'m, L>) -> Result<(), SpaceError> {
        let _whole = self.whole.lock();
        if !space.tables.is_active_nowhere() {
            return Err(SpaceError::Active);
        }
        let (begin, end) = ends(all_pages());
        let taken = self.clear(cpu, &space, &mut space.map.write(), begin, end);
        self.release(cpu, taken.0);
        cpu.count(Event::Exit);
        Ok(())
    }

    fn new_object<'m>(&self, _cpu: &Cpu<'m>, pages: u64) -> Result<Handle<L>, NoMemory> {
        Ok(Handle { object: Object::new(None, false), pages })
    }

    fn drop_object<'m>(&self, cpu: &Cpu<'m>, object: Handle<L>) {
        let _whole = self.whole.lock();
        self.release(cpu, [object.object]);
    }

    fn access<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Space<'m, L>,
        page: VirtualPage,
        byte: usize,
        write: Option<u8>,
    ) -> Outcome {
        space.tables.access(cpu, page, byte, write)
    }
}
