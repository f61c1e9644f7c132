//! The set-associative cache of one CPU: determines which lines it has room for.
//!
//! Each set evicts the line that was fetched longest ago (first in, first out). Hits do not change
//! the order, so they need no call here. A line that another CPU's write invalidated keeps its way
//! until it is evicted or fetched again, like an unused invalid line.

use crate::held::Place;
use faultline_lens_format::Caches;

/// A cache.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Set after set, each a ring in the order of fetching.
    lines: Box<[Place]>,
    /// For each set, the way of the line that was fetched longest ago; an empty one, if there is
    /// any.
    oldest: Box<[u8]>,
    ways: usize,
}

impl Cache {
    /// An empty cache of a valid size.
    pub(crate) fn new(caches: Caches) -> Self {
        let (lines, ways) = (caches.lines as usize, caches.ways as usize);
        Cache { lines: vec![Place::NOWHERE; lines].into(), oldest: vec![0; lines / ways].into(), ways }
    }

    fn set(&self, number: u64) -> usize {
        let sets = self.oldest.len() as u64;
        // Division takes longer than the rest of a look-up.
        let set = if sets.is_power_of_two() { number & (sets - 1) } else { number % sets };
        set as usize
    }

    /// Inserts a fetched line, which the cache does not have. Returns the evicted line, if any.
    #[inline]
    pub(crate) fn put(&mut self, number: u64, place: Place) -> Option<Place> {
        let set = self.set(number);
        let oldest = usize::from(self.oldest[set]);
        let gone = std::mem::replace(&mut self.lines[set * self.ways + oldest], place);
        self.oldest[set] = if oldest + 1 == self.ways { 0 } else { oldest as u8 + 1 };
        (gone != Place::NOWHERE).then_some(gone)
    }

    /// Notes that a line which the cache has was fetched again.
    pub(crate) fn renew(&mut self, number: u64, place: Place) {
        let set = self.set(number);
        let ways = &mut self.lines[set * self.ways..(set + 1) * self.ways];
        let newest = (usize::from(self.oldest[set]) + self.ways - 1) % self.ways;
        let Some(mut way) = ways.iter().position(|&other| other == place) else { return };
        while way != newest {
            let next = if way + 1 == self.ways { 0 } else { way + 1 };
            ways[way] = ways[next];
            way = next;
        }
        ways[newest] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::Held;
    use crate::lines::LineTable;

    #[test]
    fn what_was_fetched_longest_ago_goes_first() {
        let mut cache = Cache::new(Caches { lines: 4, ways: 2 });
        let table = LineTable::new();
        let mut held = Held::new();
        let places: Vec<_> = (0..8).map(|line| held.place(line, || table.group(line))).collect();
        let put = |cache: &mut Cache, line: u64| cache.put(line, places[line as usize]);
        let gone = |line: usize| Some(places[line]);
        assert_eq!([0, 2, 1].map(|line| put(&mut cache, line)), [None; 3]);
        assert_eq!(put(&mut cache, 4), gone(0));
        // Fetched again, so 4 is now the older line.
        cache.renew(2, places[2]);
        assert_eq!(put(&mut cache, 6), gone(4));
        assert_eq!(put(&mut cache, 3), None);
        cache.renew(3, places[3]);
        assert_eq!(put(&mut cache, 5), gone(1));
    }
}
