//! A bounded cache: determines which lines one CPU has room for.
//!
//! It is set-associative. In each set the line that was fetched longest ago is evicted first (first in, first out).
//! Hits do not change the order, so they need no call here. A line that another CPU's write invalidated keeps its way
//! until it is its turn to be evicted or it is fetched again, like an invalid line that nobody reuses.

/// Size of each CPU's private cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caches {
    /// Number of lines that it holds.
    pub lines: u32,
    /// Lines per set.
    pub ways: u32,
}

/// Why a cache size is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CachesError {
    /// No line, or too many.
    #[error("a cache of {0} lines: from 1 to {max} are possible", max = Caches::MOST_LINES)]
    Lines(u32),
    /// No way, or too many.
    #[error("{0} ways: from 1 to {max} are possible", max = Caches::MOST_WAYS)]
    Ways(u32),
    /// The number of lines is not a multiple of the number of ways.
    #[error("{0} lines don't divide into sets of {1} ways")]
    Uneven(u32, u32),
}

impl Caches {
    /// The second-level cache of a current server core, which is private to the core: 2 MiB, 16-way (Intel 64 and IA-32
    /// Architectures Optimization Reference Manual, Golden Cove and Raptor Cove). The shared cache behind it is not
    /// modelled: what leaves this one comes from memory.
    pub const DEFAULT: Caches = Caches { lines: 32_768, ways: 16 };
    /// Maximum number of lines: 1 GiB.
    pub const MOST_LINES: u32 = 1 << 24;
    /// Maximum number of ways.
    pub const MOST_WAYS: u32 = 64;

    pub(crate) fn check(self) -> Result<Self, CachesError> {
        if self.lines == 0 || self.lines > Self::MOST_LINES {
            return Err(CachesError::Lines(self.lines));
        }
        if self.ways == 0 || self.ways > Self::MOST_WAYS {
            return Err(CachesError::Ways(self.ways));
        }
        if !self.lines.is_multiple_of(self.ways) {
            return Err(CachesError::Uneven(self.lines, self.ways));
        }
        Ok(self)
    }
}

/// No line. Line numbers are addresses divided by 64, so none is this large.
const NOTHING: u64 = u64::MAX;

/// One CPU's cache.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Set after set; within a set, the most recently fetched line comes first.
    lines: Box<[u64]>,
    ways: usize,
}

impl Cache {
    /// An empty cache of a valid size.
    pub(crate) fn new(caches: Caches) -> Self {
        Cache { lines: vec![NOTHING; caches.lines as usize].into(), ways: caches.ways as usize }
    }

    /// Inserts a fetched line. Returns the line that is evicted for it.
    pub(crate) fn put(&mut self, line: u64) -> Option<u64> {
        let sets = (self.lines.len() / self.ways) as u64;
        let first = (line % sets) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        let place = set.iter().position(|&other| other == line);
        let last = place.unwrap_or(self.ways - 1);
        let gone = std::mem::replace(&mut set[last], line);
        set[..=last].rotate_right(1);
        (place.is_none() && gone != NOTHING).then_some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fetched_longest_ago_goes_first() {
        let mut cache = Cache::new(Caches { lines: 4, ways: 2 });
        assert_eq!([0, 2, 1].map(|line| cache.put(line)), [None; 3]);
        assert_eq!(cache.put(4), Some(0));
        // Fetched again, so 4 is now the older one.
        assert_eq!(cache.put(2), None);
        assert_eq!(cache.put(6), Some(4));
        assert_eq!(cache.put(3), None);
    }

    #[test]
    fn what_can_not_be_is_refused_in_words() {
        let refused = |lines, ways| Caches { lines, ways }.check().unwrap_err().to_string();
        assert_eq!(refused(0, 1), "a cache of 0 lines: from 1 to 16777216 are possible");
        assert_eq!(refused(u32::MAX, 1), "a cache of 4294967295 lines: from 1 to 16777216 are possible");
        assert_eq!(refused(64, 0), "0 ways: from 1 to 64 are possible");
        assert_eq!(refused(64, 65), "65 ways: from 1 to 64 are possible");
        assert_eq!(refused(64, 6), "64 lines don't divide into sets of 6 ways");
    }
}
