//! A full disk. A build that fails for want of room says nothing about its commit.

use faultline_experiment::Error;
use rustix::fs::statvfs;
use std::path::Path;

/// What programs print of it (`ENOSPC`, `EDQUOT`), if their messages are in English.
const SAID: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// With less room on its file system a directory counts as full. Programs remove what they could not complete, so some room may be there again.
const LEAST_BYTES: u64 = 1 << 20;

/// Whether a text says that a disk is full.
pub(crate) fn is_told(text: &str) -> bool {
    SAID.iter().any(|said| text.contains(said))
}

/// Whether there is almost no room for files in a directory. False if that cannot be known.
pub(crate) fn is_full(directory: &Path) -> bool {
    statvfs(directory).is_ok_and(|found| {
        let bytes = found.f_bavail.saturating_mul(found.f_frsize);
        // Some file systems have no limit on files, and say that there are none.
        bytes < LEAST_BYTES || (found.f_files > 0 && found.f_favail == 0)
    })
}

/// The error for a full disk. `how`: how that is known.
pub(crate) fn full(how: &str) -> Error {
    Error::failed(format!("the disk is full: {how}"), "free space there; `faultline resume` then continues")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_compilers_are_understood() {
        assert!(is_told("/tmp/ccX.s: fatal error: error writing to a.o: No space left on device"));
        assert!(is_told("cp: error writing 'x': Disk quota exceeded"));
        assert!(!is_told("a.c:1: error: no space before device"));
    }

    #[test]
    fn a_directory_with_room_is_not_full() {
        assert!(!is_full(&std::env::temp_dir()));
        assert!(!is_full(Path::new("/no/such/directory")));
    }
}
