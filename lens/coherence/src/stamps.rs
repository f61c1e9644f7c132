//! Records in which version each byte of a line was last written, to distinguish true from false sharing.

use crate::line::Bytes;
use crate::word::Version;
use std::array;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// For each byte, the version in which it was last written, without the current one; 0 is never.
///
/// Relaxed throughout: the owner of the line writes. A CPU that races with it misclassifies one transfer's sharing at
/// worst.
#[derive(Debug)]
pub(crate) struct Stamps([AtomicU64; 64]);

impl Stamps {
    /// No byte written.
    pub(crate) fn new() -> Self {
        Stamps(array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Records that `bytes` were written in `version`.
    pub(crate) fn set(&self, mut bytes: Bytes, version: Version) {
        while bytes != 0 {
            // Relaxed: see the struct.
            self.0[bytes.trailing_zeros() as usize].store(version, Relaxed);
            bytes &= bytes - 1;
        }
    }

    /// Bytes written after `version`.
    pub(crate) fn since(&self, version: Version) -> Bytes {
        self.0.iter().enumerate().fold(0, |bytes, (byte, stamp)| {
            // Relaxed: see the struct.
            bytes | u64::from(stamp.load(Relaxed) > version) << byte
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_the_version_of_their_last_writing() {
        let stamps = Stamps::new();
        stamps.set(0xFF << 56 | 1, 3);
        stamps.set(1, 5);
        assert_eq!((stamps.since(0), stamps.since(3), stamps.since(5)), (0xFF << 56 | 1, 1, 0));
    }
}
