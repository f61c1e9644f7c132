//! All lines, found by number without a lock: buckets with chains that only grow.

use crate::group::Group;
use std::sync::OnceLock;

/// Number of buckets. A guest of 4 GiB has 2²⁰ groups. If all were touched, chains would be 16 long, and only a CPU's
/// first access to a line walks one.
const BUCKETS: usize = 1 << 16;

type Link = OnceLock<Box<Chained>>;

#[derive(Debug)]
struct Chained {
    group: Group,
    next: Link,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Table {
    buckets: Box<[Link]>,
    nowhere: Group,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table { buckets: (0..BUCKETS).map(|_| Link::new()).collect(), nowhere: Group::new(u64::MAX) }
    }

    /// The group of the line with that number; created if needed.
    pub(crate) fn group(&self, line: u64) -> &Group {
        let number = Group::number_of(line);
        let mut link = &self.buckets[bucket(number)];
        loop {
            // Another CPU may insert its own group here first; then ours goes further down the chain.
            let chained = link.get_or_init(|| Box::new(Chained { group: Group::new(number), next: Link::new() }));
            if chained.group.number() == number {
                return &chained.group;
            }
            link = &chained.next;
        }
    }

    /// A group of lines that do not exist, for callers that need some group.
    pub(crate) fn nowhere(&self) -> &Group {
        &self.nowhere
    }
}

/// Frees a chain link by link: if each group dropped the next, a long chain would overflow the stack.
impl Drop for Table {
    fn drop(&mut self) {
        for bucket in &mut self.buckets {
            let mut rest = bucket.take();
            while let Some(mut chained) = rest {
                rest = chained.next.take();
            }
        }
    }
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming, vol. 3, §6.4) with the golden ratio's 64 bits.
fn bucket(number: u64) -> usize {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_leads_to_the_same_line_and_others_elsewhere() {
        let table = Table::new();
        let line = |number| std::ptr::from_ref(table.group(number).line(number));
        let lines: Vec<_> = (0..1_000_000).step_by(7).map(line).collect();
        for (index, number) in (0..1_000_000).step_by(7).enumerate() {
            assert!(std::ptr::eq(line(number), lines[index]));
        }
        let mut distinct = lines.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), lines.len());
    }

    #[test]
    fn threads_that_race_for_a_group_get_the_same() {
        for round in 0..200 {
            let table = Table::new();
            let found: Vec<usize> = std::thread::scope(|scope| {
                let racers: Vec<_> =
                    (0..4).map(|_| scope.spawn(|| std::ptr::from_ref(table.group(round)) as usize)).collect();
                racers.into_iter().map(|racer| racer.join().unwrap()).collect()
            });
            assert!(found.iter().all(|&group| group == found[0]));
        }
    }
}
