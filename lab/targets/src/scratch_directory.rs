//! Directories for scratch files, removed with their value. Only their owner may enter them,
//! because all users share `/tmp`.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// Permissions of a scratch directory.
const MODE: u32 = 0o700;

/// A new directory in `scratch`, with a unique name that begins with `prefix`.
pub(crate) fn create(prefix: &str, scratch: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(MODE)).tempdir_in(scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_may_enter() {
        let scratch = tempfile::tempdir().unwrap();
        let made = create("x-", scratch.path()).unwrap();
        assert_eq!(made.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
