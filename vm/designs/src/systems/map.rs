//! A space's map entries in address order, as in BSD's `vm_map`: changing a part of an entry's
//! range splits it. Equal entries are not merged again.
//!
//! The owner locks it. The tree is the standard library's, whose nodes hold several entries; BSD's
//! are red-black trees of individually allocated entries.

use std::collections::BTreeMap;

/// Contents of an entry, divided when it is split.
pub(super) trait Content {
    /// Splits off the part from the page `at` on.
    fn split_off(&mut self, at: u64) -> Self;
}

/// An entry; its first page is its key.
#[derive(Debug)]
pub(super) struct Entry<R, C> {
    /// One past its last page.
    pub(super) end: u64,
    pub(super) rights: R,
    pub(super) content: C,
}

#[derive(Debug)]
pub(super) struct Map<R, C> {
    entries: BTreeMap<u64, Entry<R, C>>,
}

impl<R: Copy, C: Content> Map<R, C> {
    pub(super) fn new() -> Self {
        Map { entries: BTreeMap::new() }
    }

    /// The entry of a page, with its first page.
    pub(super) fn find(&self, page: u64) -> Option<(u64, &Entry<R, C>)> {
        let (begin, entry) = self.entries.range(..=page).next_back()?;
        (entry.end > page).then_some((*begin, entry))
    }

    /// As `find`, mutable.
    pub(super) fn find_mut(&mut self, page: u64) -> Option<(u64, &mut Entry<R, C>)> {
        let (begin, entry) = self.entries.range_mut(..=page).next_back()?;
        (entry.end > page).then_some((*begin, entry))
    }

    /// Splits the entry across this page, if any.
    fn split(&mut self, at: u64) {
        let Some((begin, entry)) = self.find_mut(at) else { return };
        if begin == at {
            return;
        }
        let upper = Entry { end: entry.end, rights: entry.rights, content: entry.content.split_off(at) };
        entry.end = at;
        self.entries.insert(at, upper);
    }

    /// Splits entries at both ends of a range.
    pub(super) fn clip(&mut self, begin: u64, end: u64) {
        self.split(begin);
        self.split(end);
    }

    /// Clips a range, and removes its entries.
    pub(super) fn take(&mut self, begin: u64, end: u64) -> Vec<(u64, Entry<R, C>)> {
        self.clip(begin, end);
        // Most ranges have few entries; splitting the tree would copy half of it.
        let keys: Vec<u64> = self.entries.range(begin..end).map(|(begin, _)| *begin).collect();
        keys.into_iter().filter_map(|begin| Some((begin, self.entries.remove(&begin)?))).collect()
    }

    /// Adds an entry at an unmapped range.
    pub(super) fn insert(&mut self, begin: u64, entry: Entry<R, C>) {
        self.entries.insert(begin, entry);
    }

    /// The entries of a clipped range, in order.
    pub(super) fn range_mut(&mut self, begin: u64, end: u64) -> impl Iterator<Item = (u64, &mut Entry<R, C>)> {
        self.entries.range_mut(begin..end).map(|(begin, entry)| (*begin, entry))
    }

    /// True if each page of a range has an entry.
    pub(super) fn is_whole(&self, begin: u64, end: u64) -> bool {
        let mut next = begin;
        while next < end {
            match self.find(next) {
                Some((_, entry)) => next = entry.end,
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Content for u64 {
        fn split_off(&mut self, at: u64) -> u64 {
            at
        }
    }

    #[test]
    fn entries_are_split_where_a_range_begins_and_ends() {
        let mut map = Map::<char, u64>::new();
        map.insert(10, Entry { end: 20, rights: 'a', content: 10 });
        map.insert(20, Entry { end: 30, rights: 'b', content: 20 });
        assert!(map.is_whole(10, 30) && !map.is_whole(9, 11) && !map.is_whole(29, 31));
        let taken: Vec<_> =
            map.take(15, 22).into_iter().map(|(begin, entry)| (begin, entry.end, entry.content)).collect();
        assert_eq!(taken, [(15, 20, 15), (20, 22, 20)]);
        let at = |page| map.find(page).map(|(begin, entry)| (begin, entry.end, entry.content));
        assert_eq!([at(9), at(14), at(15), at(21), at(22)], [None, Some((10, 15, 10)), None, None, Some((22, 30, 22))]);
    }
}
