//! The state of a line in one word, so that one compare-and-swap changes it.
//!
//! | bits | field | meaning |
//! |---|---|---|
//! | 0…11 | owner | 1 + the CPU that wrote the line last and holds it; 0: nobody wrote it, or it was written back |
//! | 12…23 | reader | who else has fetched it since: 0 nobody; 1 + the CPU if it is one; 4095 several |
//! | 24…63 | version | grows by one with each change of owner, and with each write after others have fetched the line |
//!
//! A CPU remembers the version that it fetched. It holds the line exactly if this is the line's current version and it
//! has not dropped the line since for lack of room. So the word need not list the holders, and any number of CPUs fits.
//! Within a version nothing is written after another CPU has fetched the line: such a write begins the next version.
//! Nor is anything written after the line was written back, because it has no owner then.
//!
//! A CPU that drops a line which it did not write tells nobody, as is usual in hardware. It stays a reader in the word.

use crate::topology::CpuId;

/// Version of a line; 2⁴⁰ changes of owner take longer than any run.
pub(crate) type Version = u64;

const FIELD_BITS: u32 = 12;
const FIELD: u64 = (1 << FIELD_BITS) - 1;
const SEVERAL: u64 = FIELD;
const VERSION_SHIFT: u32 = 2 * FIELD_BITS;

/// Who has fetched the line in its version, apart from the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    Nobody,
    One(CpuId),
    Several,
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
        match (self.0 >> FIELD_BITS) & FIELD {
            0 => Readers::Nobody,
            SEVERAL => Readers::Several,
            reader => Readers::One((reader - 1) as CpuId),
        }
    }

    pub(crate) fn version(self) -> Version {
        self.0 >> VERSION_SHIFT
    }

    /// The word of a line in `version` that only `cpu` holds: it may write without any transfer.
    pub(crate) fn exclusive(version: Version, cpu: CpuId) -> Self {
        Word(version << VERSION_SHIFT | (u64::from(cpu) + 1))
    }

    /// Whether `cpu` may write without any transfer.
    pub(crate) fn is_exclusive_to(self, cpu: CpuId) -> bool {
        self.owner() == Some(cpu) && self.readers() == Readers::Nobody
    }

    /// Whether both words have the same version.
    #[inline]
    pub(crate) fn is_same_version(self, other: Word) -> bool {
        (self.0 ^ other.0) >> VERSION_SHIFT == 0
    }

    /// The word after `cpu`, which did not hold the line, has fetched it.
    pub(crate) fn read_by(self, cpu: CpuId) -> Self {
        let reader = match self.readers() {
            Readers::Nobody => u64::from(cpu) + 1,
            Readers::One(other) if other == cpu => u64::from(cpu) + 1,
            Readers::One(_) | Readers::Several => SEVERAL,
        };
        Word(self.0 & !(FIELD << FIELD_BITS) | reader << FIELD_BITS)
    }

    /// The word after `cpu` has taken the line to write.
    pub(crate) fn written_by(self, cpu: CpuId) -> Self {
        Word::exclusive(self.version() + 1, cpu)
    }

    /// The word after the owner has written the line back to memory and dropped it.
    pub(crate) fn written_back(self) -> Self {
        Word(self.0 & !FIELD)
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
        assert_eq!((word.owner(), word.readers(), word.version()), (Some(LAST), Readers::Several, 1));
        let word = word.written_back();
        assert_eq!((word.owner(), word.readers(), word.version()), (None, Readers::Several, 1));
        assert!(word.is_same_version(Word::exclusive(1, 0)) && !word.is_same_version(Word::exclusive(2, 0)));
    }
}
