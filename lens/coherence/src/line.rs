//! One cache line as all CPUs share it: its state word, and which of its bytes were touched in which version.
//!
//! The word alone decides what is a transfer. The bytes are for telling true from false sharing: they are kept beside the
//! word without being one with it, so that CPUs which race for a line can at worst misjudge the sharing of that one transfer.
//! All orderings are relaxed for that reason: the compare-and-swaps make the words of a line one sequence, which is all that
//! counting needs, and nothing else rests on them.

use crate::word::{Version, Word};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a line, one bit each.
pub(crate) type Bytes = u64;

/// Fields: \[w] changed by compare-and-swap alone; \[o] by the CPU that owns the line; \[r] by CPUs that fetched it from there.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// \[w] See [`Word`].
    word: AtomicU64,
    /// \[o] Written in the current version.
    written: AtomicU64,
    /// \[r] Read in the current version by others than the owner.
    read: AtomicU64,
    /// \[r] The same, by two of them or more: what one of them must lose its copy for is what another has read.
    read_twice: AtomicU64,
    /// \[o] For each byte the version in which it was last written, the current one left out; 0 is never. Made when the line
    /// first changes its version; most lines never do.
    stamps: OnceLock<Box<[AtomicU64; 64]>>,
}

impl Line {
    pub(crate) fn word(&self) -> Word {
        // Relaxed: a CPU that sees an old word acts as one that ran a little earlier.
        Word(self.word.load(Relaxed))
    }

    /// Moves the word on from `old`; false if another CPU was faster.
    pub(crate) fn advance(&self, old: Word, new: Word) -> bool {
        // Relaxed: see the file's head.
        self.word.compare_exchange(old.0, new.0, Relaxed, Relaxed).is_ok()
    }

    /// Notes that the owner has written `bytes`.
    pub(crate) fn note_written(&self, bytes: Bytes) {
        // Relaxed: see the file's head.
        self.written.fetch_or(bytes, Relaxed);
    }

    /// Notes that another than the owner has read `bytes`, which it has not noted before in this version.
    pub(crate) fn note_read(&self, bytes: Bytes) {
        // Relaxed: see the file's head.
        let before = self.read.fetch_or(bytes, Relaxed);
        if before & bytes != 0 {
            self.read_twice.fetch_or(before & bytes, Relaxed);
        }
    }

    /// Begins the version after `old`, with `bytes` written, by a CPU that had itself read `own`. Returns what others than
    /// this CPU and the owner had read in `old`.
    pub(crate) fn begin_version(&self, old: Version, bytes: Bytes, own: Bytes) -> Bytes {
        // Relaxed: see the file's head.
        let mut written = self.written.swap(bytes, Relaxed);
        if written != 0 {
            let stamps = self.stamps.get_or_init(|| Box::new([const { AtomicU64::new(0) }; 64]));
            while written != 0 {
                // Relaxed: see the file's head.
                stamps[written.trailing_zeros() as usize].store(old, Relaxed);
                written &= written - 1;
            }
        }
        // Relaxed: see the file's head.
        self.read.swap(0, Relaxed) & !own | self.read_twice.swap(0, Relaxed)
    }

    /// Bytes written after the version `before` (none: ever), the current version left out.
    pub(crate) fn stamped_since(&self, before: Option<Version>) -> Bytes {
        let Some(stamps) = self.stamps.get() else { return 0 };
        let since = before.unwrap_or(0);
        stamps.iter().enumerate().fold(0, |bytes, (byte, stamp)| {
            // Relaxed: see the file's head.
            bytes | u64::from(stamp.load(Relaxed) > since) << byte
        })
    }

    /// Bytes written after the version `before` (none: ever).
    pub(crate) fn written_since(&self, before: Option<Version>) -> Bytes {
        // Relaxed: see the file's head.
        self.stamped_since(before) | self.written.load(Relaxed)
    }
}
