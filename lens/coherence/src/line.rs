//! One cache line as all CPUs share it: its state word, and the bytes touched in the current
//! version.
//!
//! The word alone determines which accesses are transfers. The bytes distinguish true from false
//! sharing. They are separate from the word, so CPUs that race for a line can at worst misclassify
//! the sharing of one transfer. Therefore all orderings are relaxed: the compare-and-swaps make the
//! words of a line one sequence, which is all that counting needs, and no other data depends on
//! them.

use crate::topology::CpuId;
use crate::word::{Version, Word};
#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(all(loom, test))]
mod interleavings;

/// The bytes of a line, one bit each.
pub(crate) type Bytes = u64;

/// Fields: \[w] changed only by compare-and-swap; \[o] written by the owning CPU; \[r] written by
/// CPUs that fetched the line from the owner.
///
/// Aligned so that one host line holds exactly two of them.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(crate) struct Line {
    /// \[w] See [`Word`].
    word: AtomicU64,
    /// \[o] Bytes written in the current version.
    written: AtomicU64,
    /// \[r] Bytes read in the current version by CPUs other than the owner.
    read: AtomicU64,
    /// \[r] Bytes read by at least two of them. If one of these CPUs then writes, another has read
    /// these bytes.
    read_twice: AtomicU64,
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
        // Relaxed: a CPU that reads an old word behaves like one that ran a little earlier.
        Word(self.word.load(Relaxed))
    }

    /// Fetches the line for a CPU that reads, unless `held` is its current version. Returns the
    /// previous state.
    pub(crate) fn fetch(&self, cpu: CpuId, held: Option<Version>) -> Word {
        loop {
            let word = self.word();
            if held == Some(word.version()) || self.advance(word, word.read_by(cpu)) {
                return word;
            }
        }
    }

    /// Makes a CPU the exclusive owner of the line, unless it already is. Returns the previous
    /// state.
    pub(crate) fn own(&self, cpu: CpuId) -> Word {
        loop {
            let word = self.word();
            if word.is_exclusive_to(cpu) || self.advance(word, word.written_by(cpu)) {
                return word;
            }
        }
    }

    /// Drops a CPU's copy, which it fetched in the version `held`. Returns the previous state, or
    /// `None` if the version, and the copy with it, has ended.
    pub(crate) fn drop_copy(&self, cpu: CpuId, held: Version) -> Option<Word> {
        loop {
            let word = self.word();
            if word.version() != held {
                return None;
            }
            if self.advance(word, word.dropped_by(cpu)) {
                return Some(word);
            }
        }
    }

    /// Replaces the word `old`. Returns false if another CPU changed it first.
    fn advance(&self, old: Word, new: Word) -> bool {
        // Relaxed: see the comment at the top.
        self.word.compare_exchange_weak(old.0, new.0, Relaxed, Relaxed).is_ok()
    }

    /// Records that the owner has written `bytes`.
    pub(crate) fn note_written(&self, bytes: Bytes) {
        // Relaxed, both: see the comment at the top. The load avoids the more expensive operation
        // if the CPU returns to a line.
        if bytes & !self.written.load(Relaxed) != 0 {
            self.written.fetch_or(bytes, Relaxed);
        }
    }

    /// Records that a CPU other than the owner has read `bytes`. The CPU must not have recorded
    /// them before in this version.
    pub(crate) fn note_read(&self, bytes: Bytes) {
        // Relaxed: see the comment at the top.
        let before = self.read.fetch_or(bytes, Relaxed);
        if before & bytes != 0 {
            self.read_twice.fetch_or(before & bytes, Relaxed);
        }
    }

    /// Begins a version with `bytes` written, by a CPU that had read `own` in the previous version.
    pub(crate) fn begin_version(&self, bytes: Bytes, own: Bytes) -> Past {
        // Relaxed, all: see the comment at the top.
        let written = self.written.swap(bytes, Relaxed);
        let lost = self.read.swap(0, Relaxed) & !own | self.read_twice.swap(0, Relaxed);
        Past { written, lost }
    }

    /// Bytes written in the current version.
    pub(crate) fn written(&self) -> Bytes {
        // Relaxed: see the comment at the top.
        self.written.load(Relaxed)
    }
}
