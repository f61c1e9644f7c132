//! All lines there are, found by number without a lock: buckets of chains that only grow.
//!
//! Lines come in groups of 64, a base page, since whoever touches one soon touches its neighbours. A group is made when first
//! touched, never moved, and freed with the table.

use crate::line::Line;
use std::sync::OnceLock;

/// Lines of a group.
const GROUP_LINES: u64 = 64;

/// Buckets. A guest of 4 GiB has 2²⁰ groups: if all were touched, chains would be 16 long, and only the first access of a CPU
/// to a line walks one.
const BUCKETS: usize = 1 << 16;

type Link = OnceLock<Box<Group>>;

#[derive(Debug)]
struct Group {
    number: u64,
    lines: [Line; GROUP_LINES as usize],
    next: Link,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Table {
    buckets: Box<[Link]>,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table { buckets: (0..BUCKETS).map(|_| Link::new()).collect() }
    }

    /// The line of that number; there from now on.
    pub(crate) fn line(&self, line: u64) -> &Line {
        let number = line / GROUP_LINES;
        let mut link = &self.buckets[bucket(number)];
        loop {
            // Another CPU may put its own group here first; then ours belongs further down the chain.
            let group = link.get_or_init(|| Box::new(Group::new(number)));
            if group.number == number {
                return &group.lines[(line % GROUP_LINES) as usize];
            }
            link = &group.next;
        }
    }
}

impl Group {
    fn new(number: u64) -> Self {
        Group { number, lines: std::array::from_fn(|_| Line::default()), next: Link::new() }
    }
}

/// Frees a chain link by link: a long one would overflow the stack if each group dropped the next.
impl Drop for Table {
    fn drop(&mut self) {
        for bucket in &mut self.buckets {
            let mut rest = bucket.take();
            while let Some(mut group) = rest {
                rest = group.next.take();
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
        let lines: Vec<*const Line> =
            (0..1_000_000).step_by(7).map(|number| std::ptr::from_ref(table.line(number))).collect();
        for (index, number) in (0..1_000_000).step_by(7).enumerate() {
            assert!(std::ptr::eq(table.line(number), lines[index]));
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
                    (0..4).map(|_| scope.spawn(|| std::ptr::from_ref(table.line(round)) as usize)).collect();
                racers.into_iter().map(|racer| racer.join().unwrap()).collect()
            });
            assert!(found.iter().all(|&line| line == found[0]));
        }
    }
}
