//! The state of a line in one word, which one compare-and-swap changes.
//!
//! - Bits 0 … 11, *owner*: 1 + the CPU that wrote the line last and holds it; 0 if the line was
//!   never written, or was written back.
//! - Bits 12 … 24, *readers*: the CPUs that have fetched it since and still hold it. 0 if none has
//!   fetched it; 1 + the CPU if a single one is known; otherwise 4096 + their number.
//! - Bits 25 … 63, *version*: incremented by each change of owner, and by each write after others
//!   have fetched the line.
//!
//! A CPU remembers the version that it fetched. It holds the line exactly if this is the line's
//! current version and it has not evicted the line since. So the word need not list the holders,
//! and any number of CPUs fits. Within a version nothing is written after another CPU has fetched
//! the line: such a write begins the next version. Nor is anything written after the line was
//! written back, because it has no owner then.
//!
//! A CPU that drops a line updates the word, even if it did not write the line. Caches whose
//! directory knows the holders exactly do the same. So the word always has the number of CPUs that
//! hold the line. Of several readers it has only the number: when all but one have dropped the
//! line, the word does not say which one remains.

use crate::topology::CpuId;

/// Version of a line; 2³⁹ changes of owner take longer than any run.
pub(crate) type Version = u64;

const FIELD_BITS: u32 = 12;
const FIELD: u64 = (1 << FIELD_BITS) - 1;
/// Flag in the field of the readers: the rest is their number.
const UNNAMED: u64 = FIELD + 1;
const READERS: u64 = UNNAMED | FIELD;
const VERSION_SHIFT: u32 = 2 * FIELD_BITS + 1;

/// CPUs other than the owner that have fetched the line in its version and hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// No CPU has fetched it.
    Nobody,
    One(CpuId),
    /// That many CPUs. At 0, all that have fetched it have dropped it.
    Unnamed(u16),
}

/// The state of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) fn owner(self) -> Option<CpuId> {
        (self.0 & FIELD).checked_sub(1).map(|cpu| cpu as CpuId)
    }

    pub(crate) fn readers(self) -> Readers {
        match (self.0 >> FIELD_BITS) & READERS {
            0 => Readers::Nobody,
            several if several >= UNNAMED => Readers::Unnamed((several - UNNAMED) as u16),
            reader => Readers::One((reader - 1) as CpuId),
        }
    }

    fn with_readers(self, readers: Readers) -> Self {
        let field = match readers {
            Readers::Nobody => 0,
            Readers::One(cpu) => u64::from(cpu) + 1,
            Readers::Unnamed(number) => UNNAMED + u64::from(number),
        };
        Word(self.0 & !(READERS << FIELD_BITS) | field << FIELD_BITS)
    }

    pub(crate) fn version(self) -> Version {
        self.0 >> VERSION_SHIFT
    }

    /// The word of a line in `version` that `cpu` holds exclusively.
    pub(crate) fn exclusive(version: Version, cpu: CpuId) -> Self {
        Word(version << VERSION_SHIFT | (u64::from(cpu) + 1))
    }

    /// True if `cpu` may write without a transfer.
    pub(crate) fn is_exclusive_to(self, cpu: CpuId) -> bool {
        self.owner() == Some(cpu) && self.readers() == Readers::Nobody
    }

    /// The word after `cpu`, which did not hold the line, fetches it.
    pub(crate) fn read_by(self, cpu: CpuId) -> Self {
        self.with_readers(match self.readers() {
            Readers::Nobody | Readers::Unnamed(0) => Readers::One(cpu),
            Readers::One(_) => Readers::Unnamed(2),
            Readers::Unnamed(number) => Readers::Unnamed(number + 1),
        })
    }

    /// The word after `cpu` takes the line to write.
    pub(crate) fn written_by(self, cpu: CpuId) -> Self {
        Word::exclusive(self.version() + 1, cpu)
    }

    /// The word after `cpu`, which held the line, drops it. An owner writes the line back to
    /// memory.
    pub(crate) fn dropped_by(self, cpu: CpuId) -> Self {
        if self.owner() == Some(cpu) {
            return Word(self.0 & !FIELD);
        }
        self.with_readers(match self.readers() {
            Readers::Nobody => Readers::Nobody,
            Readers::One(_) | Readers::Unnamed(0) => Readers::Unnamed(0),
            Readers::Unnamed(number) => Readers::Unnamed(number - 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;

    const LAST: CpuId = Topology::MOST_CPUS as CpuId - 1;

    #[test]
    fn fields_keep_to_themselves() {
        let word = Word::default();
        assert_eq!((word.owner(), word.readers(), word.version()), (None, Readers::Nobody, 0));
        let word = word.read_by(LAST);
        assert_eq!((word.owner(), word.readers(), word.version()), (None, Readers::One(LAST), 0));
        let word = word.written_by(LAST);
        assert_eq!((word.owner(), word.readers(), word.version()), (Some(LAST), Readers::Nobody, 1));
        assert!(word.is_exclusive_to(LAST) && !word.is_exclusive_to(0));
        let word = word.read_by(0);
        assert_eq!((word.owner(), word.readers(), word.version()), (Some(LAST), Readers::One(0), 1));
        assert!(!word.is_exclusive_to(LAST));
        let word = word.read_by(3);
        assert_eq!((word.owner(), word.readers(), word.version()), (Some(LAST), Readers::Unnamed(2), 1));
        let word = word.dropped_by(LAST);
        assert_eq!((word.owner(), word.readers(), word.version()), (None, Readers::Unnamed(2), 1));
    }

    #[test]
    fn readers_are_counted_until_the_last_has_dropped_the_line() {
        let word = (0..=LAST).fold(Word::default().written_by(0), Word::read_by);
        assert_eq!((word.owner(), word.readers(), word.version()), (Some(0), Readers::Unnamed(LAST + 1), 1));
        let word = (1..=LAST).fold(word, Word::dropped_by);
        assert_eq!((word.owner(), word.readers(), word.version()), (Some(0), Readers::Unnamed(1), 1));
        let word = word.dropped_by(LAST);
        assert_eq!((word.owner(), word.readers()), (Some(0), Readers::Unnamed(0)));
        assert!(!word.is_exclusive_to(0), "its next write is another version than the one that was fetched");
        assert_eq!(word.read_by(7).readers(), Readers::One(7));
    }
}
