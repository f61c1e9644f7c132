//! The same machine written the plain way: for each line the set of holders and, for each byte, when it was written and by
//! whom. Slow and sequential; what the real one is held against.

use std::collections::{HashMap, HashSet};

#[derive(Default)]
struct Line {
    /// Who has the line in its cache.
    holders: HashSet<u16>,
    /// Who is believed to: those who dropped it unwritten told nobody.
    believed: HashSet<u16>,
    /// Who dropped it, and nobody wrote it since.
    dropped: HashSet<u16>,
    /// The last writer; none while the line was never written, or once it was written back.
    writer: Option<u16>,
    is_written: bool,
    /// For each byte, when it was written last, by the count of all accesses.
    written_at: HashMap<u64, u64>,
    /// Since when each CPU has not held the line: the time of its last touch while it did.
    last_held: HashMap<u16, u64>,
    /// Bytes that each CPU has read since the line was taken by its last writer, that one left out.
    read_by: HashMap<u16, HashSet<u64>>,
    /// Bytes that the last writer has written since it took the line.
    written_by_writer: HashSet<u64>,
    /// For each CPU the open question whether its last transfer was false sharing, and the bytes that would settle it.
    open: HashMap<u16, HashSet<u64>>,
}

/// What an access needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    Nothing,
    Transfer,
    Memory,
}

/// Transfers with true and with false sharing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub true_sharing: u64,
    pub false_sharing: u64,
    pub capacity_misses: u64,
}

#[derive(Default)]
pub struct Reference {
    lines: HashMap<u64, Line>,
    /// For each CPU the lines in its cache, those fetched last at the end, taken away ones among them.
    caches: HashMap<u16, Vec<u64>>,
    /// Sets and ways; none if there is room for everything.
    bounds: Option<(u64, usize)>,
    now: u64,
    pub sums: Sums,
}

impl Reference {
    /// A machine with caches of so many sets of so many ways.
    pub fn bounded(sets: u64, ways: usize) -> Self {
        Reference { bounds: Some((sets, ways)), ..Reference::default() }
    }

    /// One access within one line.
    pub fn access(&mut self, cpu: u16, number: u64, bytes: &[u64], write: bool) -> Needed {
        self.now += 1;
        let (now, line) = (self.now, self.lines.entry(number).or_default());
        let held = line.holders.contains(&cpu);
        let others_believed = line.believed.iter().any(|&holder| holder != cpu);
        let is_written_back = line.is_written && line.writer.is_none();
        let needed = match (write, held) {
            (false, true) => Needed::Nothing,
            (true, _) if others_believed => Needed::Transfer,
            (true, true) => Needed::Nothing,
            _ if line.dropped.contains(&cpu) || is_written_back => Needed::Memory,
            (false, false) if line.writer.is_some() => Needed::Transfer,
            _ => Needed::Nothing,
        };
        let since = line.last_held.get(&cpu).copied().unwrap_or(0);
        let written_by_others = |byte: &u64| line.written_at.get(byte).is_some_and(|&at| at > since);
        let mut foreign: HashSet<u64> = (0..64).filter(written_by_others).collect();
        if held {
            foreign.clear();
        }
        if write {
            foreign.extend(line.read_by.iter().filter(|(reader, _)| **reader != cpu).flat_map(|(_, bytes)| bytes));
            if line.writer.is_some_and(|writer| writer != cpu) {
                foreign.extend(&line.written_by_writer);
            }
        }
        match needed {
            Needed::Transfer if bytes.iter().any(|byte| foreign.contains(byte)) => {
                self.sums.true_sharing += 1;
                line.open.remove(&cpu);
            }
            Needed::Transfer => {
                self.sums.false_sharing += 1;
                line.open.insert(cpu, foreign);
            }
            Needed::Memory => self.sums.capacity_misses += 1,
            Needed::Nothing => {
                if line.open.get(&cpu).is_some_and(|open| bytes.iter().any(|byte| open.contains(byte))) {
                    line.open.remove(&cpu);
                    self.sums.false_sharing -= 1;
                    self.sums.true_sharing += 1;
                }
            }
        }
        if write {
            let exclusive = !others_believed && held && line.writer == Some(cpu);
            if !exclusive {
                line.read_by.clear();
                line.written_by_writer.clear();
                line.open.retain(|&other, _| other == cpu);
                line.dropped.clear();
            }
            line.holders.clear();
            line.believed.clear();
            line.writer = Some(cpu);
            line.is_written = true;
            line.written_by_writer.extend(bytes);
            line.written_at.extend(bytes.iter().map(|&byte| (byte, now)));
        } else if line.writer != Some(cpu) {
            line.read_by.entry(cpu).or_default().extend(bytes);
        }
        line.holders.insert(cpu);
        line.believed.insert(cpu);
        line.dropped.remove(&cpu);
        for &holder in &line.holders {
            line.last_held.insert(holder, now);
        }
        if !held {
            self.make_room(cpu, number);
        }
        needed
    }

    fn make_room(&mut self, cpu: u16, number: u64) {
        let Some((sets, ways)) = self.bounds else { return };
        let cache = self.caches.entry(cpu).or_default();
        cache.retain(|&other| other != number);
        cache.push(number);
        let same_set = |other: &u64| *other % sets == number % sets;
        if cache.iter().filter(|other| same_set(other)).count() > ways {
            let gone = cache.remove(cache.iter().position(same_set).unwrap());
            self.drop_copy(cpu, gone);
        }
    }

    fn drop_copy(&mut self, cpu: u16, number: u64) {
        let line = self.lines.get_mut(&number).unwrap();
        if line.writer == Some(cpu) {
            line.writer = None;
            line.believed.remove(&cpu);
        }
        if line.holders.remove(&cpu) {
            line.dropped.insert(cpu);
            line.open.remove(&cpu);
        }
    }
}
