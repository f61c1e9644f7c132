//! One cache line as all CPUs share it: its state word, and which of its bytes were touched in the current version.
//!
//! The word alone decides what is a transfer. The bytes are for telling true from false sharing: they are kept beside the
//! word without being one with it, so that CPUs which race for a line can at worst misjudge the sharing of that one transfer.
//! All orderings are relaxed for that reason: the compare-and-swaps make the words of a line one sequence, which is all that
//! counting needs, and nothing else rests on them.

use crate::topology::CpuId;
use crate::word::{Version, Word};
#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(all(loom, test))]
mod interleavings;

/// Bytes of a line, one bit each.
pub(crate) type Bytes = u64;

/// Fields: \[w] changed by compare-and-swap alone; \[o] by the CPU that owns the line; \[r] by CPUs that fetched it from there.
///
/// Aligned so that a line of the host's holds two of them whole.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(crate) struct Line {
    /// \[w] See [`Word`].
    word: AtomicU64,
    /// \[o] Written in the current version.
    written: AtomicU64,
    /// \[r] Read in the current version by others than the owner.
    read: AtomicU64,
    /// \[r] The same, by two of them or more: what one of them must lose its copy for is what another has read.
    read_twice: AtomicU64,
}

/// Bytes touched in a version that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Past {
    /// By its owner: written.
    pub(crate) written: Bytes,
    /// By others than its owner and than the CPU that ended it: read.
    pub(crate) lost: Bytes,
}

impl Line {
    /// Its state.
    #[inline]
    pub(crate) fn word(&self) -> Word {
        // Relaxed: a CPU that sees an old word acts as one that ran a little earlier.
        Word(self.word.load(Relaxed))
    }

    /// A CPU fetches the line to read it, unless `held` is its version: then it has it. Returns the state that it found.
    pub(crate) fn fetch(&self, cpu: CpuId, held: Option<Version>) -> Word {
        loop {
            let word = self.word();
            if held == Some(word.version()) || self.advance(word, word.read_by(cpu)) {
                return word;
            }
        }
    }

    /// A CPU makes the line its own to write, unless it is already. Returns the state that it found.
    pub(crate) fn own(&self, cpu: CpuId) -> Word {
        loop {
            let word = self.word();
            if word.is_exclusive_to(cpu) || self.advance(word, word.written_by(cpu)) {
                return word;
            }
        }
    }

    /// A CPU drops its copy; if it owns the line, that is written back. Returns whether it was.
    pub(crate) fn drop_copy(&self, cpu: CpuId) -> bool {
        loop {
            let word = self.word();
            if word.owner() != Some(cpu) {
                return false;
            }
            if self.advance(word, word.written_back()) {
                return true;
            }
        }
    }

    /// Moves the word on from `old`; false if another CPU was faster.
    fn advance(&self, old: Word, new: Word) -> bool {
        // Relaxed: see the file's head.
        self.word.compare_exchange_weak(old.0, new.0, Relaxed, Relaxed).is_ok()
    }

    /// Notes that the owner has written `bytes`.
    pub(crate) fn note_written(&self, bytes: Bytes) {
        // Relaxed, both: see the file's head. Looking first spares the costlier operation where a CPU comes back to a line.
        if bytes & !self.written.load(Relaxed) != 0 {
            self.written.fetch_or(bytes, Relaxed);
        }
    }

    /// Notes that another than the owner has read `bytes`, which it has not noted before in this version.
    pub(crate) fn note_read(&self, bytes: Bytes) {
        // Relaxed: see the file's head.
        let before = self.read.fetch_or(bytes, Relaxed);
        if before & bytes != 0 {
            self.read_twice.fetch_or(before & bytes, Relaxed);
        }
    }

    /// Begins a version with `bytes` written, by a CPU that had itself read `own` in the one before.
    pub(crate) fn begin_version(&self, bytes: Bytes, own: Bytes) -> Past {
        // Relaxed, all: see the file's head.
        let written = self.written.swap(bytes, Relaxed);
        let lost = self.read.swap(0, Relaxed) & !own | self.read_twice.swap(0, Relaxed);
        Past { written, lost }
    }

    /// Bytes written in the current version.
    pub(crate) fn written(&self) -> Bytes {
        // Relaxed: see the file's head.
        self.written.load(Relaxed)
    }
}
