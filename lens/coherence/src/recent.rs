//! The lines that a CPU has touched recently: a direct-mapped table in which most accesses finish.

use crate::access::{Access, Kind, Part};
use crate::grant::Grant;
use crate::group::Group;
use crate::line::{Bytes, Line};
use crate::topology::CpuId;
use crate::word::{Version, Word};

/// Number of entries. With half as many, the lines of a few dozen pages already evict each other; twice as many improve
/// little.
const ENTRIES: usize = 2048;

/// Number of no line. Line numbers are addresses divided by 64, so none is this large.
const NOTHING: u64 = u64::MAX;

/// A recently touched line, as this CPU holds it. Fits one host line.
///
/// No byte of `foreign` is in `noted_read` or `noted_written`, so the first access to it is noticed.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Entry<'m> {
    /// Number of the line.
    pub(crate) number: u64,
    /// The group that the line belongs to.
    pub(crate) group: &'m Group,
    /// The word that the line has if this CPU owns it alone in the version that it holds.
    own: Word,
    /// Bytes whose reads need not be recorded any more: the line has them recorded, or the CPU owns it.
    pub(crate) noted_read: Bytes,
    /// Bytes whose writes need not be recorded any more.
    pub(crate) noted_written: Bytes,
    /// Bytes whose access proves that a transfer of the line is true sharing; until then it counts as false sharing. See
    /// [`Questions`](crate::questions::Questions). 0 if there is no such question.
    pub(crate) foreign: Bytes,
    /// There has been such a question about the line.
    pub(crate) is_asked: bool,
    /// The page is already recorded as contents.
    pub(crate) is_contents: bool,
    /// What must be remembered of this entry has already been saved elsewhere.
    pub(crate) is_saved: bool,
}

const _: () = assert!(size_of::<Entry<'_>>() == 64);

impl<'m> Entry<'m> {
    /// A line that the CPU last held in `version`, or never.
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

    /// Whether no line has been in this place yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.number == NOTHING
    }

    /// Makes the place empty.
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

    /// The CPU holds another version, of which nothing is recorded yet.
    pub(crate) fn hold(&mut self, version: Version, cpu: CpuId) {
        self.own = Word::exclusive(version, cpu);
        (self.noted_read, self.noted_written) = (0, 0);
        self.is_saved = false;
    }

    /// The CPU holds the next version after its own, and no other CPU was affected.
    pub(crate) fn upgrade(&mut self, version: Version, cpu: CpuId) {
        self.own = Word::exclusive(version, cpu);
        (self.noted_read, self.noted_written) = (!self.foreign, 0);
        self.is_saved = false;
    }

    /// Bytes of `foreign` answer what is open about the line.
    pub(crate) fn watch(&mut self, foreign: Bytes) {
        self.foreign = foreign;
        self.noted_read &= !foreign;
        self.noted_written &= !foreign;
    }

    /// What the CPU may do in the line's present state.
    pub(crate) fn grant(&self) -> Grant<'m> {
        let line = self.line();
        let word = line.word();
        let readable = if word.is_same_version(self.own) { self.noted_read } else { 0 };
        match word == self.own {
            // Its writes need only be recorded.
            true => Grant::new(line, readable, !self.foreign, self.noted_written),
            false => Grant::new(line, readable, 0, 0),
        }
    }

    /// Whether the access changes nothing.
    #[inline]
    fn suffices(&self, access: &Access, part: Part) -> bool {
        let word = self.group.line(part.line).word();
        let (is_held, noted) = match access.kind {
            Kind::Read => (word.is_same_version(self.own), self.noted_read),
            Kind::Write | Kind::Atomic => (word == self.own, self.noted_written),
        };
        self.number == part.line && is_held && part.bytes & !noted == 0 && (self.is_contents || !access.contents)
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Recent<'m>(Box<[Entry<'m>; ENTRIES]>);

impl<'m> Recent<'m> {
    /// An empty table.
    pub(crate) fn new(nowhere: &'m Group) -> Self {
        let entries: Box<[_]> = vec![Entry::new(NOTHING, nowhere, 0, 0); ENTRIES].into();
        let Ok(entries) = entries.try_into() else { unreachable!("a slice of that length") };
        Recent(entries)
    }

    /// Whether the access changes nothing, as far as the table knows.
    #[inline]
    pub(crate) fn suffices(&self, access: &Access, part: Part) -> bool {
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

/// The index of a line's place. Hashed, so that the first lines of pages do not collide in a few places.
#[inline]
fn slot(line: u64) -> usize {
    (line ^ line >> ENTRIES.trailing_zeros()) as usize % ENTRIES
}
