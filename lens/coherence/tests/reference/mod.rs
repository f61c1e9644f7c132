//! The same machine written the plain way: for each line the set of holders and, for each byte, when it was written and by
//! whom. Slow and sequential; what the real one is held against.

use std::collections::{HashMap, HashSet};

#[derive(Default)]
struct Line {
    holders: HashSet<u16>,
    /// The last writer; none while the line was never written.
    writer: Option<u16>,
    /// For each byte, when it was written last, by the count of all accesses.
    written_at: HashMap<u64, u64>,
    /// Since when each CPU has not held the line: the time of its last touch while it did.
    last_held: HashMap<u16, u64>,
    /// Bytes that each holder has read since it fetched the line, the last writer left out.
    read_by: HashMap<u16, HashSet<u64>>,
    /// For each CPU the open question whether its last transfer was false sharing, and the bytes that would settle it.
    open: HashMap<u16, HashSet<u64>>,
}

/// Transfers with true and with false sharing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub true_sharing: u64,
    pub false_sharing: u64,
}

#[derive(Default)]
pub struct Reference {
    lines: HashMap<u64, Line>,
    now: u64,
    pub sums: Sums,
}

impl Reference {
    /// One access within one line; whether it needed a transfer.
    pub fn access(&mut self, cpu: u16, line: u64, bytes: &[u64], write: bool) -> bool {
        self.now += 1;
        let (now, line) = (self.now, self.lines.entry(line).or_default());
        let held = line.holders.contains(&cpu);
        let others_hold = line.holders.iter().any(|&holder| holder != cpu);
        let moved = if write { others_hold } else { !held && line.writer.is_some() };
        let since = line.last_held.get(&cpu).copied().unwrap_or(0);
        let written_by_others = |byte: &u64| line.written_at.get(byte).is_some_and(|&at| at > since);
        let mut foreign: HashSet<u64> = (0..64).filter(written_by_others).collect();
        if held {
            foreign.clear();
        }
        if write {
            foreign.extend(line.read_by.iter().filter(|(reader, _)| **reader != cpu).flat_map(|(_, bytes)| bytes));
        }
        if moved {
            let is_true = bytes.iter().any(|byte| foreign.contains(byte));
            if is_true {
                self.sums.true_sharing += 1;
                line.open.remove(&cpu);
            } else {
                self.sums.false_sharing += 1;
                line.open.insert(cpu, foreign);
            }
        } else if held && line.open.get(&cpu).is_some_and(|open| bytes.iter().any(|byte| open.contains(byte))) {
            line.open.remove(&cpu);
            self.sums.false_sharing -= 1;
            self.sums.true_sharing += 1;
        }
        if write {
            let exclusive = !others_hold && held && line.writer == Some(cpu);
            if !exclusive {
                line.read_by.clear();
                line.open.retain(|&other, _| other == cpu && moved);
            }
            line.holders.retain(|&holder| holder == cpu);
            line.writer = Some(cpu);
            line.written_at.extend(bytes.iter().map(|&byte| (byte, now)));
        } else if line.writer != Some(cpu) {
            line.read_by.entry(cpu).or_default().extend(bytes);
        }
        line.holders.insert(cpu);
        for &holder in &line.holders {
            line.last_held.insert(holder, now);
        }
        moved
    }
}
