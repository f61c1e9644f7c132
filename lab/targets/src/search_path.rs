//! Finds a command's file in the directories of `PATH`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The first executable file of that name.
pub(crate) fn find(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(command)).find(|file| {
        file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_found_and_nonsense_is_not() {
        assert!(find("sh").is_some_and(|file| file.is_absolute()));
        assert_eq!(find("no-such-command-anywhere"), None);
    }
}
