//! One CPU: the lines and versions that it holds, and the cost of its accesses.

use crate::access::{Access, AccessPart, Kind, Work};
use crate::cache::Cache;
use crate::held::{Copy, Grant, Held, Kept, Place};
use crate::line::{Bytes, Line};
use crate::lines::Group;
use crate::machine::Machine;
use crate::questions::Questions;
use crate::tally::{Cause, Key, Tally};
use crate::topology::{CpuId, Distance};
use crate::word::{Readers, Version, Word};

/// A CPU of a [`Machine`].
#[derive(Debug)]
pub struct Cpu<'m> {
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

/// A line as an access finds it.
struct Found<'a, 'm> {
    number: u64,
    group: &'m Group,
    line: &'m Line,
    kept: &'a mut Kept,
    /// Bytes whose access proves that a transfer of the line is true sharing; until then it counts
    /// as false sharing. 0 without an open [question](crate::questions::Questions).
    foreign: Bytes,
}

impl Found<'_, '_> {
    /// True if the CPU holds the version of the line in `word`.
    fn is_held(&self, word: Word) -> bool {
        self.kept.copy() == Copy::Held && self.kept.version() == word.version()
    }

    /// True if a line that the CPU did not hold, found in the state `word`, came from memory
    /// because of a cache's bounds: the CPU itself had evicted it and no CPU has written it since,
    /// or its last writer has evicted it.
    fn is_from_memory(&self, before: Version, word: Word) -> bool {
        let dropped_it = self.kept.copy() == Copy::Dropped && before == word.version();
        dropped_it || word.owner().is_none() && word.version() > 0
    }

    /// Watches for accesses to `foreign`, the bytes that answer open questions about the line.
    fn watch(&mut self, foreign: Bytes) {
        self.kept.noted_read &= !foreign;
    }
}

/// A CPU without its record of lines: executes accesses on a line, and counts.
#[derive(Debug)]
struct Core<'m> {
    machine: &'m Machine,
    id: CpuId,
    program: u16,
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
            held: Held::new(),
            cache: self.caches().map(Cache::new),
            evicted: Lines::default(),
            moved: Lines::default(),
            disturbed: [None; 2],
            core: Core {
                machine: self,
                id,
                program: 0,
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
        self.evicted.number = 0;
        self.moved.number = 0;
        let (first, second) = match access.only_part() {
            Some(part) => (part, None),
            None => access.parts(),
        };
        let (cost, disturbance) = self.touch(access, first);
        self.disturbed = [disturbance, None];
        let Some(second) = second else { return cost };
        let (second_cost, disturbance) = self.touch(access, second);
        self.disturbed[1] = disturbance;
        cost + second_cost
    }

    /// The accesses to a line that this CPU may make without a call of the model.
    /// [`Grant::NOTHING`] is always correct.
    ///
    /// A caller that runs one CPU at a time may skip such accesses until an access of another CPU
    /// [disturbs](Cpu::disturbed) them, or one of this CPU [evicts](Cpu::evicted) the line.
    /// Skipping is exact: hits do not change the order of eviction.
    pub fn grant(&self, line: u64) -> Grant<'m> {
        let Some((group, kept)) = self.held.seek(line) else { return Grant::NOTHING };
        let (line, foreign) = (group.line(line), self.core.foreign(line, &kept));
        let word = line.word();
        if kept.copy() != Copy::Held || kept.version() != word.version() {
            return Grant::NOTHING;
        }
        match word.is_exclusive_to(self.core.id) {
            // Writes need only be recorded.
            true => Grant::new(line, kept.noted_read, !foreign, line.written()),
            false => Grant::new(line, kept.noted_read, 0, 0),
        }
    }

    /// Effects of the last access on other CPUs, one for each of its parts.
    pub fn disturbed(&self) -> impl Iterator<Item = &Disturbance> {
        self.disturbed.iter().flatten()
    }

    /// Lines that a bounded cache evicted for the last access.
    pub fn evicted(&self) -> &[u64] {
        self.evicted.all()
    }

    /// Lines that moved to this CPU in the last access.
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

    /// Counts the transfers of further accesses for the program with that number, of the caller's
    /// choice; 0 before the first call.
    pub fn run(&mut self, program: u16) {
        self.core.program = program;
    }

    /// Returns the cost, and the effect on other CPUs.
    fn touch(&mut self, access: &Access, part: AccessPart) -> (u64, Option<Disturbance>) {
        let number = part.line;
        let place = self.held.place(number, || self.core.machine.lines().group(number));
        let (group, kept) = self.held.at(place);
        if access.contents {
            group.mark_contents();
        }
        let copy = kept.copy();
        let foreign = self.core.foreign(number, kept);
        let found = Found { number, group, line: group.line(number), kept, foreign };
        let Touched { cost, is_miss, is_transfer, disturbance } = self.core.touch(access, part, found);
        if is_transfer {
            self.moved.add(number);
        }
        if is_miss && let Some(cache) = &mut self.cache {
            match copy {
                Copy::Held => cache.renew(number, place),
                Copy::Never | Copy::Dropped => {
                    if let Some(gone) = cache.put(number, place) {
                        self.evict(gone);
                    }
                }
            }
        }
        (cost, disturbance)
    }

    /// Evicts the line at a place.
    fn evict(&mut self, place: Place) {
        let (number, id) = (self.held.number(place), self.core.id);
        let (group, kept) = self.held.at(place);
        let dropped = group.line(number).drop_copy(id, kept.version());
        if dropped.is_some_and(|word| word.owner() == Some(id)) {
            // The owner's reads were not recorded. If it fetches the line again, it is an ordinary
            // reader.
            kept.noted_read = 0;
        }
        kept.set_copy(Copy::Dropped);
        self.evicted.add(number);
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

    /// Bytes of a line that answer an open question.
    #[inline]
    fn foreign(&self, line: u64, kept: &Kept) -> Bytes {
        if kept.is_asked() { self.questions.foreign(line) } else { 0 }
    }

    /// Executes a part of an access on its line.
    #[inline]
    fn touch(&mut self, access: &Access, part: AccessPart, mut found: Found<'_, 'm>) -> Touched {
        let (got, is_miss, disturbance) = match access.kind {
            Kind::Read => self.read(&mut found, part.bytes),
            Kind::Write | Kind::Atomic => self.write(&mut found, part.bytes),
        };
        found.kept.set_copy(Copy::Held);
        let is_transfer = matches!(got, Got::Moved { .. });
        if part.bytes & found.foreign != 0 {
            self.questions.answer(part.line, part.bytes, is_transfer, &mut self.tally);
        }
        let cost = match got {
            Got::Hit | Got::Cold => 0,
            Got::Refetched => self.count_capacity_miss(access),
            Got::Moved { distance, foreign, written } => {
                self.classify(access, part, &mut found, distance, foreign, written);
                self.count_transfer(access, distance)
            }
        };
        Touched { cost, is_miss, is_transfer, disturbance }
    }

    /// Returns the outcome, true if the CPU did not hold the line, and the effect on other CPUs.
    fn read(&mut self, found: &mut Found<'_, 'm>, bytes: Bytes) -> (Got, bool, Option<Disturbance>) {
        let before = found.kept.version();
        let word = found.line.fetch(self.id, (found.kept.copy() == Copy::Held).then_some(before));
        if found.is_held(word) {
            self.note_read(found, word, bytes);
            return (Got::Hit, false, None);
        }
        if before != word.version() {
            found.kept.hold(word.version(), 0);
        }
        self.note_read(found, word, bytes);
        let got = match word.owner() {
            _ if found.is_from_memory(before, word) => Got::Refetched,
            None => Got::Cold,
            Some(owner) => {
                let distance = Distance::between(self.machine.topology(), self.id, owner);
                let written = found.group.stamped_since(found.number, before) | found.line.written();
                Got::Moved { distance, foreign: written, written }
            }
        };
        // The owner's next write changes the model.
        let disturbance =
            word.owner().map(|owner| Disturbance { line: found.number, cpu: Some(owner), is_lost: false });
        (got, true, disturbance)
    }

    /// Records a read. An owner's reads affect no other CPU; a reader's reads matter to the CPU
    /// that writes next.
    fn note_read(&self, found: &mut Found<'_, 'm>, word: Word, bytes: Bytes) {
        if word.owner() == Some(self.id) {
            found.kept.noted_read = !found.foreign;
            return;
        }
        let new = bytes & !found.kept.noted_read;
        if new != 0 {
            found.line.note_read(new);
            found.kept.noted_read |= new;
        }
    }

    /// Returns the outcome, true if the CPU did not hold the line, and the effect on other CPUs.
    fn write(&mut self, found: &mut Found<'_, 'm>, bytes: Bytes) -> (Got, bool, Option<Disturbance>) {
        let before = found.kept.version();
        let word = found.line.own(self.id);
        if word.is_exclusive_to(self.id) {
            found.line.note_written(bytes);
            return (Got::Hit, false, None);
        }
        let had = found.is_held(word);
        let is_from_memory = found.is_from_memory(before, word);
        let was_reader = word.owner() != Some(self.id) && before == word.version();
        let past = found.line.begin_version(bytes, if was_reader { found.kept.noted_read } else { 0 });
        if past.written != 0 {
            found.group.stamp(found.number, past.written, word.version());
        }
        let losers = self.losers(word, had);
        found.kept.hold(word.version() + 1, !found.foreign);
        let got = match losers {
            Some(distance) => {
                let stamped = found.group.stamped_since(found.number, before);
                // This CPU may have read what the owner wrote and now loses: the two share it
                // nevertheless.
                let is_anothers = word.owner().is_some_and(|owner| owner != self.id);
                let by_owner = if is_anothers { past.written } else { 0 };
                let written = stamped | by_owner;
                Got::Moved { distance, foreign: past.lost | written, written }
            }
            None if had => Got::Hit,
            None if is_from_memory => Got::Refetched,
            None => Got::Cold,
        };
        let disturbance = losers.map(|_| Disturbance { line: found.number, cpu: self.only_loser(word), is_lost: true });
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
        found: &mut Found<'_, 'm>,
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
            program: self.program,
        };
        let is_true = part.bytes & foreign != 0;
        self.tally.add(key, is_true, foreign);
        if !is_true && foreign != 0 {
            found.kept.set_asked();
            found.watch(self.questions.ask(&key, part.bytes, foreign, written));
        } else if found.kept.is_asked() {
            found.watch(self.questions.pass(part.line, written));
        }
    }

    fn count_capacity_miss(&mut self, access: &Access) -> u64 {
        self.sums_of(access).capacity_misses += 1;
        self.machine.costs().memory
    }
}
