//! The file of a command: at its path, or in the directories of `PATH`.

use crate::TargetError;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use wait_timeout::ChildExt;

/// The first executable file of that name in our own `PATH`.
pub(crate) fn find(command: &str) -> Option<PathBuf> {
    find_in(command, &std::env::var_os("PATH")?)
}

fn find_in(command: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|directory| directory.join(command)).find(|file| is_executable(file))
}

/// True for a file with a permission to execute.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The file that the first word of a command line runs in `directory`, with `path` instead of our
/// own `PATH` if given. Fails if the file does not exist, or cannot be executed.
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
        Err(error) => refused(format!("cannot run {word}: {error}"), "name an existing program"),
        Ok(metadata) if metadata.is_dir() => refused(format!("cannot run {word}: it is a directory"), "name a program"),
        Ok(_) if !is_executable(&file) => {
            refused(format!("cannot run {word}: it is not executable"), "`chmod +x FILE` makes it executable")
        }
        Ok(_) => Ok(file),
    }
}

/// Time limit, longer than any small program takes on a loaded machine.
pub(crate) const USUAL_LIMIT: Duration = Duration::from_secs(10);

/// Maximum output that is read. The programs print far less than a pipe holds, so none waits for
/// its reader.
const LONGEST_OUTPUT_BYTES: u64 = 64 * 1024;

/// Standard output of a program that ended with status 0 within the limit. Fails otherwise, with a
/// sentence fragment.
pub(crate) fn read(program: &OsStr, arguments: &[&str], limit: Duration) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| error.to_string())?;
    let text = child.stdout.take().map(read_in_background);
    let ended = child.wait_timeout(limit);
    let text = text.and_then(|text| text.recv_timeout(limit).ok());
    let (Ok(Some(status)), Some(text)) = (ended, text) else {
        // Also kills processes that the program left behind, which may hold the pipe open. Fails if
        // none is left, as intended.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait();
        return Err(format!("it did not end within {} s", limit.as_secs()));
    };
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    String::from_utf8(text).map_err(|_| "it printed no text".to_owned())
}

/// Reads in another thread, because a pipe can stay open for ever.
fn read_in_background(stdout: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, text) = sync_channel(1);
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // On an error, the output read before it is used.
        let _ = stdout.take(LONGEST_OUTPUT_BYTES).read_to_end(&mut text);
        // The receiver is gone after the limit.
        let _ = sender.send(text);
    });
    text
}

/// First line of a program's output; `None` if the program does not exist or fails.
pub fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let text = read(program.as_ref(), arguments, USUAL_LIMIT).ok()?;
    text.lines().next().map(str::to_owned)
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
