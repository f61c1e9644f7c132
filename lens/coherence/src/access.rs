//! What a CPU does to memory: one load, store or read-modify-write.

/// Bytes of a cache line.
pub const LINE_BYTES: u64 = 64;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes as one, with the line held between: what a lock prefix asks for.
    Atomic,
}

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// First byte, in one address space that all CPUs share: a physical address, or a virtual one of a single process.
    pub address: u64,
    /// How many bytes; at least 1, at most 64.
    pub size: u8,
    /// What it does.
    pub kind: Kind,
    /// The instruction that does it, by its address or any other number that names it.
    pub site: u64,
    /// Whether in user mode.
    pub user: bool,
}

/// The part of an access that falls into one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Number of the line: its address by [`LINE_BYTES`].
    pub(crate) line: u64,
    /// The bytes concerned: bit *i* for byte *i* of the line.
    pub(crate) bytes: u64,
}

impl Access {
    /// The parts of the access, one for each line: almost always the first alone.
    pub(crate) fn parts(&self) -> (Part, Option<Part>) {
        let line = self.address / LINE_BYTES;
        let offset = (self.address % LINE_BYTES) as u32;
        let size = u32::from(self.size).clamp(1, LINE_BYTES as u32);
        let run = u128::MAX >> (128 - size);
        let bytes = run << offset;
        let first = Part { line, bytes: bytes as u64 };
        let rest = (bytes >> LINE_BYTES) as u64;
        (first, (rest != 0).then_some(Part { line: line.wrapping_add(1), bytes: rest }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(address: u64, size: u8) -> (Part, Option<Part>) {
        Access { address, size, kind: Kind::Read, site: 0, user: false }.parts()
    }

    #[test]
    fn an_access_falls_into_one_line_or_two() {
        assert_eq!(parts(0x80, 8), (Part { line: 2, bytes: 0xFF }, None));
        assert_eq!(parts(0xB8, 8), (Part { line: 2, bytes: 0xFF << 56 }, None));
        assert_eq!(parts(0xBC, 8), (Part { line: 2, bytes: 0xF << 60 }, Some(Part { line: 3, bytes: 0xF })));
        assert_eq!(parts(0x81, 64), (Part { line: 2, bytes: !1 }, Some(Part { line: 3, bytes: 1 })));
        assert_eq!(parts(0x80, 64), (Part { line: 2, bytes: !0 }, None));
    }
}
