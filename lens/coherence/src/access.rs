//! One access of a CPU to memory: a load, store or read-modify-write.

use faultline_lens_format::LINE_BYTES;

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes in one step while the CPU keeps the line: an instruction with a lock
    /// prefix.
    Atomic,
}

/// The code that a CPU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// A program in user mode.
    User,
    /// The kernel, in a system call or a task of its own.
    Kernel,
    /// The kernel, in the handler of an interrupt.
    Interrupt,
}

/// The two parts of each count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Work {
    /// Operations: programs, and the kernel outside of interrupts.
    Operation,
    /// Interrupt handlers.
    Interrupt,
}

impl Context {
    /// The part of the counts that the context belongs to.
    pub fn work(self) -> Work {
        match self {
            Context::User | Context::Kernel => Work::Operation,
            Context::Interrupt => Work::Interrupt,
        }
    }
}

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// First byte, in an address space that all CPUs share: a physical address, or a virtual one of
    /// a single process.
    pub address: u64,
    /// Size in bytes; at least 1, at most 64.
    pub size: u8,
    /// The kind of the access.
    pub kind: Kind,
    /// The instruction, identified by its address or any other number.
    pub site: u64,
    /// The code that makes the access.
    pub context: Context,
    /// True for an address in a mapping of user space: the access touches the contents of a page,
    /// not a data structure of the kernel.
    pub contents: bool,
}

/// The part of an access that falls into one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPart {
    /// Number of the line: its address divided by [`LINE_BYTES`].
    pub line: u64,
    /// Mask of the bytes touched: bit *i* for byte *i* of the line. Never 0.
    pub bytes: u64,
}

impl AccessPart {
    /// Offset of the first byte in the line.
    pub(crate) fn offset(self) -> u8 {
        self.bytes.trailing_zeros() as u8
    }

    /// Number of bytes.
    pub(crate) fn size(self) -> u8 {
        self.bytes.count_ones() as u8
    }
}

impl Access {
    /// The access as one part, if its size is valid and it stays within a line. This is almost
    /// always the case.
    #[inline]
    pub fn only_part(&self) -> Option<AccessPart> {
        let offset = self.address % LINE_BYTES;
        let size = u64::from(self.size);
        // A size of 0 wraps around and is rejected together with sizes that are too large.
        (size.wrapping_sub(1) < LINE_BYTES - offset)
            .then(|| AccessPart { line: self.address / LINE_BYTES, bytes: (!0 >> (LINE_BYTES - size)) << offset })
    }

    /// The parts of the access, one for each line. An invalid size is replaced by the nearest valid
    /// one.
    pub(crate) fn parts(&self) -> (AccessPart, Option<AccessPart>) {
        let line = self.address / LINE_BYTES;
        let offset = (self.address % LINE_BYTES) as u32;
        let size = u32::from(self.size).clamp(1, LINE_BYTES as u32);
        let run = u128::MAX >> (128 - size);
        let bytes = run << offset;
        let first = AccessPart { line, bytes: bytes as u64 };
        let rest = (bytes >> LINE_BYTES) as u64;
        (first, (rest != 0).then_some(AccessPart { line: line.wrapping_add(1), bytes: rest }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: u64, size: u8) -> Access {
        Access { address, size, kind: Kind::Read, site: 0, context: Context::Kernel, contents: false }
    }

    #[test]
    fn an_access_falls_into_one_line_or_two() {
        let parts = |address, size| access(address, size).parts();
        assert_eq!(parts(0x80, 8), (AccessPart { line: 2, bytes: 0xFF }, None));
        assert_eq!(parts(0xB8, 8), (AccessPart { line: 2, bytes: 0xFF << 56 }, None));
        assert_eq!(
            parts(0xBC, 8),
            (AccessPart { line: 2, bytes: 0xF << 60 }, Some(AccessPart { line: 3, bytes: 0xF }))
        );
        assert_eq!(parts(0x81, 64), (AccessPart { line: 2, bytes: !1 }, Some(AccessPart { line: 3, bytes: 1 })));
        assert_eq!(parts(0x80, 64), (AccessPart { line: 2, bytes: !0 }, None));
    }

    #[test]
    fn the_only_part_is_the_first_when_there_is_no_second() {
        for address in 0x1000..0x1040 {
            for size in 1..=64 {
                let access = access(address, size);
                let (first, second) = access.parts();
                assert_eq!(access.only_part(), second.is_none().then_some(first), "{access:?}");
            }
        }
        assert_eq!((access(0, 0).only_part(), access(0, 65).only_part()), (None, None));
        assert_eq!((access(0, 0).parts().0.size(), access(0, 65).parts().0.size()), (1, 64));
    }

    #[test]
    fn a_part_knows_where_it_begins() {
        let (first, second) = access(0xBC, 8).parts();
        assert_eq!((first.offset(), first.size()), (60, 4));
        assert_eq!(second.map(|part| (part.offset(), part.size())), Some((0, 4)));
    }
}
