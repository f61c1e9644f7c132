//! One token for everything: a skeleton of DragonFly before its work of 2011, in Mach's form as BSD
//! had it. A space has a map of entries, objects shadow others, and each mapping of a page has an
//! entry. One spin lock is held through each call.
//!
//! As in DragonFly's `vm_fault` and `pmap_enter`, a fault on a resident page writes the token, the
//! page's busy bit, its list of mappings, the space's mappings, and the page-table entry.
//!
//! Fields: \[I] immutable; \[w] protected by the token; \[a] one atomic word.
//!
//! The token spins, like DragonFly's: each release makes all waiting CPUs reload its line.
//!
//! Left out: pagers, page queues, wiring, merging of entries and of neighbouring objects,
//! prefaulting of neighbours. Fork copies no page tables. Removal and protection visit the space's
//! mappings, as `pmap_scan` does.

mod pages;

use super::map::{Content, Entry, Map};
use super::tables::{Gone, Tables, all_pages, ends};
use crate::systems::{Changed, Cpu, System};
use faultline_memory::hosted::Outcome;
use faultline_memory::{Event, FaultError, NoMemory, PageRange, Rights, SpaceError, VirtualPage};
use pages::{ByToken, Inner, Mapping, Object, Page, Token, by_token, is_sole};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A system of shadow objects.
pub struct OneToken {
    /// \[w]
    whole: Token,
    /// \[a] By the indices of their frames.
    pages: Box<[Page]>,
}

/// Contents of an entry. Fields: \[w].
#[derive(Clone)]
struct What {
    /// `None`: private memory not used yet.
    object: Option<Arc<Object>>,
    /// Added to a virtual page's number, gives its index in the object; 0 for private memory.
    shift: u64,
    is_shared: bool,
    /// True if the object must be shadowed before a page of it is written.
    needs_copy: bool,
}

impl Content for What {
    fn split_off(&mut self, _at: u64) -> Self {
        self.clone()
    }
}

impl What {
    fn private() -> Self {
        What { object: None, shift: 0, is_shared: false, needs_copy: false }
    }
}

type SpaceMap = Map<Rights, What>;

/// A space, on lines of its own.
#[repr(align(128))]
pub struct Space<'m> {
    /// Entries \[w].
    tables: Tables<'m>,
    /// \[w]
    map: ByToken<SpaceMap>,
    /// \[w] By virtual page.
    mappings: ByToken<BTreeMap<u64, Mapping>>,
    /// \[I] The number by which TLBs know it.
    number: u64,
}

/// An object's handle.
pub struct Handle {
    /// \[I]
    object: Arc<Object>,
    /// \[I] Its length.
    pages: u64,
}

/// Objects removed by a change, to be released at its end.
struct Taken(Vec<Arc<Object>>);

impl OneToken {
    fn check(cpu: &Cpu<'_>, space: &Space<'_>) -> Changed {
        if space.tables.is_active(cpu) { Ok(()) } else { Err(SpaceError::NotActive) }
    }

    fn free(&self, cpu: &Cpu<'_>, page: u32) {
        self.pages[page as usize].reset();
        cpu.free_page(page);
    }

    fn release(&self, cpu: &Cpu<'_>, objects: impl IntoIterator<Item = Arc<Object>>) {
        objects.into_iter().for_each(|object| Object::release(object, |page| self.free(cpu, page)));
    }

    /// Ends the mappings of a range.
    fn unmap_pages(&self, cpu: &Cpu<'_>, space: &Space<'_>, begin: u64, end: u64, gone: &mut Gone) {
        let mut mappings = space.mappings.write();
        let pages: Vec<u64> = mappings.range(begin..end).map(|(page, _)| *page).collect();
        for page in pages {
            space.tables.remove(cpu, page, gone);
            if let Some(mapping) = mappings.remove(&page) {
                self.pages[mapping.page() as usize].unlink(mapping);
            }
        }
    }

    /// Restricts the mappings of a range to these rights.
    fn protect_pages(cpu: &Cpu<'_>, space: &Space<'_>, begin: u64, end: u64, rights: Rights, gone: &mut Gone) {
        let mappings = space.mappings.write();
        mappings.range(begin..end).for_each(|(page, _)| space.tables.protect(cpu, *page, rights, gone));
    }

    /// Removes entries, their mappings, and pages that cannot be used otherwise.
    fn clear(&self, cpu: &Cpu<'_>, space: &Space<'_>, map: &mut SpaceMap, begin: u64, end: u64) -> Taken {
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

    fn map_as(&self, cpu: &Cpu<'_>, space: &Space<'_>, range: PageRange, rights: Rights, what: What) -> Changed {
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

    /// Makes the mapping of a page, replacing one of another page.
    fn enter(&self, cpu: &Cpu<'_>, space: &Space<'_>, at: u64, page: u32, rights: Rights) -> Result<(), NoMemory> {
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

    fn enter_busy(&self, cpu: &Cpu<'_>, space: &Space<'_>, at: u64, page: u32, rights: Rights) -> Result<(), NoMemory> {
        self.pages[page as usize].make_busy();
        let entered = self.enter(cpu, space, at, page, rights);
        self.pages[page as usize].end_busy();
        entered
    }

    fn resolve(&self, cpu: &Cpu<'_>, space: &Space<'_>, page: u64, access: Rights) -> Result<(), FaultError> {
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
            return Ok(self.resolve_in(cpu, space, &mut object.inner.write(), &fault)?);
        }
    }

    /// Gives a page's private entry a writable object.
    fn own_object(space: &Space<'_>, page: u64) {
        let mut map = space.map.write();
        // It may have changed meanwhile; the retried fault sees that.
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

    /// Finds or makes the page, starting at the entry's own object.
    fn resolve_in(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_>,
        first: &mut Inner,
        fault: &Fault<'_>,
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

    /// Enters a page of the first object.
    fn enter_first(&self, cpu: &Cpu<'_>, space: &Space<'_>, page: u32, fault: &Fault<'_>) -> Result<(), NoMemory> {
        if fault.what.is_shared {
            cpu.count(Event::ObjectHit);
        }
        self.enter_busy(cpu, space, fault.page, page, fault.first_rights())
    }

    /// Copies the entries. Neither space may write pages of private ones any more.
    fn copy_map<'m>(&self, cpu: &Cpu<'m>, from: &Space<'m>, to: &Space<'m>) {
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
struct Fault<'a> {
    page: u64,
    is_write: bool,
    rights: Rights,
    what: &'a What,
}

impl Fault<'_> {
    fn index(&self) -> u64 {
        self.page.wrapping_add(self.what.shift)
    }

    /// Rights for a page of the first object.
    fn first_rights(&self) -> Rights {
        if self.what.needs_copy { self.rights.without(Rights::WRITE) } else { self.rights }
    }
}

impl System for OneToken {
    const NAME: &'static str = "one-token";
    const YEAR: &'static str = "2010";

    type Space<'m> = Space<'m>;
    type Object<'m> = Handle;

    fn new(_cpus: u32, frames: u32) -> Self {
        OneToken { whole: Token::default(), pages: (0..frames).map(|_| Page::new()).collect() }
    }

    fn new_space<'m>(&self, cpu: &Cpu<'m>) -> Result<Space<'m>, NoMemory> {
        let tables = Tables::new(cpu)?;
        let number = tables.number();
        Ok(Space { tables, map: by_token(Map::new()), mappings: by_token(BTreeMap::new()), number })
    }

    fn activate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) -> Changed {
        space.tables.activate(cpu);
        Ok(())
    }

    fn deactivate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) {
        space.tables.deactivate(cpu);
    }

    fn map<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, rights: Rights) -> Changed {
        let _whole = self.whole.0.lock();
        self.map_as(cpu, space, range, rights, What::private())
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
        if first.checked_add(range.pages()).is_none_or(|end| end > object.pages) {
            return Err(SpaceError::BeyondObject);
        }
        let _whole = self.whole.0.lock();
        let shift = first.wrapping_sub(range.first().0);
        let what = What { object: Some(Arc::clone(&object.object)), shift, is_shared: true, needs_copy: false };
        self.map_as(cpu, space, range, rights, what)
    }

    fn unmap<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange) -> Changed {
        let _whole = self.whole.0.lock();
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let taken = self.clear(cpu, space, &mut space.map.write(), begin, end);
        cpu.count(Event::Unmap);
        self.release(cpu, taken.0);
        Ok(())
    }

    fn protect<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, rights: Rights) -> Changed {
        let _whole = self.whole.0.lock();
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

    fn dont_need<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange) -> Changed {
        let _whole = self.whole.0.lock();
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let mut map = space.map.write();
        map.clip(begin, end);
        let kept: Vec<(u64, Entry<Rights, What>)> = map
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

    fn fault<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, page: VirtualPage, access: Rights) -> Result<(), FaultError> {
        let _whole = self.whole.0.lock();
        Self::check(cpu, space).map_err(|_| FaultError::NotActive)?;
        cpu.count(Event::Fault);
        self.resolve(cpu, space, page.0, access)
    }

    fn fork<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) -> Result<Space<'m>, SpaceError> {
        let _whole = self.whole.0.lock();
        Self::check(cpu, space)?;
        let child = self.new_space(cpu)?;
        self.copy_map(cpu, space, &child);
        cpu.count(Event::Fork);
        Ok(child)
    }

    fn exit<'m>(&self, cpu: &Cpu<'m>, space: Space<'m>) -> Changed {
        let _whole = self.whole.0.lock();
        if !space.tables.is_active_nowhere() {
            return Err(SpaceError::Active);
        }
        let (begin, end) = ends(all_pages());
        let taken = self.clear(cpu, &space, &mut space.map.write(), begin, end);
        self.release(cpu, taken.0);
        cpu.count(Event::Exit);
        Ok(())
    }

    fn new_object<'m>(&self, _cpu: &Cpu<'m>, pages: u64) -> Result<Handle, NoMemory> {
        Ok(Handle { object: Object::new(None, false), pages })
    }

    fn drop_object<'m>(&self, cpu: &Cpu<'m>, object: Handle) {
        let _whole = self.whole.0.lock();
        self.release(cpu, [object.object]);
    }

    fn access<'m>(
        &self,
        cpu: &Cpu<'m>,
        space: &Space<'m>,
        page: VirtualPage,
        byte: usize,
        write: Option<u8>,
    ) -> Outcome {
        space.tables.access(cpu, page, byte, write)
    }
}
