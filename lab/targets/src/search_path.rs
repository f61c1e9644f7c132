//! Finds the file of a command: by its path, or in the directories of `PATH`.

use crate::TargetError;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first executable file of that name in our own `PATH`.
pub(crate) fn find(command: &str) -> Option<PathBuf> {
    find_in(command, &std::env::var_os("PATH")?)
}

fn find_in(command: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|directory| directory.join(command)).find(|file| is_executable(file))
}

/// Whether it is a file that somebody may execute.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The file that the first word of a command line runs in `directory`, with `path` instead of our own `PATH` if given. Fails
/// if there is no such file, or it cannot be executed.
pub fn program_file(word: &str, directory: &Path, path: Option<&OsStr>) -> Result<PathBuf, TargetError> {
    let refused = |problem: String, hint: &str| Err(TargetError { problem, hint: hint.to_owned() });
    if !word.contains('/') {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let found = find_in(word, path.unwrap_or(&own));
        return found.map_or_else(
            || {
                refused(
                    format!("there is no program '{word}' in PATH"),
                    "name it by its path, for example `./build/prog`",
                )
            },
            Ok,
        );
    }
    let file = directory.join(word);
    match file.metadata() {
        Err(error) => refused(format!("cannot run {word}: {error}"), "name a program that is there"),
        Ok(metadata) if metadata.is_dir() => refused(format!("cannot run {word}: it is a directory"), "name a program"),
        Ok(_) if !is_executable(&file) => {
            refused(format!("cannot run {word}: it is not executable"), "`chmod +x FILE` makes it so")
        }
        Ok(_) => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_found_and_nonsense_is_not() {
        assert!(find("sh").is_some_and(|file| file.is_absolute()));
        assert_eq!(find("no-such-command-anywhere"), None);
    }

    #[test]
    fn a_program_is_found_by_path_or_name_and_refused_with_why() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("prog");
        let refused = |word: &str| program_file(word, directory.path(), None).unwrap_err().problem;
        assert!(refused("./prog").starts_with("cannot run ./prog: No such file"));
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        assert_eq!(refused("./prog"), "cannot run ./prog: it is not executable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(program_file("./prog", directory.path(), None).is_ok());
        assert_eq!(refused("prog"), "there is no program 'prog' in PATH");
        assert_eq!(program_file("prog", Path::new("/"), Some(directory.path().as_os_str())), Ok(file));
        assert_eq!(refused("/"), "cannot run /: it is a directory");
    }
}
