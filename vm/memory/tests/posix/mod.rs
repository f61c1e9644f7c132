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
    Object { object: usize, index: u64 },
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

/// The contents of all objects, by number and page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Objects {
    pages: BTreeMap<(usize, u64), Rc<[u8; BYTES]>>,
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
        let indices = first..;
        let page = |(page, index)| (page, Page { rights, kind: Kind::Object { object, index } });
        self.pages.extend(range.zip(indices).map(page));
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
            if let Kind::Private(contents) = &mut page.kind {
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
        let contents = match &mut page.kind {
            Kind::Private(contents) => contents.as_deref(),
            Kind::Object { object, index } => objects.pages.get(&(*object, *index)).map(Rc::as_ref),
        };
        let before = contents.map_or(0, |contents| contents[byte]);
        if let Some(value) = write {
            let mut changed = *contents.unwrap_or(&[0; BYTES]);
            changed[byte] = value;
            match &mut page.kind {
                Kind::Private(contents) => *contents = Some(Rc::new(changed)),
                Kind::Object { object, index } => drop(objects.pages.insert((*object, *index), Rc::new(changed))),
            }
        }
        Ok(before)
    }
}
