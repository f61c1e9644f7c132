//! One CPU: which lines it holds, in which version, and the cost of its accesses.

use crate::access::{Access, Kind, Part, Work};
use crate::cache::Cache;
use crate::held::{Copy, Held};
use crate::line::Bytes;
use crate::machine::Machine;
use crate::questions::Questions;
use crate::recent::{Entry, Recent};
use crate::tally::{Cause, Distance, Key, Tally};
use crate::topology::CpuId;
use crate::word::{Readers, Version, Word};

/// A CPU of a [`Machine`].
#[derive(Debug)]
pub struct Cpu<'m> {
    recent: Recent<'m>,
    held: Held<'m>,
    /// None if the cache is unbounded.
    cache: Option<Cache>,
    evicted: Evicted,
    core: Core<'m>,
}

/// Lines that an access evicted: at most one for each of its parts.
#[derive(Debug, Default)]
struct Evicted {
    lines: [u64; 2],
    number: usize,
}

impl Evicted {
    fn add(&mut self, line: u64) {
        self.lines[self.number] = line;
        self.number += 1;
    }
}

/// A CPU without its record of lines: executes accesses on one line's entry, and counts.
#[derive(Debug)]
struct Core<'m> {
    machine: &'m Machine,
    id: CpuId,
    tally: Tally,
    questions: Questions,
    operation: Sums,
    interrupt: Sums,
}

#[derive(Debug, Default)]
struct Sums {
    transfers: u64,
    capacity_misses: u64,
}

/// The outcome of making a line readable or owned.
enum Got {
    /// Nothing had to be fetched.
    Hit,
    /// Nobody had written the line, and either nobody else had it or only a copy was needed.
    Cold,
    /// It came from memory, where a bounded cache had evicted it to.
    Refetched,
    /// Others had it. `foreign`: bytes that they wrote since this CPU held the line, or that they wrote or read and now
    /// lose.
    Moved { distance: Distance, foreign: Bytes },
}

impl Machine {
    /// The CPU with that number, with an empty cache. Call it once for each number: two `Cpu`s with one number would
    /// not know each other's copies.
    ///
    /// # Panics
    /// If the topology has no such CPU.
    pub fn cpu(&self, id: CpuId) -> Cpu<'_> {
        assert!(id < self.topology().cpus(), "CPU {id} of {}", self.topology().cpus());
        Cpu {
            recent: Recent::new(self.lines().nowhere()),
            held: Held::new(),
            cache: self.caches().map(Cache::new),
            evicted: Evicted::default(),
            core: Core {
                machine: self,
                id,
                tally: Tally::default(),
                questions: Questions::default(),
                operation: Sums::default(),
                interrupt: Sums::default(),
            },
        }
    }
}

impl<'m> Cpu<'m> {
    /// Executes an access. Returns the clocks that its transfers and capacity misses cost; almost always 0.
    #[inline]
    pub fn access(&mut self, access: &Access) -> u64 {
        match access.only_part() {
            Some(part) if self.recent.suffices(access, part) => 0,
            _ => self.access_slowly(access),
        }
    }

    /// Bytes of a line (bit *i* for byte *i*) that this CPU may read, and bytes that it may write, without changing the
    /// model and at no cost, as long as no other CPU touches the line and no bounded cache drops it. Returning no bytes
    /// is always correct.
    ///
    /// A caller that runs one CPU at a time may skip such accesses until another CPU's turn, or until an access of this
    /// CPU [evicts](Cpu::evicted) the line. Skipping is exact: hits do not change the order in which lines are evicted.
    pub fn settled(&self, line: u64) -> (u64, u64) {
        let entry = self.recent.entry(line);
        if entry.number == line { entry.settled() } else { (0, 0) }
    }

    /// The lines that a bounded cache evicted for the last access that changed the model.
    pub fn evicted(&self) -> &[u64] {
        &self.evicted.lines[..self.evicted.number]
    }

    /// The counts.
    pub fn tally(&self) -> &Tally {
        &self.core.tally
    }

    /// Its transfers so far.
    pub fn transfers(&self, work: Work) -> u64 {
        self.core.sums(work).transfers
    }

    /// Its capacity misses so far: lines fetched from memory because a bounded cache had no room for them.
    pub fn capacity_misses(&self, work: Work) -> u64 {
        self.core.sums(work).capacity_misses
    }

    /// Its number.
    pub fn id(&self) -> CpuId {
        self.core.id
    }

    #[cold]
    fn access_slowly(&mut self, access: &Access) -> u64 {
        let (first, second) = access.parts();
        self.evicted.number = 0;
        self.touch(access, first) + second.map_or(0, |second| self.touch(access, second))
    }

    fn touch(&mut self, access: &Access, part: Part) -> u64 {
        let entry = self.recent.place(part.line);
        let mut copy = Copy::Held;
        if entry.number != part.line {
            if !entry.is_empty() && !entry.is_saved {
                self.held.save(entry, Copy::Held);
            }
            (*entry, copy) = self.held.load(part.line, self.core.id, || self.core.machine.lines().group(part.line));
            entry.foreign = self.core.questions.foreign(part.line);
        }
        if access.contents && !entry.is_contents {
            entry.group.mark_contents();
            entry.is_contents = true;
        }
        let (cost, is_miss) = self.core.touch(access, part, entry, copy);
        if is_miss {
            self.make_room(part.line);
        }
        cost
    }

    /// Evicts another line for a fetched one, if the cache is full.
    fn make_room(&mut self, line: u64) {
        let Some(gone) = self.cache.as_mut().and_then(|cache| cache.put(line)) else { return };
        let Core { machine, id, .. } = self.core;
        let place = self.recent.place(gone);
        let mut entry = match place.number == gone {
            true => *place,
            false => self.held.load(gone, id, || machine.lines().group(gone)).0,
        };
        if entry.line().drop_copy(id, entry.version()).is_some_and(|word| word.owner() == Some(id)) {
            // The owner's reads were not recorded. If it fetches the line again, it is an ordinary reader.
            entry.noted_read = 0;
        }
        self.held.save(&entry, Copy::Dropped);
        if place.number == gone {
            place.clear();
        }
        self.evicted.add(gone);
    }
}

impl<'m> Core<'m> {
    fn sums(&self, work: Work) -> &Sums {
        match work {
            Work::Operation => &self.operation,
            Work::Interrupt => &self.interrupt,
        }
    }

    fn sums_of(&mut self, access: &Access) -> &mut Sums {
        match access.context.work() {
            Work::Operation => &mut self.operation,
            Work::Interrupt => &mut self.interrupt,
        }
    }

    /// Executes a part of an access on its line's entry. Returns the cost, and whether the line had to be fetched.
    fn touch(&mut self, access: &Access, part: Part, entry: &mut Entry<'m>, copy: Copy) -> (u64, bool) {
        if part.bytes & entry.foreign != 0 {
            entry.foreign = self.questions.answer(part.line, part.bytes, &mut self.tally);
        }
        let (got, is_miss) = match access.kind {
            Kind::Read => self.read(entry, copy, part.bytes),
            Kind::Write | Kind::Atomic => self.write(entry, copy, part.bytes),
        };
        let cost = match got {
            Got::Hit | Got::Cold => 0,
            Got::Refetched => self.count_capacity_miss(access),
            Got::Moved { distance, foreign } => self.count_transfer(access, part, entry, distance, foreign),
        };
        (cost, is_miss)
    }

    /// Returns the outcome, and whether the CPU did not have the line.
    fn read(&mut self, entry: &mut Entry<'m>, copy: Copy, bytes: Bytes) -> (Got, bool) {
        let before = entry.version();
        let word = entry.line().fetch(self.id, (copy == Copy::Held).then_some(before));
        if has(copy, entry, word) {
            self.note_read(entry, word, bytes);
            return (Got::Hit, false);
        }
        if before != word.version() {
            entry.hold(word.version(), self.id);
        }
        entry.is_saved = false;
        self.note_read(entry, word, bytes);
        let got = match word.owner() {
            _ if is_from_memory(copy, before, word) => Got::Refetched,
            None => Got::Cold,
            Some(owner) => {
                let distance = Distance::between(self.machine.topology(), self.id, owner);
                let stamped = entry.group.stamps(entry.number).map_or(0, |stamps| stamps.since(before));
                Got::Moved { distance, foreign: stamped | entry.line().written() }
            }
        };
        (got, true)
    }

    /// An owner's reads affect nobody; a reader's reads matter to the CPU that writes next.
    fn note_read(&self, entry: &mut Entry<'m>, word: Word, bytes: Bytes) {
        if word.owner() == Some(self.id) {
            entry.noted_read = !entry.foreign;
            return;
        }
        let new = bytes & !entry.noted_read;
        if new != 0 {
            entry.line().note_read(new);
            entry.noted_read |= new;
            entry.is_saved = false;
        }
    }

    /// Returns the outcome, and whether the CPU did not have the line.
    fn write(&mut self, entry: &mut Entry<'m>, copy: Copy, bytes: Bytes) -> (Got, bool) {
        let before = entry.version();
        let word = entry.line().own(self.id);
        if word.is_exclusive_to(self.id) {
            entry.line().note_written(bytes);
            entry.noted_written |= bytes;
            return (Got::Hit, false);
        }
        let had = has(copy, entry, word);
        let was_reader = word.owner() != Some(self.id) && before == word.version();
        let past = entry.line().begin_version(bytes, if was_reader { entry.noted_read } else { 0 });
        if past.written != 0 {
            entry.group.stamps_or_new(entry.number).set(past.written, word.version());
        }
        let losers = self.losers(word, had);
        if had && losers.is_none() {
            entry.upgrade(word.version() + 1, self.id);
        } else {
            entry.hold(word.version() + 1, self.id);
            entry.noted_read = !entry.foreign;
        }
        entry.noted_written = bytes;
        let got = match losers {
            Some(distance) => {
                let stamped = entry.group.stamps(entry.number).map_or(0, |stamps| stamps.since(before));
                // This CPU may have read what the owner wrote and now loses: the two share it nevertheless.
                let is_anothers = word.owner().is_some_and(|owner| owner != self.id);
                let by_owner = if is_anothers { past.written } else { 0 };
                Got::Moved { distance, foreign: past.lost | stamped | by_owner }
            }
            None if had => Got::Hit,
            None if is_from_memory(copy, before, word) => Got::Refetched,
            None => Got::Cold,
        };
        (got, !had)
    }

    /// The distance to the CPUs that lose the line when this CPU writes to it in the state `word`. None if no CPU loses
    /// it. `had`: whether this CPU itself holds it.
    fn losers(&self, word: Word, had: bool) -> Option<Distance> {
        let owner = word.owner().filter(|&owner| owner != self.id);
        let is_reader = had && word.owner() != Some(self.id);
        let between = |other| Some(Distance::between(self.machine.topology(), self.id, other));
        match (owner, word.readers()) {
            (Some(owner), Readers::Nobody | Readers::Unnamed(0)) => between(owner),
            (Some(owner), Readers::One(_)) if is_reader => between(owner),
            (Some(owner), Readers::Unnamed(1)) if is_reader => between(owner),
            (Some(_), _) => Some(Distance::Several),
            (None, Readers::Nobody | Readers::Unnamed(0)) => None,
            (None, Readers::One(_) | Readers::Unnamed(1)) if is_reader => None,
            (None, Readers::One(reader)) => between(reader),
            (None, Readers::Unnamed(_)) => Some(Distance::Several),
        }
    }

    fn count_transfer(
        &mut self,
        access: &Access,
        part: Part,
        entry: &mut Entry<'m>,
        distance: Distance,
        foreign: Bytes,
    ) -> u64 {
        let key = Key {
            line: part.line,
            site: access.site,
            cause: if access.kind == Kind::Read { Cause::Read } else { Cause::Write },
            atomic: access.kind == Kind::Atomic,
            context: access.context,
            distance,
            offset: part.offset(),
            size: part.size(),
        };
        let is_true = part.bytes & foreign != 0;
        self.tally.add(key, is_true);
        if !is_true && foreign != 0 {
            entry.watch(self.questions.ask(&key, foreign));
        } else if entry.foreign != 0 {
            entry.watch(self.questions.pass(part.line));
        }
        self.sums_of(access).transfers += 1;
        self.machine.costs().of(distance, self.machine.topology())
    }

    fn count_capacity_miss(&mut self, access: &Access) -> u64 {
        self.sums_of(access).capacity_misses += 1;
        self.machine.costs().memory
    }
}

/// Whether a CPU with such a copy has the line in the state in which it was found.
fn has(copy: Copy, entry: &Entry<'_>, word: Word) -> bool {
    copy == Copy::Held && entry.version() == word.version()
}

/// Whether a line that a CPU did not have, found in the state `word`, came from memory because of a cache's bounds: the
/// CPU itself had dropped it and nobody has written it since, or its last writer has dropped it.
fn is_from_memory(copy: Copy, before: Version, word: Word) -> bool {
    let dropped_it = copy == Copy::Dropped && before == word.version();
    dropped_it || word.owner().is_none() && word.version() > 0
}
