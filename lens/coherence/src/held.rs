//! The lines that one CPU holds: a direct-mapped table of recently touched lines, where most
//! accesses finish, and a record of every line that the CPU ever held.

use crate::access::{Access, AccessPart, Kind};
use crate::line::{Bytes, Line};
use crate::lines::Group;
use crate::topology::CpuId;
use crate::word::{Version, Word};
use rustc_hash::FxHashMap;

/// The bytes of a line (bit *i* for byte *i*) that a CPU may read or write without a call of the
/// model. Such accesses cost nothing, and change nothing except what [`Grant::allows`] records.
///
/// Valid until another CPU [disturbs](crate::Cpu::disturbed) it, a bounded cache evicts the line,
/// or this CPU accesses the line through the model again.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'m> {
    readable: Bytes,
    writable: Bytes,
    /// Writable bytes that the line already records as written.
    recorded: Bytes,
    line: Option<&'m Line>,
}

impl<'m> Grant<'m> {
    /// Allows no access.
    pub const NOTHING: Grant<'m> = Grant { readable: 0, writable: 0, recorded: 0, line: None };

    pub(crate) fn new(line: &'m Line, readable: Bytes, writable: Bytes, recorded: Bytes) -> Self {
        Grant { readable, writable, recorded, line: Some(line) }
    }

    /// True if the CPU may read or write these bytes. Records allowed writes.
    #[inline]
    pub fn allows(&mut self, bytes: Bytes, writes: bool) -> bool {
        if !writes {
            return bytes & !self.readable == 0;
        }
        if bytes & !self.writable != 0 {
            return false;
        }
        if bytes & !self.recorded != 0
            && let Some(line) = self.line
        {
            line.note_written(bytes);
            self.recorded |= bytes;
        }
        true
    }

    /// Forbids further writes.
    pub fn end_writing(&mut self) {
        self.writable = 0;
    }
}

/// Number of entries. With half as many, the lines of a few dozen pages already evict each other;
/// twice as many gain little.
const ENTRIES: usize = 2048;

/// Marks an empty entry. Line numbers are addresses divided by 64, so none is this large.
const NOTHING: u64 = u64::MAX;

/// A recently touched line, as this CPU holds it. Fits one cache line of the host.
///
/// No byte of `foreign` is in `noted_read` or `noted_written`, so that the first access to it is
/// noticed.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Entry<'m> {
    /// Number of the line.
    pub(crate) number: u64,
    /// The group of the line.
    pub(crate) group: &'m Group,
    /// The line's word if this CPU is the exclusive owner of the version that it holds.
    own: Word,
    /// Bytes whose reads need no further record: the line has them recorded, or the CPU owns it.
    pub(crate) noted_read: Bytes,
    /// Bytes whose writes need no further record.
    pub(crate) noted_written: Bytes,
    /// Bytes whose access proves that a transfer of the line is true sharing; until then it counts
    /// as false sharing. 0 without an open [question](crate::questions::Questions).
    pub(crate) foreign: Bytes,
    /// The line had such a question before.
    pub(crate) is_asked: bool,
    /// The page is already recorded as contents of user space.
    pub(crate) is_contents: bool,
    /// The persistent state of this entry is already in [`Held`].
    pub(crate) is_saved: bool,
}

const _: () = assert!(size_of::<Entry<'_>>() == 64);

impl<'m> Entry<'m> {
    /// The entry of a line that the CPU last held in `version`, or never.
    pub(crate) fn new(number: u64, group: &'m Group, cpu: CpuId, version: Version) -> Self {
        Entry {
            number,
            group,
            own: Word::exclusive(version, cpu),
            noted_read: 0,
            noted_written: 0,
            foreign: 0,
            is_asked: false,
            is_contents: group.is_contents(),
            is_saved: true,
        }
    }

    /// True if the place has no line.
    pub(crate) fn is_empty(&self) -> bool {
        self.number == NOTHING
    }

    /// Empties the place.
    pub(crate) fn clear(&mut self) {
        self.number = NOTHING;
    }

    /// The line.
    #[inline]
    pub(crate) fn line(&self) -> &'m Line {
        self.group.line(self.number)
    }

    /// The version in which the CPU last held the line.
    pub(crate) fn version(&self) -> Version {
        self.own.version()
    }

    /// Records that the CPU holds another version, of which nothing is recorded yet.
    pub(crate) fn hold(&mut self, version: Version, cpu: CpuId) {
        self.own = Word::exclusive(version, cpu);
        (self.noted_read, self.noted_written) = (0, 0);
        self.is_saved = false;
    }

    /// Records that the CPU holds the version after its own, and that no other CPU was affected.
    pub(crate) fn upgrade(&mut self, version: Version, cpu: CpuId) {
        self.own = Word::exclusive(version, cpu);
        (self.noted_read, self.noted_written) = (!self.foreign, 0);
        self.is_saved = false;
    }

    /// Watches for accesses to `foreign`, the bytes that answer open questions about the line.
    pub(crate) fn watch(&mut self, foreign: Bytes) {
        self.foreign = foreign;
        self.noted_read &= !foreign;
        self.noted_written &= !foreign;
    }

    /// The accesses that the line's present state allows.
    pub(crate) fn grant(&self) -> Grant<'m> {
        let line = self.line();
        let word = line.word();
        let readable = if word.is_same_version(self.own) { self.noted_read } else { 0 };
        match word == self.own {
            // Writes need only be recorded.
            true => Grant::new(line, readable, !self.foreign, self.noted_written),
            false => Grant::new(line, readable, 0, 0),
        }
    }

    /// True if the access changes nothing.
    #[inline]
    fn suffices(&self, access: &Access, part: AccessPart) -> bool {
        let word = self.group.line(part.line).word();
        let (is_held, noted) = match access.kind {
            Kind::Read => (word.is_same_version(self.own), self.noted_read),
            Kind::Write | Kind::Atomic => (word == self.own, self.noted_written),
        };
        self.number == part.line && is_held && part.bytes & !noted == 0 && (self.is_contents || !access.contents)
    }
}

/// The recently touched lines of a CPU, in a direct-mapped table.
#[derive(Debug)]
pub(crate) struct Recent<'m>(Box<[Entry<'m>; ENTRIES]>);

impl<'m> Recent<'m> {
    /// An empty table.
    pub(crate) fn new(nowhere: &'m Group) -> Self {
        let entries: Box<[_]> = vec![Entry::new(NOTHING, nowhere, 0, 0); ENTRIES].into();
        let Ok(entries) = entries.try_into() else { unreachable!("a slice of that length") };
        Recent(entries)
    }

    /// True if the table shows that the access changes nothing.
    #[inline]
    pub(crate) fn suffices(&self, access: &Access, part: AccessPart) -> bool {
        self.0[slot(part.line)].suffices(access, part)
    }

    /// The entry in the place of a line.
    pub(crate) fn entry(&self, line: u64) -> &Entry<'m> {
        &self.0[slot(line)]
    }

    /// The place of a line. Its entry may belong to that line, to another one, or to none.
    pub(crate) fn place(&mut self, line: u64) -> &mut Entry<'m> {
        &mut self.0[slot(line)]
    }
}

/// The index of a line's place. Hashed, so that the first lines of pages do not collide.
#[inline]
fn slot(line: u64) -> usize {
    (line ^ line >> ENTRIES.trailing_zeros()) as usize % ENTRIES
}

/// A CPU's copy of a line, possibly outdated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copy {
    /// The CPU never had a copy.
    Never,
    /// The CPU's full cache evicted it.
    Dropped,
    /// The CPU has a copy if the line's version is still the fetched one.
    Held,
}

/// Lines per chunk: few enough for a page that is little used, and enough to make look-ups rare on
/// a page that is fully used.
const CHUNK_LINES: u64 = 16;

/// Number of remembered chunks. Fetched lines and the lines evicted for them are in different
/// chunks.
const LAST: usize = 8;

/// Every line that a CPU ever held, in chunks of neighbours, with the state to keep while the line
/// is not in the table of recent lines.
#[derive(Debug)]
pub(crate) struct Held<'m> {
    /// The place of the chunk with a given number.
    places: FxHashMap<u64, u32>,
    chunks: Vec<Chunk<'m>>,
    /// The last chunks by number and place: neighbours are often requested one after the other.
    last: [(u64, u32); LAST],
}

#[derive(Debug)]
struct Chunk<'m> {
    group: &'m Group,
    lines: [Kept; CHUNK_LINES as usize],
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    /// Version · 4 + the [`Copy`].
    version_and_copy: u64,
    /// As in [`Entry`].
    noted_read: Bytes,
}

impl<'m> Held<'m> {
    /// A CPU that never held a line.
    pub(crate) fn new() -> Self {
        Held { places: FxHashMap::default(), chunks: Vec::new(), last: [(u64::MAX, 0); LAST] }
    }

    /// The entry of a line, and the CPU's copy. `find` returns the group of a new line.
    pub(crate) fn load(&mut self, line: u64, cpu: CpuId, find: impl FnOnce() -> &'m Group) -> (Entry<'m>, Copy) {
        let chunk = self.chunk(line, find);
        let kept = chunk.lines[(line % CHUNK_LINES) as usize];
        let mut entry = Entry::new(line, chunk.group, cpu, kept.version_and_copy >> 2);
        entry.noted_read = kept.noted_read;
        (entry, kept.copy())
    }

    /// Saves an entry that leaves the table of recent lines, and the state of the copy.
    pub(crate) fn save(&mut self, entry: &Entry<'m>, copy: Copy) {
        let chunk = self.chunk(entry.number, || entry.group);
        chunk.lines[(entry.number % CHUNK_LINES) as usize] =
            Kept { version_and_copy: entry.version() << 2 | copy as u64, noted_read: entry.noted_read };
    }

    fn chunk(&mut self, line: u64, find: impl FnOnce() -> &'m Group) -> &mut Chunk<'m> {
        let number = line / CHUNK_LINES;
        let last = &mut self.last[number as usize % LAST];
        if last.0 != number {
            let place = *self.places.entry(number).or_insert_with(|| {
                let never = Kept { version_and_copy: Copy::Never as u64, noted_read: 0 };
                self.chunks.push(Chunk { group: find(), lines: [never; CHUNK_LINES as usize] });
                (self.chunks.len() - 1) as u32
            });
            *last = (number, place);
        }
        &mut self.chunks[last.1 as usize]
    }
}

impl Kept {
    fn copy(self) -> Copy {
        match self.version_and_copy & 3 {
            held if held == Copy::Held as u64 => Copy::Held,
            dropped if dropped == Copy::Dropped as u64 => Copy::Dropped,
            _ => Copy::Never,
        }
    }
}
