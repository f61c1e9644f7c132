//! A running client of OpenSSH under a keeper: lines come from the remote command, bytes go to it. It does not outlive us, and the remote command's input
//! ends when it does.

use super::reach::InDirectory;
use crate::StopFlag;
use crate::keep::{Deadline, Ended, Grace, Kept, Output, Program};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;

/// What a shell runs: the words after it are the command, and its name is the file of standard input.
const SHELL: &str = "exec \"$@\" <\"$0\"";

/// Number of lines that may wait for whoever executes.
const WAITING_LINES: usize = 256;

/// How often to look for a stop.
const POLL: Duration = Duration::from_millis(100);

/// How long to wait for a full pipe.
const PIPE_POLL: Duration = Duration::from_millis(2);

/// How long the client may take to start.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Number of bytes at the end of standard error that are kept.
const STDERR_KEPT_BYTES: usize = 8192;

/// A running client.
pub(super) struct Session {
    lines: Receiver<Vec<u8>>,
    input: Option<File>,
    client: Option<JoinHandle<Ended>>,
    give_up: StopFlag,
    /// Holds the pipe to standard input, and the client's own files.
    _directory: TempDir,
}

/// What is started.
pub(super) struct Start<'a> {
    /// A program that runs [`crate::keeper::run`] if [`crate::keeper::ARGUMENT`] is its first argument.
    pub(super) keeper: &'a Path,
    /// Directory for the pipe, and for the keeper.
    pub(super) scratch: &'a Path,
    /// The client's program and its arguments.
    pub(super) argv: &'a InDirectory<'a>,
    /// Longest line in bytes.
    pub(super) longest_line: usize,
}

/// Why bytes were not sent, or no line came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoMore {
    /// The client has ended.
    Ended,
    /// A stop was requested.
    Stopped,
    /// Not within the limit.
    TimedOut,
}

impl Session {
    /// Starts the client. Fails, in words, if it cannot be started.
    pub(super) fn start(start: &Start<'_>) -> Result<Self, String> {
        let no_pipe = |error: &dyn std::fmt::Display| format!("no pipe in {}: {error}", start.scratch.display());
        let directory = tempfile::Builder::new()
            .prefix("faultline-ssh-")
            .tempdir_in(start.scratch)
            .map_err(|error| no_pipe(&error.kind()))?;
        let (pipe, own) = (directory.path().join("input"), directory.path().join("own"));
        std::fs::create_dir(&own).map_err(|error| no_pipe(&error.kind()))?;
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).map_err(|error| no_pipe(&error))?;
        let arguments = |_: &Path| {
            let words = [OsString::from("-c"), SHELL.into(), pipe.clone().into_os_string()];
            words.into_iter().chain((start.argv)(&own)).collect()
        };
        let kept = Kept::start(&Program {
            keeper: start.keeper,
            scratch: start.scratch,
            file: Path::new("/bin/sh"),
            arguments: &arguments,
            directory: None,
            output: Output { longest_line: start.longest_line, stderr_bytes: STDERR_KEPT_BYTES },
            waiting_is_free: false,
            grace: Grace::NONE,
            ours: Some(directory.path()),
            environment: &[("LC_ALL".to_owned(), "C".to_owned()), of_own_files(&own)],
            system_settings: &[],
            namespace: None,
        })?;
        let (sender, lines) = sync_channel(WAITING_LINES);
        let give_up = StopFlag::default();
        let stop = give_up.clone();
        let client = thread::spawn(move || {
            // Whoever executes has limits, and gives up.
            let pass_on = &mut |line: &[u8], _: &mut Deadline| {
                // After the last execution nobody listens any more.
                let _ = sender.send(line.to_owned());
                ControlFlow::Continue(())
            };
            kept.follow(Duration::MAX, pass_on, &stop)
        });
        let mut session = Session { lines, input: None, client: Some(client), give_up, _directory: directory };
        session.input = session.open(&pipe);
        Ok(session)
    }

    /// Our end of the pipe, as soon as the client has the other one; `None` if it does not come so far.
    fn open(&self, pipe: &Path) -> Option<File> {
        let mut limit = Deadline::after(START_LIMIT);
        while !limit.left().is_zero() && self.is_running() {
            match rustix::fs::open(pipe, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
                Ok(file) => return Some(File::from(file)),
                Err(rustix::io::Errno::NXIO | rustix::io::Errno::INTR) => thread::sleep(PIPE_POLL),
                Err(_) => return None,
            }
        }
        None
    }

    /// Whether the client runs.
    pub(super) fn is_running(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !client.is_finished())
    }

    /// Sends bytes. Fails if not all of them could be sent.
    pub(super) fn send(&mut self, mut bytes: &[u8], limit: &mut Deadline, stop: &StopFlag) -> Result<(), NoMore> {
        while !bytes.is_empty() {
            let input = self.input.as_mut().ok_or(NoMore::Ended)?;
            match input.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if stop.is_set() {
                        return Err(NoMore::Stopped);
                    }
                    if limit.left().is_zero() {
                        return Err(NoMore::TimedOut);
                    }
                    thread::sleep(PIPE_POLL);
                }
                Err(_) => return Err(NoMore::Ended),
            }
        }
        Ok(())
    }

    /// The next line. Fails if none comes.
    pub(super) fn next(&self, limit: &mut Deadline, stop: &StopFlag) -> Result<Vec<u8>, NoMore> {
        loop {
            if stop.is_set() {
                return Err(NoMore::Stopped);
            }
            let left = limit.left();
            if left.is_zero() {
                return Err(NoMore::TimedOut);
            }
            match self.lines.recv_timeout(left.min(POLL)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(NoMore::Ended),
            }
        }
    }

    /// Ends it: the remote command's input ends, so that it can end in order within the grace period. Then the client is killed.
    pub(super) fn end(mut self, grace: Duration) -> Option<Ended> {
        self.finish(grace)
    }

    fn finish(&mut self, grace: Duration) -> Option<Ended> {
        let client = self.client.take()?;
        self.input = None;
        let mut grace = Deadline::after(grace);
        while !client.is_finished() {
            if grace.left().is_zero() {
                self.give_up.set();
            }
            // Lines are taken meanwhile, because a full queue would hold up the client.
            if self.lines.recv_timeout(POLL) == Err(RecvTimeoutError::Disconnected) {
                thread::sleep(PIPE_POLL);
            }
        }
        client.join().ok()
    }
}

/// The variable that puts a program's temporary files into this directory, which is removed even if the program is killed.
fn of_own_files(own: &Path) -> (String, String) {
    ("TMPDIR".to_owned(), own.to_string_lossy().into_owned())
}

/// How long the remote command may take to kill what it started and to remove its files.
pub(super) const USUAL_GRACE: Duration = Duration::from_secs(20);

impl Drop for Session {
    fn drop(&mut self) {
        self.finish(USUAL_GRACE);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("is_running", &self.is_running()).finish_non_exhaustive()
    }
}
