//! The guard of a keeper: a process that waits for the keeper's end. If the keeper is killed, it
//! kills every process that carries the execution's identifier. Our process does the same, unless
//! it was killed too.
//!
//! The guard has a process group of its own and no variable of the execution, so neither a kill of
//! the group nor one by identifier reaches it. It does not find a process that removed the
//! identifier from its environment. If all three are killed at once, the program's children stay.

use super::{ARGUMENT, MARK_VARIABLE, Mark};
use rustix::process::{Pid, test_kill_process};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

/// The word after [`ARGUMENT`] that makes a program the guard. No scratch directory has this name,
/// because those are absolute paths.
pub(super) const GUARD: &str = "guard";

/// Tells the guard that the keeper ends in order.
const IN_ORDER: &[u8] = b"d";

/// The guard of this process, a keeper.
pub(super) struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts the guard of this execution. `scratch`: its directory; `callers`: the caller's, which
    /// may be empty. `None`, so without a guard, on systems without a list of processes, and if it
    /// cannot be started.
    pub(super) fn start(scratch: &Path, callers: &OsStr) -> Option<Self> {
        let mark = std::env::var_os(MARK_VARIABLE).filter(|_| cfg!(target_os = "linux"))?;
        let caller = rustix::process::getppid()?;
        let mut command = Command::new("/proc/self/exe");
        command
            .args([OsStr::new(ARGUMENT), OsStr::new(GUARD), &mark, scratch.as_os_str(), callers])
            .arg(caller.as_raw_nonzero().to_string())
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let pipe = child.stdin.take()?;
        Some(Guard { child, pipe })
    }

    /// Its process.
    pub(super) fn process(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ends it, because all processes of the execution are gone.
    pub(super) fn end(mut self) {
        // Fails if it was killed.
        let _ = self.pipe.write_all(IN_ORDER);
        drop(self.pipe);
        let _ = self.child.wait();
    }
}

/// Runs the guard. `words`: the identifier, the scratch directory, the caller's directory or an
/// empty word, and the caller's process.
pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(mark), Some(scratch), Some(callers), Some(caller)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return ExitCode::from(2);
    };
    let mut byte = [0; 1];
    // At the keeper's end the pipe is closed.
    if matches!(std::io::stdin().read(&mut byte), Ok(1)) {
        return ExitCode::SUCCESS;
    }
    Mark::named(&mark.to_string_lossy()).kill_all();
    let remove = |directory: PathBuf| drop(std::fs::remove_dir_all(directory));
    remove(scratch.into());
    let caller = caller.to_str().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
    // A caller that lives removes its directory itself.
    if !callers.is_empty() && caller.is_some_and(|caller| test_kill_process(caller).is_err()) {
        remove(callers.into());
    }
    ExitCode::SUCCESS
}
