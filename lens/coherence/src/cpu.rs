//! One CPU: the lines and versions that it holds, and the cost of its accesses.

use crate::access::{Access, AccessPart, Kind, Work};
use crate::held::{Copy, Entry, Grant, Held, Recent};
use crate::line::Bytes;
use crate::machine::{Cache, Machine};
use crate::questions::Questions;
use crate::tally::{Cause, Key, Tally};
use crate::topology::{CpuId, Distance};
use crate::word::{Readers, Version, Word};

/// A CPU of a [`Machine`].
#[derive(Debug)]
pub struct Cpu<'m> {
    recent: Recent<'m>,
    held: Held<'m>,
    /// `None` if the cache is unbounded.
    cache: Option<Cache>,
    evicted: Lines,
    moved: Lines,
    disturbed: [Option<Disturbance>; 2],
    core: Core<'m>,
}

/// The effect of an access on other CPUs that hold its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbance {
    /// The line's number.
    pub line: u64,
    /// The affected CPU; `None` if several are, or if the model does not know which.
    pub cpu: Option<CpuId>,
    /// The CPU has lost the line. Otherwise it may still read the line, but its next write changes
    /// the model.
    pub is_lost: bool,
}

/// Lines that an access evicted or moved: at most one for each of its parts.
#[derive(Debug, Default)]
struct Lines {
    lines: [u64; 2],
    number: usize,
}

impl Lines {
    fn add(&mut self, line: u64) {
        self.lines[self.number] = line;
        self.number += 1;
    }

    fn all(&self) -> &[u64] {
        &self.lines[..self.number]
    }
}

/// A CPU without its record of lines: executes accesses on a line's entry, and counts.
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

/// The outcome of a part of an access.
struct Touched {
    cost: u64,
    /// The CPU did not hold the line.
    is_miss: bool,
    /// The line moved.
    is_transfer: bool,
    disturbance: Option<Disturbance>,
}

/// The outcome of fetching a line to read or to own it.
enum Got {
    /// Nothing had to be fetched.
    Hit,
    /// No CPU had written the line, and no other CPU held it or only a copy was needed.
    Cold,
    /// The line came from memory, because a bounded cache had evicted it.
    Refetched,
    /// Other CPUs held the line. `written`: bytes that they wrote since this CPU held the line, or
    /// wrote and now lose. `foreign`: these, and the bytes that they read and now lose.
    Moved { distance: Distance, foreign: Bytes, written: Bytes },
}

impl Machine {
    /// The CPU with that number, with an empty cache. Call once for each number: two `Cpu`s with
    /// one number would not know each other's copies.
    ///
    /// # Panics
    /// If the topology has no such CPU.
    pub fn cpu(&self, id: CpuId) -> Cpu<'_> {
        assert!(id < self.topology().cpus(), "CPU {id} of {}", self.topology().cpus());
        Cpu {
            recent: Recent::new(self.lines().nowhere()),
            held: Held::new(),
            cache: self.caches().map(Cache::new),
            evicted: Lines::default(),
            moved: Lines::default(),
            disturbed: [None; 2],
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
    /// Executes an access. Returns the cost of its transfers and capacity misses in clocks; usually
    /// 0.
    #[inline]
    pub fn access(&mut self, access: &Access) -> u64 {
        match access.only_part() {
            Some(part) if self.recent.suffices(access, part) => {
                self.disturbed = [None; 2];
                0
            }
            _ => self.access_slowly(access),
        }
    }

    /// The accesses to a line that this CPU may make without a call of the model.
    /// [`Grant::NOTHING`] is always correct.
    ///
    /// A caller that runs one CPU at a time may skip such accesses until an access of another CPU
    /// [disturbs](Cpu::disturbed) them, or one of this CPU [evicts](Cpu::evicted) the line.
    /// Skipping is exact: hits do not change the order of eviction.
    pub fn grant(&self, line: u64) -> Grant<'m> {
        let entry = self.recent.entry(line);
        if entry.number == line { entry.grant() } else { Grant::NOTHING }
    }

    /// Effects of the last access on other CPUs, one for each of its parts.
    pub fn disturbed(&self) -> impl Iterator<Item = &Disturbance> {
        self.disturbed.iter().flatten()
    }

    /// Lines that a bounded cache evicted for the last access that changed the model.
    pub fn evicted(&self) -> &[u64] {
        self.evicted.all()
    }

    /// Lines that moved to this CPU in the last access that changed the model. Accesses without a
    /// cost move none.
    pub fn moved(&self) -> &[u64] {
        self.moved.all()
    }

    /// The counts of its transfers.
    pub fn tally(&self) -> &Tally {
        &self.core.tally
    }

    /// Number of its transfers so far.
    pub fn transfers(&self, work: Work) -> u64 {
        self.core.sums(work).transfers
    }

    /// Number of its capacity misses so far: lines fetched from memory because a bounded cache had
    /// evicted them.
    pub fn capacity_misses(&self, work: Work) -> u64 {
        self.core.sums(work).capacity_misses
    }

    /// The number of the CPU.
    pub fn id(&self) -> CpuId {
        self.core.id
    }

    #[cold]
    fn access_slowly(&mut self, access: &Access) -> u64 {
        let (first, second) = access.parts();
        self.evicted.number = 0;
        self.moved.number = 0;
        let (cost, disturbance) = self.touch(access, first);
        self.disturbed = [disturbance, None];
        let Some(second) = second else { return cost };
        let (second_cost, disturbance) = self.touch(access, second);
        self.disturbed[1] = disturbance;
        cost + second_cost
    }

    /// Returns the cost, and the effect on other CPUs.
    fn touch(&mut self, access: &Access, part: AccessPart) -> (u64, Option<Disturbance>) {
        let entry = self.recent.place(part.line);
        let mut copy = Copy::Held;
        if entry.number != part.line {
            if !entry.is_empty() && !entry.is_saved {
                self.held.save(entry, Copy::Held);
            }
            (*entry, copy) = self.held.load(part.line, self.core.id, || self.core.machine.lines().group(part.line));
            let asked = self.core.questions.foreign(part.line);
            (entry.foreign, entry.is_asked) = (asked.unwrap_or(0), asked.is_some());
        }
        if access.contents && !entry.is_contents {
            entry.group.mark_contents();
            entry.is_contents = true;
        }
        let Touched { cost, is_miss, is_transfer, disturbance } = self.core.touch(access, part, entry, copy);
        if is_transfer {
            self.moved.add(part.line);
        }
        if is_miss {
            self.make_room(part.line);
        }
        (cost, disturbance)
    }

    /// Inserts a fetched line into the cache, and evicts another line if its set is full.
    fn make_room(&mut self, line: u64) {
        let Some(gone) = self.cache.as_mut().and_then(|cache| cache.put(line)) else { return };
        let Core { machine, id, .. } = self.core;
        let place = self.recent.place(gone);
        let mut entry = match place.number == gone {
            true => *place,
            false => self.held.load(gone, id, || machine.lines().group(gone)).0,
        };
        if entry.line().drop_copy(id, entry.version()).is_some_and(|word| word.owner() == Some(id)) {
            // The owner's reads were not recorded. If it fetches the line again, it is an ordinary
            // reader.
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

    /// Executes a part of an access on its line's entry.
    fn touch(&mut self, access: &Access, part: AccessPart, entry: &mut Entry<'m>, copy: Copy) -> Touched {
        let (got, is_miss, disturbance) = match access.kind {
            Kind::Read => self.read(entry, copy, part.bytes),
            Kind::Write | Kind::Atomic => self.write(entry, copy, part.bytes),
        };
        let is_transfer = matches!(got, Got::Moved { .. });
        if part.bytes & entry.foreign != 0 {
            entry.foreign = self.questions.answer(part.line, part.bytes, is_transfer, &mut self.tally);
        }
        let cost = match got {
            Got::Hit | Got::Cold => 0,
            Got::Refetched => self.count_capacity_miss(access),
            Got::Moved { distance, foreign, written } => {
                self.classify(access, part, entry, distance, foreign, written);
                self.count_transfer(access, distance)
            }
        };
        Touched { cost, is_miss, is_transfer, disturbance }
    }

    /// Returns the outcome, true if the CPU did not hold the line, and the effect on other CPUs.
    fn read(&mut self, entry: &mut Entry<'m>, copy: Copy, bytes: Bytes) -> (Got, bool, Option<Disturbance>) {
        let before = entry.version();
        let word = entry.line().fetch(self.id, (copy == Copy::Held).then_some(before));
        if has(copy, entry, word) {
            self.note_read(entry, word, bytes);
            return (Got::Hit, false, None);
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
                let written = stamped | entry.line().written();
                Got::Moved { distance, foreign: written, written }
            }
        };
        // The owner's next write changes the model.
        let disturbance =
            word.owner().map(|owner| Disturbance { line: entry.number, cpu: Some(owner), is_lost: false });
        (got, true, disturbance)
    }

    /// Records a read. An owner's reads affect no other CPU; a reader's reads matter to the CPU
    /// that writes next.
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

    /// Returns the outcome, true if the CPU did not hold the line, and the effect on other CPUs.
    fn write(&mut self, entry: &mut Entry<'m>, copy: Copy, bytes: Bytes) -> (Got, bool, Option<Disturbance>) {
        let before = entry.version();
        let word = entry.line().own(self.id);
        if word.is_exclusive_to(self.id) {
            entry.line().note_written(bytes);
            entry.noted_written |= bytes;
            return (Got::Hit, false, None);
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
                // This CPU may have read what the owner wrote and now loses: the two share it
                // nevertheless.
                let is_anothers = word.owner().is_some_and(|owner| owner != self.id);
                let by_owner = if is_anothers { past.written } else { 0 };
                let written = stamped | by_owner;
                Got::Moved { distance, foreign: past.lost | written, written }
            }
            None if had => Got::Hit,
            None if is_from_memory(copy, before, word) => Got::Refetched,
            None => Got::Cold,
        };
        let disturbance = losers.map(|_| Disturbance { line: entry.number, cpu: self.only_loser(word), is_lost: true });
        (got, !had, disturbance)
    }

    /// The only CPU that loses the line when this CPU writes to it in the state `word`; `None` if
    /// there are several, or if it is unknown.
    fn only_loser(&self, word: Word) -> Option<CpuId> {
        let owner = word.owner().filter(|&owner| owner != self.id);
        match (owner, word.readers()) {
            (Some(owner), Readers::Nobody | Readers::Unnamed(0)) => Some(owner),
            (Some(owner), Readers::One(reader)) if reader == self.id => Some(owner),
            (None, Readers::One(reader)) => Some(reader),
            _ => None,
        }
    }

    /// The distance to the CPUs that lose the line when this CPU writes to it in the state `word`;
    /// `None` if no CPU loses it. `had`: this CPU holds the line.
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

    fn count_transfer(&mut self, access: &Access, distance: Distance) -> u64 {
        self.sums_of(access).transfers += 1;
        self.machine.costs().of(distance, self.machine.topology())
    }

    /// Counts a transfer as true sharing, or as false sharing until an answer shows otherwise.
    fn classify(
        &mut self,
        access: &Access,
        part: AccessPart,
        entry: &mut Entry<'m>,
        distance: Distance,
        foreign: Bytes,
        written: Bytes,
    ) {
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
        self.tally.add(key, is_true, foreign);
        if !is_true && foreign != 0 {
            entry.is_asked = true;
            entry.watch(self.questions.ask(&key, part.bytes, foreign, written));
        } else if entry.is_asked {
            entry.watch(self.questions.pass(part.line, written));
        }
    }

    fn count_capacity_miss(&mut self, access: &Access) -> u64 {
        self.sums_of(access).capacity_misses += 1;
        self.machine.costs().memory
    }
}

/// True if the copy is of the line's version in `word`.
fn has(copy: Copy, entry: &Entry<'_>, word: Word) -> bool {
    copy == Copy::Held && entry.version() == word.version()
}

/// True if a line that a CPU did not hold, found in the state `word`, came from memory because of a
/// cache's bounds: the CPU itself had evicted it and no CPU has written it since, or its last
/// writer has evicted it.
fn is_from_memory(copy: Copy, before: Version, word: Word) -> bool {
    let dropped_it = copy == Copy::Dropped && before == word.version();
    dropped_it || word.owner().is_none() && word.version() > 0
}
