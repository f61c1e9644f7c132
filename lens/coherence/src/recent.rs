//! The lines that a CPU has touched lately: a direct-mapped table at which most accesses end.

use crate::access::{Access, Kind, Part};
use crate::group::Group;
use crate::line::{Bytes, Line};
use crate::tally::{Cause, Distance, Key};
use crate::topology::CpuId;
use crate::word::{Version, Word};

/// Entries. With half as many the lines of a few dozen pages already push each other out; twice as many gain little more.
const ENTRIES: usize = 2048;

/// The number of no line: they are addresses by 64, so none is as great.
const NOTHING: u64 = u64::MAX;

/// A line lately touched, as this CPU holds it: one line of the host's.
///
/// A byte of `foreign` is neither in `noted_read` nor in `noted_written`, so that the first access to it is seen.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Entry<'m> {
    /// The line.
    pub(crate) number: u64,
    /// Where it is.
    pub(crate) group: &'m Group,
    /// Its word in the version that the CPU holds, as it is if the CPU owns it alone.
    own: Word,
    /// Bytes whose reading needs no note any more: the line knows of them, or the CPU owns it.
    pub(crate) noted_read: Bytes,
    /// Bytes whose writing needs no note any more.
    pub(crate) noted_written: Bytes,
    /// Bytes by which the transfer that brought the line, false sharing so far, turns out as true sharing; else 0.
    pub(crate) foreign: Bytes,
    /// With `how`, the key of that transfer.
    site: u64,
    how: How,
    /// The line's page is known to be contents.
    pub(crate) is_contents: bool,
    /// What the CPU must keep of this entry is kept elsewhere already.
    pub(crate) is_saved: bool,
}

const _: () = assert!(size_of::<Entry<'_>>() == 64);

/// A transfer's key but for line and site.
#[derive(Debug, Clone, Copy)]
struct How {
    cause: Cause,
    distance: Distance,
    atomic: bool,
    user: bool,
    offset: u8,
    size: u8,
}

impl<'m> Entry<'m> {
    /// A line that the CPU held last in `version`, or never.
    pub(crate) fn new(number: u64, group: &'m Group, cpu: CpuId, version: Version) -> Self {
        let (cause, distance) = (Cause::Read, Distance::SameCache);
        Entry {
            number,
            group,
            own: Word::exclusive(version, cpu),
            noted_read: 0,
            noted_written: 0,
            foreign: 0,
            site: 0,
            how: How { cause, distance, atomic: false, user: false, offset: 0, size: 0 },
            is_contents: group.is_contents(),
            is_saved: true,
        }
    }

    /// Whether it is none: a place in which no line has been yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.number == NOTHING
    }

    /// Makes it none.
    pub(crate) fn clear(&mut self) {
        self.number = NOTHING;
    }

    /// The line.
    #[inline]
    pub(crate) fn line(&self) -> &'m Line {
        self.group.line(self.number)
    }

    /// The version in which the CPU held it last.
    pub(crate) fn version(&self) -> Version {
        self.own.version()
    }

    /// The CPU holds another version, of which nothing is noted.
    pub(crate) fn hold(&mut self, version: Version, cpu: CpuId) {
        self.own = Word::exclusive(version, cpu);
        (self.noted_read, self.noted_written, self.foreign) = (0, 0, 0);
        self.is_saved = false;
    }

    /// The CPU holds the version after the one that it had, and nobody else was concerned.
    pub(crate) fn upgrade(&mut self, version: Version, cpu: CpuId) {
        self.own = Word::exclusive(version, cpu);
        (self.noted_read, self.noted_written) = (!self.foreign, 0);
        self.is_saved = false;
    }

    /// The transfer that brought the line is false sharing unless one of `foreign` is touched.
    pub(crate) fn suspect(&mut self, key: &Key, foreign: Bytes) {
        let Key { line: _, site, cause, atomic, user, distance, offset, size } = *key;
        (self.site, self.how) = (site, How { cause, distance, atomic, user, offset, size });
        self.foreign = foreign;
        self.noted_read &= !foreign;
        self.noted_written &= !foreign;
    }

    /// The key of the transfer under suspicion.
    pub(crate) fn suspected(&self) -> Key {
        let How { cause, distance, atomic, user, offset, size } = self.how;
        Key { line: self.number, site: self.site, cause, atomic, user, distance, offset, size }
    }

    /// The bytes whose reading, and those whose writing, changes nothing as the line is now.
    pub(crate) fn settled(&self) -> (Bytes, Bytes) {
        let word = self.line().word();
        let read = if word.is_same_version(self.own) { self.noted_read } else { 0 };
        let written = if word == self.own { self.noted_written } else { 0 };
        (read, written)
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

    /// Whether the access changes nothing, as far as the table can tell.
    #[inline]
    pub(crate) fn suffices(&self, access: &Access, part: Part) -> bool {
        self.0[slot(part.line)].suffices(access, part)
    }

    /// What is in the place of a line.
    pub(crate) fn entry(&self, line: u64) -> &Entry<'m> {
        &self.0[slot(line)]
    }

    /// The place of a line, with the entry that is in it: that line's, another's, or none.
    pub(crate) fn place(&mut self, line: u64) -> &mut Entry<'m> {
        &mut self.0[slot(line)]
    }
}

/// The place of a line. Folded, so that the first lines of pages don't all meet in a few places.
#[inline]
fn slot(line: u64) -> usize {
    (line ^ line >> ENTRIES.trailing_zeros()) as usize % ENTRIES
}
