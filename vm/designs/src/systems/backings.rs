//! Shared faults with backings: a skeleton of DragonFly from 2019 on.
//!
//! A map entry has a short list of objects: its own, and those shared with others since forks. A
//! fork copies the list for the child's entry, so lists fan in on common objects instead of
//! chaining objects that shadow each other. A list longer than five objects is collapsed by
//! copying. There is no entry per mapping of a page: an object knows the map entries that it backs.
//!
//! A fault on a resident page takes no object lock: it finds the page by a hash, and makes it
//! soft-busy. It writes the lock of the map (shared), the page's busy word twice, the lock of the
//! space's page tables (shared), the table's lock, and the page-table entry.
//!
//! Lock order: a map; objects, an entry's own before the others; a page's busy word; the space's
//! page tables; a table.
//!
//! Fields: \[I] immutable; \[v] the map's lock; \[o] an object's lock; \[a] one atomic word by
//! itself.
//!
//! Left out: pagers, page queues, wiring, bursts of neighbours, merging of entries and of
//! neighbouring objects, division of large entries by 32 MiB. The hash has one page per slot;
//! DragonFly's has four, with ticks.

mod pages;

use super::map::{Content, Entry, Map};
use super::tables::{Gone, all_pages, ends};
use crate::systems::{Changed, Cpu, System};
use faultline_memory::hosted::Outcome;
use faultline_memory::{Event, FaultError, NoMemory, PageRange, Rights, SpaceError, VirtualPage};
use pages::{Hash, LockedTables, Object, Page};
use spin::RwLock;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Maximum number of an entry's shared objects before they are collapsed.
const MOST_BACKINGS: usize = 5;

/// DragonFly's system.
pub struct Backings {
    /// \[a] By the indices of their frames.
    pages: Box<[Page]>,
    /// \[a]
    hash: Hash,
}

/// Contents of a map entry. Fields: \[v].
struct What {
    /// The entry's space and first page.
    at: (u64, u64),
    /// One past its last page.
    end: u64,
    /// Its own object, then the shared ones. Empty: private memory not used yet.
    objects: Vec<Arc<Object>>,
    /// Added to a virtual page's number, gives its index in the objects; 0 for private memory.
    shift: u64,
    is_shared: bool,
    /// True if it needs another object of its own before a page is written.
    needs_copy: bool,
}

impl Content for What {
    fn split_off(&mut self, at: u64) -> Self {
        let upper = What { at: (self.at.0, at), objects: self.objects.clone(), ..*self };
        self.objects.iter().for_each(|object| object.split(self.at, at, self.shift));
        self.end = at;
        upper
    }
}

impl What {
    /// Registers a new entry with its objects.
    fn attached(self) -> Self {
        self.objects.iter().for_each(|object| object.attach(self.at, self.end, self.shift));
        self
    }

    /// Unregisters a removed entry, and returns its objects.
    fn detached(self) -> Vec<Arc<Object>> {
        self.objects.iter().for_each(|object| object.detach(self.at));
        self.objects
    }
}

type SpaceMap = Map<Rights, What>;

/// A space, on lines of its own.
#[repr(align(128))]
pub struct Space<'m> {
    /// Entries: see [`LockedTables`].
    tables: LockedTables<'m>,
    /// \[v]
    map: RwLock<SpaceMap>,
}

/// An object's handle.
pub struct Handle {
    /// \[I]
    object: Arc<Object>,
    /// \[I] Its length.
    pages: u64,
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

    /// Rights for a page of the entry's own object.
    fn own_rights(&self) -> Rights {
        if self.what.needs_copy { self.rights.without(Rights::WRITE) } else { self.rights }
    }
}

impl Backings {
    fn check(cpu: &Cpu<'_>, space: &Space<'_>) -> Changed {
        if space.tables.tables.is_active(cpu) { Ok(()) } else { Err(SpaceError::NotActive) }
    }

    fn free(&self, cpu: &Cpu<'_>, page: u32) {
        self.pages[page as usize].set(0, 0);
        cpu.free_page(page);
    }

    fn release(&self, cpu: &Cpu<'_>, objects: impl IntoIterator<Item = Arc<Object>>) {
        objects.into_iter().for_each(|object| Object::release(object, |page| self.free(cpu, page)));
    }

    /// Removes entries, their translations, and pages that cannot be used otherwise. Returns their
    /// objects, to be released when the map is no longer locked.
    fn clear(&self, cpu: &Cpu<'_>, space: &Space<'_>, map: &mut SpaceMap, begin: u64, end: u64) -> Vec<Arc<Object>> {
        let mut gone = Gone::new();
        let mut objects = Vec::new();
        for (begin, Entry { end, content, .. }) in map.take(begin, end) {
            space.tables.each(begin, end, |tables, page| tables.remove(cpu, page, &mut gone));
            if let Some(own) = content.objects.first().filter(|_| !content.is_shared) {
                let mut inner = own.inner.write();
                if inner.is_of_one_map {
                    gone.pages.extend(inner.take(begin, end));
                }
            }
            objects.extend(content.detached());
        }
        // No fault can find them: they lose their identity before their frames.
        gone.pages.iter().for_each(|page| self.pages[*page as usize].set(0, 0));
        gone.finish(cpu, &space.tables.tables);
        objects
    }

    fn map_as(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_>,
        range: PageRange,
        rights: Rights,
        object: Option<(&Arc<Object>, u64)>,
    ) -> Changed {
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let at = (space.tables.tables.number(), begin);
        let objects = object.iter().map(|(object, _)| Arc::clone(object)).collect();
        let (is_shared, shift) = (object.is_some(), object.map_or(0, |(_, shift)| shift));
        let mut map = space.map.write();
        let released = self.clear(cpu, space, &mut map, begin, end);
        let content = What { at, end, objects, shift, is_shared, needs_copy: false }.attached();
        map.insert(begin, Entry { end, rights, content });
        cpu.count(Event::Map);
        drop(map);
        self.release(cpu, released);
        Ok(())
    }

    fn resolve(&self, cpu: &Cpu<'_>, space: &Space<'_>, page: u64, access: Rights) -> Result<(), FaultError> {
        let is_write = access.allows(Rights::WRITE);
        loop {
            let map = space.map.read();
            let (_, entry) = map.find(page).ok_or(FaultError::NotMapped)?;
            if !entry.rights.allows(access) {
                return Err(FaultError::NotAllowed);
            }
            let what = &entry.content;
            if what.objects.is_empty() || what.needs_copy && is_write {
                drop(map);
                self.own_object(cpu, space, page);
                continue;
            }
            let fault = Fault { page, is_write, rights: entry.rights, what };
            if self.bypass(cpu, space, &fault)? || self.resolve_shared(cpu, space, &fault)? {
                return Ok(());
            }
            return Ok(self.resolve_exclusive(cpu, space, &fault)?);
        }
    }

    /// Resolves a fault without an object lock. False if the page is not in the hash, or must
    /// become dirty first.
    fn bypass(&self, cpu: &Cpu<'_>, space: &Space<'_>, fault: &Fault<'_>) -> Result<bool, NoMemory> {
        let own = &fault.what.objects[0];
        let Some(number) = self.hash.get(&self.pages, own.number(), fault.index()) else { return Ok(false) };
        let page = &self.pages[number as usize];
        let rights = fault.own_rights();
        let is_enough = page.is_dirty() || !rights.allows(Rights::WRITE);
        let entered = if is_enough { space.tables.enter(cpu, fault.page, number, rights) } else { Ok(()) };
        page.end_soft_busy();
        if is_enough && fault.what.is_shared {
            cpu.count(Event::ObjectHit);
        }
        entered.map(|()| is_enough)
    }

    /// Gives a page's private entry an object of its own.
    fn own_object(&self, cpu: &Cpu<'_>, space: &Space<'_>, page: u64) {
        let mut map = space.map.write();
        // It may have changed meanwhile; the retried fault sees that.
        let Some((_, entry)) = map.find_mut(page) else { return };
        let what = &mut entry.content;
        if !what.objects.is_empty() && !what.needs_copy {
            return;
        }
        what.needs_copy = false;
        if let Some(own) = what.objects.first().filter(|own| Arc::strong_count(own) == 1) {
            // Acquire: pairs with the release when the other references ended.
            fence(Ordering::Acquire);
            own.inner.write().is_of_one_map = true;
            return;
        }
        let object = Object::new(true);
        object.attach(what.at, what.end, 0);
        what.objects.insert(0, object);
        let released =
            if what.objects.len() > 1 + MOST_BACKINGS { self.collapse(cpu, space, what) } else { Vec::new() };
        drop(map);
        self.release(cpu, released);
    }

    /// Copies all pages of an entry's shared objects to its own. Returns the shared objects, to be
    /// released. Does nothing if there are not enough frames.
    fn collapse(&self, cpu: &Cpu<'_>, space: &Space<'_>, what: &mut What) -> Vec<Arc<Object>> {
        let own = Arc::clone(&what.objects[0]);
        let mut inner = own.inner.write();
        let begin = what.at.1;
        for object in &what.objects[1..] {
            for (index, page) in object.inner.read().pages.range(begin..what.end) {
                if inner.pages.contains_key(index) {
                    continue;
                }
                let Ok(copy) = cpu.copied_page(*page) else {
                    // Copies made so far equal the pages that they hide.
                    return Vec::new();
                };
                cpu.count(Event::Copy);
                self.pages[copy as usize].set(own.number(), *index);
                inner.pages.insert(*index, copy);
            }
        }
        // Translations to the released objects. Faults make those to the copies.
        let mut gone = Gone::new();
        space.tables.each(begin, what.end, |tables, page| tables.remove(cpu, page, &mut gone));
        gone.finish(cpu, &space.tables.tables);
        let released = what.objects.split_off(1);
        released.iter().for_each(|object| object.detach(what.at));
        released
    }

    fn enter_soft_busy(
        &self,
        cpu: &Cpu<'_>,
        space: &Space<'_>,
        at: u64,
        number: u32,
        rights: Rights,
    ) -> Result<(), NoMemory> {
        let page = &self.pages[number as usize];
        page.soft_busy();
        if rights.allows(Rights::WRITE) {
            page.make_dirty();
        }
        let entered = space.tables.enter(cpu, at, number, rights);
        page.end_soft_busy();
        entered
    }

    /// The page is in the entry's own object, which is locked.
    fn enter_own(&self, cpu: &Cpu<'_>, space: &Space<'_>, page: u32, fault: &Fault<'_>) -> Result<(), NoMemory> {
        if fault.what.is_shared {
            cpu.count(Event::ObjectHit);
        }
        self.hash.put(fault.what.objects[0].number(), fault.index(), page);
        self.enter_soft_busy(cpu, space, fault.page, page, fault.own_rights())
    }

    /// Resolves a fault with the objects' locks shared. False if that is not enough.
    fn resolve_shared(&self, cpu: &Cpu<'_>, space: &Space<'_>, fault: &Fault<'_>) -> Result<bool, NoMemory> {
        let own = fault.what.objects[0].inner.read();
        if let Some(page) = own.pages.get(&fault.index()) {
            return self.enter_own(cpu, space, *page, fault).map(|()| true);
        }
        if fault.is_write {
            return Ok(false);
        }
        for object in &fault.what.objects[1..] {
            let inner = object.inner.read();
            if let Some(page) = inner.pages.get(&fault.index()) {
                let rights = fault.rights.without(Rights::WRITE);
                return self.enter_soft_busy(cpu, space, fault.page, *page, rights).map(|()| true);
            }
        }
        Ok(false)
    }

    /// Resolves a fault with the own object's lock exclusive.
    fn resolve_exclusive(&self, cpu: &Cpu<'_>, space: &Space<'_>, fault: &Fault<'_>) -> Result<(), NoMemory> {
        let own = &fault.what.objects[0];
        let mut inner = own.inner.write();
        if let Some(page) = inner.pages.get(&fault.index()) {
            return self.enter_own(cpu, space, *page, fault);
        }
        let mut new = None;
        for object in &fault.what.objects[1..] {
            let shared = object.inner.read();
            let Some(page) = shared.pages.get(&fault.index()) else { continue };
            if !fault.is_write {
                return self.enter_soft_busy(cpu, space, fault.page, *page, fault.rights.without(Rights::WRITE));
            }
            new = Some(cpu.copied_page(*page)?);
            cpu.count(Event::Copy);
            break;
        }
        let page = match new {
            Some(page) => page,
            None => {
                let page = cpu.zeroed_page()?;
                cpu.count(if fault.what.is_shared { Event::ObjectFill } else { Event::ZeroFill });
                page
            }
        };
        self.pages[page as usize].set(own.number(), fault.index());
        inner.pages.insert(fault.index(), page);
        self.hash.put(own.number(), fault.index(), page);
        self.enter_soft_busy(cpu, space, fault.page, page, fault.own_rights())
    }

    /// Copies the entries. Neither space may write pages of private ones any more.
    fn copy_map<'m>(&self, cpu: &Cpu<'m>, from: &Space<'m>, to: &Space<'m>) {
        let mut map = from.map.write();
        let mut copy = to.map.write();
        let mut gone = Gone::new();
        for (begin, entry) in map.range_mut(0, u64::MAX) {
            let what = &mut entry.content;
            if let Some(own) = what.objects.first().filter(|_| !what.is_shared && !what.needs_copy) {
                own.inner.write().is_of_one_map = false;
                what.needs_copy = true;
                let rights = entry.rights.without(Rights::WRITE);
                from.tables.each(begin, entry.end, |tables, page| tables.protect(cpu, page, rights, &mut gone));
            }
            let at = (to.tables.tables.number(), begin);
            let content = What { at, objects: what.objects.clone(), ..*what }.attached();
            copy.insert(begin, Entry { end: entry.end, rights: entry.rights, content });
        }
        gone.finish(cpu, &from.tables.tables);
    }
}

impl System for Backings {
    const NAME: &'static str = "backings";
    const YEAR: &'static str = "2019";

    type Space<'m> = Space<'m>;
    type Object<'m> = Handle;

    fn new(_cpus: u32, frames: u32) -> Self {
        Backings { pages: (0..frames).map(|_| Page::default()).collect(), hash: Hash::new(frames) }
    }

    fn new_space<'m>(&self, cpu: &Cpu<'m>) -> Result<Space<'m>, NoMemory> {
        Ok(Space { tables: LockedTables::new(cpu)?, map: RwLock::new(Map::new()) })
    }

    fn activate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) -> Changed {
        space.tables.tables.activate(cpu);
        Ok(())
    }

    fn deactivate<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) {
        space.tables.tables.deactivate(cpu);
    }

    fn map<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, rights: Rights) -> Changed {
        self.map_as(cpu, space, range, rights, None)
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
        self.map_as(cpu, space, range, rights, Some((&object.object, first.wrapping_sub(range.first().0))))
    }

    fn unmap<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange) -> Changed {
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let released = self.clear(cpu, space, &mut space.map.write(), begin, end);
        cpu.count(Event::Unmap);
        self.release(cpu, released);
        Ok(())
    }

    fn protect<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange, rights: Rights) -> Changed {
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let mut map = space.map.write();
        if !map.is_whole(begin, end) {
            return Err(SpaceError::NotMapped);
        }
        map.clip(begin, end);
        map.range_mut(begin, end).for_each(|(_, entry)| entry.rights = rights);
        let mut gone = Gone::new();
        space.tables.each(begin, end, |tables, page| tables.protect(cpu, page, rights, &mut gone));
        gone.finish(cpu, &space.tables.tables);
        cpu.count(Event::Protect);
        Ok(())
    }

    fn dont_need<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, range: PageRange) -> Changed {
        Self::check(cpu, space)?;
        let (begin, end) = ends(range);
        let mut map = space.map.write();
        map.clip(begin, end);
        let kept: Vec<(u64, Entry<Rights, What>)> = map
            .range_mut(begin, end)
            .map(|(begin, entry)| {
                let what = &entry.content;
                let objects = if what.is_shared { what.objects.clone() } else { Vec::new() };
                (
                    begin,
                    Entry {
                        end: entry.end,
                        rights: entry.rights,
                        content: What { objects, needs_copy: false, ..*what },
                    },
                )
            })
            .collect();
        let released = self.clear(cpu, space, &mut map, begin, end);
        for (begin, Entry { end, rights, content }) in kept {
            map.insert(begin, Entry { end, rights, content: content.attached() });
        }
        cpu.count(Event::DontNeed);
        drop(map);
        self.release(cpu, released);
        Ok(())
    }

    fn fault<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>, page: VirtualPage, access: Rights) -> Result<(), FaultError> {
        Self::check(cpu, space).map_err(|_| FaultError::NotActive)?;
        cpu.count(Event::Fault);
        self.resolve(cpu, space, page.0, access)
    }

    fn fork<'m>(&self, cpu: &Cpu<'m>, space: &Space<'m>) -> Result<Space<'m>, SpaceError> {
        Self::check(cpu, space)?;
        let child = self.new_space(cpu)?;
        self.copy_map(cpu, space, &child);
        cpu.count(Event::Fork);
        Ok(child)
    }

    fn exit<'m>(&self, cpu: &Cpu<'m>, space: Space<'m>) -> Changed {
        if !space.tables.tables.is_active_nowhere() {
            return Err(SpaceError::Active);
        }
        let (begin, end) = ends(all_pages());
        let released = self.clear(cpu, &space, &mut space.map.write(), begin, end);
        self.release(cpu, released);
        cpu.count(Event::Exit);
        Ok(())
    }

    fn new_object<'m>(&self, _cpu: &Cpu<'m>, pages: u64) -> Result<Handle, NoMemory> {
        Ok(Handle { object: Object::new(false), pages })
    }

    fn drop_object<'m>(&self, cpu: &Cpu<'m>, object: Handle) {
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
        space.tables.tables.access(cpu, page, byte, write)
    }
}
