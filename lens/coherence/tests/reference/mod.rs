//! A slow, sequential reference model of the machine. It keeps, for each line, the set of holders,
//! and for each byte the time and the CPU of its last write.

use std::collections::{HashMap, HashSet};

#[derive(Default)]
struct Line {
    /// The CPUs that have the line in their cache.
    holders: HashSet<u16>,
    /// The CPUs that dropped it and since whose drop no CPU has written it.
    dropped: HashSet<u16>,
    /// The last writer; `None` if the line was never written, or was written back.
    writer: Option<u16>,
    is_written: bool,
    /// For each byte, the time of its last write, in number of accesses.
    written_at: HashMap<u64, u64>,
    /// For each CPU that lost the line: the time of its last touch.
    last_held: HashMap<u16, u64>,
    /// Bytes that each CPU has read since the last writer took the line, without that writer's own
    /// reads.
    read_by: HashMap<u16, HashSet<u64>>,
    /// Bytes that the last writer has written since it took the line.
    written_by_writer: HashSet<u64>,
    /// For each CPU: transfers that may still be true sharing.
    open: HashMap<u16, Vec<Question>>,
    /// For each CPU that had such a transfer: the bytes that others had written at each transfer
    /// since, in two parts: at most the last 32, and the 32 before.
    others: HashMap<u16, [Vec<HashSet<u64>>; 2]>,
}

/// Transfers that look like false sharing: one, or reads of one place that a CPU repeated.
struct Question {
    /// The place that was read; `None` if it was written.
    read: Option<u64>,
    times: u64,
    /// Bytes whose touch makes it true sharing.
    foreign: HashSet<u64>,
    /// Number of later transfers of the line to the CPU.
    age: u32,
    /// Number of later transfers up to which the question is open.
    reach: u32,
}

/// The outcome of an access.
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
    /// For each CPU the lines in its cache, most recently fetched last, including invalidated ones.
    caches: HashMap<u16, Vec<u64>>,
    /// Sets and ways; `None` if the cache is unbounded.
    bounds: Option<(u64, usize)>,
    now: u64,
    pub sums: Sums,
}

impl Reference {
    /// A machine with caches of `sets` sets with `ways` ways.
    pub fn bounded(sets: u64, ways: usize) -> Self {
        Reference { bounds: Some((sets, ways)), ..Reference::default() }
    }

    /// One access within one line.
    pub fn access(&mut self, cpu: u16, number: u64, bytes: &[u64], write: bool) -> Needed {
        self.now += 1;
        let (now, line) = (self.now, self.lines.entry(number).or_default());
        let held = line.holders.contains(&cpu);
        let others_hold = line.holders.iter().any(|&holder| holder != cpu);
        let is_written_back = line.is_written && line.writer.is_none();
        let needed = match (write, held) {
            (false, true) => Needed::Nothing,
            (true, _) if others_hold => Needed::Transfer,
            (true, true) => Needed::Nothing,
            _ if line.dropped.contains(&cpu) || is_written_back => Needed::Memory,
            (false, false) if line.writer.is_some() => Needed::Transfer,
            _ => Needed::Nothing,
        };
        let since = line.last_held.get(&cpu).copied().unwrap_or(0);
        let written_by_others = |byte: &u64| line.written_at.get(byte).is_some_and(|&at| at > since);
        let mut written: HashSet<u64> = (0..64).filter(written_by_others).collect();
        if held {
            written.clear();
        }
        if write && line.writer.is_some_and(|writer| writer != cpu) {
            written.extend(&line.written_by_writer);
        }
        let mut foreign = written.clone();
        if write {
            foreign.extend(line.read_by.iter().filter(|(reader, _)| **reader != cpu).flat_map(|(_, bytes)| bytes));
        }
        let touches = |foreign: &HashSet<u64>| bytes.iter().any(|byte| foreign.contains(byte));
        let open = line.open.entry(cpu).or_default();
        let moves = needed == Needed::Transfer;
        let is_answer = |question: &Question| touches(&question.foreign) && !(moves && question.reach == 0);
        for answered in open.extract_if(.., |question| is_answer(question)) {
            self.sums.false_sharing -= answered.times;
            self.sums.true_sharing += answered.times;
        }
        match needed {
            Needed::Transfer => {
                let is_true = touches(&foreign);
                if !is_true || line.others.contains_key(&cpu) {
                    let [recent, before] = line.others.entry(cpu).or_default();
                    if recent.len() == 32 {
                        *before = std::mem::take(recent);
                    }
                    recent.push(written);
                }
                let others_write = line.others.get(&cpu).is_some_and(|others| others.iter().flatten().any(touches));
                let reach = if others_write { 4 } else { 0 };
                let read = (!write).then_some(bytes[0]);
                let again = open
                    .last_mut()
                    .filter(|last| !is_true && last.age == 0 && last.read.is_some() && last.read == read);
                if let Some(last) = again {
                    last.times += 1;
                    last.foreign.extend(foreign);
                    last.reach = last.reach.max(reach);
                } else {
                    open.iter_mut().for_each(|question| question.age += 1);
                    open.retain(|question| question.age <= question.reach);
                    if !is_true {
                        open.push(Question { read, times: 1, foreign, age: 0, reach });
                    }
                }
                let sum = if is_true { &mut self.sums.true_sharing } else { &mut self.sums.false_sharing };
                *sum += 1;
            }
            Needed::Memory => self.sums.capacity_misses += 1,
            Needed::Nothing => {}
        }
        if write {
            // Other CPUs' copies are of an older version, even if they have evicted them since.
            let exclusive = !others_hold && held && line.writer == Some(cpu) && line.read_by.is_empty();
            if !exclusive {
                line.read_by.clear();
                line.written_by_writer.clear();
                line.dropped.clear();
            }
            line.holders.clear();
            line.writer = Some(cpu);
            line.is_written = true;
            line.written_by_writer.extend(bytes);
            line.written_at.extend(bytes.iter().map(|&byte| (byte, now)));
        } else if line.writer != Some(cpu) {
            line.read_by.entry(cpu).or_default().extend(bytes);
        }
        line.holders.insert(cpu);
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
        }
        if line.holders.remove(&cpu) {
            line.dropped.insert(cpu);
        }
    }
}
