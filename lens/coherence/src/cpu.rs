//! One CPU: which lines it holds, in which version, and what its accesses cost in transfers.

use crate::access::{Access, Kind, Part};
use crate::line::{Bytes, Line};
use crate::machine::Machine;
use crate::tally::{Cause, Distance, Key, Tally};
use crate::topology::CpuId;
use crate::word::{Readers, Version, Word};
use rustc_hash::FxHashMap;

/// Entries of the table that most accesses end at: as many lines as a first-level cache of 64 KiB holds.
const RECENT: usize = 1024;

/// A CPU of a [`Machine`].
#[derive(Debug)]
pub struct Cpu<'m> {
    machine: &'m Machine,
    id: CpuId,
    /// Direct-mapped by line number: lines that this CPU has touched lately.
    recent: Box<[Option<Recent<'m>>]>,
    /// For every line that it ever held, the version in which it held it last.
    held: FxHashMap<u64, Version>,
    tally: Tally,
}

/// A line lately touched, as this CPU holds it.
#[derive(Debug, Clone, Copy)]
struct Recent<'m> {
    number: u64,
    line: &'m Line,
    /// The version that the CPU fetched.
    version: Version,
    /// Bytes whose reading needs no note any more: the line knows of them, or the CPU owns it.
    noted_read: Bytes,
    /// Bytes whose writing needs no note any more.
    noted_written: Bytes,
    /// The transfer by which the line came, if it is taken for false sharing so far.
    suspect: Option<Key>,
    /// Bytes by which that transfer turns out as true sharing; 0 without a suspect.
    foreign: Bytes,
}

/// What came of making a line readable, or one's own to write.
enum Got {
    /// It was held.
    Hit,
    /// Nobody else had it, or nobody had written it.
    Cold,
    /// Others had it. `foreign`: bytes that they wrote since this CPU held the line, or read and now lose.
    Moved { distance: Distance, foreign: Bytes },
}

impl<'m> Cpu<'m> {
    pub(crate) fn new(machine: &'m Machine, id: CpuId) -> Self {
        Cpu { machine, id, recent: vec![None; RECENT].into(), held: FxHashMap::default(), tally: Tally::default() }
    }

    /// Carries out an access; returns the transfers that it needed: 0 or 1, or 2 when it crosses from line to line.
    pub fn access(&mut self, access: &Access) -> u32 {
        let (first, second) = access.parts();
        let mut transfers = self.touch(access, first);
        if let Some(second) = second {
            transfers += self.touch(access, second);
        }
        transfers
    }

    /// What has been counted.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Its number.
    pub fn id(&self) -> CpuId {
        self.id
    }

    fn touch(&mut self, access: &Access, part: Part) -> u32 {
        let slot = part.line as usize % RECENT;
        match &self.recent[slot] {
            Some(recent) if recent.number == part.line && self.suffices(recent, access.kind, part.bytes) => 0,
            _ => self.touch_slowly(access, part, slot),
        }
    }

    /// Whether the access changes nothing, as far as the entry can tell.
    fn suffices(&self, recent: &Recent<'m>, kind: Kind, bytes: Bytes) -> bool {
        let word = recent.line.word();
        bytes & recent.foreign == 0
            && match kind {
                Kind::Read => word.version() == recent.version && bytes & !recent.noted_read == 0,
                Kind::Write | Kind::Atomic => word.is_exclusive_to(self.id) && bytes & !recent.noted_written == 0,
            }
    }

    fn touch_slowly(&mut self, access: &Access, part: Part, slot: usize) -> u32 {
        let mut recent = self.take_recent(part.line, slot);
        let got = match access.kind {
            Kind::Read => self.read(&mut recent, part.bytes),
            Kind::Write | Kind::Atomic => self.write(&mut recent, part.bytes),
        };
        let moved = matches!(got, Got::Moved { .. });
        match got {
            Got::Hit => self.settle(&mut recent, part.bytes),
            Got::Cold => {}
            Got::Moved { distance, foreign } => self.count(access, part, &mut recent, distance, foreign),
        }
        self.recent[slot] = Some(recent);
        u32::from(moved)
    }

    /// The line's entry, from its slot or made anew. One that lost its slot forgets its suspect: the transfer stays counted
    /// as false sharing.
    fn take_recent(&mut self, number: u64, slot: usize) -> Recent<'m> {
        if let Some(recent) = self.recent[slot].take_if(|recent| recent.number == number) {
            return recent;
        }
        let line = self.machine.line(number);
        Recent { number, line, version: 0, noted_read: 0, noted_written: 0, suspect: None, foreign: 0 }
    }

    fn read(&mut self, recent: &mut Recent<'m>, bytes: Bytes) -> Got {
        let before = self.held.get(&recent.number).copied();
        loop {
            let word = recent.line.word();
            if before == Some(word.version()) {
                recent.version = word.version();
                self.note_read(recent, word, bytes);
                return Got::Hit;
            }
            if recent.line.advance(word, word.read_by(self.id)) {
                self.hold(recent, word.version());
                self.note_read(recent, word, bytes);
                let Some(owner) = word.owner() else { return Got::Cold };
                let distance = Distance::between(self.machine.topology(), self.id, owner);
                return Got::Moved { distance, foreign: recent.line.written_since(before) };
            }
        }
    }

    /// An owner's reading is nobody's concern; a reader's is that of whoever writes next.
    fn note_read(&self, recent: &mut Recent<'m>, word: Word, bytes: Bytes) {
        if word.owner() == Some(self.id) {
            recent.noted_read = !0;
        } else {
            recent.line.note_read(bytes & !recent.noted_read);
            recent.noted_read |= bytes;
        }
    }

    fn write(&mut self, recent: &mut Recent<'m>, bytes: Bytes) -> Got {
        let before = self.held.get(&recent.number).copied();
        loop {
            let word = recent.line.word();
            if word.is_exclusive_to(self.id) {
                recent.version = word.version();
                recent.line.note_written(bytes);
                recent.noted_written |= bytes;
                return Got::Hit;
            }
            let new = word.written_by(self.id);
            if recent.line.advance(word, new) {
                let was_reader = word.owner() != Some(self.id) && before == Some(word.version());
                let own = if was_reader && recent.version == word.version() { recent.noted_read } else { 0 };
                let lost_by_readers = recent.line.begin_version(word.version(), bytes, own);
                self.hold(recent, new.version());
                recent.noted_read = !0;
                recent.noted_written = bytes;
                let Some(distance) = self.losers(word) else { return Got::Cold };
                return Got::Moved { distance, foreign: lost_by_readers | recent.line.stamped_since(before) };
            }
        }
    }

    fn hold(&mut self, recent: &mut Recent<'m>, version: Version) {
        recent.version = version;
        (recent.noted_read, recent.noted_written, recent.foreign) = (0, 0, 0);
        recent.suspect = None;
        self.held.insert(recent.number, version);
    }

    /// Where those are who lose the line when this CPU writes to it in the state `word`; none if nobody does.
    fn losers(&self, word: Word) -> Option<Distance> {
        let others = |cpu: &CpuId| *cpu != self.id;
        let owner = word.owner().filter(others);
        let other = match (owner, word.readers()) {
            (_, Readers::Several) => return Some(Distance::Several),
            (Some(owner), Readers::One(reader)) if others(&reader) && reader != owner => {
                return Some(Distance::Several);
            }
            (Some(owner), _) => owner,
            (None, Readers::One(reader)) if others(&reader) => reader,
            (None, _) => return None,
        };
        Some(Distance::between(self.machine.topology(), self.id, other))
    }

    fn count(&mut self, access: &Access, part: Part, recent: &mut Recent<'m>, distance: Distance, foreign: Bytes) {
        let key = Key {
            line: part.line,
            site: access.site,
            cause: if access.kind == Kind::Read { Cause::Read } else { Cause::Write },
            atomic: access.kind == Kind::Atomic,
            user: access.user,
            distance,
        };
        let is_true = part.bytes & foreign != 0;
        self.tally.add(key, is_true);
        if !is_true {
            recent.suspect = Some(key);
            recent.foreign = foreign;
        }
    }

    /// A line that came by what looked like false sharing is still held, and `bytes` of it are touched.
    fn settle(&mut self, recent: &mut Recent<'m>, bytes: Bytes) {
        if bytes & recent.foreign == 0 {
            return;
        }
        if let Some(key) = recent.suspect.take() {
            self.tally.correct(&key);
        }
        recent.foreign = 0;
    }
}
