//! A model of POSIX memory in plain code: a table of pages per space, without frames, trees or
//! locks. The caller chooses addresses of mappings that may go anywhere; a protection of a range
//! with a hole changes nothing.

use faultline_memory::{FaultError, Rights, STACK_GAP, SpaceError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Bytes of a page here. The hosted machine's frames are as long.
pub const BYTES: usize = 16;

/// A page's contents; `None`: zeroes.
pub type Contents = Option<Rc<[u8; BYTES]>>;

/// Mapping of a page.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// Possible contents: several if they were given up and not read since.
    Private(Vec<Contents>),
    Object {
        object: usize,
        index: u64,
    },
    /// The first write makes a private copy.
    Copied {
        object: usize,
        index: u64,
        copy: Contents,
    },
}

#[derive(Debug, Clone, PartialEq)]
struct Page {
    rights: Rights,
    is_guard: bool,
    is_stack: bool,
    /// True if the contents may become zeroes at any time.
    is_given_up: bool,
    kind: Kind,
}

impl Page {
    fn of(rights: Rights, kind: Kind) -> Self {
        Self { rights, is_guard: false, is_stack: false, is_given_up: false, kind }
    }

    /// Discards private contents.
    fn empty(&mut self) {
        match &mut self.kind {
            Kind::Private(contents) => *contents = vec![None],
            Kind::Copied { copy, .. } => *copy = None,
            Kind::Object { .. } => {}
        }
        self.is_given_up = false;
    }
}

/// An address space.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Space {
    pages: BTreeMap<u64, Page>,
    /// Stack limit in pages.
    stack_limit: u64,
}

/// An object: its length, and its original contents.
#[derive(Debug, Clone)]
struct Object {
    pages: u64,
    pattern: fn(u64) -> u8,
    /// From this page on, contents are zeroes.
    kept: u64,
}

/// Compares objects with one pattern, so ignores the pattern.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        (self.pages, self.kept) == (other.pages, other.kept)
    }
}

/// All objects and written pages, by number and page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Objects {
    objects: BTreeMap<usize, Object>,
    written: BTreeMap<(usize, u64), Rc<[u8; BYTES]>>,
}

impl Objects {
    pub fn add(&mut self, object: usize, pages: u64, pattern: fn(u64) -> u8) {
        self.objects.insert(object, Object { pages, pattern, kept: u64::MAX });
    }

    pub fn truncate(&mut self, object: usize, pages: u64) {
        self.written.retain(|(of, index), _| *of != object || *index < pages);
        let object = self.objects.get_mut(&object).unwrap();
        (object.pages, object.kept) = (pages, object.kept.min(pages));
    }

    /// Contents of a page. `None` beyond the end.
    pub fn page(&self, object: usize, index: u64) -> Option<[u8; BYTES]> {
        let of = &self.objects[&object];
        let byte = if index < of.kept { (of.pattern)(index) } else { 0 };
        (index < of.pages).then(|| self.written.get(&(object, index)).map_or([byte; BYTES], |page| **page))
    }
}

impl Space {
    pub fn new(stack_limit: u64) -> Self {
        Self { stack_limit, ..Default::default() }
    }

    /// Pages that are mapped.
    pub fn mapped(&self) -> impl Iterator<Item = u64> {
        self.pages.keys().copied()
    }

    pub fn map(&mut self, range: Range<u64>, rights: Rights) {
        self.pages.extend(range.map(|page| (page, Page::of(rights, Kind::Private(vec![None])))));
    }

    pub fn map_object(&mut self, range: Range<u64>, rights: Rights, object: usize, first: u64) {
        let page = |(page, index)| (page, Page::of(rights, Kind::Object { object, index }));
        self.pages.extend(range.zip(first..).map(page));
    }

    pub fn map_private(&mut self, range: Range<u64>, rights: Rights, object: usize, first: u64) {
        let page = |(page, index)| (page, Page::of(rights, Kind::Copied { object, index, copy: None }));
        self.pages.extend(range.zip(first..).map(page));
    }

    pub fn unmap(&mut self, range: Range<u64>) {
        let pages: Vec<_> = self.pages.range(range).map(|(page, _)| *page).collect();
        pages.iter().for_each(|page| drop(self.pages.remove(page)));
    }

    pub fn protect(&mut self, range: Range<u64>, rights: Rights) -> Result<(), SpaceError> {
        self.check_mapped(&range)?;
        self.pages.range_mut(range).for_each(|(_, page)| page.rights = rights);
        Ok(())
    }

    fn check_mapped(&self, range: &Range<u64>) -> Result<(), SpaceError> {
        let count = self.pages.range(range.clone()).count() as u64;
        if count == range.end - range.start { Ok(()) } else { Err(SpaceError::NotMapped) }
    }

    pub fn dont_need(&mut self, range: Range<u64>) {
        self.pages.range_mut(range).for_each(|(_, page)| page.empty());
    }

    pub fn guard(&mut self, range: Range<u64>) -> Result<(), SpaceError> {
        self.check_mapped(&range)?;
        for (_, page) in self.pages.range_mut(range) {
            page.empty();
            page.is_guard = true;
        }
        Ok(())
    }

    pub fn unguard(&mut self, range: Range<u64>) {
        self.pages.range_mut(range).for_each(|(_, page)| page.is_guard = false);
    }

    pub fn give_up(&mut self, range: Range<u64>) {
        for (_, page) in self.pages.range_mut(range) {
            if let Kind::Private(contents) = &mut page.kind {
                contents.push(None);
                page.is_given_up = true;
            }
        }
    }

    /// Locking changes no byte; only missing pages can cause an error.
    pub fn lock(&mut self, range: Range<u64>, objects: &Objects) -> Result<(), SpaceError> {
        self.check_mapped(&range)?;
        let is_beyond = |page: &Page| match page.kind {
            Kind::Object { object, index } | Kind::Copied { object, index, copy: None } => {
                !page.is_guard && page.rights != Rights::NONE && objects.page(object, index).is_none()
            }
            _ => false,
        };
        if self.pages.range(range).any(|(_, page)| is_beyond(page)) { Err(SpaceError::BeyondObject) } else { Ok(()) }
    }

    pub fn map_stack(&mut self, range: Range<u64>, rights: Rights) {
        let stack = Page { is_stack: true, ..Page::of(rights, Kind::Private(vec![None])) };
        self.pages.extend(range.map(|page| (page, stack.clone())));
    }

    fn is_stack(&self, page: u64) -> bool {
        self.pages.get(&page).is_some_and(|page| page.is_stack && !page.is_guard)
    }

    /// Maps the pages between a page and the stack above it.
    pub fn grow(&mut self, page: u64) {
        let Some((bottom, lowest)) = self.pages.range(page..).next().map(|(at, page)| (*at, page.clone())) else {
            return;
        };
        let top = (bottom..).find(|page| !self.is_stack(*page)).unwrap();
        let is_blocked = self.pages.range(page.saturating_sub(STACK_GAP)..page).next().is_some();
        if self.is_stack(bottom) && bottom > page && top - page <= self.stack_limit && !is_blocked {
            self.map_stack(page..bottom, lowest.rights);
        }
    }

    /// True if a mapping that may go anywhere may go there.
    pub fn is_room(&self, range: &Range<u64>) -> bool {
        let above = self.pages.range(range.end..range.end + STACK_GAP).next();
        self.pages.range(range.clone()).next().is_none() && above.is_none_or(|(page, _)| !self.is_stack(*page))
    }

    /// A continuation of the last page's mapping of a range, with the object's pages.
    fn more(&self, last: u64, range: Range<u64>, length: u64) -> Result<Vec<(u64, Page)>, SpaceError> {
        let mut page = Page { is_guard: false, ..self.pages[&last].clone() };
        page.empty();
        let mut next = |to| {
            if let Kind::Object { index, .. } | Kind::Copied { index, .. } = &mut page.kind {
                *index += 1;
                if *index >= length {
                    return Err(SpaceError::BeyondObject);
                }
            }
            Ok((to, page.clone()))
        };
        range.map(&mut next).collect()
    }

    /// `length`: of all objects.
    pub fn resize(&mut self, range: Range<u64>, pages: u64, length: u64) -> Result<(), SpaceError> {
        let end = range.start + pages;
        self.check_mapped(&(range.start..end.min(range.end)))?;
        if end <= range.end {
            self.check_mapped(&range)?;
            self.unmap(end..range.end);
        } else if !self.is_room(&(range.end..end)) {
            return Err(SpaceError::NoAddress);
        } else {
            let more = self.more(range.end - 1, range.end..end, length)?;
            self.pages.extend(more);
        }
        Ok(())
    }

    /// `length`: of all objects.
    pub fn move_to(&mut self, range: Range<u64>, to: Range<u64>, length: u64) -> Result<(), SpaceError> {
        if range.start < to.end && to.start < range.end {
            return Err(SpaceError::BadRange);
        }
        self.check_mapped(&range)?;
        let pages = (range.end - range.start).min(to.end - to.start);
        let mut moved = self.more(range.start + pages - 1, to.start + pages..to.end, length)?;
        moved.extend(
            (to.start..).zip(range.start..range.start + pages).map(|(to, page)| (to, self.pages[&page].clone())),
        );
        self.unmap(to);
        self.unmap(range);
        self.pages.extend(moved);
        Ok(())
    }

    /// The byte before the access. `seen`: the byte found, which is right if it is a possible one.
    pub fn access(
        &mut self,
        objects: &mut Objects,
        page: u64,
        byte: usize,
        write: Option<u8>,
        seen: u8,
    ) -> Result<u8, FaultError> {
        let access = if write.is_some() { Rights::WRITE } else { Rights::READ };
        if !self.pages.contains_key(&page) {
            self.grow(page);
        }
        let page = self.pages.get_mut(&page).ok_or(FaultError::NotMapped)?;
        if page.is_guard {
            return Err(FaultError::Guarded);
        }
        if !page.rights.allows(access) {
            return Err(FaultError::NotAllowed);
        }
        if let Kind::Private(contents) = &mut page.kind {
            let byte_of = |contents: &Contents| contents.as_ref().map_or(0, |bytes| bytes[byte]);
            if contents.iter().any(|contents| byte_of(contents) == seen) {
                contents.retain(|contents| byte_of(contents) == seen);
            }
            let before = byte_of(&contents[0]);
            if let Some(value) = write {
                page.is_given_up = false;
                for contents in contents {
                    let mut changed = contents.as_deref().copied().unwrap_or([0; BYTES]);
                    changed[byte] = value;
                    *contents = Some(Rc::new(changed));
                }
            } else if page.is_given_up && !contents.contains(&None) {
                contents.push(None);
            }
            return Ok(before);
        }
        let of_object = |object: usize, index| objects.page(object, index).ok_or(FaultError::BeyondObject);
        let contents = match &page.kind {
            Kind::Private(_) => unreachable!("above"),
            Kind::Copied { copy: Some(copy), .. } => **copy,
            Kind::Object { object, index } | Kind::Copied { object, index, copy: None } => of_object(*object, *index)?,
        };
        let before = contents[byte];
        if let Some(value) = write {
            let mut changed = contents;
            changed[byte] = value;
            match &mut page.kind {
                Kind::Copied { copy, .. } => *copy = Some(Rc::new(changed)),
                Kind::Private(_) => unreachable!("above"),
                Kind::Object { object, index } => drop(objects.written.insert((*object, *index), Rc::new(changed))),
            }
        }
        Ok(before)
    }
}
