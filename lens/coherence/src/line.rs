//! One cache line as all CPUs share it: its state word, and the bytes touched in the current
//! version.
//!
//! The word alone determines which accesses are transfers. The bytes distinguish true from false
//! sharing. CPUs take turns on one thread, so the fields are plain cells.

use crate::topology::CpuId;
use crate::word::{Version, Word};
use std::cell::Cell;

/// The bytes of a line, one bit each.
pub(crate) type Bytes = u64;

/// A line. Aligned so that one host line holds exactly two of them.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(crate) struct Line {
    word: Cell<Word>,
    /// Bytes written in the current version.
    written: Cell<Bytes>,
    /// Bytes read in the current version by CPUs other than the owner.
    read: Cell<Bytes>,
    /// Bytes read by at least two of them. If one of these CPUs then writes, another has read
    /// these bytes.
    read_twice: Cell<Bytes>,
}

/// Bytes touched in a version that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Past {
    /// Written by its owner.
    pub(crate) written: Bytes,
    /// Read by CPUs other than its owner and the CPU that ended it.
    pub(crate) lost: Bytes,
}

impl Line {
    /// Its state.
    #[inline]
    pub(crate) fn word(&self) -> Word {
        self.word.get()
    }

    /// Fetches the line for a CPU that reads, unless `held` is its current version. Returns the
    /// previous state.
    #[inline]
    pub(crate) fn fetch(&self, cpu: CpuId, held: Option<Version>) -> Word {
        let word = self.word();
        if held != Some(word.version()) {
            self.word.set(word.read_by(cpu));
        }
        word
    }

    /// Makes a CPU the exclusive owner of the line, unless it already is. Returns the previous
    /// state.
    #[inline]
    pub(crate) fn own(&self, cpu: CpuId) -> Word {
        let word = self.word();
        if !word.is_exclusive_to(cpu) {
            self.word.set(word.written_by(cpu));
        }
        word
    }

    /// Drops a CPU's copy, which it fetched in the version `held`. Returns the previous state, or
    /// `None` if the version, and the copy with it, has ended.
    pub(crate) fn drop_copy(&self, cpu: CpuId, held: Version) -> Option<Word> {
        let word = self.word();
        if word.version() != held {
            return None;
        }
        self.word.set(word.dropped_by(cpu));
        Some(word)
    }

    /// Records that the owner has written `bytes`.
    #[inline]
    pub(crate) fn note_written(&self, bytes: Bytes) {
        self.written.set(self.written.get() | bytes);
    }

    /// Records that a CPU other than the owner has read `bytes`. The CPU must not have recorded
    /// them before in this version.
    pub(crate) fn note_read(&self, bytes: Bytes) {
        let before = self.read.get();
        self.read.set(before | bytes);
        self.read_twice.set(self.read_twice.get() | before & bytes);
    }

    /// Begins a version with `bytes` written, by a CPU that had read `own` in the previous version.
    pub(crate) fn begin_version(&self, bytes: Bytes, own: Bytes) -> Past {
        let written = self.written.replace(bytes);
        let lost = self.read.take() & !own | self.read_twice.take();
        Past { written, lost }
    }

    /// The record of these bytes.
    pub(crate) fn written_cell(&self) -> &Cell<Bytes> {
        &self.written
    }

    /// Bytes written in the current version.
    pub(crate) fn written(&self) -> Bytes {
        self.written.get()
    }
}
