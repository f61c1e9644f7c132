//! Memory as POSIX describes it, in plain code: a table of pages for each space, and no frames, trees or locks. Only `MAP_FIXED`
//! mappings; a protection of a range with a hole changes nothing.

use faultline_memory::{FaultError, Rights, SpaceError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Bytes of a page here. The hosted machine's frames are as long.
pub const BYTES: usize = 16;

/// A page's contents; none: zeroes.
pub type Contents = Option<Rc<[u8; BYTES]>>;

/// What a page is mapped to.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Private(Contents),
    Object {
        object: usize,
        index: u64,
    },
    /// A private copy is made by the first write.
    Copied {
        object: usize,
        index: u64,
        copy: Contents,
    },
}

#[derive(Debug, Clone, PartialEq)]
struct Page {
    rights: Rights,
    kind: Kind,
}

/// An address space.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Space {
    pages: BTreeMap<u64, Page>,
}

/// An object: its length, and what pages hold that were not written.
#[derive(Debug, Clone)]
struct Object {
    pages: u64,
    pattern: fn(u64) -> u8,
    /// From this page on they hold zeroes.
    kept: u64,
}

/// Those of one object, of which nobody changes the pattern.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        (self.pages, self.kept) == (other.pages, other.kept)
    }
}

/// All objects, and what was written to them, by number and page.
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

    /// What a page holds. None beyond the end.
    pub fn page(&self, object: usize, index: u64) -> Option<[u8; BYTES]> {
        let of = &self.objects[&object];
        let byte = if index < of.kept { (of.pattern)(index) } else { 0 };
        (index < of.pages).then(|| self.written.get(&(object, index)).map_or([byte; BYTES], |page| **page))
    }
}

impl Space {
    /// Pages that are mapped.
    pub fn mapped(&self) -> impl Iterator<Item = u64> {
        self.pages.keys().copied()
    }

    pub fn map(&mut self, range: Range<u64>, rights: Rights) {
        self.pages.extend(range.map(|page| (page, Page { rights, kind: Kind::Private(None) })));
    }

    pub fn map_object(&mut self, range: Range<u64>, rights: Rights, object: usize, first: u64) {
        let page = |(page, index)| (page, Page { rights, kind: Kind::Object { object, index } });
        self.pages.extend(range.zip(first..).map(page));
    }

    pub fn map_private(&mut self, range: Range<u64>, rights: Rights, object: usize, first: u64) {
        let page = |(page, index)| (page, Page { rights, kind: Kind::Copied { object, index, copy: None } });
        self.pages.extend(range.zip(first..).map(page));
    }

    pub fn unmap(&mut self, range: Range<u64>) {
        let pages: Vec<_> = self.pages.range(range).map(|(page, _)| *page).collect();
        pages.iter().for_each(|page| drop(self.pages.remove(page)));
    }

    pub fn protect(&mut self, range: Range<u64>, rights: Rights) -> Result<(), SpaceError> {
        if self.pages.range(range.clone()).count() as u64 != range.end - range.start {
            return Err(SpaceError::NotMapped);
        }
        self.pages.range_mut(range).for_each(|(_, page)| page.rights = rights);
        Ok(())
    }

    pub fn dont_need(&mut self, range: Range<u64>) {
        for (_, page) in self.pages.range_mut(range) {
            if let Kind::Private(contents) | Kind::Copied { copy: contents, .. } = &mut page.kind {
                *contents = None;
            }
        }
    }

    /// The byte before the access.
    pub fn access(
        &mut self,
        objects: &mut Objects,
        page: u64,
        byte: usize,
        write: Option<u8>,
    ) -> Result<u8, FaultError> {
        let access = if write.is_some() { Rights::WRITE } else { Rights::READ };
        let page = self.pages.get_mut(&page).ok_or(FaultError::NotMapped)?;
        if !page.rights.allows(access) {
            return Err(FaultError::NotAllowed);
        }
        let of_object = |object: usize, index| objects.page(object, index).ok_or(FaultError::BeyondObject);
        let contents = match &page.kind {
            Kind::Private(contents) => contents.as_deref().copied().unwrap_or([0; BYTES]),
            Kind::Copied { copy: Some(copy), .. } => **copy,
            Kind::Object { object, index } | Kind::Copied { object, index, copy: None } => of_object(*object, *index)?,
        };
        let before = contents[byte];
        if let Some(value) = write {
            let mut changed = contents;
            changed[byte] = value;
            match &mut page.kind {
                Kind::Private(contents) | Kind::Copied { copy: contents, .. } => *contents = Some(Rc::new(changed)),
                Kind::Object { object, index } => drop(objects.written.insert((*object, *index), Rc::new(changed))),
            }
        }
        Ok(before)
    }
}
